"""A printed C file made ready for pycparser: comments, directives and macros resolved."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .text import Fault

PRELUDE = """typedef unsigned long size_t; typedef long ptrdiff_t; typedef long int64_t; typedef int int32_t;
typedef unsigned long uint64_t; typedef int bool; typedef int lapack_int;
"""
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DEFINE = re.compile(r"define\s+([A-Za-z_]\w*)(\(([^)]*)\))?\s*(.*)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_ALWAYS = {"SIZE_MAX": "18446744073709551615UL", "restrict": "", "inline": "", "__restrict": "", "NULL": "0"}


def prepared(files: Mapping[str, str]) -> str:
    """The translation unit of a `.c` file with its own header; function-like macros become functions of sizes."""
    files = {name.rpartition("/")[2]: text for name, text in files.items()}
    sources = [name for name in files if name.endswith(".c")]
    if len(sources) != 1:
        raise Fault(f"expected one C file, got {', '.join(files) or 'none'}")
    macros: dict[str, str] = {}
    functions: list[str] = []
    body = _resolved(files[sources[0]], files, macros, functions, set())
    return PRELUDE + _substituted("\n".join(functions) + "\n" + body, {**_ALWAYS, **macros})


def _resolved(
    text: str, files: Mapping[str, str], macros: dict[str, str], functions: list[str], included: set[str]
) -> str:
    text = _COMMENT.sub(" ", text).replace("\\\n", " ")
    kept: list[str] = []
    open_: list[bool] = []  # one per conditional: whether its part counts
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped.startswith("#"):
            if all(open_):
                kept.append(line)
            continue
        directive = stripped[1:].strip()
        word = directive.split(None, 1)[0] if directive else ""
        rest = directive[len(word) :].strip()
        if word in ("ifdef", "ifndef", "if"):
            # a platform's macros are not defined here, so `#if` takes its plain branch
            open_.append((rest in macros) == (word == "ifdef") if word != "if" else rest.startswith("!defined"))
        elif word in ("else", "elif"):
            open_[-1] = not open_[-1] and word == "else"
        elif word == "endif":
            open_.pop()
        elif not all(open_):
            continue
        elif word == "define":
            _define(directive, macros, functions)
        elif word == "include" and rest.startswith('"'):
            name = rest.strip('"')
            if name in files and name not in included:
                included.add(name)
                kept.append(_resolved(files[name], files, macros, functions, included))
            elif name not in files:
                raise Fault(f"includes {rest}, which is not among the files")
    return "\n".join(kept)


def _define(directive: str, macros: dict[str, str], functions: list[str]) -> None:
    match = _DEFINE.match(directive)
    if match is None:
        raise Fault(f"cannot read #{directive}")
    name, arguments, parameters, value = match.groups()
    macros_value = value.strip()
    if arguments is None:
        macros[name] = macros_value
        return
    sizes = ", ".join(f"size_t {p.strip()}" for p in parameters.split(",") if p.strip())
    functions.append(f"static size_t {name}({sizes or 'void'}) {{ return {macros_value}; }}")


def _substituted(text: str, macros: Mapping[str, str]) -> str:
    """Object-like macros replaced, those within them too."""
    for _ in range(8):
        new = _WORD.sub(lambda m: macros.get(m.group(), m.group()), text)
        if new == text:
            break
        text = new
    return re.sub(r"_Pragma\s*\([^)]*\)", "", text)
