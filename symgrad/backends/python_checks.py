"""The private functions of a printed Python file: what refuses inputs and gradients that do not fit.

The messages name the function, the tensor, the size, and who told it first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce

from ..expr import ZERO, Apply, Const, Expr, Ref, conjunction, postorder, preorder, refs, show, transform
from ..expr import ref as reference
from ..ir import Dtype, Function, Tensor, show_shape
from ..ops import OPS
from ..plan import Program
from ..plan.arrays.taking import as_number
from ..plan.arrays.tree import ALL, Array, Elementwise, Num, Range, SizeOf, Take, Var
from ..records import dataclass
from ..source import python as py
from ..source.layout import LIMIT
from ..source.python import (
    NONE,
    Assign,
    Attribute,
    Def,
    Expression,
    Given,
    If,
    Name,
    Operation,
    Statement,
    Word,
    call,
    method,
)
from .python_expressions import Expressions, all_but
from .python_print import flat
from .python_sizes import size
from .python_statements import is_given, named


def promoted(primal: Function) -> list[str]:
    """The inputs of real numbers that get one dtype: all, if there are several."""
    reals = [n for n in primal.inputs if primal.table[n].dtype == Dtype.REAL]
    return reals if len(reals) > 1 else []


@dataclass(frozen=True)
class RangeCheck:
    """That the integers in an input are subscripts of an axis.

    name    the input
    given   whether it may be left out, and is asked for
    extent  how long the axis is
    asked   the condition under which its elements are read; None if all are
    said    what they must be, in words
    """

    name: str
    given: bool
    extent: Expression
    asked: Array | None
    said: str


Refuse = Callable[[Function, RangeCheck], py.Block]
CONVERTED = {Dtype.REAL: "_real", Dtype.INT: "_integer", Dtype.BOOL: "_boolean"}


def inputs_helper(
    program: Program,
    refuse: Refuse | None,
    one_type: Sequence[str] = (),
    word: str = "_inputs",
    tree: Expressions | None = None,
    noun: str = "array",
) -> Def:
    """The function that checks types and shapes; `word` is what it is called, `noun` what the language calls an array.

    refuse    what refuses subscripts out of range; None if they, and numbers outside of the domain, are refused later
    tree      what spells the conditions of a domain
    one_type  inputs that get one dtype
    """
    primal = program.derivative.primal
    options = checked_options(program) if refuse is not None else []
    body: list[Statement] = []
    for name in primal.inputs:
        tensor = primal.table[name]
        value: Expression = call(CONVERTED[tensor.dtype], py.text(name), Name(name))
        if tensor.optional:
            value = Operation("select", (is_given(name, False), NONE, value))
        body.append(Assign(Name(name), value))
    bound: dict[str, tuple[Expression, list[str | Expression]]] = {}
    for name in sorted(primal.inputs, key=lambda name: primal.table[name].optional):  # who is sure to be there tells
        checks = list(_shape_checks(primal, primal.table[name], bound))
        body += [If(is_given(name), checks)] if primal.table[name].optional and checks else checks
    if refuse is not None:
        told = {size: where for size, (where, _) in bound.items()}
        body += [Assign(Name(n), told[n]) for n in _sizes_asked(program)]
        body += [s for check in _range_checks(program, told) for s in refuse(primal, check)]
    body += [] if tree is None else [_in_domain(primal, name, tree) for name in program.within]
    if one_type:
        body.append(Assign(py.bare(named(one_type)), call("_promoted", *named(one_type))))
    what = f"inputs as {noun}s" if len(primal.inputs) > 1 else f"input as {'an' if noun == 'array' else 'a'} {noun}"
    return Def(
        Word(word),
        tuple(Given(Name(n)) for n in (*primal.inputs, *options)),
        [*body, py.Return(py.bare(named(primal.inputs)))],
        (f"Return the {what}; refuse what is of another type or shape.",),
    )


def checked(helper: Def, inputs: Sequence[str], options: Sequence[str] = ()) -> Expression:
    """The inputs as that function returns them: a call of it, or the one call that is all it does."""
    return _only_call(helper) or call(helper.name, *named((*inputs, *options)))


def _only_call(helper: Def) -> Expression | None:
    """The call that is all that such a function does; None where it does more, or has several inputs."""
    match helper.body:
        case [Assign(name, py.Call() as value), py.Return(result)] if name == result and not helper.decorators:
            return value
        case _:
            return None


def printed_checks(helper: Def) -> list[Def]:
    """That function, unless its one call is printed for it."""
    return [helper] if _only_call(helper) is None else []


def _shape_checks(
    primal: Function, tensor: Tensor, bound: dict[str, tuple[Expression, list[str | Expression]]]
) -> Iterator[Statement]:
    """What compares the shape of an input with what earlier inputs told; `bound` is (expression, place) by size."""
    name, extents = tensor.name, tensor.shape
    shape = Attribute(Name(name), "shape")
    packed = bool(extents) and isinstance(extents[0], Ref) and extents[0].name in primal.packs
    rank = len(extents) - packed
    if rank or not packed:
        test = Operation("lt" if packed else "ne", (Attribute(Name(name), "ndim"), py.integer(rank)))
        yield refusal(test, f"{primal.name}: {name} has shape ", shape, f", expected {show_shape(tensor)}")
    for place, extent in enumerate(extents):
        axis = place - len(extents) if packed else place
        found: Expression = py.Element(shape, (py.integer(axis),))
        where, told = f"axis {axis}", f"{name} has {show(extent)} = "
        after = f" ({where})"
        if packed and place == 0:
            found, where, after = all_but(shape, rank), "leading axes", ""
            told = f"{name} has {'leading axes' if rank else 'shape'} "
        if isinstance(extent, Const):
            expected = (f" in {where}, expected {show(extent)}",)
            yield refusal(Operation("ne", (found, size(extent))), f"{primal.name}: {name} has ", found, *expected)
            continue
        assert isinstance(extent, Ref)
        said: list[str | Expression] = [told, found, *([after] if after else [])]
        if extent.name not in bound:
            bound[extent.name] = (found, said)
            continue
        other, first = bound[extent.name]
        yield refusal(Operation("ne", (found, other)), f"{primal.name}: ", *first, ", ", *said)


def refusal(test: Expression, *message: str | Expression, kind: str = "ValueError") -> If:
    """`if test: raise kind(message)`."""
    return If(test, [py.Raise(kind, py.Text(message))])


def _range_checks(program: Program, told: Mapping[str, Expression]) -> Iterator[RangeCheck]:
    """What is asked of the integers in inputs; `told` is where each size is read from."""
    primal = program.derivative.primal
    numbers = [*(o.name for o in primal.options), *(d.name for d in primal.dims)]
    for subscript in program.indexed:
        name, extent = subscript.element.name, subscript.extent
        if name not in primal.inputs:
            continue
        limit, said = size(extent, told), f"range({show(extent)})"
        conditions = _of_columns(subscript.element, primal.table[name])
        if conditions:
            said = f"{said} at {show(subscript.element)}"
        if subscript.where is not None:
            condition = transform(subscript.where, lambda n: reference(n.name) if isinstance(n, Ref) else n)
            conditions.append(_array(condition, numbers))
            said = f"{said} where {show(condition)}"
        asked = reduce(lambda a, b: Elementwise("and", (a, b)), conditions) if conditions else None
        yield RangeCheck(name, primal.table[name].optional, limit, asked, said)


def _in_domain(primal: Function, name: str, tree: Expressions) -> Statement:
    """What refuses numbers of an input outside of its interval."""
    own, interval = Name(name), primal.table[name].interval
    inside = tree(_array(conjunction(interval.conditions(reference(name))), ()))
    said = py.text(f"{primal.name}: {name}"), py.text(interval.show(name))
    found = Assign(own, call("_in_domain", own, inside, *said))
    return If(is_given(name), [found]) if primal.table[name].optional else found


def _of_columns(element: Ref, tensor: Tensor) -> list[Array]:
    """Which elements of a tensor stand at the literal subscripts, along axes of literal length: e[k, 0] of e (n, 2)."""
    axes = list(enumerate(zip(element.subscripts, tensor.shape, strict=True), 1 - len(tensor.shape)))
    return [
        Elementwise("eq", (Take(Range(extent), (ALL, *[None] * -axis)) if axis else Range(extent), Num(s)))
        for axis, (s, extent) in axes
        if isinstance(s, Const) and isinstance(extent, Const) and extent.value > 1
    ]


def outside(name: Expression, extent: Expression) -> list[Expression]:
    """Whether an array of subscripts reaches out of range(extent)."""
    least, most = (py.method(name, n) for n in ("min", "max"))
    inside = Operation("and", (Operation("le", (py.integer(0), least)), Operation("lt", (most, extent))))
    return [Attribute(name, "size"), Operation("not", (inside,))]


def range_refused(outside: Callable[[Expression, Expression], list[Expression]], tree: Expressions) -> Refuse:
    """Subscripts are looked at: `outside` asks whether those in an array reach out of a range."""

    def refuse(primal: Function, check: RangeCheck) -> py.Block:
        name: Expression = Name(check.name)
        block: list[Statement] = []
        if check.asked is not None:
            name = Word("places")
            places = Elementwise("select", (check.asked, Var(check.name), Num(as_number(ZERO))))
            block.append(Assign(name, tree(places)))
        test = outside(name, check.extent)
        if check.given and not block:
            test = [is_given(check.name), *test]
        said = f"{primal.name}: {check.name} must be in {check.said}, here range("
        block.append(refusal(py.joined("and", test), said, check.extent, ")", kind="IndexError"))
        return [If(is_given(check.name), block)] if check.given and check.asked is not None else block

    return refuse


def _sizes_asked(program: Program) -> list[str]:
    """The sizes in the conditions under which integers in inputs are asked for."""
    primal = program.derivative.primal
    asked = [s.where for s in program.indexed if s.where is not None and s.element.name in primal.inputs]
    spoken = {r.name for r in refs(*asked)}
    return [d.name for d in primal.dims if d.name in spoken]


def _array(condition: Expr, numbers: Sequence[str]) -> Array:
    """A condition on tensors that are named alone, as one on whole arrays."""
    if isinstance(condition, Const):
        return Num(condition)
    if isinstance(condition, Ref):
        return SizeOf(condition) if condition.name in numbers else Var(condition.name)
    assert isinstance(condition, Apply)
    return Elementwise(condition.op, tuple(_array(a, numbers) for a in condition.args))


def checked_options(program: Program) -> list[str]:
    """The options that tell how far the integers in an input may reach."""
    primal = program.derivative.primal
    reached = {
        r.name
        for subscript in program.indexed
        if subscript.element.name in primal.inputs
        for r in refs(subscript.extent, *([] if subscript.where is None else [subscript.where]))
    }
    return [o.name for o in primal.options if o.name in reached]


def type_helpers(primal: Function, module: str) -> list[Def]:
    """What makes arrays of the inputs, and refuses those of another type; `module` is np or jnp."""
    kinds = {primal.table[n].dtype for n in primal.inputs}
    rows = (
        (Dtype.REAL, "floating point", "floating"),
        (Dtype.INT, "integer", "integer"),
        (Dtype.BOOL, "boolean", "bool_"),
    )
    value, array = Word("value"), Word("array")
    dtype = Attribute(array, "dtype")
    found = []
    for kind, said, check in rows:
        right = call(f"{module}.issubdtype", dtype, Word(f"{module}.{check}"))
        found_as = method(array, "astype", Word("int")) if kind == Dtype.INT and _computes_with(primal) else array
        body: list[Statement] = [
            Assign(array, call(f"{module}.asarray", value)),
            wrong_type(primal.name, Operation("not", (right,)), dtype, said),
            py.Return(found_as),
        ]
        found += [type_helper(kind, "array", body)] if kind in kinds else []
    return found


def _computes_with(primal: Function) -> bool:
    """Whether a function computes integers of integers that it is given: in their own type they may wrap."""
    whole = {n for n in primal.inputs if primal.table[n].dtype == Dtype.INT}
    roots = [s for e in primal.statements for s in e.expressions] if whole else []
    applied = (n for n in postorder(*roots) if isinstance(n, Apply) and n.op != "select")
    computed = (n.args for n in applied if OPS[n.op].integral or OPS[n.op].of_integers)
    operands = preorder((a for args in computed for a in args), lambda n: n.args if isinstance(n, Apply) else ())
    return any(isinstance(a, Ref) and a.name in whole for a in operands)


ADJECTIVES = {Dtype.REAL: "a floating-point", Dtype.INT: "an integer", Dtype.BOOL: "a boolean"}


def type_helper(kind: Dtype, noun: str, body: py.Block) -> Def:
    """A function that returns a value as an array of a type, which the language calls `noun`, or refuses it."""
    about = f"Return `value` as {ADJECTIVES[kind]} {noun}; refuse another type."
    return Def(Word(CONVERTED[kind]), (Given(Word("name")), Given(Word("value"))), body, (about,))


def wrong_type(function: str, test: Expression, dtype: Expression, expected: str) -> If:
    """The refusal of another type."""
    said = (f"{function}: ", Word("name"), " has dtype ", dtype, f", expected {expected}")
    return refusal(test, *said, kind="TypeError")


NO_COTANGENT = "grad can be implicitly created only for scalar outputs"
GRAD, SHAPE, DTYPE = Word("grad_output"), Word("shape"), Word("dtype")


def cotangent_helper(function: str, output: str, scalar: str) -> Def:
    """`scalar`: whether the output is "always" a scalar, is "sometimes" (a pack of no axes), or never ("")."""
    missing = py.Raise(
        "ValueError",
        py.Text((f"{function}: {NO_COTANGENT}; pass grad_output of shape ", SHAPE, f", the shape of {output}")),
    )
    ones = py.Return(call("np.ones", SHAPE, dtype=DTYPE))
    none: list[Statement] = [missing]
    if scalar == "always":
        none = [ones]
    elif scalar:
        none = [If(Operation("ne", (SHAPE, Word("()"))), [missing]), ones]
    own = Attribute(GRAD, "shape")
    differs = (f"{function}: grad_output has shape ", own, f", {output} has shape ", SHAPE)
    body: list[Statement] = [
        If(Operation("is", (GRAD, NONE)), none),
        Assign(GRAD, call("np.asarray", GRAD)),
        refusal(Operation("ne", (own, SHAPE)), *differs),
        py.Return(GRAD),
    ]
    given = tuple(Given(w) for w in (GRAD, SHAPE, *([DTYPE] if scalar else [])))
    return Def(Word("_cotangent"), given, body, (f"Return grad_output as an array of the shape of {output}.",))


def cotangents_helper(function: str, outputs: Sequence[str]) -> Def:
    """The same for several outputs."""
    g, name, names, shapes, gradients = map(Word, ("g", "name", "names", "shapes", "gradients"))
    found: Expression = py.Several(tuple(map(py.text, outputs)))
    length, own = call("len", GRAD), Attribute(g, "shape")
    missing = f"{function}: {NO_COTANGENT}; pass a tuple of {len(outputs)} gradients of the shapes "
    differs = (f"{function}: grad_", name, " has shape ", own, ", ", name, " has shape ", SHAPE)
    zeros = call("np.zeros", SHAPE, dtype=DTYPE)
    value = Operation("select", (Operation("is", (g, NONE)), zeros, call("np.asarray", g)))
    before: list[Statement] = []
    turns = call("zip", found, GRAD, shapes, strict=Word("True"))
    if len(flat(turns)) > LIMIT - len("    for name, g, shape in :"):
        before, turns = [Assign(names, found)], call("zip", names, GRAD, shapes, strict=Word("True"))
    body: list[Statement] = [
        refusal(Operation("is", (GRAD, NONE)), missing, shapes),
        refusal(
            Operation("ne", (length, py.integer(len(outputs)))),
            *(f"{function}: ", length, f" gradients given for {len(outputs)} outputs"),
        ),
        Assign(gradients, Word("[]")),
        *before,
        py.For(
            py.bare([name, g, SHAPE]),
            turns,
            [
                Assign(g, value),
                refusal(Operation("ne", (own, SHAPE)), *differs),
                py.Do(py.method(gradients, "append", g)),
            ],
        ),
        py.Return(gradients),
    ]
    about = "Return the gradients of the outputs as arrays; None counts as zero."
    return Def(Word("_cotangents"), (Given(GRAD), Given(shapes), Given(DTYPE)), body, (about,))
