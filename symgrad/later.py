"""Modules that are imported when something of them is asked for: SymPy takes longer to import than all of symgrad."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any


class Later(ModuleType):
    """Stands for the module of that name."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import sympy as sympy
else:
    sympy = Later("sympy")
