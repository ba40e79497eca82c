"""Where a declaration stands while its Python function runs: its sizes, its file and line, its frame."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePath
from types import CodeType, FrameType
from typing import Any

from ...errors import DeclarationError
from ...expr import Expr, Index, Ref, refs, substitute
from ...expr.names import is_pack
from ...records import dataclass
from ..draft import Draft
from ..names import check_name
from .graph import Node, Written


@dataclass(slots=True, eq=False)
class Scope:
    """One call of a declared Python function.

    draft    the declaration being traced; for a call inside of it, that of the caller
    sizes    the sizes and options that strings may name
    code     of the Python function; its frame is remembered at the first operation, because a frame that is referred
             to keeps its local variables after the function has returned: so no hook is needed to learn their names
    closed   arrays of terms that are there already, by what they are; shared by all calls of one declaration
    names    local names of nodes, by serial; those of the caller win over those of what it calls
    calls    the name of the function that gave a node, by serial: what that is called if nobody has named it
    within   the result of the call inside of which a node was named, both by serial
    cells    the values that an array is put together of, by its serial and their places on its first axes
    latest   the instruction of the Python function that was at work last, and the node that it made last
    stored   the local variables that nodes were stored in, which may have other values since
    """

    draft: Draft
    sizes: Mapping[str, Expr]
    code: CodeType
    closed: dict[object, Node] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    calls: dict[int, str] = field(default_factory=dict)
    within: dict[int, int] = field(default_factory=dict)
    cells: dict[int, Mapping[tuple[int, ...], Any]] = field(default_factory=dict)
    frame: FrameType | None = None
    latest: tuple[int, Node | None] = (-1, None)
    stored: dict[int, str] = field(default_factory=dict)

    def made(self, node: Node | None) -> None:
        """Note a node, and the name of the last one that an instruction made before, if its value was given one."""
        at = -1 if node is None or self.frame is None else self.frame.f_lasti
        before, last = self.latest
        if at != before and last is not None and not last.constant:
            name = _targets(self.code).get(before)
            if name is not None:
                self.stored[last.serial] = name
        self.latest = at, node

    @property
    def declared(self) -> str:
        """The place of the declaration: `layers.py:14`; "" of a formula, which has none."""
        if not self.code.co_filename:
            return ""
        return f"{PurePath(self.code.co_filename).name}:{self.code.co_firstlineno}"

    @property
    def locals(self) -> Mapping[str, Any]:
        """The local variables of the Python function, at the moment or when it returned."""
        return {} if self.frame is None else dict(self.frame.f_locals)

    def find_frame(self) -> None:
        """Remember the frame of the Python function, called from somewhere below it."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code is not self.code:
            frame = frame.f_back
        self.frame = frame

    def resolve(self, extent: Expr | Written) -> Expr:
        """`extent` with the names that the user wrote looked up."""
        if not isinstance(extent, Written):
            return extent
        known: dict[Expr, Expr] = {}
        for r in refs(extent.size):
            if r.name not in self.sizes:
                names = ", ".join(n for n in self.sizes if not is_pack(n)) or "none"
                raise DeclarationError(f"{self.draft.name}: {r.name} is no size of this declaration. Known: {names}.")
            known[r] = self.sizes[r.name]
        return substitute(extent.size, known)

    def name_of(self, x: Any) -> str:
        """What the Python function calls an object: a local or a global variable."""
        seen = {} if self.frame is None else {**self.frame.f_globals, **self.frame.f_locals}
        return next((name for name, found in seen.items() if found is x and usable(name)), "numbers")

    def describe(self, node: Node) -> str:
        """What to call `node` in a message: an input, a local variable, or what it is."""
        body = getattr(node, "body", None)
        if isinstance(body, Ref) and body.name in self.draft.tensors:
            turned = node.rank > 1 and tuple(body.subscripts) == tuple(reversed(node.formals))
            return f"{body.name}.T" if turned else body.name
        for name, local in self.locals.items():
            if getattr(local, "_node", None) is node:
                return name
        return "a value"


@lru_cache(maxsize=2**8)
def _targets(code: CodeType) -> Mapping[int, str]:
    """The local variables that the results of instructions are stored in, by the places of the instructions."""
    names: dict[int, str] = {}
    for one, after in pairwise(dis.get_instructions(code)):
        if after.opname.startswith(("STORE_FAST", "STORE_DEREF")):
            name = after.argval[0] if isinstance(after.argval, tuple) else after.argval
            if usable(name):
                names.update(dict.fromkeys(range(one.offset, after.offset), str(name)))  # a call has caches behind it
    return names


_innermost: ContextVar[Scope | None] = ContextVar("innermost", default=None)


def current() -> Scope | None:
    """The innermost declaration that is being traced, if any; its frame is known from then on."""
    scope = _innermost.get()
    if scope is not None and scope.frame is None:
        scope.find_frame()
    return scope


def inside(what: str) -> Scope:
    """The innermost declaration; raises DeclarationError where there is none."""
    scope = current()
    if scope is None:
        raise DeclarationError(f"{what} belongs inside a function declared with @sg.function.")
    return scope


@contextmanager
def entered(scope: Scope) -> Iterator[Scope]:
    """`scope` is the innermost declaration while the block runs."""
    before = _innermost.set(scope)
    try:
        yield scope
    finally:
        _innermost.reset(before)


Functions = Mapping[str, Callable[..., Any]]
_of_arrays: ContextVar[Functions | None] = ContextVar("of arrays", default=None)


def calls_arrays() -> bool:
    """Whether a Python function is called with arrays, and not traced."""
    return _of_arrays.get() is not None


def plain(name: str) -> Callable[..., Any] | None:
    """What symgrad's function does to arrays while a Python function is called with such, if anything."""
    return (_of_arrays.get() or {}).get(name)


@contextmanager
def with_arrays(functions: Functions) -> Iterator[None]:
    """symgrad's functions are these while the block runs."""
    before = _of_arrays.set(functions)
    try:
        yield
    finally:
        _of_arrays.reset(before)


def extents_of(given: Mapping[Index, Expr | Written], scope: Scope) -> dict[Index, Expr]:
    """The given extents, with their names looked up."""
    return {i: scope.resolve(extent) for i, extent in given.items()}


def usable(name: str) -> bool:
    """Whether a local variable's name can stand in the printed code."""
    try:
        check_name(name, "result")
    except DeclarationError:
        return False
    return True
