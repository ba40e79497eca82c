"""Declaring with Python: the decorator, annotations, and what stands inside of a declared function."""

from __future__ import annotations

from .declared import Declared, function
from .notation import (
    FUNCTIONS,
    argmax,
    concatenate,
    given,
    indices,
    logsumexp,
    max,
    mean,
    merge,
    min,
    pi,
    prod,
    stack,
    sum,
    tensor,
    where,
)
from .signature import Bool, Int, Static, Tensor, TensorType
from .values import Array, IndexValue

__all__ = [
    "FUNCTIONS",
    "Array",
    "Bool",
    "Declared",
    "IndexValue",
    "Int",
    "Static",
    "Tensor",
    "TensorType",
    "argmax",
    "concatenate",
    "function",
    "given",
    "indices",
    "logsumexp",
    "max",
    "mean",
    "merge",
    "min",
    "pi",
    "prod",
    "stack",
    "sum",
    "tensor",
    "where",
]
