"""What printed code is asked to be, where a language leaves a choice."""

from __future__ import annotations

from dataclasses import fields
from math import inf

from ..errors import TargetError
from ..records import dataclass

DTYPES = ("double", "float")
SAVES = {"minimal": 0.0, "balanced": 0.05, "all": inf}  # what one operation costs, where keeping an element costs 1


@dataclass(frozen=True, slots=True)
class Options:
    """How code is printed, where it is asked to be otherwise than by default; each language says which of them it has.

    save        what forward hands to backward: `minimal`, inputs and outputs, and nothing that backward can compute
                again; `balanced`, what costs less to keep; `all` that backward reads
    checkpoint  C and NumPy: the steps of a recurrence from one state that forward saves to the next one; backward
                computes those between them again, and holds them. None: forward saves all
    lapack      C: functions of whole matrices call LAPACKE; without it they are refused
    blas        C: products of matrices call CBLAS where the strides of their operands allow it
    dtype       C: the type of real numbers, double or float
    accumulate  C: backward adds to the gradients' arrays; without it they are overwritten
    openmp      C: loops whose turns are independent are shared by threads
    jvp         torch and JAX: forward mode
    """

    save: str = "balanced"
    checkpoint: int | None = None
    lapack: bool = False
    blas: bool = False
    dtype: str = "double"
    accumulate: bool = False
    openmp: bool = False
    jvp: bool = False

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise TargetError(f"{self.dtype!r} is no type of C that symgrad prints. Choose from {', '.join(DTYPES)}.")
        if self.save not in SAVES:
            raise TargetError(f"{self.save!r} does not say what forward saves. Choose from {', '.join(SAVES)}.")

        if self.checkpoint is not None and (type(self.checkpoint) is not int or self.checkpoint < 1):
            raise TargetError(
                f"{self.checkpoint!r} does not say how far apart checkpoints are: it is a number of steps, at least 1. "
                f"About the root of the number of all steps needs the least memory."
            )

    @property
    def cli_flags(self) -> tuple[str, ...]:
        """The options of the command that ask for it."""
        dtype = ("--dtype", self.dtype) if self.dtype != DTYPES[0] else ()
        save = ("--save", self.save) if self.save != DEFAULT.save else ()
        every = ("--checkpoint", str(self.checkpoint)) if self.checkpoint is not None else ()
        flags = (f.name for f in fields(self) if getattr(self, f.name) is True)
        return (*save, *every, *dtype, *(f"--{name}" for name in flags))

    @property
    def operation(self) -> float:
        """What one operation on an element costs backward, where keeping the element costs 1."""
        return SAVES[self.save]

    @property
    def single(self) -> bool:
        """Whether real numbers are floats."""
        return self.dtype == "float"


OPTIONS = tuple(field.name for field in fields(Options))
DEFAULT = Options()
