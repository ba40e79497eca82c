"""What the printed C is asked to be."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..errors import TargetError

DTYPES = ("double", "float")


@dataclass(frozen=True, slots=True)
class Options:
    """How C is printed, where it is asked to be otherwise than by default.

    lapack  functions of whole matrices call LAPACKE; without it they are refused
    dtype   the type of real numbers, double or float
    """

    lapack: bool = False
    dtype: str = "double"

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise TargetError(f"{self.dtype!r} is no type of C that symgrad prints. Choose from {', '.join(DTYPES)}.")

    @property
    def words(self) -> tuple[str, ...]:
        """The options of the command that ask for it."""
        dtype = (f"--dtype {self.dtype}",) if self.dtype != DTYPES[0] else ()
        return (*dtype, *(("--lapack",) if self.lapack else ()))

    @property
    def single(self) -> bool:
        """Whether real numbers are floats."""
        return self.dtype == "float"


OPTIONS = tuple(field.name for field in fields(Options))
DEFAULT = Options()
