"""Gradients that are equal but for two inputs that change places have one form, and are searched once.

    A*exp(-E/(R*T))        grad_R = ... / (R*T*R)        grad_T = ... / (T*R*T)
"""

from __future__ import annotations

from collections.abc import Callable

from ..expr import Apply, Expr, postorder, ref, refs, size, substitute, transform
from ..ops import OPS
from ..precision import Given
from .opposites import Signed


class Twins:
    """The forms that were found of gradients, by the inputs that these are of."""

    def __init__(self, signed: Callable[[Expr], Signed]) -> None:
        self._signed = signed
        self._found: dict[int, tuple[str, Expr, Given, Expr]] = {}  # the first of each size
        self._written: dict[tuple[int, int], Expr] = {}  # sums, powers and calls, by what they are

    def add(self, own: str, body: Expr, told: Given, form: Expr) -> None:
        """Note the form that was found of `body`, the gradient of the input `own`, by what is told of the inputs."""
        self._note(form)
        self._found.setdefault(size(body), (own, body, told, form))

    def form(self, own: str, body: Expr, told: Given) -> Expr | None:
        """What is found for `body` by changing the input `own` for that of an earlier gradient; None for no twin."""
        self._note(body)
        if (earlier := self._found.get(size(body))) is None:
            return None
        other, twin, known, form = earlier
        swap: dict[Expr, Expr] = {}
        for r in refs(twin, form):
            if r.name in (own, other):
                swap[r] = ref(own if r.name == other else other, *r.subscripts)
        if {(substitute(c, swap), holds) for c, holds in known} != {*told}:
            return None
        one, another = self._signed(substitute(twin, swap)), self._signed(body)
        if one.mark != another.mark:
            return None
        if form is twin:
            return body
        changed = transform(substitute(form, swap), self._as_before)
        return changed if one.sign == another.sign else -changed

    def _note(self, body: Expr) -> None:
        for node in postorder(body):
            if _is_whole(node):
                self._written.setdefault(self._key(node), node)

    def _as_before(self, node: Expr) -> Expr:
        """`node` in the order in which another gradient has it: of products the order was chosen."""
        return self._written.get(self._key(node), node) if _is_whole(node) else node

    def _key(self, node: Expr) -> tuple[int, int]:
        found = self._signed(node)
        return found.mark, found.sign


def _is_whole(node: Expr) -> bool:
    return isinstance(node, Apply) and (OPS[node.op].called or node.op in ("add", "sub", "pow"))
