"""What a file of C costs where every byte counts: what it calls of the C library, and of each function that takes the
same steps at every call, how many operations, and the bytes of its arrays on the stack."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from ..source.layout import cut_text
from ..source.tree import (
    BOOL,
    FLAG,
    INT,
    INTEGER,
    REAL,
    SIZE,
    Array,
    Block,
    Call,
    Cast,
    Expression,
    Function,
    If,
    Local,
    Loop,
    Module,
    Number,
    Operation,
    Return,
    Store,
    Verbatim,
    contents,
    names_of,
    statements_in,
)
from .c_print import INFIX, LIBM
from .header import INNER
from .options import Options

Counts = Counter[str]

_IN_PLACE = {"+=": "+", "-=": "+", "*=": "*", "/=": "*", "max=": "?:", "min=": "?:"}
_ORDER = ("+", "*", "/", "?:")
_LIBRARY = re.compile(r"\b(mem(?:cpy|set|move)|malloc|free|LAPACKE_\w+|cblas_\w+)\(")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"\b([a-z]\w*)\(")


def cost(module: Module, options: Options) -> list[str]:
    """The lines at the head of the file."""
    suffix = "f" * options.single
    called = sorted(set().union(*(_library(f, suffix) for f in module.functions)))
    lines = ["", "Calls of the C library", *_indented(", ".join(called))] if called else []
    known: dict[str, Counts | None] = {}
    rows = []
    for f in module.functions:
        if isinstance(f, Function):
            known[f.name] = found = _of(f.body, known)
            if f.role != "local":
                said = _said(found, suffix) if found is not None else []
                said += [f"{size} bytes of arrays"] if (size := _stack(f, options)) else []
                rows += [(f.name, ", ".join(said))] if said else []
    width = max((len(name) for name, _ in rows), default=0)
    table = [line for name, said in rows for line in _indented(f"{name:<{width}}  {said}")]
    return [*lines, "", "Operations, where everything is asked for (- counts as +)", *table] if rows else lines


def _library(function: Function | Verbatim, suffix: str) -> set[str]:
    """What a function calls of the C library."""
    if isinstance(function, Function):
        return {name + suffix for name in names_of(contents(function)) if name in LIBM}
    text = _COMMENT.sub("", "\n".join(function.lines))
    words = {word for word in _WORD.findall(text) if word in LIBM or suffix and word.removesuffix(suffix) in LIBM}
    return words | {*_LIBRARY.findall(text)}


def _said(counts: Counts, suffix: str) -> list[str]:
    """Operations, then calls, the most frequent first."""
    calls = sorted(counts.keys() - {*_ORDER}, key=lambda name: (-counts[name], name))
    found = [f"{counts[symbol]} {symbol}" for symbol in _ORDER if counts[symbol]]
    for name in calls:
        number = f"{counts[name]} " if counts[name] > 1 else ""
        found.append(f"{number}{name}{suffix * (name in LIBM)}")
    return found


def _stack(function: Function, options: Options) -> int:
    """The bytes of arrays on the stack."""
    sizes = {REAL: 4 if options.single else 8, INTEGER: 4 if options.index == "int32" else 8, FLAG: 1}
    sizes |= {SIZE: 8, INT: 8, BOOL: 4}
    arrays = (s for s in statements_in(function.body) if isinstance(s, Array) and not s.values)
    return sum(sizes[a.type.of] * int(a.length.text) for a in arrays if isinstance(a.length, Number))


def _of(block: Block, known: Mapping[str, Counts | None]) -> Counts | None:
    """The operations of some statements; None where their number depends on sizes or data. Of two branches each counts
    as the longer one."""
    found: Counts = Counter()
    for s in block:
        own: Counts | None = Counter()
        match s:
            case Local(type=kind, value=value):
                own = Counter() if kind.pointer or kind.of in (SIZE, INT) else _in(value, known)
            case Store(value=value, how=how):
                own = _in(value, known)
                if own is not None and how in _IN_PLACE:
                    own = own + Counter([_IN_PLACE[how]])
            case Return(value) if value is not None:
                own = _in(value, known)
            case Call():
                own = _in(s, known)
            case If(condition, body, otherwise):
                one, other = _of(body, known), _of(otherwise, known)
                own = None if one is None or other is None else _plus(_in(condition, known), one | other)
            case Loop(_, Number(first), Number(end), body):
                inside = _of(body, known)
                own = None if inside is None else Counter({k: n * (int(end) - int(first)) for k, n in inside.items()})
            case Loop():
                own = None
        if own is None:
            return None
        found += own
    return found


def _plus(a: Counts | None, b: Counts) -> Counts | None:
    return None if a is None else a + b


def _in(root: Expression, known: Mapping[str, Counts | None]) -> Counts | None:
    """The operations of an expression, each as often as it is written; those of subscripts do not count."""
    found: Counts = Counter()
    stack: list[Expression] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Operation):
            symbol = "?:" if node.op == "select" else INFIX.get(node.op, ("",))[0].replace("-", "+")
            found.update([symbol] if symbol in _ORDER else [])
            stack += node.operands
        elif isinstance(node, Cast):
            stack.append(node.value)
        elif isinstance(node, Call):
            inside = known.get(node.function, Counter([node.function]))
            if inside is None:
                return None
            found += inside
            stack += node.arguments
    return found


def _indented(text: str) -> Sequence[str]:
    first, *rest = cut_text(text, 0, INNER)
    return [f"    {first}", *(f"        {line.strip()}" for line in rest)]
