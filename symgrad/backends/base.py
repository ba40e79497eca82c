"""What every backend stands on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from ..plan import Program
from ..source.tree import Function
from .options import DEFAULT, Options


def templates() -> Path:
    """The folder `templates`: inside the package when installed from a wheel, else beside it."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "templates"
    return inside if inside.is_dir() else package.parent / "templates"


def source(name: str) -> str:
    """The text of a file of `templates`, which is written by hand."""
    return templates().joinpath(name).read_text(encoding="utf-8")


class Artefact(Protocol):
    """Printed code that runs: a module, or compiled C behind the same two calls."""

    @property
    def forward(self) -> Callable[..., Any]:
        """`forward(*inputs, **options) -> (out, saved)`."""
        ...

    @property
    def backward(self) -> Callable[..., Any]:
        """`backward(saved, grad_output=None, needs_input_grad=None) -> gradients`."""
        ...


class Backend(ABC):
    """One language: spells a Program and runs what it spelled.

    name      what `to=` and `--to` call it
    dialect   the language in whose words operators are spelled: its own, or that of which it is a dialect
    style     what the plan is made for: whole "arrays", or "loops"
    executed  the language whose text the check executes: this one, or one that computes the same in the same order
    products  whether it also prints products of the Jacobian, or the Hessian, with a vector: needs `program.product`
    forward_mode  whether it has one: jvp is part of the derivative then, and `program.product` what it computes
    takes     the names of the options that it has
    instead   what is said of options that it has in another way, in a sentence
    over      the language whose files it calls: it is planned as that one, and prints a file beside them
    again     the language of arrays in which backward is printed once more, for whoever differentiates gradients
    calls     the functions of whole matrices that it has words for; None if it has all of them
    narrow    whether results may be stored in another type than that in which they are computed, and be read so
    """

    name: str
    dialect: str
    style: str
    executed: str
    products = False
    forward_mode = False
    takes: Collection[str] = ("save",)
    instead: Mapping[str, str] = MappingProxyType({})
    over: Backend | None = None
    again: str = ""
    calls: Collection[str] | None = None
    narrow = False

    def __init__(self, options: Options = DEFAULT) -> None:
        self.options = options  # what it is asked to print

    @abstractmethod
    def render(self, program: Program, header: Sequence[str]) -> dict[str, str]:
        """Return {path: text}; `header` is the text at the head of each file."""

    def render_together(self, programs: Sequence[Program], header: Sequence[str]) -> dict[str, str]:
        """The same of several programs for one file, in a language that has the option `file`."""
        (program,) = programs
        return self.render(program, header)

    @abstractmethod
    def heads(self, program: Program) -> tuple[Function, ...]:
        """The functions of the files without their bodies, where arguments have places and no names: what is passed."""

    @abstractmethod
    def load(self, program: Program, files: Mapping[str, str]) -> Artefact:
        """Return what was printed as something that can be called."""

    def tuned(self, program: Program, files: Mapping[str, str]) -> Artefact:
        """The same for who calls it often."""
        return self.load(program, files)
