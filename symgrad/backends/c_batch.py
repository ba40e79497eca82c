"""Functions of one point at the points of a batch: a loop over what one computes, where a compiler makes vectors of it,
else over calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..expr import (
    ARGUMENT,
    ONE,
    ZERO,
    Apply,
    Expr,
    Ref,
    apply,
    const,
    operators,
    postorder,
    ref,
    refs,
    select,
    substitute,
)
from ..expr.names import Names
from ..numerics.removable import Filled
from ..ops import OPS
from ..ops.primitive import Primitive
from ..plan import Program
from ..plan.functions import written
from ..plan.loops import Guard, Local, Loop, Nest, Node, Store, at_each_point, expressions, size_names
from ..records import replace
from ..source import tree
from ..source.layout import listed
from ..source.names import Scope
from ..source.tree import (
    SIZE,
    Call,
    Element,
    Expression,
    Function,
    If,
    Name,
    Number,
    Operation,
    Parameter,
    Type,
    joined,
)
from .c_domain import refusals
from .c_expressions import helper_in, operators_in, vectors_in
from .c_names import File
from .c_print import INSTRUCTIONS, LIBM
from .c_signature import Printed
from .c_vector import BATCHES, LOOPS, REACH
from .options import Options


def loop_of_vectors(point: Nest, program: Program, options: Options) -> tuple[Nest, str | None] | None:
    """The loop over a batch, and the scalar in it that counts the angles beyond REACH, if there are sines or cosines;
    None if not everything in it is there for vectors.

    An angle is counted whatever gradients are asked for, so that none of them depends on what else is.

    program  with the pack as an axis: what `flatten` returns
    """
    nest = at_each_point(point, program)
    if nest is None:
        return None
    nodes = nest.nodes
    roots = [e for n in nodes for e in expressions(n)]
    if any(isinstance(n, Local) and n.changes for n in nodes):
        return None
    if not all(map(_is_of_vectors, dict.fromkeys(op for root in roots for op in operators(root)))):
        return None
    *before, loop = nest.body
    assert isinstance(loop, Loop)
    around = _one_guard(loop.body)
    loop = replace(loop, body=around.body) if around else loop

    def whole(loop: Loop, *first: Node) -> Nest:
        return replace(nest, body=(*before, *first, replace(around, body=(loop,)) if around else loop))

    far = ref(Names(nest.table, (n.name for n in nodes if isinstance(n, Local))).new("far_angles"))
    counted: set[Expr] = set()
    named: dict[Expr, Expr] = {}
    body: list[Node] = []
    for node in loop.body:
        for angle, limit in _angles(node, {}, options.single):
            angle = named.get(angle, angle)
            if angle in counted:
                continue
            counted.add(angle)
            beyond = apply("gt", apply("abs", angle), const(limit))
            count = Store(far, select(beyond, ONE, ZERO), "+=")
            names = dict.fromkeys(r.name for r in refs(angle))
            given = tuple((name, True) for name in names if name in nest.table and nest.table[name].optional)
            body.append(Guard((), given, (count,)) if given else count)
        body.append(node)
        if isinstance(node, Local):
            named[node.value] = ref(node.name)
    if not counted:
        return whole(loop), None
    if options.accumulate:
        return None  # nothing may be added twice
    return whole(replace(loop, body=tuple(body)), Local(far.name, ZERO, changes=True)), far.name


def _one_guard(body: Sequence[Node]) -> Guard | None:
    """The guard that is all of a loop, if one is: around the loop it is asked once, and a compiler need not move it."""
    guards = [n for n in body if isinstance(n, Guard) and not n.otherwise]
    return guards[0] if len(guards) == len(body) == 1 else None


def _angles(node: Node, inside: Mapping[Expr, Expr], single: bool) -> Iterator[tuple[Expr, int]]:
    """What a statement computes functions with a reach of, and their reach; `inside`: what the scalars are that stand
    behind a condition."""
    own = {op for root in expressions(node) for op in operators(root)}
    told = any(isinstance(op, Filled) or OPS[op].spell.get(BATCHES) in REACH for op in own)
    for n in postorder(*expressions(node)) if told else ():
        parts: Sequence[Expr] = (n,)
        if isinstance(n, Apply) and isinstance(n.op, Filled):
            parts = postorder(written(substitute(n.op.formula, {ARGUMENT: n.args[0]}), "c"))
        for part in parts:
            word = OPS[part.op].spell.get(BATCHES, "") if isinstance(part, Apply) else ""
            if word in REACH and refs(part):
                yield substitute(part.args[0], inside), REACH[word][single]
    for block in node.blocks:
        known = dict(inside)
        for statement in block:
            yield from _angles(statement, known, single)
            if isinstance(statement, Local):
                known[ref(statement.name)] = substitute(statement.value, known)


def _is_of_vectors(op: str) -> bool:
    """Whether a compiler makes vectors of what is computed for an operator in a batch."""
    row = OPS[op]
    if BATCHES in row.spell or LOOPS in row.spell:
        return True
    if isinstance(op, Primitive):
        return False
    helper = helper_in(row)
    if not isinstance(op, Filled) and helper is None:
        return row.spell.get("c", op) not in LIBM - INSTRUCTIONS
    if helper is not None and any(not isinstance(e, Expr) for _, e in helper.lines):
        return False  # a loop over coefficients
    key = vectors_in(op)
    for inner in operators_in(op):
        if helper_in(inner) is not None:
            vectors = vectors_in(inner.name) in (None, LOOPS) and _is_of_vectors(inner.name)
        else:
            vectors = key in inner.spell or inner.spell.get("c", inner.name) not in LIBM - INSTRUCTIONS
        if not vectors or inner.spell.get(BATCHES) in REACH and not isinstance(op, Filled):
            return False
    return True


def batch(one: Printed, pack: str, program: Program, file: File) -> Printed:
    """The same for all points of the pack, one after the other."""
    function = one.function
    size = size_names(program)[pack]
    scope = Scope([function.name], filter(file.reserved, (size, *(p.name for p in function.parameters))))
    pack_size = Parameter(scope.new(size, f"{size}_size"), "size", Type(SIZE), pack)
    parameters = [replace(p, name=scope.new(p.name, f"{p.name}_input")) for p in function.parameters]
    for place, p in enumerate(parameters):
        if _is_batched(p, program):
            constant = p.type.constant or not p.type.pointer
            kind = replace(p.type, pointer=True, constant=constant, alone=True)
            parameters[place] = replace(p, type=kind, length=None)
    found = (pack_size, *parameters)
    points = Name(pack_size.name)
    counts = {p.tensor: _times(points, p.length) for p in function.parameters if _is_batched(p, program)}
    primal = program.derivative.primal
    refused = refusals(primal, program.within, found, counts, scope.new("i", "place"))
    body: tree.Block = (one_by_one(function, found, scope.new("b", "point"), program),)
    if refused:
        body = (*refused, tree.Space(), *body, tree.Return(Number("0")))
    role, about = f"{function.role}_batch", about_batch(pack_size.name, found)
    return Printed(Function(role, f"{function.name}_batch", found, body, function.result, about), one.work)


def about_batch(size: str, parameters: Sequence[Parameter]) -> tuple[str, ...]:
    """What stands above the prototype."""
    return (f"The same at {size} points, one after the other.", *about_cotangents(parameters))


def about_cotangents(parameters: Sequence[Parameter]) -> list[str]:
    """What is passed for a result that is not used, where others are: frameworks leave its cotangent out."""
    given = [p for p in parameters if p.role == "cotangent"]
    read = [p.name for p in given if p.type.pointer and len(given) > 1]
    return [f"{listed(read)} may not be NULL; pass zeros for a result that is not used."] if read else []


def one_by_one(
    function: Function, given: Sequence[Parameter], b: str, program: Program, whole: bool = False
) -> tree.Loop:
    """The loop that calls the function of one point for each of a batch, whose parameters are `given`; `whole` where
    no result of the function's own is NULL."""
    names = {(p.role, p.tensor): Name(p.name) for p in given}
    (size,) = (p.name for p in given if p.role == "size")
    arguments: list[Expression] = []
    for p in function.parameters:
        name = names[p.role, p.tensor]
        place: Expression = name
        if _is_batched(p, program):
            step = _times(Name(b), p.length)
            place = Operation("add", (name, step)) if p.type.pointer else Element(name, (Name(b),))
            asked = p.nullable and not (whole and p.role == "output")
            place = Operation("select", (name, place, Name("NULL"))) if asked else place
        arguments.append(place)
    own = not any(p.role == "work" for p in function.parameters)  # every point writes there
    call = Call(function.name, tuple(arguments))
    return tree.Loop(b, Number("0"), Name(size), (call,), tag="parallel" if own else "serial")


def _times(b: Expression, length: int | None) -> Expression:
    """So many times the elements of one point."""
    return b if length is None else Operation("mul", (Number(str(length)), b))


def again(function: Function, far: str, given: Sequence[Parameter], b: str, program: Program) -> If:
    """Every point by itself, if one has an angle beyond the reach of the functions for vectors; `some_only` stands
    before it."""
    why = tree.Comment(("angles beyond the reach of the functions for vectors",))
    some = Operation("gt", (Name(far), Number("0.0", True)))
    return If(some, (why, one_by_one(function, given, b, program, whole=True)))


def some_only(function: Function, given: Sequence[Parameter], b: str, program: Program) -> If:
    """Every point by itself, if some results are not asked for: no condition stands in the loop of vectors."""
    why = tree.Comment(("what is asked for, at each point by itself",))
    absent = joined("or", [Operation("not", (Name(p.name),)) for p in given if p.role == "output"])
    done = tree.Return(None if function.result is None else Number("0"))
    return If(absent, (why, one_by_one(function, given, b, program), done))


def _is_batched(p: Parameter, program: Program) -> bool:
    """Whether what a parameter stands for has an element, or a row of them, for each point."""
    derivative = program.derivative
    of = {"gradient": dict(derivative.gradients), "cotangent": dict(derivative.seeds)}.get(p.role, {})
    tensor = program.table.get(of.get(p.tensor, p.tensor))
    (pack,) = derivative.primal.packs
    first = tensor.shape[0] if tensor is not None and tensor.shape else None
    return isinstance(first, Ref) and first.name in (pack, size_names(program)[pack])
