"""The types of C's subset, and what is known of a file while it is translated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast

from .text import Fault

DOUBLE, SIZE, INT, VOID = "double", "size", "int", "void"
_TYPES = {
    "double": DOUBLE,
    "float": DOUBLE,
    "size_t": SIZE,
    "uint64_t": SIZE,
    "unsigned": SIZE,
    "ptrdiff_t": INT,
    "int64_t": INT,
    "int32_t": INT,
    "int": INT,
    "long": INT,
    "bool": INT,
    "void": VOID,
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a C function; `pointer` if it is one, `const` if it may only be read."""

    name: str
    kind: str
    pointer: bool
    const: bool


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
    globals: dict[str, tuple[str, bool]] = field(default_factory=dict)  # (type, array)


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
        names = node.type.names
        known = SIZE if "unsigned" in names else _TYPES.get(names[0])
        if known is None:
            raise Fault(f"the check does not know the type {' '.join(names)}")
        return known, False, "const" in node.quals
    raise unknown(node)


def joined(first: str, second: str) -> str:
    """The type of an operation on two types."""
    if first.endswith("*"):
        return first
    if DOUBLE in (first, second):
        return DOUBLE
    return SIZE if SIZE in (first, second) else INT


def walk(node: Any) -> Iterator[Any]:
    """Every node below `node`, by a loop."""
    stack = [node]
    while stack:
        item = stack.pop()
        yield item
        stack.extend(child for _, child in item.children())


def addressed(node: Any) -> set[str]:
    """The variables whose address is taken."""
    taken = set()
    for item in walk(node):
        if isinstance(item, c_ast.UnaryOp) and item.op == "&" and isinstance(item.expr, c_ast.ID):
            taken.add(item.expr.name)
    return taken


def assigned(node: Any) -> set[str]:
    """The variables that are assigned, stepped or declared below `node`."""
    found = set()
    for item in walk(node):
        if isinstance(item, c_ast.Assignment) and isinstance(item.lvalue, c_ast.ID):
            found.add(item.lvalue.name)
        if isinstance(item, c_ast.UnaryOp) and item.op in ("++", "p++", "--", "p--"):
            found.update(i.name for i in walk(item.expr) if isinstance(i, c_ast.ID))
    return found


def variables(node: Any) -> set[str] | None:
    """The variables of a bound; None if it reads memory or calls."""
    found = set()
    for item in walk(node):
        if isinstance(item, c_ast.ID):
            found.add(item.name)
        elif not isinstance(item, (c_ast.BinaryOp, c_ast.Constant)):
            return None
    return found
