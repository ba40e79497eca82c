"""symgrad: write a function as a formula; get its forward and backward as code you can read.

    import symgrad as sg

    @sg.function
    def squares(x, y):
        return x**2, x * y, y**2

    print(sg.jacobian(squares))
    print(sg.generate(squares, to="numpy")["squares_numpy.py"])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # where `as` says that a name is handed on
    from collections.abc import Callable

    from . import library as library
    from .declare import *  # noqa: F403  # the words of declarations are the front door; __all__ names them
    from .declare import Array
    from .derivatives import derived as derived
    from .derivatives import gradient as gradient
    from .derivatives import hessian as hessian
    from .derivatives import jacobian as jacobian
    from .derivatives import jvp as jvp
    from .derivatives import vjp as vjp
    from .errors import CheckError as CheckError
    from .errors import CompilerError as CompilerError
    from .errors import DeclarationError as DeclarationError
    from .errors import FormulaError as FormulaError
    from .errors import MachineError as MachineError
    from .errors import ShapeError as ShapeError
    from .errors import SymgradError as SymgradError
    from .errors import TargetError as TargetError
    from .errors import UnsupportedError as UnsupportedError
    from .explanation import explain as explain
    from .formulas import parse as parse
    from .ir import Derivative as Derivative
    from .ir import Function as Function
    from .pipeline import accuracy as accuracy
    from .pipeline import check as check
    from .pipeline import generate as generate
    from .pipeline import load as load

__version__ = "0.1.0"

_HOMES = {  # a module is imported when something of it is asked for; what is not named here is of `declare`
    "errors": [
        "CheckError", "CompilerError", "DeclarationError", "FormulaError", "MachineError", "ShapeError", "SymgradError",
        "TargetError", "UnsupportedError",
    ],
    "formulas": ["parse"],
    "ir": ["Derivative", "Function"],
    "library": [],
    "derivatives": ["derived", "gradient", "hessian", "jacobian", "jvp", "vjp"],
    "explanation": ["explain"],
    "pipeline": ["accuracy", "check", "generate", "load"],
}  # fmt: skip


def _found(name: str) -> Any:
    """What is asked for; the elementwise functions (`sg.exp`, `sg.arctan2`, ...) have the names in `symgrad.ops`."""
    if name in _HOMES:
        return import_module(f".{name}", __name__)
    home = next((home for home, names in _HOMES.items() if name in names), "declare")
    found = import_module(f".{home}", __name__)
    if name == "__all__":
        return [*found.__all__, *(name for names in _HOMES.values() for name in names)]
    return globals().setdefault(name, getattr(found, name))


if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Array]: ...  # the elementwise functions

else:
    __getattr__ = _found


def __dir__() -> list[str]:
    own = (name for home, names in _HOMES.items() for name in names or [home])
    return sorted([*dir(import_module(".declare", __name__)), *own])
