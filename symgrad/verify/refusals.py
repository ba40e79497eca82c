"""What printed code must refuse: subscripts out of range, sizes that break a condition of the declaration, and sizes at
which a branch that data select reads outside of a tensor.

NumPy raises IndexError, or ValueError for sizes; C returns a number other than 0 and writes nothing. A compiled library
is asked only what its text has refused, as it would read past the end of an array.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from mpmath import mp

from ..ir import Function, bind, shape_of
from ..ops import COMPARISONS
from .adjoint import Artefact, draws_at
from .cases import Case
from .draws import DRAWS, integers, outside
from .kinks import at_kinks, coarse
from .reference import Declaration
from .rounding import DOUBLE, rounding
from .sizes import leaving, violations
from .text import Fault, Kinds, Text, Values, differentiable

BITS = 160
EVALUATIONS = 300  # in search of data that select a branch


def refusals(
    declaration: Declaration, text: Text, artefact: Artefact, to: str, case: Case
) -> Iterator[tuple[str, str, Case]]:
    """What is not refused, or wrongly, for calls made of a correct one: (stage, what is wrong, the call)."""
    function = declaration.function
    for inputs in _out_of_range(declaration, case):
        bad = replace(case, label="a subscript out of range", inputs=inputs)
        yield from _asked(function, text, artefact, to, bad, case, (IndexError,))
    for inputs in _unfitting(function, case):
        bad = replace(case, label="sizes that break a condition", inputs=inputs)
        yield from _asked(function, text, artefact, to, bad, None, (ValueError,))
    for inputs in _leaving(declaration, case):
        bad = replace(case, label="a branch that reads outside of a tensor", inputs=inputs)
        yield from _asked(function, text, artefact, to, bad, None, (IndexError, ValueError))


def _asked(
    function: Function,
    text: Text,
    artefact: Artefact,
    to: str,
    bad: Case,
    good: Case | None,
    kinds: Kinds,
) -> Iterator[tuple[str, str, Case]]:
    said = " or ".join(k.__name__ for k in kinds)
    for variant in text.variants:
        try:
            with rounding(DOUBLE, BITS):
                saved = None if good is None else text.forward(variant, good.inputs, good.options)[1]
                wrong = text.refusal(variant, bad.inputs, bad.options, saved, bad.seeds, kinds)
        except Fault as fault:
            wrong = str(fault)
        if wrong:
            yield f"text{variant}", wrong, bad
            return
    given = [None if bad.inputs.get(n) is None else np.asarray(bad.inputs[n]) for n in function.inputs]
    try:
        with np.errstate(all="ignore"):
            artefact.forward(*given, **bad.options)
    except Exception as error:  # whatever generated code raises is looked at
        if type(error) not in kinds and (to == "numpy" or not isinstance(error, (IndexError, ValueError))):
            yield "float64", f"raises {type(error).__name__}: {error}, not {said}", bad
        return
    yield "float64", f"does not raise {said}", bad


def _out_of_range(declaration: Declaration, case: Case) -> Iterator[Values]:
    """The inputs with a subscript next to its range, in its first place and in its last."""
    sizes = bind(declaration.function, case.inputs)
    for name, values in outside(declaration.function, sizes, case.options).items():
        array = case.inputs.get(name)
        for place in () if array is None or not array.size else (0, -1):
            for value in values:
                assert array is not None
                changed = np.array(array)
                changed.reshape(-1)[place] = value
                inputs = {**case.inputs, name: changed}
                if _undefined(declaration, inputs, case.options):
                    yield inputs


def _leaving(declaration: Declaration, case: Case) -> Iterator[Values]:
    """Inputs for which the formula reads outside of a tensor, in a branch that only data select: some at each of the
    sizes where that can be."""
    function, rng = declaration.function, np.random.default_rng(13)
    for wrong in leaving(function, bind(function, case.inputs), case.options):
        drawn = [dict(c.inputs) for c in draws_at(function, rng, wrong, case.options, tuple(DRAWS))]
        start = coarse(drawn[0])
        near = at_kinks(declaration, start, case.options, rng, EVALUATIONS, COMPARISONS)
        found = next(
            (i for i in itertools.chain(drawn, (start,), near) if _undefined(declaration, i, case.options)), None
        )
        if found is not None:
            yield found


def _undefined(declaration: Declaration, inputs: Values, options: Mapping[str, Any]) -> bool:
    """Whether the declaration itself leaves a tensor; what a `where` does not select it does not."""
    with mp.workprec(60):
        return declaration.attempt(inputs, options) is None


def _unfitting(function: Function, case: Case) -> Iterator[Values]:
    """Inputs of sizes that break each condition."""
    for wrong in violations(function, bind(function, case.inputs), case.options):
        inputs: dict[str, Any] = {}
        fitting = True  # but for the sizes: an axis of none has no subscript in its range
        for name in function.inputs:
            if case.inputs.get(name) is None:
                inputs[name] = None
                continue
            shape = shape_of(function.table[name].shape, wrong, case.options)
            if name in differentiable(function):
                inputs[name] = np.ones(shape)
            else:
                low, high = integers(function, name, wrong, case.options)
                fitting &= high > low or 0 in shape
                inputs[name] = np.full(shape, max(low, 0), dtype=np.int64)
                if function.table[name].dtype == "bool":
                    inputs[name] = inputs[name].astype(bool)
        if fitting:
            yield inputs
