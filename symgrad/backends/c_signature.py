"""The head of a printed C function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..expr import Expr
from .c_lines import filled


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a printed function.

    role     size, option, presence, input, saved, seed, output, gradient or work
    element  the C type of the number or of its elements
    pointer  whether it is a pointer
    constant whether what it points to is only read
    length   the number of elements, for an array of a function of one point
    tensor   the tensor it stands for
    nullable whether NULL says that it is absent or not wanted
    """

    name: str
    role: str
    element: str
    pointer: bool = False
    constant: bool = False
    length: int | None = None
    tensor: str | None = None
    nullable: bool = False

    def declared(self, definition: bool) -> str:
        """The parameter as it stands in the parentheses."""
        kind = f"const {self.element}" if self.constant else self.element
        if not self.pointer:
            return f"{kind} {self.name}"
        if self.length is not None:
            return f"{kind} {self.name}[{self.length}]"
        restrict = "restrict " if definition and self.role != "work" else ""
        return f"{kind} *{restrict}{self.name}"


@dataclass(frozen=True)
class Printed:
    """One printed function: its name, parameters and body.

    work    per workspace, the shapes of the temporaries in it
    about   what stands above the prototype
    macros  the macros that tell the sizes of the workspaces
    calls   the functions of matrices that it calls, and that may fail
    """

    name: str
    result: str
    parameters: tuple[Parameter, ...]
    body: tuple[str, ...]
    about: tuple[str, ...]
    work: Mapping[str, tuple[tuple[Expr, ...], ...]] = field(default_factory=dict)
    macros: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()

    @property
    def prototype(self) -> str:
        """The declaration of the header."""
        return self._head(False, ");")

    @property
    def definition(self) -> str:
        """The first lines of the source."""
        return self._head(True, ")")

    def _head(self, definition: bool, tail: str) -> str:
        return filled(f"{self.result} {self.name}(", [p.declared(definition) for p in self.parameters], tail)


def of_arrays(functions: Sequence[Printed], name: str) -> tuple[Printed, Printed]:
    """Forward and backward of arrays of any sizes: of a function of one point those with `_batch`."""
    by_name = {f.name: f for f in functions}
    forward, backward = (by_name.get(f"{name}_{w}_batch", by_name[f"{name}_{w}"]) for w in ("forward", "backward"))
    return forward, backward
