"""A printed C file made ready for pycparser: comments, directives and macros resolved."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .text import Fault

PRELUDE = """typedef unsigned long size_t; typedef long ptrdiff_t; typedef long int64_t; typedef int int32_t;
typedef unsigned long uint64_t; typedef unsigned uint32_t; typedef int bool; typedef int lapack_int;
"""
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DEFINE = re.compile(r"(\w+)(\(([^)]*)\))?\s*(.*)")
_CONDITION = re.compile(r"(?P<no>!?)defined\((?P<name>\w+)\)|(?P<number>\w+) >= [1-9]\d*")
_WORD = re.compile(r"[A-Za-z_]\w*")


def prepared(files: Mapping[str, str]) -> str:
    """The translation unit of a `.c` file with its own header; function-like macros become functions of sizes."""
    sources = [name for name in files if name.endswith(".c")]
    if len(sources) != 1:
        raise Fault(f"expected one C file, got {', '.join(files) or 'none'}")
    macros = {"restrict": "", "NULL": "0"}
    text = "\n".join(_resolved(files[sources[0]], files, macros))
    return PRELUDE + _WORD.sub(lambda m: macros.get(m.group(), m.group()), text)


def _resolved(text: str, files: Mapping[str, str], macros: dict[str, str]) -> list[str]:
    """The lines without directives; what is defined goes to `macros`."""
    kept: list[str] = []
    open_: list[bool] = []  # one per conditional: whether its part counts
    past: list[bool] = []  # and whether an earlier one of its parts did
    for line in _COMMENT.sub(" ", text).replace("\\\n", " ").split("\n"):
        if not line.lstrip().startswith("#"):
            kept += [line] if all(open_) else []
            continue
        word, _, rest = line.lstrip()[1:].strip().partition(" ")
        rest = rest.strip()
        if word in ("if", "ifdef", "ifndef"):
            open_.append(_asked(word, rest, macros))
            past.append(False)
        elif word in ("elif", "else"):
            past[-1] |= open_[-1]
            open_[-1] = not past[-1] and (word == "else" or _asked("if", rest, macros))
        elif word == "endif":
            open_.pop()
            past.pop()
        elif word == "define":
            if all(open_):
                kept += _defined(rest, macros)
        elif word == "pragma":
            kept += [line] if rest.startswith("omp ") else []
        elif word != "include":
            raise Fault(f"the check does not know #{word}")
        elif all(open_) and rest.startswith('"'):
            if rest.strip('"') not in files:
                raise Fault(f"includes {rest}, which is not among the files")
            kept += _resolved(files[rest.strip('"')], files, macros)
    return kept


def _asked(word: str, rest: str, macros: Mapping[str, str]) -> bool:
    """Whether a condition holds. What a compiler would define, such as __GNUC__, is not, and so counts as 0."""
    if word != "if":
        return (rest in macros) == (word == "ifdef")
    parts = [_CONDITION.fullmatch(part.strip()) for part in rest.split("&&")]
    if not all(part and part["number"] not in macros for part in parts):
        raise Fault(f"the check does not know #{word} {rest}")
    return all(part["name"] and (part["name"] in macros) == (not part["no"]) for part in parts if part)


def _defined(rest: str, macros: dict[str, str]) -> list[str]:
    """A macro: its name means its value from now on; with arguments, it is a function of sizes."""
    match = _DEFINE.fullmatch(rest)
    if match is None:
        raise Fault(f"cannot read #define {rest}")
    name, arguments, parameters, value = match.groups()
    if arguments is None:
        macros[name] = value.strip()
        return []
    sizes = ", ".join(f"size_t {p.strip()}" for p in parameters.split(",") if p.strip())
    return [f"static size_t {name}({sizes or 'void'}) {{ return {value.strip()}; }}"]
