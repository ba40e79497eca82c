"""Derivatives by a perturbation of a rotation or pose, in place of its components: 3 or 6 columns, not 4, 7 or 16.

f(retract(pose, delta)) is differentiated by delta at delta = 0. There, `retract` is a polynomial up to the squares of
delta: no sine is needed for first and second derivatives. What takes the perturbed pose is f as it stands, so

    perturbed   f, each pose being computed from what it is and a perturbation, an input that has the pose's name
    at_rest     what was made of that, where each perturbation is 0, and the perturbed pose the pose itself
    resting     the same as a function of the inputs of f

Between these, a perturbation is an input as any other: one mechanism finds all that is derived.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..declare.groups import GROUPS, SIDES, Group
from ..errors import TargetError
from ..expr import ZERO, Expr, Ref, const, ref, transformer
from ..expr.names import Names
from ..ir import Derivative, Dtype, Equation, Function, Role, Tensor, names_of, with_names
from ..records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Perturbation:
    """Of one input.

    group  that its values are of
    side   on which the perturbation stands: "right", pose exp(delta), or "left"
    shape  of one rotation or pose; axes in front of it count several
    held   the name of the input, while the perturbation has it
    moved  the name of what the function reads
    """

    group: Group
    side: str
    shape: tuple[int, ...]
    held: str
    moved: str


Perturbations = Mapping[str, Perturbation]


def perturbations(function: Function, wrt: Sequence[str]) -> dict[str, Perturbation]:
    """Those that are asked for by "pose:SE3" or "pose:SE3:left" among the inputs with respect to which."""
    taken, found = Names(names_of(function)), dict[str, Perturbation]()
    names = [asked.split(":")[0] for asked in wrt]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise TargetError(f"wrt={', '.join(wrt)} names {twice[0]} twice. Say once how it is perturbed.")
    for name, kind, *more in (asked.split(":") for asked in wrt if ":" in asked):
        group, side = GROUPS.get(kind), (more or SIDES)[0]
        if group is None or side not in SIDES or len(more) > 1:
            raise TargetError(
                f"{':'.join([name, kind, *more])} is no input with its perturbation. Write {name}: and one of "
                f"{', '.join(GROUPS)}, and behind it left, if the perturbation stands there, as in {name}: SE3 left."
            )
        if name not in function.inputs:
            raise TargetError(f"{function.name} has no input {name}; choose from {', '.join(function.inputs)}.")
        tensor = function.table[name]
        shape = group.shape_of(tensor.shape)
        if shape is None or tensor.dtype != Dtype.REAL or tensor.optional:
            raise TargetError(
                f"{function.name}: {name} is no {kind}. Declare it as an input of real numbers that is always given, "
                f"whose last axes are {group.kinds}."
            )
        found[name] = Perturbation(group, side, shape, taken.new(f"held_{name}"), taken.new(f"moved_{name}"))
    return found


def perturbed(function: Function, moves: Perturbations) -> Function:
    """The function of perturbations, too, which have the names of what they perturb."""
    if not moves:
        return function
    function = with_names(function, {name: p.moved for name, p in moves.items()})
    tensors, statements = list[Tensor](), list[Equation]()
    for name, p in moves.items():
        tensor = function.table[p.moved]
        front = tensor.shape[: len(tensor.shape) - len(p.shape)]
        box = function.box_of(front)
        at = tuple(i for i, _ in box)
        delta = Tensor(name, (*front, const(p.group.size)), Dtype.REAL, Role.INPUT)
        tensors += [replace(tensor, name=p.held), delta]
        steps = [ref(name, *at, const(k)) for k in range(p.group.size)]
        for place, body in p.group.perturbed(p.shape, lambda *s, at=at, p=p: ref(p.held, *at, *s), steps, p.side):
            statements.append(Equation(p.moved, (*at, *map(const, place)), "none", body, box))
    held = {p.moved: p.held for p in moves.values()}
    return replace(
        function,
        tensors=(*tensors, *(replace(t, role=Role.LOCAL) if t.name in held else t for t in function.tensors)),
        statements=(*statements, *function.statements),
        inputs=(*(held.get(name, name) for name in function.inputs), *moves),
    )


def at_rest(derivative: Derivative, moves: Perturbations) -> Derivative:
    """The derivative where each perturbation is 0; they are inputs still, and nothing reads them."""
    if not moves:
        return derivative
    primal, joint = (_at_rest(f, moves) for f in (derivative.primal, derivative.function))
    return replace(derivative, primal=primal, function=joint)


def _at_rest(function: Function, moves: Perturbations) -> Function:
    held = {p.moved: p.held for p in moves.values()}

    def put(node: Expr) -> Expr:
        if not isinstance(node, Ref):
            return node
        return ZERO if node.name in moves else ref(held.get(node.name, node.name), *node.subscripts)

    rewrite = transformer(put)
    return replace(
        function,
        tensors=tuple(t for t in function.tensors if t.name not in held),
        statements=tuple(e.mapped(rewrite) for e in function.statements if e.target not in held),
    )


def resting(function: Function, moves: Perturbations) -> Function:
    """The function without its perturbations, whose inputs have their own names again."""
    if not moves:
        return function
    function = replace(
        function,
        tensors=tuple(t for t in function.tensors if t.name not in moves),
        inputs=tuple(name for name in function.inputs if name not in moves),
    )
    return with_names(function, {p.held: name for name, p in moves.items()})
