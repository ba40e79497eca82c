"""The languages that symgrad prints, by name."""

from __future__ import annotations

from collections.abc import Mapping

from .base import Backend
from .c import C
from .header import header
from .numpy import NumPy

BACKENDS: Mapping[str, Backend] = {backend.name: backend for backend in (NumPy(), C())}

__all__ = ["BACKENDS", "Backend", "header"]
