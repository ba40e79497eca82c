"""Statements on tensors of torch.

Autograd differentiates backward again, so nothing is written to that it has read; and `torch.vmap` lets only a batched
tensor take batched values, so what is written to begins as batched as what comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..expr import Expr
from ..ir import Dtype
from ..plan.arrays.below import below, plain_number
from ..plan.arrays.commands import AddAt, Assign, For, Guard, Statement, Update, flat, tops
from ..plan.arrays.guards import names_read
from ..plan.arrays.tree import ALL, BACK, Along, ArrayNode, Copy, Full, Item, Num, SizeOf, Slice, Take, Var
from ..records import replace
from ..source import python as py
from ..source.layout import LIMIT
from ..source.python import Do, Element, Expression, Name, Operation, Several, Word, call, integer, method
from .python_expressions import along, beside, given, is_zero
from .python_print import flat as printed
from .python_sizes import shape
from .python_statements import Asked, Statements, is_negative, named
from .torch_expressions import (
    DTYPES,
    TorchExpressions,
    in_front,
    in_front_of,
    is_all,
    may_take_all,
    moved_back,
    single_axes,
    slice_of,
)

ZERO = Word("zero")


class TorchStatements(Statements):
    """The statements of one procedure.

    reads     the tensors it is given, floating point first
    whole     those of them that are no floating-point numbers
    optional  those of them that may be None
    results   what it returns
    indent    where it stands: what does not fit into a line is cut in two statements
    """

    tree: TorchExpressions

    def __init__(
        self,
        tree: TorchExpressions,
        asked: Asked,
        statements: Sequence[Statement],
        reads: Sequence[str],
        whole: Sequence[str],
        optional: Sequence[str],
        results: Sequence[str],
        indent: int = 8,
    ) -> None:
        super().__init__(tree, asked)
        self.reads, self.whole = reads, whole
        self.optional = optional
        self.written = {s.name for top in statements for s in flat(top) if isinstance(s, (Update, AddAt))}
        self.sources = _sources(statements, reads)
        self.seen: set[str] = set()  # what has been read
        self.batched: set[str] = set()
        self.steps = [x for s in statements for x in _steps(s)]
        self.results = results
        self.indent = indent

    def procedure(self, statements: Sequence[Statement]) -> list[py.Statement]:
        """The statements of the procedure."""
        found = self(statements)
        if not self.batched:
            return found
        sure = [] if self.batched - {*self.optional} else [self.tree.like]
        given = [*sure, *named([n for n in self.reads if n in self.batched])]
        return [py.Assign(ZERO, call("_zero", *given)), *found]

    def statement(self, s: Statement) -> py.Block:
        self.indent += 4 * isinstance(s, (Guard, For))
        begun = isinstance(s, Assign) and s.name in self.written
        found = self._begun(s) if begun and isinstance(s, Assign) else super().statement(s)
        self.indent -= 4 * isinstance(s, (Guard, For))
        if not isinstance(s, (Guard, For)):
            self.seen.update(n for n in names_read(s) if n != getattr(s, "name", None))
        return found

    def _begun(self, s: Assign) -> py.Block:
        """The first value of what will be written to: fresh, and batched where what comes is."""
        value = s.value.base if isinstance(s.value, Copy) else s.value
        own = {r for a in below(value) if isinstance(a, Var) for r in self.sources.get(a.name, ())}
        others = [r for r in self.reads if r in self.sources[s.name] and r not in own]
        found: Expression
        if not others:
            found = self.tree(s.value)
        elif isinstance(value, Full) and is_zero(value.value):
            alone = len(others) == 1 and others[0] not in self.optional
            like = Name(others[0]) if alone else self._batched(others)
            real = value.dtype == Dtype.REAL
            kind = given(not real, dtype=DTYPES.get(value.dtype, self.tree.dtype))
            if real and {*self.whole, *self.optional}.issuperset(others):
                kind = {"dtype": self.tree.dtype}
            found = method(like, "new_zeros", shape(value.shape), **kind)
        else:
            found = Operation("add", (self.tree(value), self._batched(others)))
        return [py.Assign(Name(s.name), found)]

    def _batched(self, tensors: Sequence[str]) -> Word:
        """The name of a zero that is as batched as these."""
        self.batched.update(tensors)
        return ZERO

    # writing

    def update(self, s: Update) -> py.Block:
        if BACK in s.items:  # torch has no steps backwards: the value is turned instead
            last = s.items[s.items.index("...") + 1 :] if "..." in s.items else s.items
            turns = [BACK if i == BACK else ALL for i in last if isinstance(i, Slice)]
            items = tuple(ALL if i == BACK else i for i in s.items)
            return self.update(replace(s, items=items, value=Take(s.value, ("...", *turns))))
        places = along(s.items)
        if places is not None:
            return self._scattered(s, places)
        row = self.tree.rows.get(s.name)
        if row is not None:
            return self._replaced(Element(row, self.tree.items(s.items[:1])), s.items[1:], s)
        if s.name in self.seen:
            return self._replaced(Name(s.name), s.items, s)
        axes = single_axes(s.items)
        if axes or any(map(may_take_all, s.items)):
            return self._cut(replace(s, items=in_front(s.items, axes)), in_front_of(Name(s.name), axes))
        return super().update(s)

    def _scattered(self, s: Update | AddAt, places: Along) -> py.Block:
        """`name[items] += value` along one axis; what is first is added to 0, as torch.vmap has no `scatter_`."""
        value = self.tree.as_tensor(s.value)
        value = value if places.spread is None else method(value, "expand", shape(places.spread))
        index = beside(places, self.tree(places.base))
        arguments = (integer(places.axis), index, beside(places, value))
        if s.name in self.seen:
            return [py.Assign(Name(s.name), method(Name(s.name), "scatter_add", *arguments))]
        return [Do(method(Name(s.name), "scatter_add_", *arguments))]

    def _cut(self, s: Update, whole: Expression) -> py.Block:
        """`whole[items] += value` where an index may be all that there is."""
        target, rest = self.tree.cut(whole, s.items)
        value, sign = self.tree(s.value), "=" if s.first else "+="
        found: list[py.Statement] = []
        if len(f"{printed(target)}[...] {sign} {printed(value)}") + self.indent > LIMIT:
            part = Word(f"{s.name}_part")
            found, target = [py.Assign(part, target)], part
        if not is_all(rest):
            return [*found, py.Assign(Element(target, self.tree.items(rest)), value, sign)]
        if s.first:
            return [*found, py.Assign(Element(target, (Word("..."),)), value)]
        return [*found, Do(method(target, "add_", value))]

    def _replaced(self, target: Expression, items: Sequence[Item], s: Update) -> py.Block:
        """`name[items] += value` as a new value of `name`."""
        value, sign = s.value, "add"
        if is_negative(value) and not s.first:
            sign, value = "sub", value.args[0]
        new, axes = self.tree(value), single_axes(items)
        whole, items = in_front_of(target, axes), in_front(items, axes)
        old = target if is_all(items) else Element(whole, self.tree.items(items))
        new = new if s.first else Operation(sign, (old, new))
        if is_all(items):
            return [py.Assign(target, self._whole_row(target, s) if s.first else new)]
        return [py.Assign(target, moved_back(call("_with", whole, self._index(items), new), axes))]

    def _whole_row(self, target: Expression, s: Update) -> Expression:
        """What a row becomes: a tensor of its shape, as rows are put together in the end."""
        value = self.tree(s.value)
        number = plain_number(s.value)
        if number and not self.tree.traced(value):
            return call("torch.full_like", target, value)
        return method(value, "expand_as", target) if s.lacks or number else value

    def add_at(self, s: AddAt) -> py.Block:
        places = along(s.items)
        if places is not None:
            return self._scattered(s, places)
        value, name = self.tree.as_tensor(s.value), Name(s.name)
        if s.name in self.tree.rows:
            row = Element(self.tree.rows[s.name], self.tree.items(s.items[:1]))
            return [py.Assign(row, call("_added", row, self._index(s.items[1:]), value))]
        arrays = all(isinstance(i, ArrayNode) and not isinstance(i, (Num, SizeOf)) for i in s.items)
        if arrays and s.name not in self.seen:
            index = Several(self.tree.items(s.items))
            return [Do(method(name, "index_put_", index, value, accumulate=Word("True")))]
        axes = single_axes(s.items)
        whole, items = in_front_of(name, axes), in_front(s.items, axes)
        return [py.Assign(name, moved_back(call("_added", whole, self._index(items), value), axes))]

    def _index(self, items: Sequence[Item]) -> Expression:
        """An index as a value."""
        parts = [slice_of(i) if isinstance(i, Slice) else self.tree.items([i])[0] for i in items]
        return parts[0] if len(parts) == 1 else Several(tuple(parts))

    # loops

    def loop(self, s: For) -> py.Block:
        """A loop; what it writes and reads again is a list of rows meanwhile, or new in every turn."""
        read = {a.name for top in tops(s) for a in below(top) if isinstance(a, Var)}
        carried = [n for n in dict.fromkeys(x.name for x in flat(s) if isinstance(x, (Update, AddAt))) if n in read]
        mine = [n for n in carried if n not in self.tree.rows and _by_rows(s, n)]
        before, self.seen = self.seen, {*self.seen, *carried}
        rows = {n: Word(f"{n}_rows") for n in mine}
        self.tree.rows.update(rows)
        found: list[py.Statement] = [py.Assign(rows[n], call("list", Name(n))) for n in mine]
        found += super().loop(s)
        for n in mine:
            del self.tree.rows[n]
        if any(x is s for x in self.steps):  # and no part of another loop
            read = {*self.results, *(n for x in self.steps if x is not s for n in names_read(x))}
            mine = [n for n in mine if n in read]
        found += [py.Assign(Name(n), call("_stacked", rows[n], Name(n))) for n in mine]
        self.seen = before
        return found


def _steps(s: Statement) -> list[Statement]:
    """What a procedure does, one after the other: assignments and whole loops."""
    return [x for inner in (*s.body, *s.otherwise) for x in _steps(inner)] if isinstance(s, Guard) else [s]


def _by_rows(s: For, name: str) -> bool:
    """Whether a loop touches a tensor in one row at a time."""
    writes = [x for x in flat(s) if isinstance(x, (Update, AddAt)) and x.name == name]
    if not all(_is_row(x.items[0]) and (len(x.items) > 1 or isinstance(x, Update)) for x in writes):
        return False
    every = [a for top in tops(s) for a in below(top)]
    takes = [a for a in every if isinstance(a, Take) and a.base == Var(name)]
    whole = sum(a == Var(name) for a in every)
    return whole == len(takes) and all(_is_row(a.items[0]) for a in takes)


def _is_row(item: Item) -> bool:
    return isinstance(item, (Expr, SizeOf))


def _sources(statements: Sequence[Statement], reads: Sequence[str]) -> Mapping[str, set[str]]:
    """What each tensor is computed from, of those that are given."""
    found: dict[str, set[str]] = {name: {name} for name in reads}
    for _ in range(2):  # what a loop computes may be read in the next turn
        for top in statements:
            for s in flat(top):
                mine = {r for n in names_read(s) for r in found.get(n, ())}
                names = s.names if hasattr(s, "names") else (s.name,)
                for name in names:
                    if name is not None:
                        found[name] = found.get(name, set()) | mine
    return found
