"""The names of a file, given once: the interface's are fixed, the user's come next, everything else yields."""

from __future__ import annotations

from collections.abc import Iterable


class Scope:
    """The names that mean something in a part of a file; what is inside sees what is outside.

    Who is to keep a name claims it first: the interface's `grad_output`, then the inputs, sizes, options, indices and
    locals that the user named, then what the printed code calls from elsewhere; `new` gives what is left to temporaries
    and functions of the file.
    """

    def __init__(self, *taken: Iterable[str], outer: Scope | None = None) -> None:
        self._outer = outer
        self._taken = {name for some in taken for name in some}
        self._last: dict[str, int] = {}  # the last number of each wish: ten thousand names in linear time

    def __contains__(self, name: str) -> bool:
        return name in self._taken or (self._outer is not None and name in self._outer)

    def claim(self, *names: str) -> None:
        """These are taken from here on."""
        self._taken.update(names)

    def new(self, *wishes: str) -> str:
        """The first of the wishes that is free; with a number if none is."""
        for wish in wishes:
            if wish not in self:
                self._taken.add(wish)
                return wish
        wish = wishes[0]
        name, number = wish, self._last.get(wish, 1)
        while name in self:
            number += 1
            name = f"{wish}_{number}"
        self._last[wish] = number
        self._taken.add(name)
        return name
