"""One tensor written: by one expression where its equations fill it, into zeros where they do not.

What is written at `stride*i + r` is a reshape where windows are side by side, else a loop over the places in a window.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...expr import (
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    branch,
    conjuncts,
    const,
    indices,
    is_exact,
    ref,
    refs,
    select,
    substitute,
    value_of,
)
from ...ir import Equation, disjoint, writes_once
from ...records import replace
from ..conditions import all_of, asked, exclusive, literal_bounds
from ..program import Step
from .below import below, children, plain_number, sizes_in, sizes_of
from .borders import Borders
from .commands import AddAt, Assign, For, Guard, Statement, Update, flat, items_of, replaced, tops
from .elements import Moving, Run, in_slices, trimmed_items
from .fills import Fills, plain_indices
from .layout import pack_of
from .spell import Speller
from .tree import Along, Array, Elementwise, Full, Item, Num, Places, Reshape, Slice, Take, Var


class Stores(Fills):
    """Turns the equations of a step into statements."""

    def __init__(self, speller: Speller, borders: Borders, returns: Sequence[str]) -> None:
        super().__init__(speller, returns)
        self.borders = borders
        self.slices: dict[Slice, str] = {}

    def step(self, step: Step) -> list[Statement]:
        """The statements that compute `step.target`."""
        statements = self._step(step)
        values = [s.value for top in statements for s in flat(top) if isinstance(s, Assign) and s.name == step.target]
        if len(statements) == 1 and values and all(map(plain_number, values)):
            self.speller.plain.add(step.target)
        elif any(map(plain_number, values)):  # one way or the other, it is an array
            statements = [self._as_arrays(s, step.target) for s in statements]
        match statements:
            case [Assign(name, Reshape(base=Var()) as value)]:
                self.speller.views[name] = value
        return statements

    def _step(self, step: Step) -> list[Statement]:
        target = step.target
        if step.how != "fill" or not step.equations:
            return self._more(step)
        joined = self._side_by_side(step)
        if joined is not None:
            return [Assign(target, joined)]
        found = [
            replace(e, when=tuple(w for w in e.when if w not in step.when)) if e.when else e for e in step.equations
        ]
        equations = [e for e in found if e.target == target]
        if len(equations) > 1 and not any(e.when for e in equations):
            equations.sort(key=lambda e: not self._fills(e))  # what fills the tensor needs no zeros before it
        statements = self._bordered([e for e in found if e.target != target], target)
        ways = exclusive(equations)
        begins = not statements and all(map(self._fills, ways[0])) and len(ways[0]) == 2 ** len(ways[0][0].when)
        if begins and len(ways[0]) > 1:
            statements += self._chosen(ways.pop(0))
        zeros = not statements and not begins
        if zeros:
            statements.append(self._zeros(target))
        # what is left out by a condition adds 0 to an element that may be another equation's
        alone = zeros and all(e.where is None for e in equations) and disjoint(equations, self.sizes.facts)
        for e in (e for way in ways for e in way):
            new = self._store(e, bool(statements))
            if zeros and isinstance(new[-1], Update) and not e.when:
                new[-1] = replace(new[-1], first=True)
            zeros = alone
            statements += [Guard((), e.when, tuple(new))] if e.when else new
        return statements

    def _chosen(self, equations: Sequence[Equation]) -> list[Statement]:
        """Of equations of which exactly one counts, that one; the first input that any asks for is asked for first."""
        if not equations[0].when:
            return self._store(equations[0], False)
        name, first = equations[0].when[0]
        body, otherwise = (
            self._chosen(
                [
                    replace(e, when=tuple(w for w in e.when if w[0] != name))
                    for e in equations
                    if (name, there) in e.when
                ]
            )
            for there in (first, not first)
        )
        return [Guard((), ((name, first),), tuple(body), tuple(otherwise))]

    def _as_arrays(self, s: Statement, target: str) -> Statement:
        """A statement with arrays where it assigns numbers to `target`."""
        if isinstance(s, Guard):
            body, otherwise = (tuple(self._as_arrays(x, target) for x in some) for some in (s.body, s.otherwise))
            return replace(s, body=body, otherwise=otherwise)
        if isinstance(s, Assign) and s.name == target and plain_number(s.value):
            return replace(s, value=Full(s.value, (), self.dtype_of(target)))
        return s

    def _zeros(self, target: str) -> Assign:
        zero = ZERO
        assert isinstance(zero, Const)
        return Assign(target, Full(Num(zero), self.tensors[target].shape, self.dtype_of(target)))

    def _more(self, step: Step) -> list[Statement]:
        """The statements of a step of a loop: each equation writes to, or adds to, elements of what is there."""
        found: list[Statement] = []
        if step.begins:
            found.append(self._zeros(step.target))
        for e in step.equations:
            new = self._turn(e, step.how == "write")
            found += [Guard((), e.when, tuple(new))] if e.when else new
        return found

    def _turn(self, e: Equation, alone: bool) -> list[Statement]:
        """One equation in a turn of a loop; what depends on the number of the turn alone is asked first."""
        mine = conjuncts(e.where) if e.where is not None else []
        conditions = [*mine, *(c for part in (*mine, e.body) for c in asked(part))]
        condition = next((c for c in conditions if self._is_number(c)), None)
        if condition is None:
            *before, last = self._store(e, True)
            return [*before, replace(last, first=True) if alone and isinstance(last, Update) else last]
        if condition in mine:
            inner = _branch(replace(e, where=all_of(c for c in mine if c is not condition)), condition, True)
            return [Guard((), (), tuple(self._turn(inner, alone)), (), condition)]
        then, otherwise = (
            tuple(self._turn(_branch(e, condition, holds), alone)) for holds in (True, False)
        )
        return [Guard((), (), then, otherwise, condition)]

    def _is_number(self, condition: Expr) -> bool:
        """Whether a condition asks for the number of the turn, sizes and options alone, in whole numbers."""
        return any(r in self.sizes.loops for r in refs(condition)) and self.sizes.tell(condition)

    def _bordered(self, equations: Sequence[Equation], target: str) -> list[Statement]:
        """Written into zeros with a border, and the border cut off."""
        found: list[Statement] = []
        for name in dict.fromkeys(e.target for e in equations):
            mine = [e for e in equations if e.target == name]
            _, widths = self.borders.around[name]
            alone = len(equations) == 1 and not equations[0].when
            if alone and (called := self.speller.into_windows(mine[0], widths)) is not None:
                return [Assign(target, called)]
            begins = self._fills(mine[0]) and not mine[0].when
            found += [] if begins else [self._zeros(name)]
            for k, e in enumerate(mine):
                found += self._store(e, k > 0 or not begins)
            items: list[Item] = []
            for (first, last), axis in zip(widths, self.tensors[target].shape, strict=True):
                start = None if first is ZERO else first
                if axis is pack_of(self.tensors[target].shape):
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

    def _store(self, e: Equation, started: bool) -> list[Statement]:
        """The statements that write (or add) one equation."""
        fills, guarded, repeats = self._fills(e), False, False
        if e.where is not None and not fills:
            # where the condition fails, 0 is added to the first element of an axis
            subscripts = self.speller.safe_target(ref(e.target, *e.subscripts), e.conditions, dict(e.box))
            guarded = subscripts != e.subscripts
            own = [s for s in subscripts if isinstance(s, Index)]  # tell places apart that are 0 in another axis
            repeats = any(i not in own for s in subscripts for i in indices(s))
            e = replace(e, subscripts=subscripts, body=select(e.where, e.body, ZERO), where=None)
        if fills:
            value = self._filling(e)
            if not started:
                return [Assign(e.target, value)]
            more = self.speller.laid(self.speller.value(e), plain_indices(e)).array if e.plain else value
            return [Assign(e.target, Elementwise("add", (Var(e.target), more)))]
        statement = self._scattered(e, guarded and repeats)
        found: list[Statement] = self._hoisted(statement) if isinstance(statement, For) else [statement]
        shape, extents = self.tensors[e.target].shape, dict(e.box)
        fixed = self.speller.no_slices(ref(e.target, *e.subscripts), extents)
        around = {i: extents[i] for i in indices(*e.subscripts)}
        asks = [self._asks(s, n) for s, n in zip(e.subscripts, shape, strict=True)]
        taken = {i: extents[i] for i in indices(*(s for s, asked in zip(e.subscripts, asks, strict=True) if asked))}
        there: list[Expr] = []
        for k, (s, n) in enumerate(zip(e.subscripts, shape, strict=True)):
            if k in fixed:
                there += literal_bounds((s,), (n,), ())
            elif guarded and asks[k] and not self.speller.never_empty(n, taken):
                there.append(apply("gt", n, ZERO))  # of an axis without elements there is no first one
        if e.where is None and not guarded:  # where the box has no point, an element may not be one
            open_ = [s for s, n in zip(e.subscripts, shape, strict=True) if not self.sizes.inside(s, n, around)]
            given = [s for s in open_ if indices(s) and all(is_exact(extents[i]) for i in indices(s))]
            others = [n for i, n in e.reduced if open_ and i not in around]
            others += [n for i, n in e.shown if any(i not in indices(s) for s in given)]
            there += [apply("gt", n, ZERO) for n in others]
        there = [c for c in there if not self.sizes.holds(c)]
        return [Guard((), (), tuple(found), (), all_of(there))] if there else found

    def _asks(self, s: Expr, axis: Expr) -> bool:
        """Whether a subscript is 0 where a condition fails; what is checked to be in range has elements there."""
        if not (isinstance(s, Apply) and s.op == "select"):
            return False
        return not isinstance(s.args[1], Ref) or self.speller.kept_inside(s, axis)

    def _scattered(self, e: Equation, repeats: bool) -> Statement:
        """`e` added to elements of its target; `repeats` if it may be the same element at several places."""
        extents = dict(e.box)
        target = ref(e.target, *(self.speller.safe(s, extents) for s in e.subscripts))
        pieces = self.speller.pieces(target, extents)
        slices = in_slices(pieces)
        moving = next((p for p in slices or () if isinstance(p, Moving)), None)
        if moving is not None:
            return self._loop(e, moving.inner, moving.index, repeats)
        value = self.speller.value(e)
        if slices is not None:
            array, items = self._sliced(e, slices, value)
            lacks = not {p.index for p in slices if isinstance(p, Run)} <= {*value.axes}
            return Update(e.target, items, array, lacks=lacks)
        order = self.speller.order(e)
        items, axes = self.speller.arrays(target.subscripts, pieces, order, extents)
        value = self.speller.laid(value, axes)
        if not {*axes} <= {*value.axes}:
            spread = tuple(extents[i] for i in axes)
            items = tuple(replace(i, spread=spread) if isinstance(i, Along) else i for i in items)
        if not repeats and ({*axes} <= {*plain_indices(e)} or writes_once(e, self.sizes.facts)):
            return Update(e.target, items, value.array)
        return AddAt(e.target, items, value.array, len(axes) - len(value.axes) if value.axes else 0)

    def _loop(self, e: Equation, r: Index, i: Index, repeats: bool) -> For:
        """`e` for one value of the index `r` after the other."""
        number = ref(r.name)
        extent = dict(e.box)[r]
        self.sizes.loops[number] = (r, extent)
        self.sizes.numbers.add(r.name)
        inner = e.mapped(lambda node: substitute(node, {r: number}))
        inner = replace(inner, box=tuple((j, n) for j, n in e.box if j is not r))
        return self._with_slices(For(r.name, extent, self._added(inner, repeats)), number, i)

    def _added(self, e: Equation, repeats: bool) -> tuple[Statement, ...]:
        """`e` added in one turn of a loop; what depends on the number of the turn alone is asked first."""
        condition = next((c for c in asked(e.body) if self._is_number(c)), None)
        if condition is None:
            return () if e.body is ZERO else (self._scattered(e, repeats),)
        then, otherwise = (self._added(_branch(e, condition, holds), repeats) for holds in (True, False))
        if not then:
            condition, then, otherwise = apply("not", condition), otherwise, then
        return (Guard((), (), then, otherwise, condition),)

    def _with_slices(self, loop: For, number: Expr, i: Index) -> For:
        """`loop` with a name for the strided slices that it works with."""
        inner = loop.body
        found = dict.fromkeys(
            item
            for items in (items for statement in inner for items in items_of(statement))
            for item in items
            if isinstance(item, Slice) and item.step is not None and number in refs(*sizes_in([item]))
        )
        defined: list[Statement] = []
        for item in found:
            if item not in self.slices:
                self.slices[item] = self.sizes.names.new(f"slice_{i.name}")
            defined.append(Assign(self.slices[item], Places(item)))
            inner = tuple(replaced(statement, item, self.slices[item]) for statement in inner)
        return replace(loop, body=(*defined, *inner))

    def _hoisted(self, loop: For) -> list[Statement]:
        """A loop behind what does not change in it."""
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
            name = self.sizes.names.new(f"scaled_{first}")
            self.tensors[name] = replace(self.tensors[first], name=name, named=False)
            before.append(Assign(name, a))
            statement = replaced(statement, a, Var(name))
        return [*before, statement]

    def changes(self, value: Array) -> bool:
        """Whether `value` is another in each turn of a loop."""
        mentioned = {r for a in below(value) for r in refs(*sizes_of(a))}
        taken = [i for a in below(value) if isinstance(a, Take) for i in a.items]
        return any(r in mentioned for r in self.sizes.loops) or any(i in self.slices.values() for i in taken)


def _branch(e: Equation, condition: Expr, holds: bool) -> Equation:
    """The equation where a condition holds, or does not."""
    where = None if e.where is None else branch(e.where, condition, holds)
    return replace(e, body=branch(e.body, condition, holds), where=where)

