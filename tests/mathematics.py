"""What the tests of the mathematics share: the targets, drawn inputs, differences, and a product by its equations."""

from __future__ import annotations

import os
import shlex
import shutil
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp

import symgrad as sg
from symgrad.differentiate.neighbours import conditions_of
from symgrad.evaluate import evaluate
from symgrad.ir import Derivative, Function, bind, extent_of
from symgrad.ops import Op
from symgrad.verify.reference import Declaration

COMPILER = shutil.which(shlex.split(os.environ.get("CC") or "cc")[0])
TARGETS = ("numpy", pytest.param("c", marks=pytest.mark.skipif(COMPILER is None, reason="no C compiler")))
both = pytest.mark.parametrize("to", TARGETS)

DIGITS = 130  # working precision of differences: with steps of 1e-40 they are good to 80 digits


def in_domain(row: Op, at: Sequence[Any]) -> bool:
    """Whether an operator is defined at a point, as far as formula text says that."""
    point = dict(zip("xyz", at, strict=False))
    return all(evaluate(c, {"...": 0}, lambda name, _: point[name]) for c in conditions_of(row.domain) or ())


def interpret(
    function: Function, inputs: Mapping[str, Any], options: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Every tensor of a function at one point, as the oracle evaluates it in mpmath, packs flattened to one axis."""
    return Declaration(function).trace(inputs, dict(options or {})).arrays


def as_function(declaration: Any) -> Function:
    """The Function of formula text, a traced Python function, or a Function."""
    if isinstance(declaration, str):
        return sg.parse(declaration)
    return getattr(declaration, "function", declaration)


@cache
def loaded(declaration: Any, to: str) -> Any:
    """The printed code of a declaration (or of formula text), imported or compiled once, unchecked."""
    return sg.load(as_function(declaration), to=to, check=False)


def gradients(declaration: Any, to: str, inputs: Any, grad_output: Any = None, **options: Any) -> tuple[Any, ...]:
    """Forward and backward at once: all the gradients."""
    code = loaded(declaration, to)
    _, saved = code.forward(*inputs, **options)
    return code.backward(saved, grad_output)


def rng_of(text: str) -> np.random.Generator:
    """A generator that depends on the text alone: each row of a table has its own, whatever rows stand beside it."""
    return np.random.default_rng(zlib.crc32(text.encode()))


def drawn(shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Numbers between -2 and 2, distinct, not integers, and exact in binary."""
    count = int(np.prod(shape))
    places = rng.choice(np.arange(-1023, 1024, 2), size=count, replace=False)
    return (places / 512.0).reshape(shape)


def inputs_of(
    function: Function, sizes: Mapping[str, Any], given: Mapping[str, Any], rng: np.random.Generator
) -> dict[str, Any]:
    """An array for every input: what is `given` (None for absent), else drawn numbers in the declared shape."""
    found = {}
    for name in function.inputs:
        tensor = function.table[name]
        found[name] = given[name] if name in given else drawn(shape_of(function, name, sizes), rng)
        assert tensor.dtype == "real" or name in given, f"give the integers of {name}"
    return found


def inputs_with_axes(text: str, axes: tuple[int, ...], absent: bool = False) -> list[Any]:
    """An array for every input of a formula, with these leading axes where it has any, and every size 3; `absent`: none
    for the optional ones."""
    function, rng = as_function(text), rng_of(text)
    sizes = {"...": axes, **{d.name: 3 for d in function.dims if not d.pack}}
    given: dict[str, Any] = {}
    for name in function.inputs:
        tensor = function.table[name]
        if tensor.dtype == "int":
            given[name] = rng.integers(0, 3, shape_of(function, name, sizes))
        elif tensor.optional and absent:
            given[name] = None
    return [*inputs_of(function, sizes, given, rng).values()]


def shape_of(function: Function, name: str, sizes: Mapping[str, Any]) -> tuple[int, ...]:
    """The shape of a tensor with packs as declared: a tuple in `sizes`."""
    shape: list[int] = []
    numbers = {o.name: o.default for o in function.options}
    for extent in function.table[name].shape:
        pack = sizes.get(getattr(extent, "name", ""), None)
        shape += pack if isinstance(pack, tuple) else (extent_of(extent, sizes, numbers),)
    return tuple(shape)


def sizes_of(function: Function, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The sizes that the inputs tell."""
    return bind(function, inputs)


def flat(values: Any) -> list[Any]:
    """The elements of an array, a nested list or a number."""
    return np.asarray(values, dtype=object).ravel().tolist()


def by_equations(
    derivative: Derivative, inputs: Mapping[str, Any], seeds: Mapping[str, Any], options: Any = None
) -> dict[str, list[Any]]:
    """J^T v (or J v) by the plain meaning of its equations: {input (or output): its elements}."""
    values = interpret(derivative.function, {**inputs, **seeds}, options)
    found = {}
    for name, gradient in derivative.gradients:
        like = inputs[name] if derivative.kind == "vjp" else values[name]
        if like is not None:
            zeros = [mpmath.mpf(0)] * np.size(np.asarray(like, dtype=object))
            found[name] = flat(values[gradient]) if gradient in values else zeros
    return found


def by_differences(
    function: Function, inputs: Mapping[str, Any], seeds: Mapping[str, Any], options: Any = None
) -> dict[str, list[Any]]:
    """J^T v by central differences of the declaration; `seeds` by output."""
    step = mpmath.mpf(10) ** -40

    def weighed(name: str, place: int, change: Any) -> Any:
        moved = [mpmath.mpf(v) for v in flat(inputs[name])]
        moved[place] += change
        array = np.empty(len(moved), dtype=object)
        array[:] = moved
        values = interpret(function, {**inputs, name: array.reshape(np.shape(inputs[name]))}, options)
        return sum(
            (
                s * v
                for out in function.outputs
                if out in values
                for s, v in zip(flat(seeds[out]), flat(values[out]), strict=True)
            ),
            mpmath.mpf(0),
        )

    found = {}
    for name in function.inputs:
        if function.table[name].dtype == "real" and inputs[name] is not None:
            count = len(flat(inputs[name]))
            found[name] = [(weighed(name, k, step) - weighed(name, k, -step)) / (2 * step) for k in range(count)]
    return found


def seeds_of(
    function: Function, inputs: Mapping[str, Any], rng: np.random.Generator, options: Any = None
) -> dict[str, Any]:
    """A drawn cotangent for each output, by output, in the shape that the interpreter gives it, packs in full."""
    values = interpret(function, inputs, options)
    sizes = sizes_of(function, inputs)
    return {
        out: drawn(shape_of(function, out, sizes), rng)
        for out in function.outputs
        if out in values or function.table[out].role != "gradient"
    }


def outer_seeds(derivative: Derivative, inputs: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """A cotangent for each output of the joint function of a derivative, by output."""
    joint = derivative.function
    seeds = seeds_of(joint, inputs, rng)
    for name, gradient in derivative.gradients:  # of an absent input, or one that nothing contributes to
        seeds.setdefault(gradient, np.zeros(shape_of(joint, name, sizes_of(joint, inputs))))
    return seeds


def apart(one: Mapping[str, list[Any]], other: Mapping[str, list[Any]]) -> Any:
    """The largest difference, relative to the largest number (and at least to 1)."""
    assert one.keys() == other.keys(), f"{one.keys()} and {other.keys()}"
    worst = mpmath.mpf(0)
    for name, values in one.items():
        assert len(values) == len(other[name]), f"{name} has {len(values)} and {len(other[name])} elements"
        for a, b in zip(values, other[name], strict=True):
            gap = abs(mpmath.mpf(a) - b) / max(1, abs(a), abs(b))
            worst = gap if gap > worst or gap != gap else worst
    return worst


def precisely() -> Any:
    """The working precision of everything that is compared with differences."""
    return mp.workdps(DIGITS)
