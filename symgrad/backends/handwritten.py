"""Functions and constants of printed Python files, written by hand: in `templates`, one file for each language."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache

from ..source.python import Verbatim, Word
from .base import source


@cache
def handwritten(language: str) -> Mapping[str, Verbatim]:
    """The functions for a language, and the constants, by name; what they import is for linters."""
    text = source(f"{language}.py")
    lines = text.splitlines()
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
            found[node.name] = Verbatim(Word(node.name), "\n".join(lines[first : node.end_lineno]), _words(node))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            found[name] = Verbatim(Word(name), "\n".join(lines[node.lineno - 1 : node.end_lineno]), ())
    return found


def _words(node: ast.AST) -> tuple[str, ...]:
    return tuple(dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name)))


def respelled(function: Verbatim, words: Mapping[str, str]) -> Verbatim:
    """The function with other words, for itself and in itself."""
    if function.name.name not in words and words.keys().isdisjoint(function.words):
        return function
    (node,) = ast.parse(function.text).body
    lines = function.text.splitlines()
    names = [(n.lineno, n.col_offset, n.id) for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in words]
    for row, column, name in sorted(names, reverse=True):  # those behind first: the others stay where they are
        line = lines[row - 1]
        lines[row - 1] = f"{line[:column]}{words[name]}{line[column + len(name) :]}"
    old = function.name.name
    name = words.get(old, old)
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        lines[node.lineno - 1] = lines[node.lineno - 1].replace(f" {old}(", f" {name}(", 1)
    return Verbatim(Word(name), "\n".join(lines), function.words)
