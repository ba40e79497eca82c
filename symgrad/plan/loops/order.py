"""One step -> its loops: in which order they nest, and where a reduction accumulates.

If the innermost index of a reduction is one of its target, it accumulates into a row of the target (which vectorises);
otherwise into a scalar.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence, Set
from itertools import count
from math import prod

from ...domain import Domain, Facts
from ...expr import (
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    component_name,
    conjunction,
    conjuncts,
    const,
    indices,
    product,
    ref,
    refs,
    select,
    substitution,
)
from ...expr.sizes import tidy
from ...ir import NEUTRAL, Dtype, Equation, Tensor, When, covers, disjoint, disjoint_writes, writes_once
from ...ops.matrices import MATRICES
from ...records import replace
from ..conditions import all_of, exclusive, literal_bounds
from ..operands import columns_of
from ..program import Item, Step
from .contract import Product, contracted, product_of
from .data import FULL_AXIS, Block, Call, Guard, If, Local, Loop, Node, Note, Rewriter, Store, loops
from .integers import chosen, fresh_index, short
from .split import Split
from .targets import LANES, aligned, inner_loops, innermost, leads, pattern_of, windows, written_out

_WORDS = {"sum": "total", "prod": "product", "max": "largest", "min": "smallest", "argmax": "position"}


class Order:
    """Turns steps into blocks.

    language  rewrites what is evaluated into operators that the language has
    facts     what is known of the sizes
    scratch   the memory that calls work in, to be placed with the temporaries
    longer    what a new scalar is called where its name is taken
    """

    def __init__(self, table: Mapping[str, Tensor], language: Rewriter, facts: Facts) -> None:
        self._table = table
        self._facts = facts
        self._everywhere = Domain((), (), facts)
        self.limits: dict[Expr, Expr] = {}  # what the scalars are that limit a loop
        self._limits = Split(self._everywhere, self.name, self.limits, values=False)
        self._taken = {*table, *(r.name for t in table.values() for e in t.shape for r in refs(e))}
        self._language = language
        self._short, self._chosen = short(), chosen()
        self._serial = count(1)
        self.scratch: dict[str, Tensor] = {}
        self._products: dict[Equation, Product | None] = {}
        self.longer: dict[str, str] = {}

    def item(self, item: Item) -> Block:
        """The loops of one step, or of a recurrence."""
        if isinstance(item, Step):
            return self.step(item)
        first, turn, last = (
            tuple(node for inner in some for node in self._inner(inner, item))
            for some in (item.first, item.turn, item.last)
        )
        if not indices(item.extent):
            return (*first, Loop(item.index, item.extent, turn, reverse=item.reverse), *last)
        count = Local(self.name(f"{item.index.name}s"), item.extent, count=True)  # in the loop around it
        return (*first, count, Loop(item.index, ref(count.name), turn, reverse=item.reverse), *last)

    def _inner(self, item: Item, outer: Item) -> Block:
        """The loops of a part of a recurrence, asked for only where not all that this serves needs it."""
        block = self.item(item)
        return (Guard(item.serves, (), block),) if {*item.serves} < {*outer.serves} and item.serves else block

    def step(self, step: Step) -> Block:
        """The loops of one step, under a note of its equations."""
        tensor = self._table[step.target]
        given = [replace(e, when=tuple(w for w in e.when if w not in step.when)) for e in step.equations]
        stripped = list(map(self._short, given))
        equations = [  # extents are of arrays
            replace(self._language.equation(self._chosen(e)), box=e.box) for e in stripped
        ]
        note = Note(tuple(stripped), frozenset({step.target} if step.how == "add" else ()), facts=self._facts)
        if equations and equations[0].matrix is not None:
            return (note, *self._call(tensor, equations[0]))
        if step.how != "fill":
            return (*((note,) if stripped else ()), *(n for e in equations for n in self._more(tensor, e, step.how)))
        if not equations:
            return tuple(self._zero(tensor, (), set()))
        patterns = [pattern_of(e, tensor) for e in equations]
        if all(p is not None for p in patterns):
            return (note, *self._rectangles(tensor, equations, [p for p in patterns if p is not None]))
        if disjoint(equations, self._facts) and covers(equations, tensor.shape):
            all_of_it = (e for e in equations if e.where is None)  # nothing is left to the others
            return (note, *(node for e in all_of_it for node in self._contributions(tensor, [e], True)))
        return (note, *self._scattered(tensor, equations))

    def name(self, word: str, target: str = "") -> str:
        """A name of its own for a new scalar; what stands before the # is what will be printed, if it is free, else
        that and the `target` that it is a value of."""
        name = f"{word}#{next(self._serial)}"
        self.longer[name] = f"{target}_{word}" if target else word
        return name

    def _more(self, tensor: Tensor, e: Equation, how: str) -> Block:
        """One equation of a target that others write too: to elements of its own (write), or added to theirs."""
        if how == "once":
            return _guarded(e.when, loops(e.shown, _where(e, (Store(_element(e), e.body, ":="),))))
        if how == "write" and e.where is not None:
            decided, rest = _divided(e.where, {i for i, _ in e.reduced})
            before, value = self._reduction(tensor, replace(e, where=rest)) if e.reduced else ((), e.body)
            shown = replace(e, where=decided)
            return _guarded(e.when, self._limits.bounded(shown, e.shown, (*before, Store(_element(e), value))))
        if writes_once(e, self._facts):
            block = self._contributions(tensor, [replace(e, when=())], how == "write")
        else:
            block = self._scatter(tensor, e, (), False)
        return _guarded(e.when, self._inside(tensor, e, block) if e.where is not None else block)

    # functions of whole matrices

    def _call(self, tensor: Tensor, e: Equation) -> Block:
        """One call for each point of the batch: the operands and the result are whole rows and matrices of arrays, as
        `plan.operands` has prepared them."""
        row = e.matrix
        assert row is not None
        whole: dict[Expr, Expr] = {i: FULL_AXIS for i, _ in (*e.reduced, *e.result)}
        columns = columns_of(e)
        whole |= {i: FULL_AXIS for i, _ in columns}
        element, *operands = (
            ref(r.name, *(whole.get(s, s) for s in r.subscripts))
            for r in (ref(e.target, *e.subscripts), *e.operands)
            if isinstance(r, Ref)
        )
        calls = [kind for kind in MATRICES.values() if kind.function == row.function]
        sizes = list(dict(zip(row.axes.split(), (extent for _, extent in e.reduced), strict=True)).values())
        if len(row.operands) > 1:
            sizes.append(product([extent for _, extent in columns]))
        scratch = [ref(self._memory(sizes[0]), FULL_AXIS)] if row.integer else []
        call = Call(
            row.function,
            tuple(sizes),
            tuple(operands),
            tuple(element if kind is row else None for kind in calls),
            tuple(scratch),
        )
        inside = {i for i, _ in (*e.result, *columns)}
        block = loops([(i, extent) for i, extent in e.shown if i not in inside], (call,))
        zero = tuple(self._zero(tensor, (), set())) if e.when else ()
        return (*zero, *_guarded(e.when, block))

    def _memory(self, extent: Expr) -> str:
        """Memory for places along an axis, the same for every call that needs as much."""
        for name, tensor in self.scratch.items():
            if tensor.shape == (extent,):
                return name
        wishes = (f"scratch{number or ''}" for number in count(len(self.scratch)))
        name = next(wish for wish in wishes if wish not in self._taken)
        self.scratch[name] = Tensor(name, (extent,), Dtype.INT)
        return name

    # targets written at plain indices and literals

    def _rectangles(self, tensor: Tensor, equations: list[Equation], patterns: list[tuple[Expr | None, ...]]) -> Block:
        groups: dict[tuple[Expr | None, ...], list[Equation]] = {}
        for e, pattern in zip(equations, patterns, strict=True):
            groups.setdefault(pattern, []).append(e)
        literal = [tuple(axis for axis, s in enumerate(p) if s is not None) for p in groups]
        disjoint = len(set(literal)) == 1
        extents = [tensor.shape[axis] for axis in literal[0]]
        missing = _missing(groups, extents, literal[0]) if disjoint else None
        everywhere = tuple(None for _ in tensor.shape)
        covered = everywhere in groups or missing is not None and len(missing) <= len(groups)
        if missing and covered:  # fewer are 0 than not: no element is written twice
            e = equations[0]
            for pattern in missing:
                at = tuple(s if number is None else number for s, number in zip(e.subscripts, pattern, strict=True))
                groups[pattern] = [Equation(tensor.name, at, "none", ZERO, e.shown)]
            groups = dict(sorted(groups.items(), key=lambda item: [s.value for s in item[0] if isinstance(s, Const)]))
        block: list[Node] = [] if covered else list(self._zero(tensor, (), set()))
        for pattern, group in sorted(groups.items(), key=lambda item: item[0] != everywhere):
            assign = disjoint or pattern == everywhere
            block += self._inside(tensor, group[0], self._contributions(tensor, group, assign))
        return tuple(block)

    def _inside(self, tensor: Tensor, e: Equation, block: Block) -> Block:
        """`block` where the elements that `e` names without an index are there: x[0] is not where n is 0."""
        missing = [c for c in literal_bounds(e.subscripts, tensor.shape, self._table) if not self._everywhere.holds(c)]
        return (If(conjunction(missing), block),) if missing else block

    def _contributions(self, tensor: Tensor, equations: list[Equation], assign: bool) -> Block:
        """All that is added up in the same elements; they hold nothing yet if `assign`."""
        first, *others = equations
        equations = [first, *(aligned(e, first, self._taken) for e in others)]
        element = _element(first)
        shown = list(dict.fromkeys(part for s in first.subscripts for part in first.box if part[0] in indices(s)))
        alone = assign and len(equations) == 1 and not first.when
        rows = [self._inner_rows(e, alone) for e in equations]
        inner = next((found for found in rows if found), [])
        if inner:
            block = self._rows(tensor, [*zip(equations, map(bool, rows), strict=True)], element, inner, assign)
            return loops([(i, extent) for i, extent in shown if i not in inner], block)
        return loops(shown, self._element(tensor, equations, element, assign))

    def _inner_rows(self, e: Equation, alone: bool = False) -> list[Index]:
        """The indices of the target that are innermost in the reduction `e`; none if a reduced one is, or it is no sum
        and does not say `alone` what the elements are. Last those of a matrix, if it is a product of matrices."""
        found = self._product(e)
        if found is not None:
            inside = {*inner_loops(e, self._facts), *found.indices}
            return [i for s in e.subscripts for i in indices(s) if i in inside]
        in_rows = e.reduce == "sum" or alone and e.reduce in ("prod", "max", "min")
        if not in_rows or not e.reduced or written_out(e, e.reduced) or innermost(e) in {i for i, _ in e.reduced}:
            return []
        return inner_loops(e, self._facts)

    def _rows(
        self, tensor: Tensor, parts: list[tuple[Equation, bool]], element: Ref, inner: list[Index], assign: bool
    ) -> Block:
        """Equations, of which some accumulate into rows of the target, or matrices: these start with the first plain
        term, or with what is neutral."""
        first, by_rows = parts[0]
        row = [(i, extent) for i, extent in first.box if i in inner]
        row.sort(key=lambda part: inner.index(part[0]))
        start = next((e for e, _ in parts if not e.when and not e.reduced and e.where is None), None)
        block: list[Node] = []
        if assign:
            neutral = NEUTRAL[first.reduce] if by_rows else ZERO
            block += loops(row, (Store(element, neutral if start is None else start.body),))
        for e, by_rows in parts:
            if e is start and assign:
                continue
            if not e.reduced:
                add = loops(row, _where(e, (Store(element, e.body, "+="),)))
            elif not by_rows:
                before, value = self._reduction(tensor, e)
                add = loops(row, (*before, Store(element, value, "+=")))
            elif e.reduce == "sum":
                add = self._added(e, [*e.reduced, *row])
            else:
                add = self._limits.bounded(e, [*e.reduced, *row], self._kept(e, element))
            block += _guarded(e.when, add)
        return tuple(block)

    def _product(self, e: Equation) -> Product | None:
        if e not in self._products:
            self._products[e] = product_of(e, self._table, self._facts)
        return self._products[e]

    def _added(self, e: Equation, box: Sequence[tuple[Index, Expr]], how: str = "+=") -> Block:
        """What `e` says, added in loops over `box`; the innermost are a contraction where it multiplies matrices."""
        element = _element(e)
        found = self._product(e)
        if found is None:
            return self._limits.bounded(e, box, (Store(element, e.body, how),))
        block = self._limits.bounded(e, _last(box, found.indices), (Store(element, e.body, how),))
        return contracted(block, found, self.name("scale", component_name(element)))

    def _element(self, tensor: Tensor, equations: list[Equation], element: Ref, assign: bool) -> Block:
        """All contributions to one element, in a scalar where several meet or something is reduced."""
        parts = exclusive(equations)
        certain = len(parts[0]) > 1 or not parts[0][0].when
        if not any(e.reduced for e in equations) and (assign or len(equations) == 1) and certain:
            return self._in_turn(parts, element, assign)
        if len(equations) == 1 and certain:
            before, value = self._reduction(tensor, equations[0])
            return (*before, Store(element, value, "=" if assign else "+="))
        total = ref(self.name("total", component_name(element)))
        plain = not equations[0].when and not equations[0].reduced and equations[0].where is None
        start = equations[0].body if plain else ZERO
        block: list[Node] = [Local(total.name, start, tensor.dtype, changes=True)]
        for part in exclusive(equations[1:] if plain else equations):
            block += _choice([(e.when, self._add(tensor, e, total)) for e in part])
        return (*block, Store(element, total, "=" if assign else "+="))

    def _in_turn(self, parts: list[list[Equation]], element: Ref, assign: bool) -> Block:
        """The first contribution is stored if it is to be, the others are added where they stand."""

        def stored(e: Equation, first: bool) -> Block:
            if e.where is not None and first:
                return (Store(element, select(e.where, e.body, ZERO)),)
            return _where(e, (Store(element, e.body, "=" if first else "+="),))

        block: list[Node] = []
        for part in parts:
            block += _choice([(e.when, stored(e, assign and not block)) for e in part])
        return tuple(block)

    def _add(self, tensor: Tensor, e: Equation, total: Ref) -> Block:
        if not e.reduced:
            return _where(e, (Store(total, e.body, "+="),))
        if e.reduce == "sum":
            return self._limits.bounded(e, _last(e.reduced, [innermost(e)]), (Store(total, e.body, "+="),))
        before, value = self._reduction(tensor, e)
        return (*before, Store(total, value, "+="))

    # reductions to a scalar

    def _reduction(self, tensor: Tensor, e: Equation) -> tuple[Block, Expr]:
        """The loops over what `e` reduces, and the scalar that then holds the result."""
        assert e.reduce in _WORDS, f"{e.reduce} is lowered before"
        box = _last(e.reduced, [innermost(e)]) if e.reduce in ("sum", "prod") else list(e.reduced)
        result = ref(self.name(_WORDS[e.reduce], component_name(_element(e))))
        if e.reduce in ("sum", "prod"):
            start, how = NEUTRAL[e.reduce], "+=" if e.reduce == "sum" else "*="
            sums = self._limits.bounded(e, box, (Store(result, e.body, how),))
            return (Local(result.name, start, tensor.dtype, changes=True), *sums), result
        return self._extreme(tensor, e, box, result)

    def _extreme(self, tensor: Tensor, e: Equation, box: list[tuple[Index, Expr]], result: Ref) -> tuple[Block, Expr]:
        """max, min and argmax: a comparison that lets a NaN through and keeps it; where there may be many values to
        compare, a NaN beside, so that they are compared in any order."""
        few = isinstance(box[-1][1], Const) and box[-1][1].value < LANES or box[-1][0] in windows(e)
        start = NEUTRAL[e.reduce]
        if e.reduce == "argmax":
            best = ref(self.name("largest", component_name(_element(e))))
            before, value = self._term(e, False)
            block: Block = (Local(best.name, start, changes=True), Local(result.name, ZERO, Dtype.INT, changes=True))
            place: Expr = ZERO
            for i, extent in box:
                place = place * extent + i
            better = If(apply("gt", value, best), (Store(best, value), Store(result, place)))
            return (*block, *self._limits.bounded(e, box, (*before, better))), result
        block = (Local(result.name, start, changes=True),)
        if few:
            return (*block, *self._limits.bounded(e, box, self._kept(e, result))), result
        before, value = self._term(e, True)
        nan = ref(self.name("nan_seen", component_name(_element(e))))
        seen = Store(nan, select(apply("ne", value, value), value, ZERO), "+=")
        terms = self._limits.bounded(e, box, (*before, Store(result, value, f"{e.reduce}="), seen))
        kept = Store(result, select(apply("ne", nan, nan), nan, result))
        return (*block, Local(nan.name, ZERO, changes=True), *terms, kept), result

    def _kept(self, e: Equation, best: Ref) -> Block:
        """One factor that is multiplied by, or one value that is kept if it is the best; so is a NaN."""
        if e.reduce == "prod":
            return (Store(best, e.body, "*="),)
        before, value = self._term(e, True)
        failed = select(apply("ne", value, value), value, best)
        return (*before, Store(best, value, f"{e.reduce}="), Store(best, failed))

    def _term(self, e: Equation, named: bool) -> tuple[Block, Expr]:
        """What is compared, by a name if it is `named` or more than an element."""
        if not named and isinstance(e.body, Ref) and not any(isinstance(s, Apply) for s in e.body.subscripts):
            return (), e.body
        value = ref(self.name("value", component_name(_element(e))))
        return (Local(value.name, e.body),), value

    # targets written at other subscripts

    def _scattered(self, tensor: Tensor, equations: list[Equation]) -> Block:
        """Zero first, or what fills the whole target; then the rest is added. Under the leading indices that all
        equations share."""
        first, *others = equations
        products = [found for e in equations if (found := self._product(e)) is not None]
        inside = {i for found in products for i in found.indices}
        shared = 0
        while shared < len(tensor.shape) and all(leads(e, tensor, shared) for e in equations):
            if any(e.subscripts[shared] in inside for e in equations):
                break
            shared += 1
        equations = [first, *(aligned(e, first, self._taken, shared) for e in others)]
        outer = [(i, tensor.shape[axis]) for axis, i in enumerate(first.subscripts[:shared]) if isinstance(i, Index)]
        leading = tuple(i for i, _ in outer)
        taken = {i.name for e in equations for i, _ in e.box}
        fills = not first.reduced and not first.when and first.where is None
        fills = fills and all(literal is None for literal in pattern_of(first, tensor) or [ZERO])
        block = [] if fills else list(self._zero(tensor, leading, taken))
        for k, e in enumerate(equations):
            first_there = disjoint_writes(e, equations[:k], self._facts)
            block += _guarded(e.when, self._inside(tensor, e, self._scatter(tensor, e, leading, first_there)))
        return loops(outer, tuple(block))

    def _scatter(self, tensor: Tensor, e: Equation, leading: tuple[Index, ...], alone: bool) -> Block:
        element = _element(e)
        inner = innermost(e)
        shown = [(i, extent) for i, extent in e.shown if i not in leading]
        multiplies = self._product(e) is not None
        if e.reduced and not multiplies and (e.reduce != "sum" or inner in {i for i, _ in e.reduced}):
            decided, open_ = _divided(e.where, {i for i, _ in e.reduced})
            if open_ is None or e.reduce != "sum":  # else the element may be one only where the rest holds
                before, value = self._reduction(tensor, replace(e, where=open_))
                decided = decided if e.where is None else self._with_terms(tensor, e, decided)
                return self._limits.bounded(replace(e, where=decided), shown, (*before, Store(element, value, "+=")))
        how = "=" if alone and not e.reduced and writes_once(e, self._facts) else "+="
        box = [(i, extent) for i, extent in e.box if i not in leading]
        if how == "+=" and not multiplies and (found := self._along(tensor, e)) is not None:
            return self._added(found, [part for part in found.box if part[0] not in leading])
        last, short = inner_loops(e, self._facts), windows(e)
        if how == "=" and written_out(e, [part for part in box if part[0] in short]):
            last += [i for i, _ in box if i in short]
        return self._added(e, _last(box, last), how)

    def _along(self, tensor: Tensor, e: Equation) -> Equation | None:
        """The same value added to each element of a window, x[i + s] for each s, along the elements that it is added
        to: from s to n + s. From 0 to n, a compiler takes s for the innermost index: it has the value at hand then,
        and no vectors, where windows overlap."""
        i = innermost(e)
        if i is None or e.where is not None or i in indices(*e.subscripts[:-1]):
            return None
        rest = tidy(e.subscripts[-1] - i)
        beside = {*indices(rest)}
        if not beside or not beside <= windows(e) - {i, *indices(e.body)}:
            return None
        k = fresh_index({*self._taken, *(j.name for j, _ in e.box)})
        put = substitution({i: k - rest})
        moved = self._short(replace(e, subscripts=tuple(map(put, e.subscripts)), body=put(e.body)))
        inside = conjunction([apply("ge", k, rest), apply("lt", k, dict(e.box)[i] + rest)])
        return replace(moved, where=inside, box=(*(part for part in e.box if part[0] is not i), (k, tensor.shape[-1])))

    def _with_terms(self, tensor: Tensor, e: Equation, decided: Expr | None) -> Expr | None:
        """The condition, and that there is something to be added up, if it alone does not say that the element of the
        target is one."""
        domain = Domain.of(e.shown, decided, self._facts)
        inside = all(domain.inside(s, axis) for s, axis in zip(e.subscripts, tensor.shape, strict=True))
        missing = [c for _, n in e.reduced if not self._everywhere.holds(c := apply("gt", n, ZERO))]
        return decided if inside else all_of([*(conjuncts(decided) if decided is not None else []), *missing])

    def _zero(self, tensor: Tensor, leading: tuple[Index, ...], taken: set[str]) -> Block:
        """0 in every element under the leading indices."""
        taken = taken | self._taken
        box = [(fresh_index(taken), extent) for extent in tensor.shape[len(leading) :]]
        element = ref(tensor.name, *leading, *(i for i, _ in box))
        return loops(box, (Store(element, ZERO),))


def _missing(
    patterns: Collection[tuple[Expr | None, ...]], extents: Sequence[Expr], axes: Sequence[int]
) -> list[tuple[Expr | None, ...]] | None:
    """The patterns that are not there, of those with a number at each of the axes; None where these have no numbers."""
    if not all(isinstance(e, Const) for e in extents):
        return None
    (first, *_) = patterns
    ranges = [range(int(e.value)) for e in extents if isinstance(e, Const)]
    if prod(map(len, ranges)) > 2 * len(patterns):
        return None
    found: list[tuple[Expr | None, ...]] = []
    for place in itertools.product(*ranges):
        numbers = dict(zip(axes, map(const, place), strict=True))
        pattern: tuple[Expr | None, ...] = tuple(numbers.get(axis) for axis in range(len(first)))
        found += [pattern] if pattern not in patterns else []
    return found


def _element(e: Equation) -> Ref:
    """What the equation writes."""
    return ref(e.target, *e.subscripts)


def _divided(condition: Expr | None, changing: Set[Index]) -> tuple[Expr | None, Expr | None]:
    """The part of a condition that is decided without the indices `changing`, and the rest."""
    parts = [] if condition is None else conjuncts(condition)
    decided, rest = (all_of(c for c in parts if changing.isdisjoint(indices(c)) is alone) for alone in (True, False))
    return decided, rest


def _last(box: Sequence[tuple[Index, Expr]], inner: Sequence[Index | None]) -> list[tuple[Index, Expr]]:
    """The box with the indices `inner` last."""
    return sorted(box, key=lambda part: inner.index(part[0]) if part[0] in inner else -1)


def _where(e: Equation, block: Block) -> Block:
    return block if e.where is None else (If(e.where, block),)


def _guarded(when: When, block: Block) -> Block:
    return (Guard((), when, block),) if when else block


def _choice(variants: list[tuple[When, Block]]) -> Block:
    """One guard after the other; of several that exclude each other, the last is what remains."""
    if len(variants) == 1:
        return _guarded(*variants[0])
    block = variants[-1][1]
    for when, body in reversed(variants[:-1]):
        block = (Guard((), when, body, block),)
    return block
