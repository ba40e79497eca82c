"""Statements on arrays as trees of Python, and those about sizes, conditions and results around them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from ..expr import ONE, ZERO, Apply, Expr, Ref, apply, refs, show
from ..ir import Function, Tensor
from ..ops import OPS
from ..plan import Nested, Program
from ..plan.arrays.commands import AddAt, Assign, For, Guard, Statement, Unpack, Update
from ..plan.arrays.layout import Pattern
from ..plan.arrays.tree import Array, Elementwise
from ..records import replace
from ..source import python as py
from ..source.python import Attribute, Block, Element, Expression, Name, Operation, Return, Word, call, integer, targets
from ..source.tree import walk
from .python_expressions import Expressions, all_but
from .python_sizes import is_pack, name, ranged, size

SAVED = Word("saved")
Asked = Callable[[Guard], Sequence[Expression]]


class Statements(ABC):
    """Statements as trees; a language says how it writes into an array, and how it repeats.

    asked  the conditions of a Guard; none where its body always runs
    """

    def __init__(self, tree: Expressions, asked: Asked) -> None:
        self.tree = tree
        self.asked = asked

    def __call__(self, statements: Sequence[Statement]) -> list[py.Statement]:
        """The trees of `statements`; what is asked once more right behind is one block."""
        found: list[py.Statement] = []
        for new in (n for s in statements for n in self.statement(s)):
            last = found[-1] if found else None
            if isinstance(new, py.If) and isinstance(last, py.If) and new.condition == last.condition:
                if not (new.otherwise or last.otherwise):
                    found[-1] = replace(last, body=[*last.body, *new.body])
                    continue
            found.append(new)
        return found

    def procedure(self, statements: Sequence[Statement]) -> list[py.Statement]:
        """The trees of a procedure."""
        return self(statements)

    def statement(self, s: Statement) -> Block:
        match s:
            case Assign(target, value):
                return [py.Assign(Name(target), self.tree(value))]
            case Unpack(names, value):
                return [py.Assign(targets([Word("_") if n is None else Name(n) for n in names]), self.tree(value))]
            case Update():
                return self.update(s)
            case AddAt():
                return self.add_at(s)
            case For():
                return self.loop(s)
            case Guard(_, _, body, otherwise, condition):
                asked = self.asked(s) if condition is None else [size(condition)]
                if not asked:
                    return self(body)
                return [py.If(py.joined("and", asked), self(body), self(otherwise))]

    def update(self, s: Update) -> Block:
        """`name[items] += value`."""
        value, sign = s.value, "=" if s.first else "+="
        if is_negative(value) and not s.first:
            sign, value = "-=", value.args[0]
        return [py.Assign(Element(Name(s.name), self.tree.items(s.items)), self.tree(value), sign)]

    @abstractmethod
    def add_at(self, s: AddAt) -> Block:
        """`name[items] += value`, where elements may repeat."""

    def loop(self, s: For) -> Block:
        """`for name in range(extent)`."""
        turns = ranged(s.extent)
        return [py.For(Name(s.name), call("reversed", turns) if s.reverse else turns, self(s.body))]


def is_negative(value: Array) -> TypeGuard[Elementwise]:
    """Whether a sum would show it with a minus."""
    return isinstance(value, Elementwise) and value.op == "neg"


def conditions(
    guard: Guard, gradients: Mapping[str, int], program: Program | None, flags: Expression
) -> list[Expression]:
    """What a Guard asks: `needs_input_grad[0] and bias is not None`.

    gradients  the place of each gradient among those that may be asked for
    program    of backward, where presence is told by flags
    flags      what tells the gradients that are needed
    """
    needs = needed([gradients[g] for g in guard.serves], len(program.derivative.primal.inputs) if program else 0, flags)
    return [*([py.joined("or", needs)] if needs else []), *present(guard, program)]


def is_given(of: str, given: bool = True) -> Expression:
    """`bias is not None`."""
    return Operation("is not" if given else "is", (Name(of), py.NONE))


def present(guard: Guard, program: Program | None) -> list[Expression]:
    """What a Guard asks of optional inputs."""
    flags = () if program is None else program.saved_presence
    found: list[Expression] = []
    for of, given in guard.when:
        flag = flag_of(of)
        flagged = flag if given else Operation("not", (flag,))
        found.append(flagged if of in flags else is_given(of, given))
    return found


def flag_of(of: str) -> Word:
    """What tells backward whether an input is given."""
    return Word(f"has_{of}")


def needed(places: Sequence[int], inputs: int, flags: Expression) -> list[Expression]:
    """What asks for one of the gradients at these places: of many, neighbours together, `any(needs_input_grad[2:])`."""
    runs: list[list[int]] = []
    for place in sorted(places):
        if len(places) > 2 and runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    found: list[Expression] = []
    for first, *_, last in (run * 2 for run in runs):
        start, stop = integer(first) if first else None, integer(last + 1) if last + 1 < inputs else None
        if first == last:
            found.append(Element(flags, (integer(first),)))
        elif last - first == inputs - 1:
            found.append(call("any", flags))
        else:
            found.append(call("any", Element(flags, (py.Cut(start, stop),))))
    return found


def counted(counts: Sequence[tuple[str, Expr]]) -> Block:
    """`count_i = max(h - p + 1, 0)`: how far an index runs, where nothing may fit."""
    least = ((n, extent if _counts(extent) else apply("maximum", extent, ZERO)) for n, extent in counts)
    return [py.Assign(Name(n), size(extent)) for n, extent in least]


def _counts(extent: Expr) -> bool:
    """Whether the row of its operator says that it is not negative."""
    return isinstance(extent, Apply) and extent.op in OPS and OPS[extent.op].nonnegative


def refused(primal: Function, conditions: Sequence[Expr]) -> Block:
    """What must hold of the sizes and options, checked before anything is computed."""
    found: list[py.Statement] = []
    for condition in conditions:
        names = dict.fromkeys(r.name for r in refs(condition))
        parts: list[str | Expression] = [f"{primal.name}: needs {show(condition)}, here "]
        for k, n in enumerate(names):
            parts += [f"{', ' * bool(k)}{n} = ", name(n)]
        # `p == 0` where that is what must not be
        is_ne = isinstance(condition, Apply) and condition.op == "ne"
        failed = apply("eq", *condition.args) if is_ne else apply("not", condition)
        found.append(py.If(size(failed), [py.Raise("ValueError", py.Text(tuple(parts)))]))
    return found


def as_stored(tensor: Tensor, pattern: Pattern | None) -> Tensor:
    """A tensor with the shape that it is saved in: 1 where a reduced axis is kept."""
    if pattern is None:
        return tensor
    extents = iter(tensor.shape)
    return replace(tensor, shape=tuple(next(extents) if present else ONE for present in pattern))


def sized(names: Sequence[str], tensors: Sequence[Tensor]) -> list[py.Statement]:
    """`n, k = x.shape` for the sizes that are needed."""
    found: list[py.Statement] = []
    left = list(names)
    for tensor in tensors:
        own = [e.name if isinstance(e, Ref) else "" for e in tensor.shape]
        one_each = len(set(own)) == len(own) and all(n.isidentifier() for n in own)
        if len(own) > 1 and one_each and all(n in left for n in own):
            found.append(py.Assign(targets([*map(name, own)]), Attribute(Name(tensor.name), "shape")))
            left = [n for n in left if n not in own]
    return [*found, *(py.Assign(name(n), where_size_is(n, tensors)) for n in left)]


def where_size_is(of: str, tensors: Sequence[Tensor], of_numbers: bool = False) -> Expression:
    """`x.shape[1]`: where the size `of` is read from; `of_numbers`: of what may be no array, `np.shape(x)[1]`."""
    for tensor in tensors:
        for place, extent in enumerate(tensor.shape):
            if isinstance(extent, Ref) and extent.name == of:
                own = Name(tensor.name)
                shape = call("np.shape", own) if of_numbers else Attribute(own, "shape")
                rest = len(tensor.shape) - 1 - place
                if is_pack(extent):
                    return all_but(shape, rest, place)
                behind = any(map(is_pack, tensor.shape[:place]))
                return Element(shape, (integer(-rest - 1 if behind else place),))
    raise AssertionError(f"no tensor tells the size {of}")


def counted_at_hand(definitions: Sequence[Any], count: Callable[[Expression], Expression]) -> list[Any]:
    """The same with `x.size`, as `count` spells it, for `math.prod(batch)` where `batch` is all of `x.shape`."""

    def change(node: Any) -> Any:
        if not isinstance(node, py.Def):
            return None
        body: list[py.Statement] = []
        left = [*node.body]
        while left:
            s, *left = left
            match s:
                case py.Assign(Name() | Word() as batch, Attribute(Name() as array, "shape")):
                    left = [*_instead(call("math.prod", batch), count(array), left)]
                    if batch not in walk(left):
                        continue
            body.append(s)
        return replace(node, body=body)

    return [*py.mapped(definitions, change)]


def _instead(old: Expression, new: Expression, root: Any) -> Any:
    """The same with `new` in the place of `old`."""
    return py.mapped(root, lambda node: new if node == old else None)


def named(names: Sequence[str]) -> list[Expression]:
    """Tensors, sizes or options as variables."""
    return [name(n) for n in names]


def unpacked(names: Sequence[Expression], value: Expression = SAVED) -> py.Statement:
    """`x, y = saved`."""
    return py.Assign(targets(names), value)


def read_only(names: Sequence[Expression], *reads: object) -> list[Expression]:
    """The names, with `_` for those that nothing speaks of."""
    spoken = frozenset().union(*py.spoken(*reads))
    return [n if isinstance(n, (Name, Word)) and n.name in spoken else Word("_") for n in names]


def tuple_of(values: Sequence[Expression]) -> Expression:
    """A tuple in brackets."""
    return py.Several(tuple(values))


def nested(results: Nested, values: Mapping[str, Expression]) -> Expression:
    """Results as they are arranged, in tuples; `values` stand for those that they have."""

    def part(result: Nested) -> Expression:
        return values.get(result, Name(result)) if isinstance(result, str) else tuple_of([*map(part, result)])

    return part(results) if isinstance(results, str) else py.bare([*map(part, results)])


def returned(values: Sequence[Expression]) -> Return:
    """`return a, b`; one alone is a tuple, too."""
    return Return(targets(values))
