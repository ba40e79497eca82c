"""The names of a file, given once: the interface's are fixed, the user's come next, everything else yields."""

from __future__ import annotations

from collections.abc import Iterable

from ..expr.names import Names


class Scope(Names):
    """The names that mean something in a part of a file; what is inside sees what is outside.

    Who is to keep a name claims it first: the interface's `grad_output`, then the inputs, sizes, options, indices and
    locals that the user named, then what the printed code calls from elsewhere; `new` gives what is left to temporaries
    and functions of the file.
    """

    def __init__(self, *taken: Iterable[str], outer: Scope | None = None) -> None:
        super().__init__(*taken)
        self._outer = outer

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (self._outer is not None and name in self._outer)
