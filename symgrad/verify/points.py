"""The points of a case one by one, and what may be asked of backward at them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..ir import Function
from .cases import Case
from .text import Array, Values, differentiable
from .truth import Truth


def combinations(function: Function, full: bool = False) -> list[tuple[bool, ...]]:
    """What may be asked of backward: every subset of up to three gradients, else none, each alone, all but each.

    `full` asks for every subset of up to six.
    """
    names = differentiable(function)
    if len(names) <= (6 if full else 3):
        subsets = [dict(zip(names, bits, strict=True)) for bits in itertools.product((False, True), repeat=len(names))]
    else:
        subsets = [{}, *({name: True} for name in names), *({n: n != name for n in names} for name in names)]
    return [tuple(bool(s.get(n, False)) for n in function.inputs) for s in subsets]


def parts(case: Case, found: Truth, most: int) -> Iterator[tuple[Case, dict[str, Array]]]:
    """The case, or single points of it where it holds many: each is a test of its own size."""
    if not case.packed:
        yield case, found.gradients
        return
    for k in np.linspace(0, case.count - 1, min(case.count, most)).astype(int).tolist():
        inputs = {n: None if v is None else v[k] for n, v in case.inputs.items()}
        seeds = {n: None if v is None else v[k] for n, v in case.seeds.items()}
        part = replace(case, inputs=inputs, seeds=seeds, label=f"{case.label}, point {k}", count=1, packed=False)
        yield part, {n: g[k : k + 1] for n, g in found.gradients.items()}


def refuses_nothing(case: Case, error: Exception) -> bool:
    """Whether the code refuses a maximum over nothing, as NumPy does; a softmax of no elements may."""
    said = ("zero-size array to reduction", "Expected reduction dim")  # of NumPy and JAX, of torch
    return case.label == "a size of 0" and any(words in str(error) for words in said)


def refuses_infinity(error: Any) -> bool:
    """Whether LAPACK, or SciPy before it, refuses a matrix that has overflowed; what is no error is no refusal."""
    return isinstance(error, np.linalg.LinAlgError) or "must not contain infs or NaNs" in str(error)


def one_point(case: Case, number: int) -> Values:
    """The inputs of one point of a case that holds many, or all of them."""
    if case.count < 2 and not case.packed:
        return case.inputs
    found: dict[str, Array | None] = {}
    for name, value in case.inputs.items():
        row = None if value is None else value.reshape(case.count, -1)[number]
        found[name] = row.reshape(()) if row is not None and row.size == 1 else row
    return found
