"""What the printed C is asked to be."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Options:
    """How C is printed, where it is asked to be otherwise than by default.

    lapack  functions of whole matrices call LAPACKE; without it they are refused
    """

    lapack: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The options of the command that ask for it."""
        return ("--lapack",) if self.lapack else ()


OPTIONS = tuple(field.name for field in fields(Options))
DEFAULT = Options()
