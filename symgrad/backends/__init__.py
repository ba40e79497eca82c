"""The languages that symgrad prints, by name."""

from __future__ import annotations

from collections.abc import Mapping

from .base import Backend
from .c import C
from .c_options import DTYPES, OPTIONS, Options
from .header import header
from .jax import Jax
from .numpy import NumPy
from .torch import Torch

BACKENDS: Mapping[str, Backend] = {backend.name: backend for backend in (NumPy(), C(), Torch(), Jax())}

__all__ = ["BACKENDS", "DTYPES", "OPTIONS", "Backend", "C", "Options", "header"]
