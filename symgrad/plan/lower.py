"""Lowering: what a target has no word for becomes what it has, and what is written twice is computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from functools import lru_cache

from ..domain import Domain, Facts
from ..expr import (
    ONE,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    comparisons,
    folded,
    index,
    indices,
    is_short,
    one_fraction,
    operators,
    outermost,
    postorder,
    preorder,
    ref,
    refs,
    select,
    size,
    substitute,
    transform,
    transformer,
    values,
    with_args,
)
from ..expr.names import Names
from ..ir import Box, Equation, Role, Tensor, asked_before, range_of, unconditional
from ..ops import OPS, in_others, lacks
from ..ops.limits import INFINITY
from ..ops.naming import wishes
from ..records import replace
from ..simplify.match import Finder
from .conditions import may_leave
from .exponents import given, of_difference

Part = tuple[Expr, tuple[Expr, ...]]  # an operation by its key, and how far its indices run


def expanded(equations: Iterable[Equation], target: str, tensors: Mapping[str, Tensor]) -> list[Equation]:
    """Every operator that the target does not have is written in others, which it may not have either."""

    known: dict[Expr, bool] = {}
    equations = list(equations)
    beside = target == "c" and any(OPS[op].beside is not None for e in equations for op in operators(e.body))
    called = unconditional(*(e.body for e in equations)) if beside else set()

    def computed(node: Expr) -> bool:
        """Whether it is arithmetic on inputs."""
        if isinstance(node, Apply):
            return OPS[node.op].arithmetic and all(known[a] for a in node.args)
        return not isinstance(node, Ref) or given(node, tensors)

    def rewrite(node: Expr) -> Expr:
        fine = isinstance(node, Apply) and all(folded(a, known, computed) for a in node.args)
        found = _beside(node, called)
        found = in_others(node, target, finer=fine) if found is None else found
        return node if found is None else differences(found)

    def put(root: Expr) -> Expr:
        return lowered(root) if any(lacks(op, target) for op in operators(root)) else root

    differences = transformer(lambda n: of_difference(n, target, tensors))
    lowered = transformer(rewrite)
    return [replace(e, body=put(e.body), where=None if e.where is None else put(e.where)) for e in equations]


def _beside(node: Expr, called: Collection[Expr]) -> Expr | None:
    """`node` by functions that are computed anyway, if its row has such a form."""
    row = OPS[node.op] if isinstance(node, Apply) else None
    if row is None or row.beside is None:
        return None
    found = row.beside(*node.args)
    parts = preorder([found], lambda n: () if n in node.args else n.args)
    functions = (n for n in parts if n not in node.args and isinstance(n, Apply) and OPS[n.op].kind == "function")
    return found if all(n in called for n in functions) else None


def with_arguments(
    equations: Sequence[Equation], target: str, tensors: dict[str, Tensor], names: Names
) -> list[Equation]:
    """What is read several times by the other operators that one is written in, longer than a name, as an equation of
    its own: `pre_gate` for the sum in `gate = sigmoid(sum)`, where the gate has its author's name."""
    known: dict[object, Ref] = {}
    result: list[Equation] = []
    for e in equations:
        extents = dict(e.box)
        own = tensors[e.target].named or tensors[e.target].role == Role.OUTPUT
        outside = _occurrences(e, branches=False) if own and e.where is None else {}
        found: dict[Expr, Expr] = {}
        for node in postorder(e.body):
            argument = node.args[0] if isinstance(node, Apply) and len(node.args) == 1 else node
            if is_short(argument, 1) or range_of(node, extents) not in outside or not _repeats(node, target):
                continue
            part = (range_of(argument, extents), e.when)
            if part not in known:
                name = names.new(f"pre_{e.target}")
                tensors[name], equation, known[part] = e.part(name, argument)
                result.append(equation)
            found[argument] = known[part]
        result.append(e.with_body(substitute(e.body, found)) if found else e)
    return result


def _repeats(node: Expr, target: str) -> bool:
    """Whether an operator of one argument is written in others that read it several times."""
    if not (isinstance(node, Apply) and len(node.args) == 1):
        return False
    marker = index("#")
    found = in_others(with_args(node, [marker]), target)
    return found is not None and sum(a is marker for n in postorder(found) for a in n.args) > 1


def without_logsumexp(
    equations: Sequence[Equation],
    border: int,
    outputs: Collection[str],
    tensors: dict[str, Tensor],
    names: Names,
    style: str,
) -> list[Equation]:
    """L = logsumexp u as the pair m = max u, s = sum exp(u - m); m is -oo where there is no u, so of a maximum that
    others declare it is told apart (`supremum`) in the style in which that would be an error, `arrays`. There u is -oo
    where it does not count, by a name.

    Who reads exp(u - L) reads exp(u - m)/s instead: exp(u - L) as it stands would lose the digits that L has before the
    point. Only backward, from the `border` on, keeps it where L is an output, and then m and s need not be saved. Who
    reads L itself reads m + log s; where m is infinite, s is no number, and m + log 1 is read.
    """
    finders: list[tuple[str, Finder]] = []
    lowered: list[Equation] = []
    for e in equations[:border]:
        if e.reduce != "logsumexp":
            lowered.append(e)
            continue
        word = next((r.name for r in refs(e.body) if r.subscripts), e.target)
        given = e
        masked = e.body if e.where is None else select(e.where, e.body, -INFINITY)
        if style == "arrays" and INFINITY in postorder(masked):
            name = names.new(f"masked_{word}", f"masked_{word}_{e.target}")
            tensors[name], equation, element = e.part(name, masked)
            lowered.append(equation)
            e = replace(e, body=element, where=None)
        top = names.new(f"max_{word}", f"max_{word}_{e.target}")
        total = names.new(f"sum_exp_{word}", f"sum_exp_{word}_{e.target}")
        for name in (top, total):
            tensors[name] = Tensor(name, tensors[e.target].shape)
        m, s = ref(top, *e.subscripts), ref(total, *e.subscripts)
        number = select(apply("ne", s, s), ONE, s)
        result = ref(e.target, *e.subscripts)
        lowered += [
            replace(e, target=top, reduce="supremum" if style == "arrays" else "max"),
            replace(e, target=total, reduce="sum", body=apply("exp", e.body - m)),
            Equation(e.target, e.subscripts, "none", m + apply("log", number), e.shown, None, e.when),
        ]

        def ratio(found: dict[Expr, Expr], body: Expr = given.body, m: Expr = m, s: Expr = s) -> Expr:
            return substitute(apply("exp", body - m) / s, found)

        finders.append((e.target, Finder(apply("exp", given.body - result), [i for i, _ in e.box], ratio)))

    def look(e: Equation, found: Sequence[Finder]) -> Equation:
        def rewrite(node: Expr) -> Expr:
            for finder in found:
                changed = finder.at(node)
                if changed is not None:
                    return changed
            return node

        return e.mapped(lambda node: transform(node, rewrite)) if found else e

    inside = [f for name, f in finders if name not in outputs]
    return [*(look(e, [f for _, f in finders]) for e in lowered), *(look(e, inside) for e in equations[border:])]


def suprema(equations: Sequence[Equation]) -> list[Equation]:
    """The equations for the style in which a maximum of nothing would be an error: one is `supremum`, -oo of nothing,
    where all that read it ask whether it is finite."""
    if all(e.reduce != "max" for e in equations):
        return list(equations)
    asked, unasked = set[str](), set[str]()
    for e in equations:
        nodes = {*postorder(*e.expressions)}
        for r in nodes:
            if isinstance(r, Ref):
                (asked if apply("lt", apply("abs", r), INFINITY) in nodes else unasked).add(r.name)
    told = asked - unasked
    return [replace(e, reduce="supremum") if e.reduce == "max" and e.target in told else e for e in equations]


SHORT = 8  # operations of a call that is shared in a formula too long to be looked through


def shared(
    equations: Sequence[Equation], tensors: dict[str, Tensor], names: Names, facts: Facts, calls: bool = False
) -> list[Equation]:
    """What calls a function (or is long) and stands in several places gets an equation of its own.

    calls  only calls of functions of what is short
    Nothing leaves the branch of a `where`, and nothing is shared between different conditions.
    """
    uses, homes, certain = (_short_calls if calls else _parts)(equations)
    repeated = (n for n in uses if uses[n] > 1 and n in certain)
    # a name is one of a real number: 7 // maximum(k, 1) stays as it is written
    possible = [n for n in repeated if _alike(equations, homes[n]) and not facts.integer(n[0])]
    worth: set[Part] = set()
    named: set[Expr] = set()
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    wholes = Counter((range_of(e.body, dict(e.box)), e.target) for e in equations)
    entries = {part for (part, _), times in wholes.items() if times > 1}  # of one matrix, twice
    reads: dict[Expr, bool] = {}  # whether it is more than a number made of options and sizes, which needs no name
    sizes = {part: size(part[0]) for part in possible}

    def read(node: Expr) -> bool:
        return isinstance(node, Ref) and node.name in tensors or any(map(reads.__getitem__, node.args))

    for part in sorted(possible, key=sizes.__getitem__):
        if folded(part[0], reads, read) and _worth(part[0], len(homes[part]), uses[part], named, part in entries):
            boxes = [equations[h].box for h in homes[part]]
            mine = tuple(pair for pair in boxes[0] if pair[0] in indices(part[0]))
            if mine in boxes or may_leave(part[0], Domain.of(mine, None, facts), shapes):
                worth.add(part)
                named.add(part[0])
    chosen = [n for n in possible if n in worth]
    # a part that stands only inside of another chosen part needs no name of its own: once where that stands
    alike = {(n[0], uses[n]) for n in chosen}
    within = {pair for node, k in {(n[0], len(homes[n])) for n in chosen} for pair in _inside(node, k, alike)}
    chosen = [n for n in chosen if (n[0], uses[n]) not in within]
    if not chosen:
        return list(equations)
    result: list[Equation] = []
    place_of: dict[Part, Ref] = {}
    first: dict[int, list[Part]] = {}
    # by the box: what equations share is rebuilt once, for none reads a part before the one in which that gets its name
    replaced: dict[Box, dict[Expr, Expr]] = {}
    for part in chosen:
        first.setdefault(min(homes[part]), []).append(part)
    writers = Counter(e.target for e in equations)
    for place, e in enumerate(equations):
        extents, done = dict(e.box), replaced.setdefault(e.box, {})
        written = {n.key: n for n in postorder(e.body)} if place in first else {}
        order = {key: k for k, key in enumerate(written)} if calls else {}
        whole = e.body
        for part in sorted(first.get(place, ()), key=lambda p: (sizes[p], order.get(p[0], 0))):
            body = written.get(part[0], part[0])
            # the last one, of which all others are parts
            if body is whole and writers[e.target] == 1 and _is_value(e, tensors):
                e = e.with_body(_replaced(body, place_of, extents, done))
                done[body] = place_of[part] = ref(e.target, *e.subscripts)
                break
            name = names.new(*wishes(body))
            tensors[name], equation, place_of[part] = e.part(name, _replaced(body, place_of, extents, done))
            done[body] = place_of[part]
            result.append(equation)
        else:
            e = e.with_body(_replaced(e.body, place_of, extents, done))
        result.append(e)
    return result


def _parts(equations: Sequence[Equation]) -> tuple[dict[Part, int], dict[Part, list[int]], set[Part]]:
    """How often each operation is read, by which equations, and those that are read whatever conditions hold."""
    uses: dict[Part, int] = {}
    homes: dict[Part, list[int]] = {}
    certain: set[Part] = set()
    for place, e in enumerate(equations):
        all_of_it = _occurrences(e, branches=True)
        lazy = any(OPS[op].lazy for op in operators(e.body))
        certain.update(_occurrences(e, branches=False) if lazy else all_of_it)
        for part, times in all_of_it.items():
            uses[part] = uses.get(part, 0) + times
            homes.setdefault(part, []).append(place)
    return uses, homes, certain


def _short_calls(equations: Sequence[Equation]) -> tuple[dict[Part, int], dict[Part, list[int]], set[Part]]:
    """The same of calls of functions of what is short. What equations have in common is looked at once: those that read
    a part are the bits of a number."""
    uses: dict[Part, int] = {}
    readers: dict[Part, int] = {}
    certain: set[Part] = set()
    boxes: dict[Box, list[int]] = {}
    for place, e in enumerate(equations):
        if e.matrix is None:
            boxes.setdefault(e.box, []).append(place)
    for box, places in boxes.items():
        extents, times, mine = dict(box), Counter[Expr](), Counter[Expr]()
        for place in places:
            root = equations[place].body.key
            times[root] += 1
            mine[root] |= 1 << place
        for node in reversed(values(*mine)):
            if isinstance(node, Apply):
                for a in node.args:
                    times[a] += mine[node].bit_count()
                    mine[a] |= mine[node]
                if _is_function(node) and is_short(node, SHORT):
                    part = range_of(node, extents)
                    uses[part] = uses.get(part, 0) + times[node]
                    readers[part] = readers.get(part, 0) | mine[node]
        sure = unconditional(*(equations[place].body for place in places))
        certain.update(range_of(n, extents) for n in sure if isinstance(n, Apply) and _is_function(n))
    homes = {part: [k for k in range(bits.bit_length()) if bits >> k & 1] for part, bits in readers.items()}
    return uses, homes, certain


def _is_value(e: Equation, tensors: Mapping[str, Tensor]) -> bool:
    """Whether others may read what `e` computes in place of its body: it is no result, and has all of its elements."""
    alone = e.reduce == "none" and e.where is None and not e.when and e.fills(tensors[e.target])
    return alone and tensors[e.target].role == Role.LOCAL and {*e.subscripts} == {*indices(e.body)}


def _inside(root: Expr, uses: int, parts: Container[tuple[Expr, int]]) -> list[tuple[Expr, int]]:
    """Those of the parts that stand inside of one and are used so often; not those inside of these."""

    def below(node: Expr) -> Sequence[Expr]:
        return () if node is not root and (node.key, uses) in parts else node.args

    return [pair for n in preorder([root], below) if n is not root and (pair := (n.key, uses)) in parts]


def reread(equations: Sequence[Equation], own: Collection[str]) -> list[Equation]:
    """What is one of the values `own` that have a name already is read by that name, before which it does not stand."""
    result = list(equations)
    for name in [e.target for e in equations if e.target in own]:
        place = next(k for k, e in enumerate(result) if e.target == name)
        e = result.pop(place)
        part = range_of(e.body, dict(e.box))
        homes = [k for k, other in enumerate(result) if part in _occurrences(other, branches=True)]
        if homes and isinstance(e.body, Apply) and _alike([*result, e], [*homes, len(result)]) and e.reduce == "none":
            known = {part: ref(name, *e.subscripts)}
            for k in homes:
                result[k] = replace(result[k], body=_replaced(result[k].body, known, dict(result[k].box)))
            place = min(place, homes[0])
        result.insert(place, e)
    return result


def _replaced(
    body: Expr,
    place_of: Mapping[Part, Ref],
    extents: Mapping[Index, Expr],
    done: dict[Expr, Expr] | None = None,
) -> Expr:
    return outermost(body, lambda node: place_of.get(range_of(node, extents)), done=done)


def aligned(equations: Sequence[Equation]) -> list[Equation]:
    """A reduced index takes the letter that other equations show at the same axis, so that equal parts are found
    equal: `sum[l](exp(x[i,l]))` beside `exp(x[i,j]) / ...`."""
    letters: dict[tuple[str, int], Index] = {}
    for e in equations:
        shown = {i for i, _ in e.shown}
        for r in e.reads:
            for axis, s in enumerate(r.subscripts):
                if isinstance(s, Index) and s in shown:
                    letters.setdefault((r.name, axis), s)
    result = []
    for e in equations:
        names: dict[Expr, Expr] = {}
        taken, reduced = {i for i, _ in e.box}, {i for i, _ in e.reduced}
        for r in e.reads:
            for axis, s in enumerate(r.subscripts):
                wish = letters.get((r.name, axis))
                if s in reduced and wish is not None and wish not in taken and s not in names:
                    names[s] = wish
                    taken.add(wish)
        result.append(e.at(names) if names else e)
    return result


def divided_once(equations: Sequence[Equation], tensors: dict[str, Tensor], names: Names) -> list[Equation]:
    """A sum of quotients by one number as the quotient of the sum: a loop then divides once, not at every step."""
    result: list[Equation] = []
    for e in equations:
        reduced = {i for i, _ in e.reduced}
        here = e.plain and e.where is None or e.fills(tensors[e.target])  # the quotient is written on no condition
        above, below = _quotient(e.body) if e.reduce == "sum" and reduced and here else (e.body, ONE)
        if below is ONE or set(indices(below)) & reduced or any(r.subscripts for r in refs(below)):
            result.append(e)
            continue
        word = e.target.removeprefix("mean_")
        name = names.new(f"sum_{word}" if word != e.target else f"{word}_sum")
        tensors[name] = Tensor(name, tensors[e.target].shape)
        total = ref(name, *e.subscripts)
        result.append(replace(e, target=name, body=above))
        result.append(Equation(e.target, e.subscripts, "none", total / below, e.shown, None, e.when))
    return result


def _quotient(node: Expr) -> tuple[Expr, Expr]:
    """What is divided, and by what; of a product, what one of its factors is divided by."""
    if isinstance(node, Apply) and node.op == "div":
        return node.args[0], node.args[1]
    if isinstance(node, Apply) and node.op == "neg":
        first, below = _quotient(*node.args)
        return -first, below
    if isinstance(node, Apply) and node.op == "mul":
        a, b = node.args
        (first, below), (second, other) = _quotient(a), _quotient(b)
        return (first * b, below) if below is not ONE else (a * second, other)
    return node, ONE


def tidied(equations: Sequence[Equation]) -> list[Equation]:
    """The equations with one fraction where there were two."""
    kept = (dict(zip(found, found, strict=True)) for found in (comparisons(e.body) for e in equations))
    return [e.with_body(transformer(one_fraction, given)(e.body)) for e, given in zip(equations, kept, strict=True)]


@lru_cache(maxsize=2**10)
def _occurrences(e: Equation, branches: bool) -> Mapping[Part, int]:
    """How often each operation of the body is read; `branches`: also what only a branch of a `where` reads."""
    counts: dict[Part, int] = {}
    extents = dict(e.box)
    stack: list[Expr] = [e.body] if e.matrix is None else []
    while stack:
        node = stack[-1]
        del stack[-1]
        if isinstance(node, Apply):
            known = range_of(node, extents)
            if known in counts:
                counts[known] += 1
            else:
                counts[known] = 1
                stack += node.args if branches else [a for k, a in enumerate(node.args) if not asked_before(node, k)]
    return counts


def _worth(node: Expr, homes: int, uses: int, named: Collection[Expr], entry: bool) -> bool:
    """Whether sharing helps: a call of a function, long arithmetic inside of one equation, that is read four times, or
    that is an `entry` in several places, a guard of more than a number, or what is read three times: a guard, or
    arithmetic on a call. What is `named` costs nothing."""
    met = preorder([node], lambda n: n.args if isinstance(n, Apply) and n.key not in named else ())
    own = [n for n in met if isinstance(n, Apply) and n.key not in named]
    calls = any(_is_function(n) for n in own)
    guard = _is_guard(node) and (uses > 2 or len(own) > 2)
    often = guard or uses > 2 and any(n.key in named for n in met)
    long = len(own) >= 4 and (homes == 1 or uses > 3 or entry)
    return (calls or long or often) and not (isinstance(node, Apply) and node.op == "neg")


def _is_function(node: Apply) -> bool:
    """Whether it costs enough to be named after its function."""
    return not OPS[node.op].cheap and OPS[node.op].kind != "power"


def _is_guard(node: Expr) -> bool:
    """Whether it is where(x == 0, 1, x), or the like: a value, and a number where that will not do."""
    if not (isinstance(node, Apply) and node.op == "select"):
        return False
    return sum(isinstance(branch, Const) for branch in node.args[1:]) == 1


def _alike(equations: Sequence[Equation], homes: Sequence[int]) -> bool:
    first = equations[homes[0]]
    return all(equations[h].when == first.when and equations[h].where is None for h in homes)
