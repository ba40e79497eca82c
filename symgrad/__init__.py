"""symgrad: write a function as a formula; get its forward and backward as code you can read.

    import symgrad as sg

    @sg.function
    def squares(x, y):
        return x**2, x * y, y**2

    print(sg.jacobian(squares))
    print(sg.generate(squares, to="numpy")["squares_numpy.py"])
"""

from typing import Any

from . import declare as _declare
from .declare import *  # noqa: F403  # the words of declarations are the front door; __all__ names them
from .errors import (
    CheckError,
    CompilerError,
    DeclarationError,
    FormulaError,
    ShapeError,
    SymgradError,
    TargetError,
    UnsupportedError,
)
from .ir import Derivative, Function
from .pipeline import accuracy, check, generate, gradient, jacobian, jvp, load, vjp

__version__ = "0.1.0"

__all__ = [
    *_declare.__all__,
    "CheckError",
    "CompilerError",
    "DeclarationError",
    "Derivative",
    "FormulaError",
    "Function",
    "ShapeError",
    "SymgradError",
    "TargetError",
    "UnsupportedError",
    "accuracy",
    "check",
    "generate",
    "gradient",
    "jacobian",
    "jvp",
    "load",
    "vjp",
]


def __getattr__(name: str) -> Any:
    """The elementwise functions (`sg.exp`, `sg.arctan2`, ...), one per name in `symgrad.ops`."""
    return getattr(_declare, name)
