"""The front ends: Python functions, SymPy expressions, and formula text. Each writes a `symgrad.ir.Function`."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any

from ..later import np
from .groups import SE3, SO3, SO3xR3
from .primitive import Primitive, primitive
from .python.arrays import Array
from .python.declared import Declared, function
from .python.functions import (
    FUNCTIONS,
    argsort,
    cholesky,
    concatenate,
    det,
    eigh,
    eigvalsh,
    expm,
    eye,
    given,
    inv,
    logdet,
    matrix_power,
    median,
    norm,
    pi,
    pinv,
    qr,
    slogdet,
    solve,
    solve_triangular,
    sort,
    stack,
    svd,
    svdvals,
    topk,
    trace,
    where,
)
from .python.notation import argmax, indices, logsumexp, max, mean, merge, min, prod, require, sum, tensor
from .python.numpy_functions import FUNCTIONS as NUMPY
from .python.signature import Bool, Int, Real, Static, Tensor
from .sympy import from_sympy, to_sympy

__all__ = [
    "FUNCTIONS",
    "SE3",
    "SO3",
    "Array",
    "Bool",
    "Declared",
    "Int",
    "Primitive",
    "Real",
    "SO3xR3",
    "Static",
    "Tensor",
    "argmax",
    "argsort",
    "cholesky",
    "concatenate",
    "det",
    "eigh",
    "eigvalsh",
    "expm",
    "eye",
    "from_sympy",
    "function",
    "given",
    "indices",
    "inv",
    "logdet",
    "logsumexp",
    "matrix_power",
    "max",
    "mean",
    "median",
    "merge",
    "min",
    "norm",
    "pi",
    "pinv",
    "primitive",
    "prod",
    "qr",
    "require",
    "slogdet",
    "solve",
    "solve_triangular",
    "sort",
    "stack",
    "sum",
    "svd",
    "svdvals",
    "tensor",
    "to_sympy",
    "topk",
    "trace",
    "where",
]


def __getattr__(name: str) -> Any:
    """The elementwise functions, one per row of `symgrad.ops` and name of it; and the text front end."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AttributeError(f"symgrad has no {name!r}{_elsewhere(name)}")


def _elsewhere(name: str) -> str:
    """Where else there is what was looked for, or what has nearly that name."""
    if name in NUMPY:
        return f"; a formula takes NumPy's own: {'np' if hasattr(np, name) else 'np.linalg'}.{name}"
    library = import_module("symgrad.library")
    if name in vars(library).get("__all__", ()):  # none while it is imported itself
        return f"; it is in symgrad.library: from symgrad.library import {name}"
    near = difflib.get_close_matches(name, __dir__(), 1)
    return f"; did you mean {near[0]}?" if near else ""


def __dir__() -> list[str]:
    return sorted([*__all__, *FUNCTIONS])
