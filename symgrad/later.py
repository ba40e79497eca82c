"""Modules that are imported when something of them is asked for: each takes as long to import as a file to be printed,
and few files need one.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["Later", "mp", "mpmath", "np", "of_numpy", "sympy"]


class Later(ModuleType):
    """Stands for the module of that name."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


class _Precise:
    """Stands for mpmath's `mp`: its functions are remembered, and its precision is another one each time."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(mpmath.mp, name)
        if callable(value):
            self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(mpmath.mp, name, value)


def of_numpy(x: object) -> Any:
    """Whether it is an array or a number of NumPy's: who has one has imported that."""
    return "numpy" in sys.modules and isinstance(x, (np.generic, np.ndarray))


if TYPE_CHECKING:
    import flint as flint
    import mpmath
    import numpy as np
    import sympy
    from mpmath import mp
else:
    flint, mpmath, np, sympy = Later("flint"), Later("mpmath"), Later("numpy"), Later("sympy")
    mp = _Precise()
