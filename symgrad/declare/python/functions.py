"""The functions that users call: those of values, returning arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...expr import apply
from ...ops import ROWS
from . import joining, matrices
from .arithmetic import function_of
from .arrays import Array, of_arrays
from .graph import constant

_TAKEN = {"max", "min", "where", "select", "and", "or", "not"}  # what Python or a reduction needs
FUNCTIONS: Mapping[str, Callable[..., Array]] = {  # of every element
    name: of_arrays(function_of(name))
    for row in ROWS if row.arity for name in (row.name, *row.names) if name not in _TAKEN
}  # fmt: skip
pi = Array(constant(apply("pi")))

concatenate = of_arrays(joining.concatenate)
given = of_arrays(joining.given)
stack = of_arrays(joining.stack)
where = of_arrays(joining.where)

argsort = of_arrays(matrices.argsort)
cholesky = of_arrays(matrices.cholesky)
det = of_arrays(matrices.det)
eigh = of_arrays(matrices.eigh)
eigvalsh = of_arrays(matrices.eigvalsh)
expm = of_arrays(matrices.expm)
eye = of_arrays(matrices.eye)
inv = of_arrays(matrices.inv)
logdet = of_arrays(matrices.logdet)
matrix_power = of_arrays(matrices.matrix_power)
median = of_arrays(matrices.median)
norm = of_arrays(matrices.norm)
pinv = of_arrays(matrices.pinv)
qr = of_arrays(matrices.qr)
slogdet = of_arrays(matrices.slogdet)
solve = of_arrays(matrices.solve)
solve_triangular = of_arrays(matrices.solve_triangular)
sort = of_arrays(matrices.sort)
svd = of_arrays(matrices.svd)
svdvals = of_arrays(matrices.svdvals)
topk = of_arrays(matrices.topk)
trace = of_arrays(matrices.trace)
