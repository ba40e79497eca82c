"""Functions of the user's that compiled C calls: their own sources are compiled with it; of one that has none, the
Python value is called back."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping

from ..later import mpmath
from ..ops.primitive import Primitive
from ..source.layout import listed
from .c_compile import Library

FILE = "symgrad_primitives.c"


def linked(externs: Mapping[Primitive, str]) -> tuple[str, ...]:
    """What they are linked with: files of the user's."""
    return tuple(dict.fromkeys(source for op in externs for source in op.about.sources))


def called_back(externs: Mapping[Primitive, str]) -> dict[Primitive, str]:
    """Those that C calls back, by their names there: all, where there are no sources that they may be in."""
    return {} if linked(externs) else dict(externs)


def stand_ins(externs: Mapping[Primitive, str], real: str) -> dict[str, str]:
    """A file in which C calls back for these; none for none."""
    parts = []
    for op, name in externs.items():
        given = ", ".join(f"{real} x{k}" for k in range(len(op.about.arguments)))
        passed = ", ".join(f"x{k}" for k in range(len(op.about.arguments)))
        parts.append(
            f"static {real} (*value_of_{name})({given});\n"
            f"void symgrad_set_{name}({real} (*value)({given})) {{ value_of_{name} = value; }}\n"
            f"{real} {name}({given}) {{ return value_of_{name}({passed}); }}\n"
        )
    return {FILE: "\n".join(parts)} if parts else {}


def connect(library: Library, externs: Mapping[Primitive, str], single: bool) -> None:
    """Give the library the Python values that it calls back; it keeps them as long as it is there."""
    real = ctypes.c_float if single else ctypes.c_double
    for op, name in externs.items():
        kind = ctypes.CFUNCTYPE(real, *[real] * len(op.about.arguments))
        function = kind(_value(op))
        getattr(library.functions, f"symgrad_set_{name}")(function)
        library.kept.append(function)


def remark(externs: Mapping[Primitive, str]) -> str:
    """What a check of the library says of them."""
    if not externs:
        return ""
    called = listed([op.about.name for op in externs])
    return f"C called the Python value of {called}; sources=... would say what it is linked with"


def _value(op: Primitive) -> Callable[..., float]:
    def value(*args: float) -> float:
        try:
            return float(op.value(*map(mpmath.mpf, args)))
        except Exception:  # C has no other way to hear of it
            return math.nan

    return value
