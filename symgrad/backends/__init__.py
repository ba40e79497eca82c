"""The languages that symgrad prints, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .base import Backend
from .c import C
from .header import header
from .jax import Jax
from .numpy import NumPy
from .options import DTYPES, OPTIONS, Options
from .scipy import SciPy
from .torch import Torch
from .torch_c import TorchC

ALL: tuple[Backend, ...] = (NumPy(), C(), Torch(), Jax(), SciPy(), TorchC())
BACKENDS: Mapping[str, Backend] = {backend.name: backend for backend in ALL}


def takers(option: str) -> list[str]:
    """The languages that have an option."""
    return [backend.name for backend in ALL if option in backend.takes]


def asked(name: str, options: Mapping[str, Any]) -> Backend:
    """The language of that name, asked for what it has of the options."""
    own = {option: value for option, value in options.items() if option in BACKENDS[name].takes}
    make: Any = type(BACKENDS[name])
    return make(Options(**own)) if own else BACKENDS[name]
