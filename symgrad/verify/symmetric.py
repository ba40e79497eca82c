"""Inputs that a function of symmetric matrices is applied to: drawn symmetric, and positive definite for a Cholesky
factor. All other matrices are drawn as any array is; singular ones have no value, and are dropped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..expr import Index, Ref
from ..ir import Equation, Function
from .text import Array

Axes = tuple[int, int]  # of rows and of columns, counted from the end: a pack in front may be any number of axes


def symmetric_inputs(function: Function) -> dict[str, tuple[Axes, bool]]:
    """The inputs that are symmetric in two axes, and whether they are positive definite; copies of them count."""
    found: dict[str, tuple[Axes, bool]] = {}
    for e in function.statements:
        if e.matrix is not None and e.matrix.symmetric:
            k, l = (i for i, _ in e.reduced)
            operand = e.operands[0]
            if isinstance(operand, Ref):
                _follow(function, operand, k, l, e.reduce == "cholesky", found)
    return found


def _follow(
    function: Function, r: Ref, k: Index, l: Index, definite: bool, found: dict[str, tuple[Axes, bool]]
) -> None:
    if k not in r.subscripts or l not in r.subscripts:
        return
    at = r.subscripts.index(k) - len(r.subscripts), r.subscripts.index(l) - len(r.subscripts)
    if r.name in function.inputs:
        found[r.name] = at, definite or found.get(r.name, (at, False))[1]
        return
    writers: tuple[Equation, ...] = function.writers.get(r.name, ())
    if len(writers) == 1 and isinstance(writers[0].body, Ref) and writers[0].reduce == "none":
        rows, columns = (writers[0].subscripts[a] for a in at)
        if isinstance(rows, Index) and isinstance(columns, Index):
            _follow(function, writers[0].body, rows, columns, definite, found)


def directions(
    function: Function, names: Iterable[str], inputs: Mapping[str, Any], rng: np.random.Generator
) -> dict[str, Array]:
    """A direction at random for each of some inputs; of one that is symmetric, it is so too."""
    symmetric = symmetric_inputs(function)
    found: dict[str, Array] = {n: np.asarray(rng.standard_normal(np.shape(inputs[n]))) for n in names}
    return {n: made_symmetric(u, symmetric[n][0], False) if n in symmetric else u for n, u in found.items()}


def as_read(function: Function, name: str, array: Array) -> Array:
    """What is drawn for an input, made symmetric if the function takes it for that."""
    known = symmetric_inputs(function).get(name)
    return array if known is None else made_symmetric(array, *known)


def made_symmetric(array: Array, axes: Axes, definite: bool) -> Array:
    """A symmetric (and positive definite) array made of one that is drawn at random."""
    last = np.moveaxis(array, axes, (-2, -1))
    if definite:
        size = max(float(np.max(np.abs(last), initial=0.0)), 1e-3)
        last = last @ (last.swapaxes(-1, -2) / size) + size * np.eye(last.shape[-1])
    last = (last + last.swapaxes(-1, -2)) / 2
    return np.ascontiguousarray(np.moveaxis(last, (-2, -1), axes))
