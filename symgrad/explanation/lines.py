"""Which lines of a printed file compute what: those that assign to it, as the tree of the language tells.

Python is parsed; C is printed of a tree, whose comments hold the equations that are computed below them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from ..backends.c import C
from ..backends.c_print import Printer
from ..pipeline import Printed
from ..source.tree import Comment, Element, Expression, Local, Name, Operation, Space, Store

PROCEDURES = ("forward", "backward")
Lines = Mapping[str, Mapping[str, tuple[int, ...]]]  # by procedure, and name


def lines_of_names(printed: Printed, text: str) -> Lines:
    """The lines of `text` that compute each name in forward and in backward."""
    return _stored(printed, printed.backend, text) if isinstance(printed.backend, C) else assigned(text)


def _stored(printed: Printed, backend: C, text: str) -> Lines:
    """The same of C: below a comment what its equations compute, else where a number is stored."""
    write = Printer(backend.options.single, backend.options.integer)
    lines, found = text.splitlines(), dict[str, dict[str, tuple[int, ...]]]()
    for f in (one.function for one in backend.functions(printed.program)):
        if f.role not in PROCEDURES:
            continue
        own = found.setdefault(f.role, {})
        head = write.head(f)
        there = [*write.located(f.body, 1, lines.index(head[0]) + len(head) + 2)]
        breaks = [(first, end) for node, first, _, end in there if isinstance(node, Comment | Space)]
        for node, first, _, end in there:
            last = min([end, *(n - 1 for n, of in breaks if n > first and of == end)])
            for e in node.equations if isinstance(node, Comment) else ():
                own[e.target] = (*own.get(e.target, ()), *range(first, last + 1))
        for node, first, last, _ in there:
            name = _name_of(node.target) if isinstance(node, Store) else node.name if isinstance(node, Local) else ""
            if name and first not in own.get(name, ()):
                own[name] = (*own.get(name, ()), *range(first, last + 1))
    return found


def _name_of(target: Expression) -> str:
    match target:
        case Name(name) | Element(Name(name), _) | Operation("at", (Name(name),)):
            return name
    return ""


def assigned(text: str) -> dict[str, dict[str, tuple[int, ...]]]:
    """The lines of printed Python that assign to each name in forward and in backward; those of `return`, too."""
    found: dict[str, dict[str, tuple[int, ...]]] = {name: {} for name in PROCEDURES}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name in found:
            own = found[node.name]
            for statement in ast.walk(node):
                for name in _targets(statement):
                    assert isinstance(statement, ast.stmt)
                    last = statement.end_lineno or statement.lineno
                    own[name] = (*own.get(name, ()), *range(statement.lineno, last + 1))
    return found


def _targets(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Return):
        yield "return"
    if isinstance(node, ast.Assign) and not (isinstance(node.value, ast.Constant) and node.value.value is None):
        for target in node.targets:
            yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
            yield from _base(target)
    elif isinstance(node, ast.AugAssign):
        yield from _base(node.target)
        if isinstance(node.target, ast.Name):
            yield node.target.id
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.value.args:
        yield from _base(node.value.args[0])  # np.add.at(grad_x, ...)
        if isinstance(node.value.args[0], ast.Name):
            yield node.value.args[0].id


def _base(target: ast.expr) -> Iterator[str]:
    while isinstance(target, ast.Subscript):
        target = target.value
        if isinstance(target, ast.Name):
            yield target.id
