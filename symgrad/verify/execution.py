"""The text of a check, executed on Numbers: it must be the truth up to the precision, and tells its rounding bound."""

from __future__ import annotations

from collections.abc import Container, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from mpmath import mp

from ..ir import Function
from .cases import Case, combinations, refuses_nothing
from .compare import Bounds, Judged, numbers, place, text_mismatches
from .report import Findings
from .rounding import DOUBLE, Format, Notes, rounding
from .text import Array, Endless, Fault, Text, full_shape, gradient_key, has_backward, together
from .truth import Truth

PRECISIONS = (160, 330, 1300, 2700)  # bits at which a text is executed, until they tell it from the truth


class Execution:
    """The executions of one text, and what is wrong with them.

    example  a correct call, to make wrong ones of
    endless  whether a loop of the text does not end
    """

    def __init__(self, function: Function, text: Text, found: Findings, full: bool) -> None:
        self.function, self.text, self.found, self.full = function, text, found, full
        self.example: Case | None = None
        self.endless = False
        self.combined: set[tuple[bool, ...]] = set()

    def __call__(self, case: Case, found: Truth, chosen: Format) -> Bounds | None:
        """Execute the text; return its numbers and notes, None if it cannot be executed or is wrong."""
        bounds: Bounds | None = None
        for variant in self.text.variants:
            try:
                arrays: dict[str, Array] = {}
                for bits in PRECISIONS:
                    before = arrays
                    try:
                        results, saved, notes = self._executed(variant, case, chosen, bits)
                    except Endless:
                        raise
                    except Fault:  # a matrix may be singular for lack of digits
                        if bits == PRECISIONS[-1]:
                            raise
                        continue
                    arrays, wrong, conclusive = self._compared(case, found, results, bits, notes, before)
                    if conclusive and not wrong:  # what disagrees may lack digits: sin(1e200 + x) needs 700 bits
                        break
                for name, mismatch in wrong:
                    self._mismatch(f"text{variant}", name, mismatch, case)
                if not wrong:
                    self._combinations(case, found, variant, saved, bits)
            except Fault as fault:
                self.endless = isinstance(fault, Endless)
                if not refuses_nothing(case, fault):
                    self.found.fail(f"text{variant}", self.function.name, str(fault), case)
                return None
            if variant == self.text.variants[0] and not wrong:
                bounds = Bounds(arrays, notes)
        return bounds

    def _executed(self, variant: str, case: Case, chosen: Format, bits: int) -> tuple[dict[str, Any], Any, Notes]:
        """The numbers of the text, what it saved, and the notes of its rounding."""
        with rounding(chosen, bits) as notes:
            outputs, saved = self.text.forward(variant, case.inputs, case.options)
            needs = (True,) * len(self.function.inputs)
            grads = self.text.backward(variant, saved, case.seeds, needs) if has_backward(self.function) else {}
        return together(outputs, grads), saved, notes

    def _compared(
        self,
        case: Case,
        found: Truth,
        results: Mapping[str, Any],
        bits: int,
        notes: Notes,
        before: Mapping[str, Array] = MappingProxyType({}),
        unasked: Container[str] = (),
    ) -> tuple[dict[str, Array], list[tuple[str, Judged]], bool]:
        """The results as numbers, what is wrong with them, and whether the precision told; the `unasked` are None."""
        arrays: dict[str, Array] = {}
        wrong: list[tuple[str, Judged]] = []
        conclusive = True
        expected = expected_of(self.function, case, found)
        with mp.workprec(max(bits, found.bits)):
            for name, value in results.items():
                if name not in expected or name in unasked:
                    if value is not None:
                        wrong.append((name, Judged("is not None", (), "None", value)))
                    continue
                array, shape = expected[name]
                given = numbers(value, shape, array.shape)
                if isinstance(given, str):
                    wrong.append((name, Judged(given, (), f"shape {shape}", None)))
                    continue
                arrays[name] = given
                infinite = name in found.outputs
                array = found.nearest(name, given)
                more, told = text_mismatches(array, given, bits, notes.beyond, before.get(name), infinite)
                conclusive &= told
                wrong += [(name, m) for m in more]
        return arrays, wrong, conclusive

    def _combinations(self, case: Case, found: Truth, variant: str, saved: Any, bits: int) -> None:
        """Every combination of needed gradients and of memory given, once for each set of inputs that are given."""
        key = (bool(variant), *(case.inputs.get(n) is None for n in self.function.inputs))
        if key in self.combined or not case.count or case.label == "a size of 0":
            return
        self.combined.add(key)
        self.example = self.example or case
        with rounding(DOUBLE, bits) as notes:
            for outputs in self.text.partial(variant, case.inputs, case.options):
                for name, mismatch in self._compared(case, found, outputs, bits, notes)[1]:
                    self._mismatch(f"text{variant}, a pointer is NULL", name, mismatch, case)
        subsets = combinations(self.function, self.full) if has_backward(self.function) else []
        for needs in subsets[:2] if case.often == 1 else subsets:  # the artefact is asked for all of them
            with rounding(DOUBLE, bits) as notes:
                grads = self.text.backward(variant, saved, case.seeds, needs)
            keys = {n: gradient_key(n, found.outputs) for n in grads}
            unasked = {keys[n] for n, need in zip(self.function.inputs, needs, strict=True) if not need}
            results = {keys[n]: g for n, g in grads.items()}
            wrong = self._compared(case, found, results, bits, notes, unasked=unasked)[1]
            for name, mismatch in wrong:
                self._mismatch(f"text{variant}, needs_input_grad={needs}", name, mismatch, case)

    def _mismatch(self, stage: str, name: str, wrong: Judged, case: Case) -> None:
        self.found.fail(stage, place(name, wrong.position), wrong.verdict, case, wrong.expected, wrong.obtained)


def expected_of(function: Function, case: Case, found: Truth) -> dict[str, tuple[Array, tuple[int, ...]]]:
    """The truth and the shape of every output and gradient, by the name it has in a report."""
    expected = {}
    for name, array in found.outputs.items():
        expected[name] = array, full_shape(function, name, case.inputs, case.options)
    for name, array in found.gradients.items():
        expected[gradient_key(name, found.outputs)] = array, np.shape(case.inputs[name])  # type: ignore[arg-type]  # given
    return expected
