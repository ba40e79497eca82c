"""The declaration itself, evaluated point by point, and its gradient by numeric reverse accumulation.

Independent of everything that derives or simplifies: the equations are walked as they were declared, each operator's
partial derivatives come from SymPy (`partials`), and the chain rule is applied to numbers, one point of one box after
the other, in the opposite order of evaluation.

A piece that a `where` has under an equality of data, such as x**2 in where(x == 1, x**2, x**3), says nothing of slopes:
the equality holds nowhere beside. The slope of the function is that of the neighbouring piece, if the two have one
value wherever the equality holds; else the function jumps there, and the derivative is declared to be that of the
piece. Told by numbers:

* the condition is another one beside the point, in any direction;
* the neighbour has the value of the piece at the point, or as its limit, where it is 0/0 or reads what is not
  computed under the equality;
* and has it at points beside for which the equality holds: where(w != 0, z**2, w) jumps, though not at z = 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from ..evaluate import REF, SELECT, Position, place
from ..ops import OPS
from .groups import Fibre, Group, Prepared, Visit
from .matrices import back
from .partials import at_kink, partial
from .symmetric import symmetric_inputs
from .text import Array, differentiable, moved
from .values import Values

STEPS = (650, 674)  # bits by which the points beside are off, at most; each pair in a direction of its own
WIDER = 6  # times as many bits as a step has, in which the points beside are looked at
WAYS = tuple((sign, which) for which in range(len(STEPS)) for sign in (1, -1))
ORDERS = 8  # as many times as few bits has a step along an equality: up to this order pieces differ there visibly
SHORT = 64  # bits of such a step, that x == y holds after it

Sided = tuple[Visit, int, list[tuple[int, Any]]]  # a point, the slot of an operator, and slopes that it may have there
Slopes = Mapping[str, Array]  # by input
Share = tuple[Visit, int] | Slopes  # what takes the cotangent of a piece: a slot of the neighbour, or the inputs
ONE = mpmath.mpf(1)


class Declaration(Prepared):
    """A function prepared for evaluation, at inputs and options."""

    def trace(self, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> Trace:
        """Evaluate every equation at the precision of the moment.

        Raises IndexError where a subscript leaves its tensor, DeclarationError where an element needs itself.
        """
        return Trace(self, inputs, options)

    def attempt(self, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> Trace | None:
        """The same; None where a subscript leaves its tensor, or is no number."""
        try:
            return self.trace(inputs, options)
        except IndexError:
            return None


class Trace(Values):
    """The values of every tensor at one point, and the way back: `pull` is J^T v."""

    declaration: Declaration

    @cached_property
    def neighbours(self) -> Neighbours:
        """What the pieces that stand under equalities pass on."""
        return Neighbours(self)

    def pull(self, seeds: Mapping[str, Array | None]) -> dict[str, Array]:
        """Return the gradient of each real input that was given: J^T v, with v = `seeds` by output."""
        grads: dict[str, dict[Position, Any]] = {t.name: {} for t in self.function.tensors if t.dtype == "real"}
        for name in self.function.outputs:
            seed = seeds.get(name)
            if seed is not None and name in grads:
                flat = np.asarray(seed).ravel().tolist()
                shaped = self._array(name, [v if isinstance(v, mpmath.mpf) else mpmath.mpf(v) for v in flat])
                grads[name] = {p: v for p, v in np.ndenumerate(shaped) if v != 0}
        return self._pulled(grads)

    def slope(self, weights: Mapping[Visit, Mapping[int, Any]]) -> dict[str, Array]:
        """Return the gradient, in each real input, of a sum of `weights` times slots of the equations."""
        grads: dict[str, dict[Position, Any]] = {t.name: {} for t in self.function.tensors if t.dtype == "real"}
        for visit, slots in weights.items():
            self._sweep(visit, dict(slots), grads)
        return self._pulled(grads)

    def one_sided(self, beside: Trace) -> list[list[Sided]]:
        """The places where an operator is at its kink, and is not at a point `beside`, with its slopes there: those of
        each operator of the declaration together."""
        there = {(v.group, *v.at.values()): v for v in beside.visits()}
        found: dict[tuple[Group, int], list[Sided]] = {}
        for visit in self.visits():
            for number in visit.group.watched if visit.values else ():
                op, slots = visit.group.ops[number], visit.group.codes[number][2]
                other = there.get((visit.group, *visit.at.values()))
                if not OPS[op].kinks or other is None or not other.values:
                    continue
                here, near = (tuple(v.values[a] for a in slots) for v in (visit, other))
                if None not in (*here, *near) and at_kink(op, here) is not None and at_kink(op, near) is None:
                    passed = beside._partials(other, number)
                    found.setdefault((visit.group, number), []).append((visit, number, passed))
        return list(found.values())

    def visits(self) -> Iterator[Visit]:
        """Every point of every box that was visited."""
        fibres = (f for record in self.records for f in record if f.block is None)
        yield from dict.fromkeys(visit for f in fibres for visit, _ in f.members)

    @contextmanager
    def with_slopes(self, slopes: Sequence[Sided]) -> Iterator[None]:
        """What is pulled back inside has other slopes at some places."""
        before = [visit.partials.get(number) for visit, number, _ in slopes]
        for visit, number, passed in slopes:
            visit.partials[number] = passed
        yield
        for (visit, number, _), known in zip(slopes, before, strict=True):
            visit.partials.pop(number)
            if known is not None:
                visit.partials[number] = known

    def steep(self) -> bool:
        """Whether an operator has an infinite slope, or none, at a value that counts for a result or for nothing."""
        real = [t.name for t in self.function.tensors if t.dtype == "real"]
        grads = {n: dict.fromkeys(np.ndindex(self.arrays[n].shape), ONE) if n in self.arrays else {} for n in real}
        self._pulled(grads)
        return not all(mp.isfinite(v) for at in grads.values() for v in at.values())

    def _pulled(self, grads: dict[str, dict[Position, Any]]) -> dict[str, Array]:
        """The gradients of the inputs, from those of what was computed."""
        for fibres in reversed(self.records):
            self._back(fibres, grads)
        gradients = {}
        for name in differentiable(self.function):
            if name in self.given:
                gradients[name] = self._array(name)
                for position, value in grads[name].items():
                    gradients[name][position] = value
        return gradients

    def _back(self, fibres: list[Fibre], grads: dict[str, Any]) -> None:
        active = fibres[0].group.active
        adjoints: dict[Visit, dict[int, Any]] = {}
        if fibres[0].block is not None:
            seeds = [grads.get(f.target, {}).get(f.position) for f in fibres]
            for visit, slot, share in back(fibres, seeds):
                if active[slot]:
                    at = adjoints.setdefault(visit, {})
                    at[slot] = at[slot] + share if slot in at else share
            fibres = []
        for fibre in fibres:
            seed = grads.get(fibre.target, {}).get(fibre.position)
            if seed is None or fibre.reduce == "argmax":
                continue
            for (visit, slot), weight in zip(fibre.members, self._weights(fibre), strict=True):
                if weight is not None and active[slot]:
                    at = adjoints.setdefault(visit, {})
                    share = seed if weight is ONE else seed * weight
                    at[slot] = at[slot] + share if slot in at else share
        for visit, at in adjoints.items():
            self._sweep(visit, at, grads)

    def _weights(self, fibre: Fibre) -> list[Any]:
        """The derivative of the reduced value in each of its members; None for zero."""
        values = fibre.values
        if fibre.reduce in ("none", "sum"):
            return [ONE] * len(values)
        if fibre.reduce == "logsumexp":
            return [OPS["exp"].value(v - fibre.value) for v in values]
        if fibre.reduce == "prod":
            before, after = [mpmath.mpf(1)], [mpmath.mpf(1)]
            for value in values:
                before.append(before[-1] * value)
            for value in reversed(values):
                after.append(after[-1] * value)
            return [before[k] * after[len(values) - 1 - k] for k in range(len(values))]
        hits = [v == fibre.value for v in values]
        return [ONE / sum(hits) if hit else None for hit in hits]

    def _sweep(self, visit: Visit, adjoints: dict[int, Any], grads: dict[str, Any]) -> None:
        group, values = visit.group, visit.values
        order = visit.order if visit.order is not None else range(len(values))
        for number in reversed(order):
            adjoint = adjoints.pop(number, None)
            if adjoint is None or not group.active[number]:
                continue
            kind, what, args = group.codes[number]
            if kind == REF:
                position = place([values[a] for a in args])
                found = grads[what]
                found[position] = found[position] + adjoint if position in found else adjoint
                continue
            if kind == SELECT:
                share = self.neighbours.share(visit, number)
                if isinstance(share, tuple):
                    self._sweep(share[0], {share[1]: adjoint}, grads)
                    continue
                if share is not None:
                    for name, slopes in share.items():
                        for position, slope in np.ndenumerate(slopes):
                            if slope:
                                grads[name][position] = grads[name].get(position, 0) + adjoint * slope
                    continue
                passed = [(args[1] if values[args[0]] else args[2], 1)]
                passed = [(arg, p) for arg, p in passed if group.active[arg]]
            else:
                known = visit.partials.get(number)
                passed = known if known is not None else self._partials(visit, number)
            for arg, p in passed:
                share = adjoint if type(p) is int and p == 1 else adjoint * p
                adjoints[arg] = adjoints[arg] + share if arg in adjoints else share

    def _partials(self, visit: Visit, number: int) -> list[tuple[int, Any]]:
        """The derivatives of the value in a slot, by the slots that they are taken in; none where they are 0."""
        group, values = visit.group, visit.values
        op, slots = group.ops[number], group.codes[number][2]
        args = tuple([values[a] for a in slots])
        kink = at_kink(op, args) if OPS[op].kinks else None
        if kink is not None:
            found = [(slot, p) for slot, p in zip(slots, kink, strict=True) if group.active[slot]]
        else:
            found = [
                (slot, slope if type(slope) is int else partial(op, which, args))
                for which, slot, slope in group.passing[number]
            ]
        visit.partials[number] = found
        return found


class Neighbours:
    """What the pieces of one trace that stand under equalities pass on; computed where it is asked for."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.known: dict[tuple[Visit, int], Share | None] = {}
        self.beside: dict[tuple[int, int], tuple[Trace, Mapping[Any, Visit]]] = {}
        table, symmetric = trace.function.table, symmetric_inputs(trace.function)
        self.movable = [n for n in sorted(trace.given) if table[n].dtype == "real" and n not in symmetric]

    def share(self, visit: Visit, number: int) -> Share | None:
        """Of the `where` in a slot; None where the selected piece has its own derivative."""
        ties = [args for args in visit.group.equalities[number] if _tied(visit, args)]
        if not ties:
            return None
        if (visit, number) not in self.known:
            self.known[visit, number] = None  # while it is looked for
            self.known[visit, number] = self._found(visit, number, ties)
        return self.known[visit, number]

    def _found(self, visit: Visit, number: int, ties: list[tuple[int, ...]]) -> Share | None:
        values = visit.values
        condition, *pieces = visit.group.codes[number][2]
        mine, other = pieces if values[condition] else reversed(pieces)
        for way in WAYS:
            there = self._visit(visit, way)
            if there is None or not there.values or bool(there.values[condition]) == bool(values[condition]):
                return None
        flipped, value = _completed(self.trace, visit, other)
        if _close(value, values[mine], mp.prec // 2):
            slopes = self.trace.slope({flipped: {other: 1}})
            if not all(mp.isfinite(v) for a in slopes.values() for v in np.ravel(a)):
                return None
            share: Share | None = (flipped, other)
        else:
            share = self._limit(visit, other, values[mine])
        return share if share is not None and self._agrees(visit, mine, other, ties) else None

    def _limit(self, visit: Visit, other: int, value: Any) -> Slopes | None:
        """The slopes of the neighbour beside the point, if it goes to the value from all sides, and they to a limit."""
        bits = min(mp.prec // 2, *STEPS) // 2
        with mp.workprec(self._precision()):
            found: list[Slopes] = []
            for way in WAYS:
                there = self._visit(visit, way)
                if there is None or not there.values or there.values[other] is None:
                    return None
                if not _close(there.values[other], value, bits):
                    return None
                found.append(self.beside[way][0].slope({there: {other: 1}}))
            flat = [np.concatenate([np.ravel(slopes[n]) for n in slopes]) for slopes in found]
            if not all(_close(a, b, bits) for others in flat for a, b in zip(flat[-1], others, strict=True)):
                return None
            one, two = found[-2:]
            return {n: (one[n] + two[n]) / 2 for n in one}

    def _precision(self) -> int:
        return WIDER * (min(int(mp.prec) // 2, max(STEPS)) + self._far)

    @cached_property
    def _far(self) -> int:
        """Bits of the largest input: a step must be small beside what it is multiplied with, too."""
        return max([0, *(int(mp.mag(v)) for v in self._numbers() if v and mp.isfinite(v))])

    def _agrees(self, visit: Visit, mine: int, other: int, ties: list[tuple[int, ...]]) -> bool:
        """Whether the two pieces have one value at points beside for which the equalities hold, too."""
        bits = min(mp.prec // 2, *STEPS)
        with mp.workprec(self._precision()):
            for sign in (1, -1):
                inputs = self._along(visit, ties, sign, bits)
                there = None if inputs is None else self._trace(inputs)
                if inputs is None or there is None:
                    continue
                one, two = (_completed(there, visit, p)[1] for p in (mine, other))
                if mp.isfinite(one) and not _close(one, two, 3 * bits // 4):  # but as a limit
                    steps = [mpmath.ldexp(v, -bits - self._far) for v in self._ways(0)]
                    there = self._trace(self._walked(inputs, steps))
                    two = mp.nan if there is None else _completed(there, visit, other)[1]
                if mp.isfinite(one) and mp.isfinite(two) and not _close(one, two, 3 * bits // 4):
                    return False
        return True

    def _along(self, visit: Visit, ties: list[tuple[int, ...]], sign: int, bits: int) -> Mapping[str, Any] | None:
        """Inputs beside for which the equalities hold: a step along them, and steps back to them; None if not found.

        sign  1 for a step to larger magnitudes, that the root of a small number has a value there; -1 for its opposite
        """
        numbers = self._numbers()
        outwards = (mp.sign(v) * abs(w) if v else w for v, w in zip(numbers, self._ways(0), strict=True))
        step = np.array([sign * max(abs(v), 1) * w for v, w in zip(numbers, outwards, strict=True)], dtype=object)
        back: list[tuple[int, int, Array]] = []  # how to go for what is off by 1; it changes no equality before
        for a, b in ties:
            across = self._across(self.trace, visit, a, b)
            length = across @ across
            if not length or not mp.isfinite(length):  # r[0]**2 + r[1]**2 == 0: whatever it depends on
                there = self._visit(visit, (1, 0))
                assert there is not None
                step = np.where(self._across(self.beside[1, 0][0], there, a, b) == 0, step, mpmath.mpf(0))
                continue
            way = across
            for *_, before in back:
                way = way - before * ((way @ before) / (before @ before))
            if way @ way > mpmath.ldexp(length, -bits):
                step = step - way * ((step @ way) / (way @ way))
                back.append((a, b, way / (way @ across)))
        with mp.workprec(SHORT):
            short = [mpmath.ldexp(v, -(bits // ORDERS)) for v in step]
        inputs = self._walked(self.trace.inputs, short)
        for _ in range(ORDERS):
            trace = self._trace(inputs)
            if trace is None:
                return None
            off = [_completed(trace, visit, a)[1] - _completed(trace, visit, b)[1] for a, b, _ in back]
            if all(abs(v) <= mpmath.ldexp(1, -bits) for v in off):
                return inputs
            inputs = self._walked(inputs, sum(-v * way for v, (*_, way) in zip(off, back, strict=True)))
        return None

    def _across(self, trace: Trace, visit: Visit, a: int, b: int) -> Array:
        slopes = trace.slope({visit: {a: mpmath.mpf(1), b: mpmath.mpf(-1)}})
        return np.concatenate([np.ravel(slopes[n]) for n in self.movable])

    def _visit(self, visit: Visit, way: tuple[int, int]) -> Visit | None:
        """The same point of the same box, in a trace of inputs beside."""
        if way not in self.beside:
            trace = self._moved(*way)
            if trace is None:
                return None
            fibres = (f for record in trace.records for f in record)
            visits = {(v.group, *v.at.values()): v for f in fibres for v, _ in f.members}
            self.beside[way] = trace, visits
        return self.beside[way][1].get((visit.group, *visit.at.values()))

    def _moved(self, sign: int, which: int) -> Trace | None:
        step = mpmath.ldexp(sign, -min(mp.prec // 2 + which, STEPS[which]) - self._far)
        with mp.workprec(self._precision()):
            pairs = zip(self._numbers(), self._ways(which), strict=True)
            return self._trace(self._walked(self.trace.inputs, [step * (abs(v) or 1) * w for v, w in pairs]))

    def _numbers(self) -> list[Any]:
        """Those that move, of all inputs, one after the other."""
        return [mpmath.mpf(v) for n in self.movable for v in np.asarray(self.trace.inputs[n]).ravel().tolist()]

    def _ways(self, which: int) -> list[Any]:
        """By how much each of them moves; no two ways are equal."""
        rng = np.random.default_rng(which)
        return [mpmath.mpf(rng.uniform(0.5, 2)) * int(rng.choice([-1, 1])) for _ in self._numbers()]

    def _walked(self, inputs: Mapping[str, Any], steps: Sequence[Any]) -> Mapping[str, Any]:
        rest = iter(steps)
        return {**inputs, **{n: moved(inputs[n], islice(rest, np.size(inputs[n]))) for n in self.movable}}

    def _trace(self, inputs: Mapping[str, Any]) -> Trace | None:
        return self.trace.declaration.attempt(inputs, self.trace.options)


def _completed(trace: Trace, visit: Visit, slot: int) -> tuple[Visit, Any]:
    """The same point of the same box in a trace, with a slot computed whether its branch is taken or not; its value."""
    group = visit.group
    values: list[Any] = [None] * len(group.codes)
    group.completed(values, (slot,), visit.at, trace.constants[group], trace.element)
    return Visit(group, visit.at, values), values[slot]


def _tied(visit: Visit, args: tuple[int, ...]) -> bool:
    a, b = (visit.values[k] for k in args)
    return a is not None and b is not None and bool(a == b)


def _close(a: Any, b: Any, bits: int) -> bool:
    if not (mp.isfinite(a) and mp.isfinite(b)):
        return False
    return bool(abs(a - b) <= mpmath.ldexp(max(abs(a), abs(b), 1), -bits))
