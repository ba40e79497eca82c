"""Who does the work: the columns of the table, and the kinds of rows that each has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from . import by_hand, frameworks, ours, peers
from .measure import Case
from .work import BY_HAND, NUMPY_BY_HAND, OURS, OURS_NUMPY, OURS_O2, Job

POINT, MANY, ARRAYS = {"point"}, {"batch"}, {"tensor"}


@dataclass(frozen=True)
class Column:
    """floor  the column that it is compared with, beside C by hand"""

    case: Callable[[Job], Case]
    kinds: set[str]
    floor: str = BY_HAND


COLUMNS: Mapping[str, Column] = {
    BY_HAND: Column(by_hand.c, POINT | MANY | ARRAYS),
    OURS: Column(ours.c, POINT | MANY | ARRAYS),
    OURS_O2: Column(ours.c_o2, POINT | MANY | ARRAYS),
    "symgrad load": Column(ours.loaded, MANY | ARRAYS),
    "CasADi": Column(peers.casadi, POINT | MANY),
    "SymForce": Column(peers.symforce, POINT | MANY),
    "SymPy, numba": Column(peers.numba, MANY),
    "JAX": Column(frameworks.jax, MANY | ARRAYS),
    "torch": Column(frameworks.torch, MANY | ARRAYS),
    "torch, compiled": Column(frameworks.torch_compiled, MANY | ARRAYS),
    NUMPY_BY_HAND: Column(by_hand.numpy, ARRAYS),
    OURS_NUMPY: Column(ours.numpy, MANY | ARRAYS, NUMPY_BY_HAND),
    "SymPy, lambdify": Column(peers.lambdify, MANY, NUMPY_BY_HAND),
    "autograd": Column(peers.autograd, MANY | ARRAYS, NUMPY_BY_HAND),
    "symgrad torch": Column(frameworks.symgrad_torch, MANY | ARRAYS, "torch"),
    "symgrad torch, compiled": Column(frameworks.symgrad_torch_compiled, MANY | ARRAYS, "torch, compiled"),
    "symgrad JAX": Column(frameworks.symgrad_jax, MANY | ARRAYS, "JAX"),
}
