"""The languages that symgrad prints, by name."""

from __future__ import annotations

from collections.abc import Mapping

from .base import Backend
from .c import C
from .c_options import DTYPES, OPTIONS, Options
from .header import header
from .jax import Jax
from .numpy import NumPy
from .scipy import SciPy
from .torch import Torch
from .torch_c import TorchC

ALL: tuple[Backend, ...] = (NumPy(), C(), Torch(), Jax(), SciPy(), TorchC())
BACKENDS: Mapping[str, Backend] = {backend.name: backend for backend in ALL}

__all__ = ["BACKENDS", "DTYPES", "OPTIONS", "Backend", "C", "Options", "header"]
