"""What the check asks of a printed text, in whatever language: to be run on Numbers."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import field, fields
from math import prod
from typing import Any, Protocol

import mpmath
import numpy as np

from ..ir import Function, bind, shape_of
from ..records import dataclass
from .sizes import cost

Array = np.ndarray[Any, Any]
Values = Mapping[str, "Array | None"]
Kinds = tuple[type[Exception], ...]


STEPS = 3 * 10**5  # of the loops of one call; more where the declaration itself takes many at literal sizes


class Fault(Exception):
    """The text does what no correct text does: it raises, reads past an end, or writes what it may only read."""


class Endless(Fault):
    """A loop does not end: each call of the text takes seconds to say so."""


class Steps:
    """Counts the steps of loops: a text that does not end is a fault."""

    def __init__(self, function: Function) -> None:
        self.count = 0
        options = {o.name: o.default for o in function.options}
        alone = dict.fromkeys((d.name for d in function.dims if not d.pack), 1)
        self.most = max(STEPS, 4 * cost(function, alone, options))

    def tick(self) -> bool:
        """One more step."""
        self.count += 1
        if self.count > self.most:
            raise Endless("a loop does not end")
        return True


class Text(Protocol):
    """A printed file that can be executed on Numbers."""

    @property
    def variants(self) -> tuple[str, ...]:
        """The ways to call it, "" and what is said of others: C's loop over points, arrays of a module in slices."""

    def forward(self, variant: str, inputs: Values, options: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """Return the outputs by name, as arrays of Numbers, and what `backward` needs."""

    def backward(self, variant: str, saved: Any, seeds: Values, needs: tuple[bool, ...]) -> dict[str, Any]:
        """Return the gradient of each input by name; None where there is none."""

    def partial(self, variant: str, inputs: Values, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the outputs that there is memory for, where some memory is not given, in each way that this may be."""

    def refusal(
        self, variant: str, inputs: Values, options: Mapping[str, Any], saved: Any, seeds: Values, kinds: Kinds
    ) -> str | None:
        """What is wrong with how it refuses `inputs`; None if nothing.

        saved  of a correct forward where backward must refuse them too, else None
        kinds  what a language with exceptions must raise, one of them
        """


def full_shape(function: Function, name: str, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[int, ...]:
    """The shape of a tensor as a user sees it, the axes of a pack one by one."""
    return shape_of(function.table[name].shape, bind(function, inputs), options)


def moved(array: Array | None, steps: Iterable[Any]) -> Array:
    """An input with each of its numbers moved by a step, in mpmath."""
    given = np.asarray(array)
    found = np.empty(given.size, dtype=object)
    found[:] = [mpmath.mpf(x) + step for x, step in zip(given.ravel().tolist(), steps, strict=True)]
    return found.reshape(given.shape)


def gradient_key(name: str, outputs: Container[str]) -> str:
    """What the gradient of an input is called among results: `grad_<input>`, unless that is an output."""
    return f"grad_{name}" if f"grad_{name}" not in outputs else f"gradient of {name}"


def together(outputs: Mapping[str, Any], gradients: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs and gradients by what they are called among results."""
    return {**outputs, **{gradient_key(name, outputs): g for name, g in gradients.items()}}


@dataclass(frozen=True)
class Valued(Function):
    """A function of which the values alone are printed: it saves nothing, and there is no backward.

    sparse  the tensors whose elements are the rows and the columns of a sparse matrix, if that is what is printed; here
            it is written out, as an array for each two, or one of all
    """

    sparse: tuple[tuple[str, ...], tuple[str, ...]] | None = field(default=None, kw_only=True)

    def results(self, found: Any, inputs: Values, options: Mapping[str, Any]) -> tuple[Any, ...]:
        """What is returned, out of its tuples and written out."""
        arrays = flat(found)
        if self.sparse is None:
            return tuple(arrays)
        options = {**{o.name: o.default for o in self.options}, **options}
        *arrays, matrix = arrays
        whole = written_out(matrix)
        names = self.outputs[len(arrays) :]
        if len(names) == 1:
            return (*arrays, whole.reshape(full_shape(self, names[0], inputs, options)))
        shapes = [[full_shape(self, n, inputs, options) for n in some] for some in self.sparse]
        rows, columns = (np.cumsum([prod(s) for s in some])[:-1] for some in shapes)
        blocks = [b for row in np.split(whole, rows) for b in np.split(row, columns, axis=1)]
        both = [(*high, *wide) for high in shapes[0] for wide in shapes[1]]
        return (*arrays, *(b.reshape(shape) for b, shape in zip(blocks, both, strict=True)))


def written_out(matrix: Any) -> Array:
    """A sparse matrix in rows with its zeros; a Fault where an entry stands twice, or columns are in no order."""
    rows, columns = matrix.shape
    if len(matrix.indptr) != rows + 1 or matrix.indptr[0] != 0 or matrix.indptr[-1] != len(matrix.indices):
        raise Fault(f"the rows of a sparse matrix {matrix.shape} begin at {matrix.indptr}")
    whole = np.zeros((rows, columns), dtype=matrix.data.dtype)
    for k in range(rows):
        own = slice(matrix.indptr[k], matrix.indptr[k + 1])
        if (np.diff(matrix.indices[own]) <= 0).any():
            raise Fault(f"row {k} of a sparse matrix has the columns {matrix.indices[own]}: each once, in order")
        whole[k, matrix.indices[own]] = matrix.data[own]
    return whole


def valued(function: Function, sparse: tuple[tuple[str, ...], tuple[str, ...]] | None = None) -> Valued:
    """The function, of which the values alone are printed."""
    return Valued(**{f.name: getattr(function, f.name) for f in fields(function)}, sparse=sparse)


def has_backward(function: Function) -> bool:
    """Whether a backward is printed."""
    return not isinstance(function, Valued)


def flat(result: Any) -> list[Any]:
    """What a function returns, out of its tuples."""
    return [part for one in result for part in flat(one)] if isinstance(result, tuple) else [result]


def differentiable(function: Function) -> tuple[str, ...]:
    """The inputs that have a gradient."""
    return tuple(n for n in function.inputs if function.table[n].dtype == "real")
