"""The check: printed text and what was built of it, against the declaration.

For each point of the sample, in this order:

 1. the truth: the declaration and J^T v at two precisions that agree; differences as the second witness
 2. the text, executed on Numbers: it must be the truth up to the precision, and it tells its rounding bound
 3. the artefact in float64 (and float32): within that bound, or it is wrong; beyond the budget of DESIGN, a loss

and once: memory, gradients that are not asked for, a missing grad_output, and the adjoint identity at real sizes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from time import perf_counter
from typing import Any

import numpy as np
from mpmath import mp, nstr

from ..ir import Function
from .adjoint import Artefact, adjoint_error
from .c_text import CText
from .calls import Call, manners, memory_faults
from .compare import Limits, Mismatch, judge, numbers, place, text_mismatches
from .numpy_text import NumpyText
from .reference import Declaration
from .report import Finding, Report, Worst, point
from .rounding import DOUBLE, SINGLE, Format, rounding
from .sampling import Case, sample
from .text import Array, Fault, Text, differentiable, full_shape
from .truth import Truth, conditioning, differences, truth

TEXTS: Mapping[str, Callable[[Function, Mapping[str, str]], Text]] = {"numpy": NumpyText, "c": CText}
ENOUGH = 12  # failures, after which the check stops
PRECISIONS = (160, 330, 1300, 2700)  # bits at which a text is executed, until they tell it from the truth
WITNESSED = 12  # points of a pack at which differences are taken one by one


def check(
    function: Function,
    files: Mapping[str, str],
    to: str,
    artefact: Artefact,
    *,
    full: bool = False,
    seed: int = 0,
) -> Report:
    """Check the printed `files` and the `artefact` built of them against the declaration `function`.

    to    the target: "numpy" and "c" are executed as text too, others as an artefact only
    full  more points of everything
    seed  the same seed gives the same points
    """
    start = perf_counter()
    checking = _Checking(function, to, artefact, full, seed)
    checking.run(files)
    return checking.report(perf_counter() - start)


class _Checking:
    """The state of one check: what was found so far."""

    def __init__(self, function: Function, to: str, artefact: Artefact, full: bool, seed: int) -> None:
        self.function, self.to, self.artefact, self.full, self.seed = function, to, artefact, full, seed
        self.declaration = Declaration(function)
        self.rng = np.random.default_rng([seed, 3])
        self.failures: dict[tuple[str, str], Finding] = {}
        self.losses: dict[str, tuple[float, Finding]] = {}
        self.worst = Worst()
        self.points = self.undecided = self.discarded = 0
        self.text: Text | None = None
        self.combined: set[tuple[bool, ...]] = set()

    def report(self, seconds: float) -> Report:
        """What was found."""
        return Report(
            self.function.name,
            self.to,
            self.points,
            self.discarded,
            self.undecided,
            self.worst,
            tuple(self.failures.values()),
            tuple(f for _, f in self.losses.values()),
            seconds,
        )

    def run(self, files: Mapping[str, str]) -> None:
        """Check everything, until there are failures enough."""
        if self.to in TEXTS:
            try:
                with rounding(DOUBLE, PRECISIONS[0]):
                    self.text = TEXTS[self.to](self.function, files)
            except Fault as fault:
                self._fail("text", self.to, str(fault), None)
        drawn = sample(self.declaration, self.full, self.seed)
        self.discarded = drawn.discarded
        for case in drawn.cases:
            if len(self.failures) >= ENOUGH:
                return
            self._case(case)
        if not self.points:
            self._fail("sampling", self.function.name, "no point was found where the function has a value", None)
        elif not self.failures:
            self._adjoint()

    # findings

    def _fail(
        self, stage: str, where: str, said: str, case: Case | None, expected: Any = None, obtained: Any = None
    ) -> None:
        key = stage, where.split("[")[0] + said[:24]
        known = self.failures.get(key)
        if known is not None:
            self.failures[key] = _again(known)
            return
        self.failures[key] = self._finding(stage, where, said, case, expected, obtained)

    def _finding(
        self, stage: str, where: str, said: str, case: Case | None, expected: Any = None, obtained: Any = None
    ) -> Finding:
        words = "" if case is None else point(case.label, case.inputs, case.options, case.seeds)
        number = 0 if case is None else case.number
        return Finding(stage, where, said, words, _show(expected), _show(obtained), self.seed, number)

    def _lose(self, stage: str, where: str, bits: float, case: Case, expected: Any, obtained: Any) -> None:
        name = where.split("[")[0]
        said = f"{bits:.0f} bits lost" if bits < 1e6 else "overflows"
        finding = self._finding(stage, where, said, case, expected, obtained)
        before = self.losses.get(name)
        if before is not None:
            finding = _again(before[1]) if before[0] >= bits else _again(finding, before[1].times)
        self.losses[name] = (max(bits, before[0] if before else 0.0), finding)

    # one point

    def _case(self, case: Case) -> None:
        found = truth(self.declaration, case.inputs, case.options, case.seeds)
        self.undecided += found.undecided
        self.points += case.count
        self._witnesses(case, found)
        faults = len(self.failures)
        bounds = self._text(case, found, DOUBLE) if self.text is not None else None
        if len(self.failures) > faults and bounds is None:
            return
        condition = conditioning(self.declaration, case.inputs, case.options, case.seeds, found, self.rng, case.packed)
        self._artefact(case, found, bounds, condition, DOUBLE)
        if case.single and self.to != "c":
            bounds = self._text(case, found, SINGLE) if self.text is not None else None
            self._artefact(case, found, bounds, condition, SINGLE)

    def _witnesses(self, case: Case, found: Truth) -> None:
        if found.kinked or not case.count or case.strided:
            return
        most = case.count if self.full else max(1, min(WITNESSED, 6000 // self.declaration.operations))
        for part, gradients in _parts(case, found, most):
            said = differences(self.function, part.inputs, part.options, part.seeds, gradients, self.rng)
            if said is not None:
                self._fail("witnesses", "J^T v", f"the two witnesses disagree: {said}", part)
                return

    def _expected(self, case: Case, found: Truth) -> dict[str, tuple[Array, tuple[int, ...]]]:
        """The truth and the shape of every output and gradient, by the name it has in a report."""
        expected = {}
        for name, array in found.outputs.items():
            expected[name] = array, full_shape(self.function, name, case.inputs, case.options)
        for name, array in found.gradients.items():
            expected[f"grad_{name}"] = array, np.shape(case.inputs[name])  # type: ignore[arg-type]  # given
        return expected

    # the text

    def _text(self, case: Case, found: Truth, chosen: Format) -> dict[str, Any] | None:
        """Execute the text; return its numbers and notes, None if it cannot be executed or is wrong."""
        assert self.text is not None
        bounds: dict[str, Any] | None = None
        needs = (True,) * len(self.function.inputs)
        for variant in self.text.variants:
            try:
                for bits in PRECISIONS:
                    with rounding(chosen, bits) as notes:
                        outputs, saved = self.text.forward(variant, case.inputs, case.options)
                        grads = self.text.backward(variant, saved, case.seeds, needs)
                    results = outputs | {f"grad_{n}": g for n, g in grads.items()}
                    arrays, wrong, conclusive = self._compare_text(case, found, results, needs, bits)
                    if wrong or conclusive:
                        break
                for name, mismatch in wrong:
                    self._mismatch(f"text{variant}", name, mismatch, case)
                if not wrong:
                    self._combinations(case, found, variant, saved)
            except Fault as fault:
                if not _nothing(case, fault):
                    self._fail(f"text{variant}", self.function.name, str(fault), case)
                return None
            if variant == self.text.variants[0] and not wrong:
                bounds = {"arrays": arrays, "notes": notes}
        return bounds

    def _compare_text(
        self, case: Case, found: Truth, results: Mapping[str, Any], needs: tuple[bool, ...], bits: int
    ) -> tuple[dict[str, Array], list[tuple[str, Mismatch]], bool]:
        arrays: dict[str, Array] = {}
        wrong: list[tuple[str, Mismatch]] = []
        conclusive = True
        expected = self._expected(case, found)
        wanted = dict(zip(self.function.inputs, needs, strict=True))
        with mp.workprec(max(bits, found.bits)):
            for name, value in results.items():
                own = name.removeprefix("grad_") if name not in found.outputs else None
                if name not in expected or (own is not None and not wanted[own]):
                    if value is not None:
                        wrong.append((name, Mismatch((), "None", value, "is not None")))
                    continue
                array, shape = expected[name]
                given = numbers(value, shape, array.shape)
                if isinstance(given, str):
                    wrong.append((name, Mismatch((), f"shape {shape}", None, given)))
                    continue
                arrays[name] = given
                more, told = text_mismatches(array, given, bits)
                conclusive &= told
                wrong += [(name, m) for m in more]
        return arrays, wrong, conclusive

    def _combinations(self, case: Case, found: Truth, variant: str, saved: Any) -> None:
        """Every combination of needed gradients, once for each set of inputs that are given."""
        assert self.text is not None
        key = (bool(variant), *(case.inputs.get(n) is None for n in self.function.inputs))
        if key in self.combined or not case.count or case.label == "a size of 0":
            return
        self.combined.add(key)
        for needs in combinations(self.function):
            with rounding(DOUBLE, PRECISIONS[0]):
                grads = self.text.backward(variant, saved, case.seeds, needs)
            results = {f"grad_{n}": g for n, g in grads.items()}
            for name, mismatch in self._compare_text(case, found, results, needs, PRECISIONS[0])[1]:
                self._mismatch(f"text{variant}, needs_input_grad={needs}", name, mismatch, case)

    def _mismatch(self, stage: str, name: str, wrong: Mismatch, case: Case) -> None:
        self._fail(stage, place(name, wrong.position), wrong.said, case, wrong.expected, wrong.obtained)

    # the artefact

    def _artefact(
        self, case: Case, found: Truth, bounds: Mapping[str, Any] | None, condition: Mapping[str, Array], chosen: Format
    ) -> None:
        stage = "float64" if chosen is DOUBLE else "float32"
        call = Call(self.function, self.artefact, case, np.float64 if chosen is DOUBLE else np.float32)
        try:
            results = call.results()
        except Exception as error:  # whatever generated code raises is a finding
            if not _nothing(case, error):
                self._fail(stage, self.function.name, f"raises {type(error).__name__}: {error}", case)
            return
        expected = self._expected(case, found)
        magnitude = max(
            (float(np.max(np.abs(v), initial=0.0)) for v in case.seeds.values() if v is not None), default=0.0
        )
        terms = sum(np.size(v) for v in case.inputs.values() if v is not None) // max(case.count, 1)
        with mp.workprec(found.bits):
            for name, (array, shape) in expected.items():
                value = results.get(name)
                wrong = call.mistaken(name, value, shape)
                if wrong:
                    self._fail(stage, name, wrong, case)
                    continue
                bound = bounds["arrays"].get(name) if bounds is not None else None
                notes = bounds["notes"] if bounds is not None else None
                limits = Limits(
                    bound,
                    condition[name],
                    terms,
                    notes.floor if notes else 16.0,
                    bool(notes and notes.doubts),
                    magnitude,
                    chosen,
                )
                self._judge(stage, name, array, np.asarray(value).reshape(array.shape), limits, case)
        for name, said in memory_faults(call, results, case):
            self._fail("memory", name, said, case)
        if chosen is DOUBLE and not self.failures:
            for name, said in manners(call, case, combinations(self.function)):
                self._fail("float64", name, said, case)

    def _judge(self, stage: str, name: str, array: Array, value: Array, limits: Limits, case: Case) -> None:
        for judged in judge(array, value, limits):
            where = place(name, judged.position)
            if judged.verdict == "wrong":
                said = "beyond the rounding of the text" if limits.bound is not None else "beyond any rounding"
                self._fail(stage, where, said, case, judged.expected, judged.obtained)
            elif judged.verdict == "loss":
                self._lose(stage, where, judged.bits, case, judged.expected, judged.obtained)
            elif stage == "float64" and judged.ulps > self.worst.ulps:
                self.worst = Worst(judged.ulps, f"{where}, case {case.number}")

    def _adjoint(self) -> None:
        try:
            found = adjoint_error(self.function, self.artefact, self.seed, self.full)
        except Exception as error:  # as above
            self._fail("adjoint", self.function.name, f"raises {type(error).__name__}: {error}", None)
            return
        if found is not None:
            self._fail("adjoint", "J^T v", found[0], None)


def combinations(function: Function) -> list[tuple[bool, ...]]:
    """What may be asked of backward: every subset of up to three gradients, else each alone and none."""
    names = differentiable(function)
    if len(names) <= 3:
        subsets = [dict(zip(names, bits, strict=True)) for bits in itertools.product((False, True), repeat=len(names))]
    else:
        subsets = [{}, *({name: True} for name in names)]
    return [tuple(bool(s.get(n, False)) for n in function.inputs) for s in subsets]


def _parts(case: Case, found: Truth, most: int) -> Iterator[tuple[Case, dict[str, Array]]]:
    """The case, or single points of it where it holds many: each is a test of its own size."""
    if not case.packed:
        yield case, found.gradients
        return
    for k in np.linspace(0, case.count - 1, min(case.count, most)).astype(int).tolist():
        inputs = {n: None if v is None else v[k] for n, v in case.inputs.items()}
        seeds = {n: None if v is None else v[k] for n, v in case.seeds.items()}
        part = Case(case.number, f"{case.label}, point {k}", inputs, case.options, seeds)
        yield part, {n: g[k : k + 1] for n, g in found.gradients.items()}


def _nothing(case: Case, error: Exception) -> bool:
    """Whether the code refuses a maximum over nothing, as NumPy does; a softmax of no elements may."""
    return case.label == "a size of 0" and "zero-size array to reduction" in str(error)


def _again(finding: Finding, times: int = 0) -> Finding:
    from dataclasses import replace

    return replace(finding, times=finding.times + max(times, 1))


def _show(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else repr(value) if isinstance(value, float) else nstr(value, 20)
