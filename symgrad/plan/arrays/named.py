"""Names for parts of expressions: borders, windows, blocks, masks. One line says what they are, and others read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from ...expr import ZERO, Ref, refs
from ...ir import Dtype, Tensor
from ...ops import COMPARISONS, OPS
from ...records import replace
from .affine import Sizes
from .below import below, children, of_ranges, operations, sizes_of
from .commands import Assign, For, Guard, Statement, items_of, replaced, tops
from .guards import Line, arrays_in, names_read, targets_of
from .tree import (
    ALL,
    Along,
    Array,
    ArrayNode,
    Concatenate,
    Copy,
    Elementwise,
    Num,
    Pad,
    Permute,
    Range,
    Reduce,
    Reshape,
    Scan,
    Take,
    Var,
    Windows,
)

OFTEN = 3  # places in which a condition is read before it has a name
WORDS = {  # followed by the name of the first operand
    Windows: "windows",
    Pad: "padded",
    Reshape: "blocks",
    Concatenate: "terms",
    Elementwise: "mask",
}
BOUNDS = {"ge": "start", "lt": "stop"}  # what a range is compared with by these
Where = tuple[tuple[str, ...], tuple[tuple[str, bool], ...]]  # what a line serves, and when


def named(
    lines: Sequence[Line],
    sizes: Sizes,
    tensors: dict[str, Tensor],
    given: Collection[str],
    changes: Callable[[Array], bool],
) -> list[Line]:
    """The lines with names for borders, windows, blocks and masks.

    given    the tensors that are there before the first line
    changes  tells what is another in each turn of a loop
    """
    names: dict[Array, str] = {}
    result: list[Line] = []
    masks, everywhere = _masks(lines, given)
    everywhere = {a: serves for a, serves in everywhere.items() if not changes(a)}
    known: dict[str, Where] = {}
    everything = [a for line in lines for a in arrays_in(line.statement)]
    divisors = {a.args[1] for a in everything if isinstance(a, Elementwise) and a.op == "div"}

    def name_of(a: Array) -> str:
        if a not in names:
            if of_ranges(a):
                names[a] = sizes.names.new(_range_wish(a, everything))
                tensors[names[a]] = Tensor(names[a], (), Dtype.INT)
                return names[a]
            wish, first = _wish(a, tensors, a in divisors)
            names[a] = sizes.names.new(wish)
            tensors[names[a]] = tensors[first] if first else Tensor(names[a], ())
        return names[a]

    def inside_named(a: Array, others: Sequence[Array]) -> Array:
        value = a
        for other in reversed(others):
            if other != a and other in names:
                value = replaced(value, other, Var(names[other]))
        return value

    def put(line: Line) -> None:
        s = line.statement
        parts = arrays_in(s)
        early = [a for a in everywhere if a in parts]
        for a in early:
            if a not in names:
                result.append(Line(Assign(name_of(a), inside_named(a, early)), everywhere[a], ()))
        if isinstance(s, Guard) and s.when:  # what it reads may be there in one branch alone
            (name, present), *_ = s.when
            branches: list[tuple[Statement, ...]] = []
            for body, when in ((s.body, s.when), (s.otherwise, ((name, not present),))):
                start = len(result)
                for inner in body:
                    put(Line(inner, line.serves, (*line.when, *when)))
                branches.append(tuple(x.statement for x in result[start:]))
                del result[start:]
            result.append(replace(line, statement=replace(s, body=branches[0], otherwise=branches[1])))
            return
        own = {*targets_of(s)} if isinstance(s, For) else set()
        wanted = [
            a
            for a in (*_nameable(s), *(m for m in masks.get(_guard(line), ()) if m in parts))
            if a not in early and not changes(a) and not any(isinstance(b, Var) and b.name in own for b in below(a))
        ]
        for a in wanted:
            if known.get(name_of(a)) != (line.serves, line.when):
                for part in _one_by_one(inside_named(a, (*early, *wanted)), names[a]):
                    result.append(Line(Assign(names[a], part), line.serves, line.when))
                known[names[a]] = (line.serves, line.when)
        for block in reversed((*early, *wanted)):
            s = replaced(s, block, Var(names[block]))
        if isinstance(s, For):
            s = replace(s, body=_in_turn(s, sizes, tensors))
        result.append(replace(line, statement=s))

    for line in lines:
        put(line)
    return result


def _in_turn(loop: For, sizes: Sizes, tensors: dict[str, Tensor]) -> tuple[Statement, ...]:
    """What a loop does in each turn, with names for what is another one in each; what is read before it is written
    there, or under a condition, has none."""
    inner = {s.name for s in loop.body if isinstance(s, For)}
    written = {n for s in loop.body for n in targets_of(s)}
    before: set[str] = set()
    done: set[str] = set()
    for s in loop.body:
        before.update(n for n in names_read(s) if n in written - done)
        done.update(targets_of(s))
    guarded = {a for s in loop.body if isinstance(s, Guard) for a in arrays_in(s)}

    def changes(a: Array) -> bool:
        parts = below(a)
        if any(r.name in inner for b in parts for r in refs(*sizes_of(b))):
            return True
        return not of_ranges(a) and (a in guarded or any(isinstance(b, Var) and b.name in before for b in parts))

    lines = [Line(s, (), ()) for s in loop.body]
    given = {n for s in loop.body for n in names_read(s)} - written
    return tuple(x.statement for x in named(lines, sizes, tensors, given, changes))


def _guard(line: Line) -> Where:
    return line.serves, line.when


def _wish(a: Array, tensors: Mapping[str, Tensor], divides: bool) -> tuple[str, str]:
    """What an array is called, and a tensor in it, or "" where it is of numbers alone: `safe_x` where a 1 stands for
    what x may not be, or the first place for one that there is not, `masked_x` where it counts as 0."""
    if isinstance(a, Elementwise) and _is_guard(a):
        value, instead = sorted(a.args[1:], key=lambda branch: isinstance(branch, Num))
        first = _first(value) or _last(a)
        masked = isinstance(instead, Num) and instead.value is ZERO and tensors[first].dtype is not Dtype.INT
        noun = OPS[value.op].noun if isinstance(value, Elementwise) else ""
        noun = "ratio" if isinstance(value, Elementwise) and value.op == "div" else noun
        return f"{'masked' if masked else 'safe'}_{first}{'_' if noun else ''}{noun}", first
    if _of_guards(a):
        first = _first(a) or _last(a)
        return "denominator" if divides else f"guarded_{first}", first
    word, last = next(word for kind, word in WORDS.items() if isinstance(a, kind)), _last(a)
    return f"{word}_{last}" if last else word, last


def _range_wish(a: Array, everything: Sequence[Array]) -> str:
    """What an array made of ranges is called: `range_n`, `start_n` and `stop_n` of what that is compared with, a mask,
    or else places."""
    if isinstance(a, Range):
        return f"range_{a.extent.name}" if isinstance(a.extent, Ref) else "places"
    if isinstance(a, Elementwise) and OPS[a.op].result == "bool":
        return "mask"
    for b in everything:
        if isinstance(b, Elementwise) and b.op in BOUNDS and _unwidened(b.args[1]) == a:
            other = _unwidened(b.args[0])
            if isinstance(other, Range) and isinstance(other.extent, Ref):
                return f"{BOUNDS[b.op]}_{other.extent.name}"
    return "places"


def _unwidened(a: Array) -> Array:
    """An array without the axes that stand there to broadcast."""
    return _unwidened(a.base) if isinstance(a, Take) and all(i in (ALL, None) for i in a.items) else a


def _first(a: Array) -> str | None:
    """The first tensor in the reading of an array, conditions apart."""
    if isinstance(a, Var):
        return a.name
    parts = children(a)[1:] if isinstance(a, Elementwise) and a.op == "select" else children(a)
    return next((name for name in map(_first, parts) if name is not None), None)


def _last(a: Array) -> str:
    """The last one, or "": the maximum, where an array is compared with its own."""
    return next((b.name for b in below(a) if isinstance(b, Var)), "")


def _is_guard(a: Array) -> bool:
    """Whether it is an array, and a number where that will not do."""
    return isinstance(a, Elementwise) and a.op == "select" and sum(isinstance(b, Num) for b in a.args[1:]) == 1


def _of_guards(a: Array) -> bool:
    """Whether it is arithmetic on a guard: it stood in a branch, where nothing is shared before both are evaluated."""
    return isinstance(a, Elementwise) and bool(OPS[a.op].noun) and any(map(_is_guard, below(a)))


def _masks(
    lines: Sequence[Line], given: Collection[str]
) -> tuple[dict[Where, list[Array]], dict[Array, tuple[str, ...]]]:
    """The comparisons, the guards and the arithmetic on guards of what does not change that stand in several places,
    the inner ones first; guards, and those of windows or blocks, in two places, others in OFTEN. By guard; and those
    that stand under several or none, if they may be computed before, with the gradients that they serve."""
    written = [name for line in lines for name in targets_of(line.statement)]
    guarded = [x.statement for x in lines if not isinstance(x.statement, Assign) or x.serves or x.when]
    late = {name for s in guarded for name in targets_of(s)}
    found: dict[Where, Counter[Array]] = {}
    for line in lines:
        arrays = arrays_in(line.statement)
        if beside := _beside_places(line.statement):
            arrays = [*(Counter(arrays) - beside).elements()]
        guarded_here = any(map(_is_guard, arrays))
        for a in arrays:
            compares = isinstance(a, Elementwise) and a.op in COMPARISONS
            if isinstance(a, (Range, Elementwise)) and of_ranges(a):
                found.setdefault(_guard(line), Counter())[a] += 1
                continue
            if not (compares or guarded_here and (_is_guard(a) or _of_guards(a))):
                continue
            parts = [b.name for b in below(a) if isinstance(b, Var) and not b.number]
            if parts and all(written.count(name) < 2 for name in parts):
                found.setdefault(_guard(line), Counter())[a] += 1
    everywhere: dict[Array, tuple[str, ...]] = {}
    for a in _often(sum(found.values(), Counter())):
        mine = {b.name for b in below(a) if isinstance(b, Var) and not b.number}
        there = all(name in written or name in given for name in mine)
        guards = [guard for guard, some in found.items() if a in some]
        if there and late.isdisjoint(mine) and (len(guards) > 1 or guards == [((), ())]):
            served = [serves for serves, _ in guards]
            everywhere[a] = tuple(dict.fromkeys(g for serves in served for g in serves)) if all(served) else ()
    return {guard: [a for a in _often(some) if a not in everywhere] for guard, some in found.items()}, everywhere


def _beside_places(s: Statement) -> Counter[Array]:
    """The ranges beside places along an axis, which not every language writes."""
    found: Counter[Array] = Counter()
    for items in items_of(s):
        if any(isinstance(i, Along) for i in items):
            found.update(a for i in items if isinstance(i, ArrayNode) and of_ranges(i) for a in below(i))
    return found


def _often(some: Counter[Array]) -> list[Array]:
    few = [a for a in some if _is_guard(a) or of_ranges(a) or any(isinstance(b, (Reshape, Windows)) for b in below(a))]
    found = sorted((a for a, n in some.items() if n >= (2 if a in few else OFTEN)), key=lambda a: len([*below(a)]))
    found = [a for a in found if not any(some[b] == some[a] and b != a and a in below(b) for b in found)]
    return [a for a in found if not (of_ranges(a) and operations(a) == 1 and any(b in found for b in children(a)))]


def _nameable(s: Statement) -> list[Array]:
    """Borders, windows in several axes or of what has a border, axes split in blocks, and what is put together to be
    combined from its end; the inner ones first."""
    found: dict[Array, None] = {}
    for top in tops(s):
        every = below(top)
        if not any(isinstance(a, (Windows, Pad, Reshape, Scan)) for a in every):
            continue
        outer = [a for a in every if isinstance(a, Windows)]
        inside = [a.base for a in outer]
        within = [b for a in outer if isinstance(a.base, Reduce) and isinstance(b := a.base.base, Windows)]
        backwards = [a.base for a in every if isinstance(a, Scan) and a.reverse and isinstance(a.base, Concatenate)]
        for a in reversed(every):
            several = isinstance(a, Windows) and a not in inside and isinstance(a.base, (Windows, Pad)) or a in within
            blocks = isinstance(a, Reshape) and a.split and isinstance(a.base, Take)
            alone = a is top or (isinstance(top, (Permute, Copy)) and a is top.base)
            if several or ((blocks or isinstance(a, Pad)) and not alone) or a in backwards:
                found[a] = None
    return list(found)


def _one_by_one(value: Array, name: str) -> list[Array]:
    """Windows in one axis after the other, the later ones windows of what has the name already."""
    if isinstance(value, Windows) and isinstance(value.base, Windows):
        return [*_one_by_one(value.base, name), replace(value, base=Var(name))]
    return [value]
