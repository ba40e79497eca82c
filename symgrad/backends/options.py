"""What printed code is asked to be, where a language leaves a choice."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..errors import TargetError

DTYPES = ("double", "float")


@dataclass(frozen=True, slots=True)
class Options:
    """How code is printed, where it is asked to be otherwise than by default; each language says which of them it has.

    lapack      C: functions of whole matrices call LAPACKE; without it they are refused
    dtype       C: the type of real numbers, double or float
    accumulate  C: backward adds to the gradients' arrays; without it they are overwritten
    openmp      C: loops whose turns are independent are shared by threads
    jvp         torch and JAX: forward mode
    """

    lapack: bool = False
    dtype: str = "double"
    accumulate: bool = False
    openmp: bool = False
    jvp: bool = False

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise TargetError(f"{self.dtype!r} is no type of C that symgrad prints. Choose from {', '.join(DTYPES)}.")

    @property
    def cli_flags(self) -> tuple[str, ...]:
        """The options of the command that ask for it."""
        dtype = (f"--dtype {self.dtype}",) if self.dtype != DTYPES[0] else ()
        flags = ("lapack", self.lapack), ("accumulate", self.accumulate), ("openmp", self.openmp), ("jvp", self.jvp)
        return (*dtype, *(f"--{name}" for name, asked in flags if asked))

    @property
    def single(self) -> bool:
        """Whether real numbers are floats."""
        return self.dtype == "float"


OPTIONS = tuple(field.name for field in fields(Options))
DEFAULT = Options()
