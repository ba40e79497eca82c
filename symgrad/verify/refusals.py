"""What printed code must refuse: subscripts out of range, sizes that break a condition of the declaration, and sizes at
which a branch that data select reads outside of a tensor; where that is asked for, numbers outside of the domain.

NumPy raises IndexError, or ValueError for sizes; C returns a number other than 0 and writes nothing. A compiled library
is asked only what its text has refused, as it would read past the end of an array.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from mpmath import mp

from ..ir import Function, bind
from ..ops import COMPARISONS
from ..records import replace
from .adjoint import Artefact, draws_at
from .cases import Case
from .domains import beyond, intervals
from .draws import DRAWS, inputs_at, outside
from .kinks import at_kinks, coarse
from .reference import Declaration
from .rounding import DOUBLE, rounding
from .sizes import leaving, violations
from .text import Fault, Kinds, Text, Values

BITS = 160
OUTSIDE = (ValueError, IndexError)  # a number outside of the domain may be a subscript that is out of range
EVALUATIONS = 300  # in search of data that select a branch


def refusals(
    declaration: Declaration, text: Text, artefact: Artefact, case: Case, strict: bool = False
) -> Iterator[tuple[str, str, Case]]:
    """What is not refused, or wrongly, for calls made of a correct one: (stage, what is wrong, the call).

    strict  numbers outside of the domain are refused too
    """
    function = declaration.function
    for inputs in _outside_domain(function, case) if strict else ():
        bad = replace(case, label="a number outside of the domain", inputs=inputs)
        yield from _asked(function, text, artefact, bad, case, OUTSIDE)
    for inputs in _out_of_range(declaration, case):
        bad = replace(case, label="a subscript out of range", inputs=inputs)
        yield from _asked(function, text, artefact, bad, case, OUTSIDE if strict else (IndexError,))
    for inputs in _unfitting(function, case):
        bad = replace(case, label="sizes that break a condition", inputs=inputs)
        yield from _asked(function, text, artefact, bad, None, (ValueError,))
    for inputs in _leaving(declaration, case):
        bad = replace(case, label="a branch that reads outside of a tensor", inputs=inputs)
        yield from _asked(function, text, artefact, bad, None, (IndexError, ValueError))


def _asked(
    function: Function,
    text: Text,
    artefact: Artefact,
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
    if kinds == OUTSIDE and getattr(artefact, "traces", False):
        return
    given = [None if bad.inputs.get(n) is None else np.asarray(bad.inputs[n]) for n in function.inputs]
    try:
        with np.errstate(all="ignore"):
            artefact.forward(*given, **bad.options)
    except Exception as error:  # whatever generated code raises is looked at
        if type(error) not in kinds:
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


def _outside_domain(function: Function, case: Case) -> Iterator[Values]:
    """The inputs with a number outside of its interval, in the first place and in the last."""
    for name, interval in intervals(function).items():
        array = case.inputs.get(name)
        for place in () if array is None or not array.size else (0, -1):
            for value in beyond(interval, function.table[name].dtype == "int"):
                assert array is not None
                changed = np.array(array)
                changed.reshape(-1)[place] = value
                yield {**case.inputs, name: changed}


def _leaving(declaration: Declaration, case: Case) -> Iterator[Values]:
    """Inputs for which the formula reads outside of a tensor, in a branch that only data select: some at each of the
    sizes where that can be."""
    function, rng = declaration.function, np.random.default_rng(13)
    for wrong in leaving(function, bind(function, case.inputs), case.options):
        drawn = [c.inputs for c in draws_at(function, rng, wrong, case.options, tuple(DRAWS))]
        starts = [coarse(inputs) for inputs in drawn[:1]]
        near = (at_kinks(declaration, s, case.options, rng, EVALUATIONS, COMPARISONS) for s in starts)
        tried = itertools.chain(drawn, starts, *near)
        yield from itertools.islice((i for i in tried if _undefined(declaration, i, case.options)), 1)


def _undefined(declaration: Declaration, inputs: Values, options: Mapping[str, Any]) -> bool:
    """Whether the declaration itself leaves a tensor; what a `where` does not select it does not."""
    with mp.workprec(60):
        return declaration.attempt(inputs, options) is None


def _unfitting(function: Function, case: Case) -> Iterator[Values]:
    """Inputs of sizes that break each condition, and of nothing else that is wrong."""
    given = {n: v is not None for n, v in case.inputs.items()}
    for wrong in violations(function, bind(function, case.inputs), case.options):
        rng = np.random.default_rng(17)
        inputs = inputs_at(function, wrong, case.options, rng, lambda name, shape: np.ones(shape), given)
        if inputs is not None:
            yield inputs
