"""Names that nothing has yet."""

from __future__ import annotations

from collections.abc import Collection


def fresh(wish: str, taken: Collection[str]) -> str:
    """The name that is wished for, with a number where it is taken."""
    name, number = wish, 2
    while name in taken:
        name, number = f"{wish}_{number}", number + 1
    return name
