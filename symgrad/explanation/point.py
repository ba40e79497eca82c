"""One point at which an explanation is worked out: the inputs, v, and what J, J^T v and the loss are there.

J comes from the check's oracle, which knows the formula and no derivative of ours; J^T v from the printed code; the
differences from calls of the printed forward alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from ..errors import TargetError
from ..ir import Dtype, Function
from ..later import Later, mp, np
from ..records import dataclass
from .inputs import BITS, Array, At, array_at, inputs_at, options_at

_reference: Any = Later("symgrad.verify.reference")
_symmetric: Any = Later("symgrad.verify.symmetric")

WEIGHTS = (1.0, 2.0, 4.0, -1.0, 3.0, -2.0, 0.5)  # what v is made of: no element is the mean of others
STEP = 1e-6  # of a central difference: its error is about the square of this, and the rounding over it
FEW = 4  # elements of each input that are moved where the oracle is not asked
MOST = 4000  # elements of J that are worked out, and of the inputs that are moved


@dataclass(frozen=True)
class Point:
    """The numbers at one point of a function.

    inputs, options  what it is called with
    v         what stands for dL/d output, by output
    outputs   by output
    jacobian  of the real outputs, one under the other, by the real inputs, one beside the other; None where it is large
    product   J^T v by the oracle, by input; by the printed backward where the oracle is not asked
    printed   what the printed backward returns, by input
    differences  of the loss, by input; NaN where they are not taken
    kinked    whether the function has a kink or a jump here
    symmetric  the inputs that are symmetric matrices
    """

    inputs: Mapping[str, Array]
    options: Mapping[str, Any]
    v: Mapping[str, Array]
    outputs: Mapping[str, Array]
    jacobian: Array | None
    product: Mapping[str, Array]
    printed: Mapping[str, Array]
    differences: Mapping[str, Array]
    kinked: bool
    symmetric: tuple[str, ...]

    @property
    def rows(self) -> list[str]:
        """The elements of the outputs."""
        return [e for name, a in self.v.items() for e in elements(name, a)]

    @property
    def columns(self) -> list[str]:
        """Those of the inputs that have a gradient."""
        return [e for name, a in self.product.items() for e in elements(name, a)]


def elements(name: str, array: Array) -> list[str]:
    """`x[0,0]`, ...; `x` of a number."""
    return [f"{name}[{','.join(map(str, at))}]" if at else name for at in np.ndindex(np.shape(array))]


def flat(arrays: Mapping[str, Array]) -> list[float]:
    """All numbers of some arrays, one after the other."""
    return [float(v) for a in arrays.values() for v in np.ravel(a)]


def point_of(function: Function, artefact: Any, at: At, seeds: Mapping[str, str]) -> Point:
    """The numbers at a point; what `at` does not say is chosen.

    artefact  the printed code: its `forward` and `backward`
    seeds     what the grad_output of each output is called
    """
    declaration = _reference.Declaration(function)
    known = (*function.inputs, *(o.name for o in function.options), *seeds.values())
    unknown = [n for n in at if n not in known]
    if unknown:
        raise TargetError(f"{function.name} has no input {unknown[0]}: it has {', '.join(known)}.")
    options = options_at(function, at)
    inputs, trace = inputs_at(declaration, at, options)
    moved = sum(np.size(a) for a in inputs.values())
    if moved > MOST and trace is not None:
        said = f"a point of {moved:,} numbers takes long to be worked out, and nobody reads it"
        raise TargetError(f"{function.name}: {said}. Give one of {MOST:,} at most.")
    v = {o: array_at(seed, at[seed], Dtype.REAL, function.name) for o, seed in seeds.items() if seed in at}
    return _worked_out(function, artefact, inputs, options, trace, v)


def _worked_out(
    function: Function,
    artefact: Any,
    inputs: Mapping[str, Array],
    options: Mapping[str, Any],
    trace: Any,
    given: Mapping[str, Array],
) -> Point:
    order = [inputs.get(n) for n in function.inputs]
    outputs, v = _called(function, artefact, order, options), dict[str, Array]()
    count = itertools.count()
    for name in function.outputs:
        if function.table[name].dtype == Dtype.REAL:
            shape = np.shape(outputs[name])
            v[name] = np.reshape([WEIGHTS[next(count) % len(WEIGHTS)] for _ in range(prod(shape))], shape)
    if len(flat(v)) == 1:
        v = {name: a + 1.0 for name, a in v.items()}  # a factor 1 would not be seen
    for name, value in given.items():
        shape = np.shape(outputs[name])
        if np.shape(value) != shape:
            said = f"{name} has the shape {shape}, and what is given as its grad_output has {np.shape(value)}"
            raise TargetError(f"{function.name}: {said}.")
        v[name] = value
    _, saved = artefact.forward(*order, **options)
    seeds: Any = tuple(v.get(n) for n in function.outputs)
    found = artefact.backward(saved, seeds if len(seeds) > 1 else seeds[0])
    every = zip(function.inputs, found, strict=True)
    printed = {n: np.asarray(g, float).reshape(np.shape(inputs[n])) for n, g in every if g is not None}
    product, jacobian, kinked, few = printed, None, False, FEW
    if trace is not None:
        with mp.workprec(BITS):
            product = {n: g.astype(float) for n, g in trace.pull(v).items()}
            rows, few, kinked = len(flat(v)), MOST, trace.kinked
            if rows * len(flat(product)) <= MOST:
                jacobian = np.array([flat(trace.pull(unit)) for unit in _units(v)]).reshape(rows, -1)
    differences = {n: _differences(function, artefact, inputs, options, v, n, few) for n in product}
    symmetric = tuple(_symmetric.symmetric_inputs(function))
    return Point(inputs, options, v, outputs, jacobian, product, printed, differences, kinked, symmetric)


def _units(v: Mapping[str, Array]) -> Iterator[dict[str, Array]]:
    """v with a single 1 in it, at each place."""
    for name, array in v.items():
        for at in np.ndindex(np.shape(array)):
            zeros = {n: np.zeros(np.shape(a)) for n, a in v.items()}
            zeros[name][at] = 1.0
            yield zeros


def _called(function: Function, artefact: Any, order: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Array]:
    out, _ = artefact.forward(*order, **options)
    return dict(zip(function.outputs, out if len(function.outputs) > 1 else (out,), strict=True))


def _differences(
    function: Function,
    artefact: Any,
    inputs: Mapping[str, Array],
    options: Mapping[str, Any],
    v: Mapping[str, Array],
    name: str,
    few: int,
) -> Array:
    """(L(x + h) - L(x - h)) / 2h for each element of an input, or the first `few`, with L = sum(v * output).

    Of a symmetric matrix, for the element and its mirror image, each moved by h / 2.
    """
    start = np.asarray(inputs[name], float)
    found = np.full(start.shape, np.nan)
    symmetric = _symmetric.symmetric_inputs(function).get(name)
    for at in itertools.islice(np.ndindex(start.shape), few):
        sides = []
        for sign in (1, -1):
            moved = np.array(start)
            moved[at] += sign * STEP
            moved = moved if symmetric is None else _symmetric.made_symmetric(moved, symmetric[0], False)
            order = [{**inputs, name: moved}.get(n) for n in function.inputs]
            sides.append(_called(function, artefact, order, options))
        with np.errstate(invalid="ignore"):  # oo - oo; what stays infinite does not move
            moves = [np.where(sides[0][n] == sides[1][n], 0.0, sides[0][n] - sides[1][n]) for n in v]
        found[at] = sum(float(np.sum(v[n] * move)) for n, move in zip(v, moves, strict=True)) / (2 * STEP)
    return found
