"""One tensor written: by one expression where its equations fill it, into zeros where they do not.

Several equations that lie side by side are a stack or a concatenation. What is written at `stride*i + r` is a reshape
where windows are side by side, else a loop over the places in a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    conjuncts,
    const,
    index,
    indices,
    is_exact,
    postorder,
    ref,
    refs,
    select,
    substitute,
    transform,
    value_of,
)
from ...expr.sizes import equal, tidy
from ...ir import Equation, Tensor
from ..program import Step
from .affine import linear, product
from .borders import Borders
from .conditions import all_of, asked, chosen
from .elements import Moving, Piece, Run, Split, Turned, shared_by, trimmed_items
from .layout import frame, is_pack
from .spell import Speller
from .tree import (
    ALL,
    AddAt,
    Array,
    Assign,
    Concatenate,
    Elementwise,
    For,
    Full,
    Guard,
    Item,
    Num,
    Pad,
    Places,
    Reshape,
    Roll,
    Slice,
    Stack,
    Statement,
    Take,
    Update,
    Var,
    below,
    children,
    flat,
    items_of,
    plain_number,
    renamed,
    sizes_in,
    sizes_of,
    tops,
    with_items,
)
from .values import Value, packed_items

BACK = Slice(None, None, const(-1))
WHOLE = frozenset("add sub mul neg floordiv mod maximum minimum lt le gt ge eq ne and or not".split())
Conditions = tuple[tuple[str, bool], ...]


class Stores:
    """Turns the equations of a step into statements."""

    def __init__(
        self,
        speller: Speller,
        borders: Borders,
        tensors: dict[str, Tensor],
        returns: Sequence[str],
        plain: set[str],
    ) -> None:
        self.speller = speller
        self.borders = borders
        self.tensors = tensors
        self.returns = returns
        self.plain = plain
        self.sizes = speller.sizes
        self.slices: dict[Slice, str] = {}

    def step(self, step: Step) -> list[Statement]:
        """The statements that compute `step.target`."""
        statements = self._step(step)
        if len(statements) == 1 and isinstance(statements[0], Assign) and plain_number(statements[0].value):
            self.plain.add(step.target)
        return statements

    def _step(self, step: Step) -> list[Statement]:
        target = step.target
        if step.how != "fill" or not step.equations:
            return self._more(step)
        joined = self._stacked(step) or self._concatenated(step)
        if joined is not None:
            return [Assign(target, joined)]
        equations = [e for e in step.equations if e.target == target]
        if all(e.when == step.when for e in equations):
            equations.sort(key=lambda e: not self._fills(e))  # what fills the tensor needs no zeros before it
        statements = self._bordered([e for e in step.equations if e.target != target], target)
        extra = [tuple(w for w in e.when if w not in step.when) for e in equations]
        zeros = False
        several = bool(extra and extra[0]) and not _alternatives(equations, extra, self)
        if not statements and (several or not self._fills(equations[0])):
            statements.append(Assign(target, Full(Num(_zero()), self.tensors[target].shape)))
            zeros = True
        place = 0
        while place < len(equations):
            e, when = equations[place], extra[place]
            if not statements and when:
                then = self._store(e, False)
                otherwise = self._store(equations[place + 1], False)
                statements.append(Guard((), when, (then,), (otherwise,)))
                place += 2
                continue
            statement = self._store(e, bool(statements))
            if zeros and isinstance(statement, Update) and not when:
                statement = replace(statement, first=True)
            zeros = False
            if isinstance(statement, For):
                before, statement = self._hoisted(statement)
                statements += [] if when else before
            statements.append(Guard((), when, (statement,)) if when else statement)
            place += 1
        return statements

    def _more(self, step: Step) -> list[Statement]:
        """The statements of a step of a loop: each equation writes to, or adds to, elements of what is there."""
        found: list[Statement] = []
        if step.begins:
            found.append(Assign(step.target, Full(Num(_zero()), self.tensors[step.target].shape)))
        for e in step.equations:
            statement = self._turn(e, step.how == "write")
            found.append(Guard((), e.when, (statement,)) if e.when else statement)
        return found

    def _turn(self, e: Equation, alone: bool) -> Statement:
        """One equation in a turn of a loop; what depends on the number of the turn alone is asked first."""
        conditions = [*(conjuncts(e.where) if e.where is not None else []), *asked(e.body)]
        condition = next((c for c in conditions if self._is_number(c)), None)
        if condition is None:
            statement = self._store(e, True)
            return replace(statement, first=True) if alone and isinstance(statement, Update) else statement
        if e.where is not None and condition in conjuncts(e.where):
            inner = replace(e, where=all_of(c for c in conjuncts(e.where) if c is not condition))
            return Guard((), (), (self._turn(inner, alone),), (), condition)
        then, otherwise = (
            self._turn(replace(e, body=transform(e.body, chosen(condition, holds))), alone) for holds in (True, False)
        )
        return Guard((), (), (then,), (otherwise,), condition)

    def _is_number(self, condition: Expr) -> bool:
        """Whether a condition asks for the number of the turn, sizes and options alone, in whole numbers."""
        nodes = list(postorder(condition))
        return any(n in self.sizes.loops for n in nodes) and all(
            (isinstance(n, Ref) and n.name in self.sizes.numbers and not n.subscripts)
            or (isinstance(n, Apply) and n.op in WHOLE)
            or is_exact(n)
            for n in nodes
        )

    def _bordered(self, equations: Sequence[Equation], target: str) -> list[Statement]:
        """Written into zeros with a border, and the border cut off."""
        found: list[Statement] = []
        for name in dict.fromkeys(e.target for e in equations):
            found.append(Assign(name, Full(Num(_zero()), self.tensors[name].shape)))
            for e in equations:
                statement = self._store(e, True) if e.target == name else None
                if isinstance(statement, For):
                    before, statement = self._hoisted(statement)
                    found += before
                found += [] if statement is None else [statement]
            _, widths = self.borders.around[name]
            items: list[Item] = []
            for (first, last), axis in zip(widths, self.tensors[target].shape, strict=True):
                start = None if first is ZERO else first
                if isinstance(axis, Ref) and not axis.name.isidentifier():
                    items.append("...")
                elif last is ZERO:
                    items.append(Slice(start))
                elif is_exact(last):
                    items.append(Slice(start, const(-int(value_of(last)))))
                else:
                    items.append(Slice(start, axis if start is None else start + axis))
            inner = Take(Var(name), trimmed_items(items))
            more = any(isinstance(s, Assign) and s.name == target for s in found)
            found.append(Assign(target, Elementwise("add", (Var(target), inner)) if more else inner))
        return found

    # one equation

    def _store(self, e: Equation, started: bool) -> Statement:
        """The statement that writes (or adds) one equation."""
        fills = self._fills(e)
        guarded = e.where is not None and not fills
        if guarded:
            assert e.where is not None
            subscripts = e.subscripts
            numbered = any(r in self.sizes.loops for s in subscripts for r in refs(s))  # asked before: see _turn
            if not numbered and not self.borders.safe(ref(e.target, *subscripts), dict(e.box)):
                # where the condition fails, 0 is added to the first element
                subscripts = tuple(select(e.where, s, ZERO) if indices(s) else s for s in subscripts)
            guarded = subscripts != e.subscripts
            e = replace(e, subscripts=subscripts, body=select(e.where, e.body, ZERO), where=None)
        if fills:
            value = self._filling(e)
            if not started:
                return Assign(e.target, value)
            more = self.speller.laid(self.speller.value(e), _plain(e)).array if e.plain else value
            return Assign(e.target, Elementwise("add", (Var(e.target), more)))
        statement = self._scattered(e, guarded)
        axes = zip(e.subscripts, self.tensors[e.target].shape, strict=True)
        some = [apply("gt", n, ZERO) for s, n in axes if _asks(s) and not self.speller.never_empty(n, dict(e.box))]
        if guarded and some:  # of an axis without elements there is no first one
            return Guard((), (), (statement,), (), all_of(some))
        return statement

    def _scattered(self, e: Equation, guarded: bool) -> Statement:
        extents = dict(e.box)
        pieces = self.speller.pieces(ref(e.target, *e.subscripts), extents)
        known = [p for p in pieces if p is not None]
        if len(known) == len(pieces) and not shared_by(pieces):
            moving = next((p for p in known if isinstance(p, Moving)), None)
            if moving is not None:
                return self._loop(e, moving.inner, moving.index, guarded)
            if any(isinstance(p, Split) for p in known):
                return Update(e.target, self._items(e, known), self._merged(e, known, self.speller.value(e)))
        value = self.speller.value(e)
        items, once, axes = self.speller.places(e, frame(e, self.speller.values(e), self.speller.axes))
        if value.axes != axes:
            value = self.speller.laid(value, axes)
        return Update(e.target, items, value.array) if once and not guarded else AddAt(e.target, items, value.array)

    def _loop(self, e: Equation, r: Index, i: Index, guarded: bool) -> For:
        """`e` for one value of the index `r` after the other."""
        number = ref(r.name)
        extent = dict(e.box)[r]
        self.sizes.loops[number] = (r, extent)
        self.sizes.numbers.add(r.name)
        at: dict[Expr, Expr] = {r: number}
        inner = replace(
            e,
            subscripts=tuple(substitute(s, at) for s in e.subscripts),
            body=substitute(e.body, at),
            box=tuple((j, n) for j, n in e.box if j is not r),
        )
        return self._with_slices(For(r.name, extent, (self._scattered(inner, guarded),)), number, i)

    def _with_slices(self, loop: For, number: Expr, i: Index) -> For:
        """`loop` with a name for the strided slices that it works with."""
        (inner,) = loop.body
        found = dict.fromkeys(
            item
            for items in items_of(inner)
            for item in items
            if isinstance(item, Slice) and item.step is not None and number in refs(*sizes_in([item]))
        )
        defined: list[Statement] = []
        for item in found:
            if item not in self.slices:
                self.slices[item] = self.sizes.name(f"slice_{i.name}")
            defined.append(Assign(self.slices[item], Places(item)))
        names = {item: self.slices[item] for item in found}
        return replace(loop, body=(*defined, with_items(inner, names)))

    def _hoisted(self, loop: For) -> tuple[list[Statement], For]:
        """What does not change in a loop, computed before it."""
        found: dict[Array, None] = {}
        for top in tops(loop):
            stack = [top]
            while stack:
                a = stack.pop()
                names = [b.name for b in below(a) if isinstance(b, Var)]
                ours = {x.name for x in flat(loop)} & {*names}
                if isinstance(a, Elementwise) and a.op in ("mul", "div") and names and not ours and not self.changes(a):
                    found[a] = None
                else:
                    stack += children(a)
        before: list[Statement] = []
        statement: Statement = loop
        for a in found:
            first = [b.name for b in below(a) if isinstance(b, Var)][-1]  # the first that is read
            name = self.sizes.name(f"scaled_{first}")
            self.tensors[name] = replace(self.tensors[first], name=name, named=False)
            before.append(Assign(name, a))
            statement = renamed(statement, a, name)
        assert isinstance(statement, For)
        return before, statement

    def changes(self, value: Array) -> bool:
        """Whether `value` is another in each turn of a loop."""
        mentioned = {r for a in below(value) for r in refs(*sizes_of(a))}
        taken = [i for a in below(value) if isinstance(a, Take) for i in a.items]
        return any(r in mentioned for r in self.sizes.loops) or any(i in self.slices.values() for i in taken)

    # what fills its target

    def _fills(self, e: Equation) -> bool:
        """Whether `e` writes every element of its target, each once."""
        target = ref(e.target, *e.subscripts)
        if e.plain:
            return self.speller.whole_axes(target, dict(e.box))
        pieces = self.speller.pieces(target, dict(e.box))
        return not shared_by(pieces) and all(
            isinstance(p, (Run, Split, Turned)) and (p.item is ALL or p.item == BACK) for p in pieces
        )

    def _filling(self, e: Equation) -> Array:
        value = self.speller.value(e)
        if e.plain:
            return self._laid(e, value)
        pieces = self.speller.pieces(ref(e.target, *e.subscripts), dict(e.box))
        if not value.axes:
            return Full(value.array, self.tensors[e.target].shape)
        known = [p for p in pieces if p is not None]
        filled = self._merged(e, known, value)
        for k, p in enumerate(known):
            if isinstance(p, Turned):
                packed = any(isinstance(s, Index) and is_pack(s) for s in e.subscripts)
                filled = Roll(filled, p.shift, k - len(known) if packed else k)
        if any(p.item == BACK for p in known):
            items = packed_items([p.item if p.item == BACK else ALL for p in known], e.subscripts)
            filled = Take(filled, trimmed_items(items))
        return filled

    def _merged(self, e: Equation, pieces: Sequence[Piece], value: Value) -> Array:
        """`value` in the shape of the part of the target that it is written to."""
        if not value.axes:
            return value.array
        extents = dict(e.box)
        axes: list[Index] = []
        shape: list[Expr] = []
        for p in pieces:
            if isinstance(p, Split):
                axes += p.indices
                shape.append(self.sizes.exact(product([extents[i] for i in p.indices])))
            elif isinstance(p, (Run, Turned)):
                axes.append(p.index)
                shape.append(self.sizes.count(p.index, extents[p.index]))
        laid = self.speller.laid(value, axes)
        if laid.axes != tuple(axes):
            laid = self.speller.spread(laid, axes, extents)
        return Reshape(laid.array, tuple(shape)) if len(shape) < len(axes) else laid.array

    def _items(self, e: Equation, pieces: Sequence[Piece]) -> tuple[Item, ...]:
        return trimmed_items(packed_items([p.item for p in pieces], e.subscripts))

    def _laid(self, e: Equation, value: Value) -> Array:
        """`value` with the axes of the target: kept ones where they are kept, all of them otherwise."""
        wanted = _plain(e)
        if e.target in self.speller.kept:
            return value.array
        if value.axes == wanted and value.axes:
            return value.array
        number = not value.axes and not any(isinstance(a, Var) and not a.number for a in below(value.array))
        if number and (wanted or e.target in self.returns):
            extents = dict(e.box)
            return Full(value.array, tuple(extents[i] for i in wanted))
        if value.axes == wanted:
            return value.array
        if value.labels == wanted:  # kept axes that this tensor does not keep
            items = tuple(
                "..." if a is not None and is_pack(a) else ZERO if a is None else ALL for a in value.axes
            )
            return Take(value.array, items)
        return self.speller.spread(value, wanted, dict(e.box)).array

    # several equations side by side

    def _stacked(self, step: Step) -> Array | None:
        """Equations that write 0, 1, 2, ... of one axis are one stack."""
        equations = step.equations
        if any(e.when != step.when or e.where is not None for e in equations) or not equations[0].subscripts:
            return None
        axes = [k for k, s in enumerate(equations[0].subscripts) if is_exact(s)]
        if len(axes) != 1:
            return None
        (axis,) = axes
        rest = [s for k, s in enumerate(equations[0].subscripts) if k != axis]
        extent = self.tensors[step.target].shape[axis]
        items: dict[int, Array] = {}
        for e in equations:
            mine = [s for k, s in enumerate(e.subscripts) if k != axis]
            if mine != rest or not all(isinstance(s, Index) for s in rest) or not is_exact(e.subscripts[axis]):
                return None
            inner = replace(e, subscripts=tuple(rest))
            number = int(value_of(e.subscripts[axis]))
            array = self._laid(inner, self.speller.value(inner))
            array = Full(array, ()) if plain_number(array) else array  # of numbers alone it would be of doubles
            items[number] = Elementwise("add", (items[number], array)) if number in items else array
        complete = is_exact(extent) and sorted(items) == list(range(int(value_of(extent))))
        if not complete:
            return None
        last = axis == len(equations[0].subscripts) - 1
        packed = any(isinstance(s, Index) and is_pack(s) for s in rest)
        if len(items) == 1:
            behind = len(rest) - axis
            if packed:
                return Take(items[0], ("...", None, *[ALL] * behind))
            return Take(items[0], (*[ALL] * axis, None))
        return Stack(tuple(items[k] for k in sorted(items)), axis - len(rest) - 1 if packed or last else axis)

    def _concatenated(self, step: Step) -> Array | None:
        """Equations that write one stretch of an axis each, from its beginning to its end."""
        equations = step.equations
        shape = self.tensors[step.target].shape
        if len(equations) < 2 or any(e.when != step.when or e.where is not None for e in equations):
            return None
        if any(e.target != step.target for e in equations):
            return None
        axes = {k for e in equations for k, s in enumerate(e.subscripts) if not isinstance(s, Index)}
        if len(axes) != 1:
            return None
        (axis,) = axes
        items: list[Array] = []
        left = list(equations)
        end: Expr = ZERO
        while left:
            found = next((e for e in left if equal(_offset(e, axis), end)), None)
            if found is None or (inner := _run(found, axis)) is None:
                return None
            left.remove(found)
            extents = dict(inner.box)
            i = inner.subscripts[axis]
            assert isinstance(i, Index)
            rest = [(s, n) for k, (s, n) in enumerate(zip(inner.subscripts, shape, strict=True)) if k != axis]
            whole = all(isinstance(s, Index) and equal(extents[s], n) for s, n in rest)
            if not (inner.plain and whole and self.sizes.not_negative(extents[i])):
                return None
            items.append(self._slab(inner, i))
            end = tidy(end + extents[i])
        if not equal(end, shape[axis]):
            return None
        if any(isinstance(s, Index) and is_pack(s) for s in equations[0].subscripts):
            return Concatenate(tuple(items), axis - len(shape))
        return _padded(items, axis, len(shape)) or Concatenate(tuple(items), axis)

    def _slab(self, e: Equation, i: Index) -> Array:
        """The value of `e`; where it does not depend on the index `i`, which counts to 1, with an axis of length 1."""
        value = self.speller.value(e)
        wanted = _plain(e)
        if dict(e.box)[i] is not ONE:
            return self._laid(e, value)
        if i in value.labels or not value.axes or {*value.labels, i} != {*wanted}:
            number = not any(isinstance(a, Var) for a in below(value.array))
            return self._laid(e, value) if value.axes or number else Take(value.array, (None,) * len(wanted))
        laid = self.speller.laid(value, wanted)
        return laid.array if len(laid.axes) == len(wanted) else Take(laid.array, (None,))


def _padded(items: Sequence[Array], axis: int, rank: int) -> Pad | None:
    """A tensor with one place more in front or behind, all of it one number."""
    for base, slab, first in ((items[-1], items[0], True), (items[0], items[-1], False)):
        if len(items) == 2 and isinstance(base, Var) and isinstance(slab, Full) and slab.shape[axis] is ONE:
            width = (ONE, ZERO) if first else (ZERO, ONE)
            return Pad(base, tuple(width if k == axis else (ZERO, ZERO) for k in range(rank)), slab.value)
    return None


def _run(e: Equation, axis: int) -> Equation | None:
    """`e` with an index by itself along an axis, where it writes one stretch there; one place is a stretch of 1."""
    form = linear(e.subscripts[axis])
    if form is None or len(form.steps) > 1 or any(step is not ONE for _, step in form.steps):
        return None
    i = form.steps[0][0] if form.steps else index("#1")
    box = e.box if form.steps else ((i, ONE), *e.box)
    return replace(e, subscripts=tuple(i if k == axis else s for k, s in enumerate(e.subscripts)), box=box)


def _offset(e: Equation, axis: int) -> Expr:
    form = linear(e.subscripts[axis])
    return const(-1) if form is None else form.offset


def _alternatives(equations: Sequence[Equation], extra: Sequence[Conditions], stores: Stores) -> bool:
    """Whether the first two equations are one value with an optional input and one without."""
    if len(equations) < 2 or len(extra[0]) != 1 or len(extra[1]) != 1:
        return False
    ((name, present),), ((other, absent),) = extra[0], extra[1]
    return name == other and present != absent and stores._fills(equations[1])


def _plain(e: Equation) -> tuple[Index, ...]:
    return tuple(s for s in e.subscripts if isinstance(s, Index))


def _asks(s: Expr) -> bool:
    """Whether a subscript is 0 where a condition fails."""
    return isinstance(s, Apply) and s.op == "select" and bool(indices(s))


def _zero() -> Const:
    assert isinstance(ZERO, Const)
    return ZERO
