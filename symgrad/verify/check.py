"""The check: printed text and what was built of it, against the declaration.

For each point of the sample, in this order:

 1. the truth: the declaration and J^T v at two precisions that agree; differences as the second witness
 2. the text, executed on Numbers: it must be the truth up to the precision, and it tells its rounding bound
 3. the artefact in float64 (and float32): within that bound, or it is wrong; beyond the budget of DESIGN, a loss

and once: memory, gradients that are not asked for, a missing grad_output, and the adjoint identity at real sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from mpmath import mp, nstr

from ..ir import Dtype, Function
from .adjoint import Artefact, adjoint_error
from .c_text import CText
from .calls import Call, manners, memory_faults
from .compare import Judged, Limits, Mismatch, judge, numbers, place, text_mismatches
from .numpy_text import NumpyText
from .points import combinations, one_point, parts, refuses_nothing
from .reference import Declaration
from .refusals import refusals
from .report import MOST, Accuracy, Finding, Report, Worst, brief, point
from .rounding import DOUBLE, SINGLE, Format, Notes, precise, rounding
from .sampling import Case, sample
from .text import Array, Fault, Text, full_shape
from .truth import Truth, conditioning, differences, truth

TEXTS: Mapping[str, Callable[[Function, Mapping[str, str]], Text]] = {"numpy": NumpyText, "c": CText}
ENOUGH = 12  # failures, after which the check stops
PRECISIONS = (160, 330, 1300, 2700)  # bits at which a text is executed, until they tell it from the truth
HUGE = 5000  # bits before the point, or zeros after it, of a number that is not written out
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
        self.lossy: set[tuple[int, int]] = set()  # (case, point of it)
        self.accuracy = Accuracy()
        self.worst = Worst()
        self.points = self.undecided = self.discarded = 0
        self.text: Text | None = None
        self.combined: set[tuple[bool, ...]] = set()
        self.example: Case | None = None  # a correct call, to make wrong ones of

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
            replace(self.accuracy, points=len(self.lossy)),
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
        if not self.failures and self.text is not None and self.example is not None:
            for stage, said, case in refusals(self.declaration, self.text, self.artefact, self.to, self.example):
                self._fail(stage, self.function.name, said, case)
        if not self.failures:
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

    def _lose(self, stage: str, name: str, judged: Judged, case: Case) -> None:
        where, bits, expected, obtained = place(name, judged.position), judged.bits, judged.expected, judged.obtained
        said = f"{bits:.0f} bits lost" if bits < 1e6 else "overflows"
        number = judged.position[0] if case.count > 1 else 0
        self.lossy.add((case.number, number))
        whole = min(round(bits), MOST + 1)
        if not self.accuracy.worst or whole > self.accuracy.bits:
            spot = name if case.packed or case.count > 1 else where
            self.accuracy = Accuracy(whole, worst=f"{spot} at {brief(one_point(case, number))}")
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
        real = any(t.dtype == Dtype.REAL for t in map(self.function.table.get, self.function.inputs) if t)
        if case.single and real and self.to != "c":
            bounds = self._text(case, found, SINGLE) if self.text is not None else None
            self._artefact(case, found, bounds, condition, SINGLE)

    def _witnesses(self, case: Case, found: Truth) -> None:
        if found.kinked or not case.count or case.strided:
            return
        most = case.count if self.full else max(1, min(WITNESSED, 6000 // self.declaration.operations))
        for part, gradients in parts(case, found, most):
            said = differences(self.declaration, part.inputs, part.options, part.seeds, gradients, self.rng)
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
                    results, saved, notes = self._executed(variant, case, chosen, bits)
                    arrays, wrong, conclusive = self._compare_text(case, found, results, needs, bits, notes)
                    if not conclusive:  # the format overflows, or loses what matters: the precision does not
                        finer = precise(bits)
                        results, _, seen = self._executed(variant, case, finer, bits)
                        _, wrong, conclusive = self._compare_text(case, found, results, needs, finer.bits, seen)
                    if conclusive and not wrong:  # what disagrees may lack digits: sin(1e200 + x) needs 700 bits
                        break
                for name, mismatch in wrong:
                    self._mismatch(f"text{variant}", name, mismatch, case)
                if not wrong:
                    self._combinations(case, found, variant, saved)
            except Fault as fault:
                if not refuses_nothing(case, fault):
                    self._fail(f"text{variant}", self.function.name, str(fault), case)
                return None
            if variant == self.text.variants[0] and not wrong:
                bounds = {"arrays": arrays, "notes": notes}
        return bounds

    def _executed(self, variant: str, case: Case, chosen: Format, bits: int) -> tuple[dict[str, Any], Any, Notes]:
        """The numbers of the text, what it saved, and the notes of its rounding."""
        assert self.text is not None
        with rounding(chosen, bits) as notes:
            outputs, saved = self.text.forward(variant, case.inputs, case.options)
            grads = self.text.backward(variant, saved, case.seeds, (True,) * len(self.function.inputs))
        return outputs | {f"grad_{n}": g for n, g in grads.items()}, saved, notes

    def _compare_text(
        self, case: Case, found: Truth, results: Mapping[str, Any], needs: tuple[bool, ...], bits: int, notes: Notes
    ) -> tuple[dict[str, Array], list[tuple[str, Mismatch]], bool]:
        arrays: dict[str, Array] = {}
        wrong: list[tuple[str, Mismatch]] = []
        conclusive = True
        expected = self._expected(case, found)
        wanted = dict(zip(self.function.inputs, needs, strict=bool(needs)))
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
                more, told = text_mismatches(array, given, bits, notes.beyond)
                conclusive &= told
                wrong += [(name, m) for m in more]
        return arrays, wrong, conclusive

    def _combinations(self, case: Case, found: Truth, variant: str, saved: Any) -> None:
        """Every combination of needed gradients and of memory given, once for each set of inputs that are given."""
        assert self.text is not None
        key = (bool(variant), *(case.inputs.get(n) is None for n in self.function.inputs))
        if key in self.combined or not case.count or case.label == "a size of 0":
            return
        self.combined.add(key)
        self.example = self.example or case
        with rounding(DOUBLE, PRECISIONS[0]) as notes:
            for outputs in self.text.partial(variant, case.inputs, case.options):
                for name, mismatch in self._compare_text(case, found, outputs, (), PRECISIONS[0], notes)[1]:
                    self._mismatch(f"text{variant}, a saved pointer is NULL", name, mismatch, case)
        for needs in combinations(self.function):
            with rounding(DOUBLE, PRECISIONS[0]) as notes:
                grads = self.text.backward(variant, saved, case.seeds, needs)
            results = {f"grad_{n}": g for n, g in grads.items()}
            wrong = self._compare_text(case, found, results, needs, PRECISIONS[0], notes)[1]
            for name, mismatch in wrong:
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
            if not refuses_nothing(case, error):
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
                self._lose(stage, name, judged, case)
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


def _again(finding: Finding, times: int = 0) -> Finding:
    return replace(finding, times=finding.times + max(times, 1))


def _show(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (str, float)):
        return value if isinstance(value, str) else repr(value)
    if value and mp.isfinite(value) and abs(mp.mag(value)) > HUGE:  # its digits would take minutes
        return f"{'-' if value < 0 else ''}2^{mp.nstr(mp.mpf(mp.mag(value)), 3)}"
    return str(nstr(value, 20))
