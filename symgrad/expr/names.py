"""Names that nothing has yet."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator

from .nodes import Expr, Index, Ref


def numbered(wish: str, taken: Container[str], last: int = 1) -> tuple[str, int]:
    """`wish`, or with the first number after `last` that makes it free; and that number."""
    name, number = wish, last
    while name in taken:
        number += 1
        name = f"{wish}_{number}"
    return name, number


def fresh(wish: str, taken: Collection[str]) -> str:
    """The name that is wished for, with a number where it is taken."""
    return numbered(wish, taken)[0]


def fresh_letters(taken: Container[str]) -> Iterator[str]:
    """Names of indices that are not in `taken`, which may grow: i, j, k, l, ..., then i1, j1, ..."""
    letters = (f"{x}{n}" for n in ("", *range(1, 100)) for x in "ijklpqrstuvwabcdefgh")
    return (letter for letter in letters if letter not in taken)


class Names:
    """The names that are taken, and those that are given: each once."""

    def __init__(self, *taken: Iterable[str]) -> None:
        self._taken = {name for some in taken for name in some}
        self._last: dict[str, int] = {}  # the last number of each wish: ten thousand names in linear time

    def __contains__(self, name: object) -> bool:
        return name in self._taken

    def new(self, *wishes: str) -> str:
        """The first of the wishes that is free, of those that are not empty; the first with a number if none is."""
        name = next((wish for wish in wishes if wish and wish not in self), None)
        if name is None:
            name, self._last[wishes[0]] = numbered(wishes[0], self, self._last.get(wishes[0], 1))
        self._taken.add(name)
        return name


def is_pack(x: str | Expr) -> bool:
    """Whether a name, or the extent or the index of that name, is of several axes: `...` or `*batch`."""
    name = x if isinstance(x, str) else x.name if isinstance(x, (Index, Ref)) else ""
    return name.startswith((".", "*"))
