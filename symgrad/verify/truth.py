"""The values and gradients that the check believes, how sensitive they are, and the second witness.

`truth` raises the precision until two precisions agree. `differences` takes central differences of the declaration at
200 and more digits, which knows nothing of SymPy. `conditioning` estimates, for each element g,

    sum_i |x_i dg/dx_i|     over the inputs, the options and grad_output

by perturbing what g depends on: no correctly rounded program can do better than a few u times |g| plus that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, combinations, product
from typing import Any

import mpmath
import numpy as np
from mpmath import mp
from mpmath.libmp import to_float

from ..evaluate import evaluate
from ..expr import Apply, Ref, indices
from ..ir import Equation, Function, below, reached, unconditional
from ..records import dataclass
from .cases import Case
from .domains import inwards
from .reference import Declaration, Sided, Trace
from .rounding import REACH
from .sizes import boxes
from .text import Array, Values, gradient_key, has_backward, moved, together

LADDER = (160, 1300, 2700)  # bits; 1 + 1e-300 is not 1 from the second on: two low precisions may agree on a wrong 0
TINY = 1e-150  # the square of a smaller input leaves no trace beside 1 at the second precision,
LARGE = 400.0  # nor does that of the exponential of a larger one's negative
DECIDED = 70  # bits that two precisions must share
INVISIBLE = -1080  # as a power of two: below half the smallest subnormal double
LOOKS = (0, 1000, 2400)  # digits more with which differences are taken; the step has a third of them
DOUBLE = 10  # digits of a slope to which a value in double precision is a function at all, beside itself
MANY = 4  # operators at kinks at a bound of the domain, of which any may have its slope inside
INWARDS = -220  # the step from a bound of the domain, as a power of two
NUDGE = 50  # relative perturbations of 2**-NUDGE
COORDINATES = 8  # up to so many numbers are perturbed one by one


@dataclass(frozen=True, slots=True)
class Truth:
    """Outputs and gradients at one point, packs as one axis; NaN where they are undecided or do not exist.

    bits       the precision from which on the values stay the same
    kinked     a declared derivative was used: differences would not see it
    undecided  the number of elements on which no two precisions agree
    inward     the gradients, as results, where kinks at a bound of the domain have their slopes inside: those of some
               operators, or of all
    """

    outputs: dict[str, Array]
    gradients: dict[str, Array]
    bits: int
    kinked: bool
    undecided: int
    inward: Sequence[Mapping[str, Array]] = ()

    def nearest(self, name: str, obtained: Array) -> Array:
        """What a result should be: at a kink at a bound of the domain the slope of an operator is the declared one, or
        the one inside, which a simpler formula has there."""
        array = self.arrays[name]
        others = [slopes[name] for slopes in self.inward if name in slopes]
        if not others:
            return array
        found = array.copy()
        for position, expected in np.ndenumerate(array):
            value = getattr(obtained[position], "value", obtained[position])
            allowed = [expected, *(o[position] for o in others if mp.isfinite(o[position]))]
            if mp.isfinite(expected) and isinstance(value, (int, float, mpmath.mpf)):
                found[position] = min(allowed, key=lambda v: abs(value - v))
        return found

    @property
    def arrays(self) -> dict[str, Array]:
        """Outputs by name, and gradients as `grad_<input>`."""
        return together(self.outputs, self.gradients)


def truth(declaration: Declaration, case: Case) -> Truth:
    """Evaluate the declaration and J^T v at rising precision until two precisions agree.

    There is no gradient where an output has no value (where several points are the first axis, each by itself), nor
    where a grad_output of 0, or a sum of nothing, hides that it is infinite; and no mean of nothing, with weights or
    without.
    """
    seeds, count = case.seeds, case.count
    before: dict[str, Array] = {}
    undecided, low = 0, LADDER[0]
    given = [np.abs(np.asarray(a, float)) for a in case.inputs.values() if a is not None]
    traceless = any(np.any((a != 0) & (a < TINY) | (a > LARGE) & (a < np.inf)) for a in given)
    for bits in LADDER:
        with mp.workprec(bits):
            trace = declaration.trace(case.inputs, case.options)
            outputs = {name: trace.arrays[name] for name in declaration.function.outputs}
            gradients = trace.pull(seeds) if has_backward(declaration.function) else {}
        after = together(outputs, gradients)
        if before:
            undecided = 0
            for name, array in after.items():
                for position, value in np.ndenumerate(array):
                    doubtful = traceless and value == 0 and bits != LADDER[-1]
                    if doubtful or not _agree(before[name][position], value):
                        undecided += 1
                        if bits == LADDER[-1]:
                            array[position] = mp.nan
            if not undecided:
                break
        before, low = after, bits
    if any(s is not None and not np.all(s) for s in seeds.values()):
        with mp.workprec(low):
            whole = trace.pull({n: None if s is None else np.ones(np.shape(s)) for n, s in seeds.items()})
        for name, array in gradients.items():
            for position, value in np.ndenumerate(whole[name]):
                if not mp.isfinite(value):
                    array[position] = mp.nan
    with mp.workprec(low):
        hidden, means = _hidden(declaration.function, trace), _means_of_nothing(declaration.function, trace)
    rows = count if count > 1 and all(len(a) == count for a in after.values()) else 1
    for row in range(rows):
        part = slice(row, row + 1) if rows > 1 else ...
        if hidden or not all(mp.isfinite(v) for a in outputs.values() for v in a[part].ravel()):
            for array in gradients.values():
                array[part] = mp.nan
    for name in means:
        outputs[name][...] = mp.nan
    with mp.workprec(low):
        inward = _inward(declaration, case, trace)
    return Truth(outputs, gradients, low, trace.kinked, undecided, inward)


def _inward(declaration: Declaration, case: Case, trace: Trace) -> tuple[Mapping[str, Array], ...]:
    """The gradients with slopes from inside of the domain, by what they are as results, if kinks are at its bounds."""
    function = declaration.function
    found = []
    for chosen in one_sided(declaration, case, trace) if has_backward(function) else ():
        with trace.with_slopes(chosen):
            slopes = trace.pull(case.seeds)
        found.append({gradient_key(n, function.outputs): g for n, g in slopes.items()})
    return tuple(found)


def one_sided(declaration: Declaration, case: Case, trace: Trace) -> Iterator[Sequence[Sided]]:
    """The slopes from inside of the domain at kinks that are at its bounds: of one operator, of several, of all."""
    function = declaration.function
    if not (trace.kinked and function.domain):
        return
    with mp.workprec(max(-4 * INWARDS, mp.prec)):
        inputs = inwards(function, case.inputs, mpmath.ldexp(1, INWARDS))
        beside = declaration.attempt(inputs, case.options) if inputs else None
        kinks = [] if beside is None else trace.one_sided(beside)
    some = range(1, len(kinks) + 1) if len(kinks) <= MANY else (1, len(kinks) - 1, len(kinks))
    for chosen in chain.from_iterable(combinations(kinks, count) for count in some):
        yield [*chain.from_iterable(chosen)]


def _hidden(function: Function, trace: Trace) -> bool:
    """Whether what is no number may stand beside a sum of nothing: the formula has 0 there, and code 0 times that.

    A logsumexp of nothing is -oo, and its gradient is asked for all the same, where an output has elements.
    """
    if all(map(all, boxes(function, trace.sizes, trace.numbers))):
        return False
    some = any(trace.arrays[name].size for name in function.outputs)
    told = {e.target for e in function.statements if e.reduce == "logsumexp" and some}
    values = [v for name, a in trace.arrays.items() if name not in told for v in a.ravel()]
    for e, extents in zip(function.statements, boxes(function, trace.sizes, trace.numbers), strict=True):
        values += _beside_nothing(e, extents, trace, (Apply,))
    return not all(map(mp.isfinite, values)) or trace.steep()


def _means_of_nothing(function: Function, trace: Trace) -> list[str]:
    """The outputs that are computed from a sum of nothing beside which stands what is no number, as what all weights
    add up to divides there: the code divides 0 by 0."""
    means: set[str] = set()
    for e, extents in zip(function.statements, boxes(function, trace.sizes, trace.numbers), strict=True):
        if e.reduce == "sum" and 0 in extents[len(e.shown) :] and 0 not in extents[: len(e.shown)]:
            if not all(map(mp.isfinite, _beside_nothing(e, extents, trace, (Apply, Ref)))):
                means.add(e.target)
    reads = below(function.statements)
    return [name for name in function.outputs if any(n in means for n in reached(reads, [name]))]


def _beside_nothing(e: Equation, extents: Sequence[int], trace: Trace, kinds: tuple[type, ...]) -> Iterator[Any]:
    """What an equation over nothing computes on no condition, and without what there is nothing of."""
    sizes = {i: n for (i, _), n in zip(e.box, extents, strict=True)}
    there = e.where is None and all((name in trace.given) is given for name, given in e.when)
    for node in unconditional(e.body) if 0 in extents and there else ():
        if isinstance(node, Apply) and node.op == "div":  # what is divided may be nothing: a weighted mean of it
            node = 1 / node.args[1]
        mine = indices(node)
        if isinstance(node, kinds) and all(sizes[i] for i in mine):
            for at in product(*(range(sizes[i]) for i in mine)):
                with suppress(IndexError):  # nobody reads that
                    yield evaluate(node, dict(zip((i.name for i in mine), at, strict=True)), trace.element)


def _agree(a: Any, b: Any) -> bool:
    if isinstance(a, int) or isinstance(b, int):
        return bool(a == b)
    if not (mp.isfinite(a) and mp.isfinite(b)):
        return bool(a == b) or bool(mp.isnan(a) and mp.isnan(b))
    if a == b:
        return True
    floor = mpmath.ldexp(1, INVISIBLE)
    return bool(abs(a - b) <= mpmath.ldexp(abs(b), -DECIDED) or max(abs(a), abs(b)) < floor)


def differences(
    declaration: Declaration, case: Case, gradients: Mapping[str, Array], rng: np.random.Generator
) -> str | None:
    """Compare <v, f(x + h u) - f(x - h u)> / 2h with <J^T v, u>; None if they agree, else what was found.

    Every coordinate alone where there are at most four. Otherwise a random direction, and others where that tells
    nothing: its numbers have all their digits, that no two wrong gradients make up for each other along it.
    """
    names = [n for n in gradients if gradients[n].size]
    finite = all(mp.isfinite(g) and mp.mag(g or 1) <= REACH for n in names for g in gradients[n].ravel())
    count = sum(gradients[n].size for n in names)
    if not finite or not count:
        return None
    points = {n: np.asarray(case.inputs[n]).ravel().tolist() for n in names}
    largest = max((abs(v) for vs in points.values() for v in vs if np.isfinite(v)), default=1.0)
    digits = 200 + 2 * max(0, int(np.ceil(np.log10(max(largest, 1.0)))))
    directions: list[dict[str, list[float]]] = []
    if count <= 4:
        for name in names:
            for position in range(len(points[name])):
                directions.append({n: [int(n == name and p == position) for p in range(len(points[n]))] for n in names})
    else:
        for _ in range(case.often):
            sizes = {n: len(points[n]) for n in names}
            directions.append(
                {n: (rng.choice([-1, 1], size) * rng.uniform(0.5, 1, size)).tolist() for n, size in sizes.items()}
            )
    said = None
    # 1 + 1e-309 is 1 at 200 digits, floor(2**500) no step function, and a kink nearer than a step: looks from nearer
    for more in LOOKS:
        nearest = more == LOOKS[-1]
        said = _disagreement(declaration, case, gradients, points, directions, count > 4, digits + more, nearest)
        if said is None:
            break
    return said


def _disagreement(
    declaration: Declaration,
    case: Case,
    gradients: Mapping[str, Array],
    points: Mapping[str, list[float]],
    directions: list[dict[str, list[float]]],
    one: bool,
    digits: int,
    nearest: bool,
) -> str | None:
    """What is found with so many digits along the directions, or along the first `one` that tells something."""
    with mp.workdps(digits):
        short = 3 * digits // 10
        step = mpmath.mpf(10) ** -short
        for direction in directions:
            expected, scale = mpmath.mpf(0), mpmath.mpf(0)
            moves: dict[str, list[Any]] = {}
            for name in points:
                moves[name] = []
                for x, sign, g in zip(points[name], direction[name], gradients[name].ravel(), strict=True):
                    length = sign * (min(abs(mpmath.mpf(x)), 1) if x else mpmath.mpf(1))
                    moves[name].append(length)
                    expected += g * length
                    scale += abs(g * length)
            found, noise = _slope(declaration, case, moves, step)
            if not mp.isfinite(found):
                continue  # an edge of the domain
            agreeing = 30 if declaration.exact else DOUBLE
            tolerance = mpmath.mpf(10) ** -agreeing * scale + mpmath.mpf(10) ** (short + 40 - digits) * noise
            tolerance += mpmath.ldexp(1, INVISIBLE)
            if abs(found - expected) > tolerance:
                nearer, _ = _slope(declaration, case, moves, step / 1024)
                if abs(nearer - found) > abs(found) / 2**20:
                    continue  # the difference straddles a jump
                if nearest:
                    sides = [_slope(declaration, case, moves, step, e)[0] for e in ((0, -1), (1, 0))]
                    if min(sides) - tolerance <= expected <= max(sides) + tolerance:
                        continue  # or a kink, of which it is one side: max(x, exp(-y**2)) at x = 0, y = 88
                return f"{mpmath.nstr(found, 17)} by differences, {mpmath.nstr(expected, 17)} by SymPy's derivatives"
            if one:
                break
    return None


def _slope(
    declaration: Declaration, case: Case, moves: Mapping[str, list[Any]], step: Any, between: tuple[int, int] = (1, -1)
) -> tuple[Any, Any]:
    """The difference of <v, f> along `moves`, central or to one side, and the magnitude of what was subtracted."""
    ends = []
    for sign in between:
        there = {n: moved(case.inputs[n], (sign * step * m for m in lengths)) for n, lengths in moves.items()}
        ends.append(declaration.trace({**case.inputs, **there}, case.options).arrays)
    difference, noise = mpmath.mpf(0), mpmath.mpf(0)
    function = declaration.function
    for name in function.outputs:
        seed = case.seeds.get(name)
        if seed is None or function.table[name].dtype != "real":
            continue
        for v, up, down in zip(np.asarray(seed).ravel().tolist(), *(e[name].ravel() for e in ends), strict=True):
            if v:
                difference += v * (up - down)
                noise += abs(v * up) + abs(v * down)
    return difference / ((between[0] - between[1]) * step), noise


def conditioning(declaration: Declaration, case: Case, found: Truth, rng: np.random.Generator) -> dict[str, Array]:
    """An estimate of sum |x_i dg/dx_i| for every element of `found.arrays`, as floats; inf at a kink.

    One by one where few numbers count for one element (each point of a pack is by itself); else the largest change
    under random signs, several times, by the square root of their number.
    """
    if found.kinked:
        return {name: np.full(a.shape, np.inf) for name, a in found.arrays.items()}
    function, packed = declaration.function, case.packed
    kinds = {
        "input": {n: v for n, v in case.inputs.items() if v is not None and function.table[n].dtype == "real"},
        "option": {n: np.asarray(v) for n, v in case.options.items() if isinstance(v, float)},
        "seed": {n: v for n, v in case.seeds.items() if v is not None},
    }
    given = {(kind, name): array for kind, table in kinds.items() for name, array in table.items()}
    alone = {k: packed and k[0] != "option" and bool(np.ndim(array)) and np.size(array) for k, array in given.items()}
    spots = [(k, p) for k, array in given.items() for p in range(np.size(array) // (len(array) if alone[k] else 1))]
    single = len(spots) <= COORDINATES
    patterns = [[s] for s in spots] if single else [spots] * case.often
    sums = {name: np.zeros(a.shape) for name, a in found.arrays.items()}
    with mp.workprec(found.bits):
        for pattern in patterns:
            near: dict[str, dict[str, Any]] = {kind: dict(table) for kind, table in kinds.items()}
            for key, array in given.items():
                mine = [p for k, p in pattern if k == key]
                if mine:
                    signs = np.ones(np.size(array)) if single else rng.choice([-1.0, 1.0], np.size(array))
                    near[key[0]][key[1]] = _nudged(np.asarray(array), signs, mine, len(array) if alone[key] else 1)
            changed = {n: v[()] for n, v in near["option"].items()}
            trace = declaration.trace({**case.inputs, **near["input"]}, {**case.options, **changed})
            after = _collected(function, trace, {**case.seeds, **near["seed"]})
            for name, array in found.arrays.items():
                for position, value in np.ndenumerate(array):
                    if isinstance(value, int):
                        continue
                    change = to_float(mpmath.ldexp(abs(after[name][position] - value), NUDGE)._mpf_)
                    change = np.inf if change != change else change
                    before = float(sums[name][position])
                    sums[name][position] = before + change if single else max(before, change)
    if single:
        return sums
    with np.errstate(over="ignore"):
        return {name: s * np.sqrt(len(spots)) for name, s in sums.items()}


def _collected(function: Function, trace: Trace, seeds: Values) -> dict[str, Array]:
    outputs = {name: trace.arrays[name] for name in function.outputs}
    return together(outputs, trace.pull(seeds))


def _nudged(array: Array, signs: Array, positions: list[int], points: int) -> Array:
    """`array` with relative perturbations at `positions`, which count within one of so many points."""
    flat, chosen = array.ravel().tolist(), set(positions)
    nudges = (mpmath.ldexp(mpmath.mpf(v) * int(s), -NUDGE) for v, s in zip(flat, signs, strict=True))
    return moved(array, (n if k % (len(flat) // points) in chosen else 0 for k, n in enumerate(nudges)))
