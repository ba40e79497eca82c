"""What printed code is asked to be, where a language leaves a choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from math import inf
from typing import Any

from ..errors import TargetError
from ..kinds import DERIVED, SPARSE
from ..records import dataclass

DTYPES = ("double", "float")
INTEGERS = ("int64", "int32")
PAIR = ("forward", "backward")
MATRICES = ("dense", "sparse", "operator")
SOLVERS = {  # as what they take a Jacobian; `bc` is what solve_bvp is given besides its function
    "optimize": MATRICES,
    "curve_fit": ("dense",),
    "solve_ivp": ("dense", "sparse"),
    "solve_bvp": ("dense",),
    "bc": ("dense",),
}
ROOT = "sqrt"  # so many steps from one checkpoint to the next as there are checkpoints
SAVES = {"minimal": 0.0, "balanced": 0.05, "all": inf}  # what one operation costs, where keeping an element costs 1


@dataclass(frozen=True, slots=True)
class Options:
    """How code is printed, where it is asked to be otherwise than by default; each language says which of them it has.

    save        what forward hands to backward: `minimal`, inputs and outputs, and nothing that backward can compute
                again; `balanced`, what costs less to keep; `all` that backward reads
    checkpoint  C and NumPy: the steps of a recurrence from one state that forward saves to the next one, or "sqrt", the
                root of the number of all; backward computes those between them again, and holds them. None: forward
                saves all
    lapack      C: functions of whole matrices call LAPACKE; without it they are refused
    blas        C: products of matrices call CBLAS where the strides of their operands allow it
    dtype       C: the type of real numbers, double or float
    index       C: the type of integers in arrays, int64 or int32
    prefix      C: what the name of every function, macro and file begins with
    file        C: the name of the one .c and .h that all functions are printed in; without it each has its own
    accumulate  C: backward adds to the gradients' arrays; without it they are overwritten
    openmp      C: loops whose turns are independent are shared by threads
    functions   the functions that are printed, of PAIR, DERIVED and SPARSE
    wrt         the inputs with respect to which those of DERIVED and SPARSE are; all of real numbers, if none is named.
                One that is perturbed as a rotation or pose says so: "pose:SE3"
    matrix      SciPy: what `jac` and `hess` return, an array or a sparse one; or `jac` an operator, and there is no
                `hess` beside `hessp`
    solver      SciPy: who calls: minimize, least_squares and root, or one that gives the time or data before
    strict_domain  numbers outside of the domain that a function is declared for are refused
    """

    save: str = "balanced"
    checkpoint: int | str | None = None
    lapack: bool = False
    blas: bool = False
    dtype: str = "double"
    index: str = "int64"
    prefix: str = ""
    file: str = ""
    accumulate: bool = False
    openmp: bool = False
    functions: tuple[str, ...] = PAIR
    wrt: tuple[str, ...] = ()
    matrix: str = "dense"
    solver: str = "optimize"
    strict_domain: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "functions", listed(self.functions))
        object.__setattr__(self, "wrt", with_respect_to(self.wrt))
        self._refuse_functions()
        if self.dtype not in DTYPES:
            raise TargetError(f"{self.dtype!r} is no type of C that symgrad prints. Choose from {', '.join(DTYPES)}.")
        if self.index not in INTEGERS:
            raise TargetError(f"{self.index!r} is no type of integers in arrays. Choose from {', '.join(INTEGERS)}.")
        if self.prefix and not (self.prefix.isascii() and self.prefix.isidentifier()):
            raise TargetError(f"{self.prefix!r} is nothing that a name in C begins with, as rb_ is.")
        if self.matrix not in MATRICES:
            raise TargetError(f"{self.matrix!r} is no form of a Jacobian. Choose from {', '.join(MATRICES)}.")
        if self.solver not in SOLVERS:
            raise TargetError(f"{self.solver!r} is no solver that is known. Choose from {', '.join(SOLVERS)}.")
        if self.matrix not in SOLVERS[self.solver]:
            raise TargetError(
                f"{self.solver} does not take the Jacobian as matrix={self.matrix}, but as "
                f"{' or '.join(SOLVERS[self.solver])}."
            )
        if self.file and not (self.file.isascii() and self.file.isidentifier()):
            raise TargetError(f"{self.file!r} is no name of a file of C, as kinematics is: it has no ending.")
        pointless = [n for n in ("save", "checkpoint", "accumulate") if getattr(self, n) != _default(n)]
        if pointless and not self.pair:
            raise TargetError(
                f"{pointless[0]} is about forward and backward, and backward is not among the functions "
                f"{', '.join(self.functions)}. Leave {pointless[0]} out, or ask for both."
            )
        if self.save not in SAVES:
            raise TargetError(f"{self.save!r} does not say what forward saves. Choose from {', '.join(SAVES)}.")

        number = type(self.checkpoint) is int and self.checkpoint >= 1
        if self.checkpoint not in (None, ROOT) and not number:
            raise TargetError(
                f"{self.checkpoint!r} does not say how far apart checkpoints are: it is a number of steps, at least 1, "
                f"or {ROOT}, the root of the number of all steps, which needs the least memory."
            )

    def _refuse_functions(self) -> None:
        unknown = [name for name in self.functions if name not in (*PAIR, *DERIVED, *SPARSE)]
        if unknown or not self.functions:
            said = f"{unknown[0]!r} is no function that is printed" if unknown else "No function is asked for"
            raise TargetError(f"{said}. Choose from {', '.join((*PAIR, *DERIVED, *SPARSE))}.")
        if "backward" in self.functions and "forward" not in self.functions:
            raise TargetError("backward is given what forward saves: ask for both, as in forward,backward.")
        if self.wrt and not {*DERIVED, *SPARSE} & {*self.functions}:
            raise TargetError(
                f"wrt={', '.join(self.wrt)} says with respect to which inputs there are derivatives, and none of "
                f"{', '.join(DERIVED)} is asked for. Name it among the functions."
            )

    @property
    def pair(self) -> bool:
        """Whether forward saves what backward reads, and both are printed."""
        return "backward" in self.functions

    @property
    def cli_flags(self) -> tuple[str, ...]:
        """The options of the command that ask for it."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        said = {n: ",".join(v) if isinstance(v, tuple) else "" if v is True else str(v) for n, v in given.items()}
        return tuple(word for name, value in said.items() for word in (flag(name), value) if word)

    @property
    def keywords(self) -> tuple[str, ...]:
        """The same in Python: `dtype="float"`."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        said = {n: ", ".join(v) if isinstance(v, tuple) else v for n, v in given.items()}
        return tuple(f'{n}="{v}"' if isinstance(v, str) else f"{n}={v}" for n, v in said.items())

    @property
    def operation(self) -> float:
        """What one operation on an element costs backward, where keeping the element costs 1."""
        return SAVES[self.save]

    @property
    def integer(self) -> str:
        """What C calls the type of integers in arrays."""
        return f"{self.index}_t"

    @property
    def single(self) -> bool:
        """Whether real numbers are floats."""
        return self.dtype == "float"


def flag(name: str) -> str:
    """What the command calls an option: `--strict-domain`."""
    return f"--{name.replace('_', '-')}"


def _default(name: str) -> Any:
    return next(f.default for f in fields(Options) if f.name == name)


def listed(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names, each once; "x, y" is two, and None is none."""
    found = names.split(",") if isinstance(names, str) else names or ()
    if not isinstance(found, Sequence) or not all(isinstance(name, str) for name in found):
        raise TargetError(f"{names!r} is no name, and no names; give them as text, 'x, y', or as a list of texts.")
    return tuple(dict.fromkeys(name.strip() for name in found if name.strip()))


def with_respect_to(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Inputs, each once; one by its perturbation, "pose: SE3 left", is "pose:SE3:left", which no shell takes apart."""
    return tuple(dict.fromkeys(":".join(name.replace(":", " ").split()) for name in listed(names)))


def unperturbed(names: Sequence[str]) -> tuple[str, ...]:
    """The inputs alone."""
    return tuple(name.split(":")[0] for name in names)


OPTIONS = tuple(field.name for field in fields(Options))
DEFAULT = Options()
