"""The types of C's subset, and what is known of a file while it is translated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from pycparser import c_ast

from ..records import dataclass
from .text import Fault

DOUBLE, SIZE, INT, VOID = "double", "size", "int", "void"
_TYPES = {
    **dict.fromkeys(("double", "float"), DOUBLE),
    **dict.fromkeys(("size_t", "uint64_t", "uint32_t", "unsigned", "unsigned char"), SIZE),
    **dict.fromkeys(("ptrdiff_t", "int64_t", "int32_t", "int", "long", "bool"), INT),
    "void": VOID,
}
_NARROW = {"uint32_t", "unsigned", "unsigned char", "int32_t", "int", "bool"}  # too small for the size of an array
Variable = tuple[str, str]  # what it is called in Python, and its type: "double", or "double*" of a pointer
NUMBERS = {"NAN": ("_nan", DOUBLE), "INFINITY": ("_inf", DOUBLE)}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a C function; `pointer` if it is one, `const` if it may only be read."""

    name: str
    kind: str
    pointer: bool
    const: bool

    @property
    def type(self) -> str:
        """Its type: `double*` of a pointer."""
        return self.kind + "*" * self.pointer


@dataclass(slots=True)
class Unit:
    """A translated file: Python source, its constants, the parameters of each function, and those that give a float.

    local  what the functions and constants stand for that the file has for itself, by the names that it gives them
    """

    lines: list[str] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    functions: dict[str, tuple[Parameter, ...]] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)
    floats: set[str] = field(default_factory=set)
    local: Mapping[str, str] = field(default_factory=dict)
    globals: dict[str, Variable] = field(default_factory=lambda: dict(NUMBERS))


def unknown(node: Any) -> Fault:
    """The fault of a construct outside of the subset."""
    return Fault(f"line {getattr(node.coord, 'line', '?')}: the check does not know {type(node).__name__} here")


def element_type(node: Any) -> tuple[str, bool, bool]:
    """The element type, whether it is a pointer or array, and whether the element is const."""
    if isinstance(node, (c_ast.PtrDecl, c_ast.ArrayDecl)):
        kind, pointer, const = element_type(node.type)
        if pointer:
            raise Fault("the check knows pointers to numbers only, and arrays of one dimension")
        return kind, True, const
    if isinstance(node, c_ast.TypeDecl) and isinstance(node.type, c_ast.IdentifierType):
        names = " ".join(node.type.names)
        if names not in _TYPES:
            raise Fault(f"the check does not know the type {names}")
        return _TYPES[names], False, "const" in node.quals
    raise unknown(node)


def is_narrow(node: Any, bits: bool = False) -> bool:
    """Whether a declared number is of an integer type that may be too small for a size; `bits` of a float may be so."""
    simple = isinstance(node, c_ast.TypeDecl) and isinstance(node.type, c_ast.IdentifierType)
    names = " ".join(node.type.names) if simple else ""
    return names in _NARROW and not (bits and names == "uint32_t")


def joined(first: str, second: str) -> str:
    """The type of an operation on two types."""
    if first.endswith("*"):
        return first
    if DOUBLE in (first, second):
        return DOUBLE
    return SIZE if SIZE in (first, second) else INT
