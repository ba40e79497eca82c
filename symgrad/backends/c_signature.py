"""What is known of a printed C function to who calls it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from ..expr import Expr
from ..records import dataclass
from ..source.tree import Function, Parameter


@dataclass(frozen=True)
class Printed:
    """One function of the interface.

    work    per workspace, the shapes of the temporaries in it
    calls   the functions of matrices that it calls, and that may fail
    """

    function: Function
    work: Mapping[str, tuple[tuple[Expr, ...], ...]] = field(default_factory=dict)
    calls: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The symbol."""
        return self.function.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters, in order."""
        return self.function.parameters


def of_arrays(functions: Sequence[Printed], word: str) -> Printed:
    """The function of a name, of arrays of any sizes: of a function of one point that with `_batch`."""
    by_role = {f.function.role: f for f in functions}
    return by_role.get(f"{word}_batch") or by_role[word]
