"""Declaration -> Document: the sections, in the order in which somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from ..derivatives import Declaration, as_function, derivation, derive
from ..errors import CompilerError, TargetError, UnsupportedError
from ..ir import single
from ..pipeline import Printed, printed, verified
from ..verify import Report
from .chain import chain_blocks
from .code import code_blocks, saved_blocks
from .document import Block, Document, Formula, Formulas, Paragraph, Section
from .inputs import At
from .jacobian import jacobian_blocks
from .locals import function_blocks, local_blocks
from .numbers import number_blocks
from .pictures import accuracy_blocks, graph_blocks
from .point import Point, point_of
from .rewrites import product_blocks

CHECK = (
    "The check knows the formula, and nothing of how its derivative was found: it differentiates each line with SymPy, "
    "takes differences at 200 digits, and compares both with the printed text and with what it returns. It says:"
)
SECONDS = 60.0  # that a check may take here; its report says what it came to
LANGUAGES = ("numpy", "torch", "jax", "c")  # which have a forward and a backward


class Explained:
    """What is said of one function; each part is worked out when it is asked for."""

    def __init__(self, declaration: Declaration, at: At, to: str) -> None:
        if to not in LANGUAGES:
            raise TargetError(f"{to!r} is nothing that explain links formulas to; choose from {', '.join(LANGUAGES)}.")
        self.declaration, self.at, self.to = declaration, at, to
        self.function = as_function(declaration)
        self.single = single(self.function)
        self.derivative = derive(self.single)
        if not self.derivative.gradients or not self.derivative.seeds:
            raise UnsupportedError(
                f"{self.function.name} has no gradient to be explained: none of its outputs is a real number that "
                f"depends on an input of real numbers."
            )
        self.seeds, self.gradients = dict(self.derivative.seeds), dict(self.derivative.gradients)

    @cached_property
    def point(self) -> Point:
        """The numbers that it is worked out with."""
        return point_of(self.single, printed(self.declaration, "numpy").load(), self.at, self.seeds)

    @cached_property
    def printed(self) -> Printed:
        """The code."""
        return printed(self.declaration, self.to)

    @property
    def v(self) -> str:
        """What grad_output is called."""
        first, *others = self.seeds.values()
        return f"({', '.join((first, *others))})" if others else first

    @property
    def sections(self) -> Mapping[str, tuple[str, Callable[[], tuple[Block, ...]]]]:
        """The title of each section, and what makes its blocks."""
        return {
            "function": ("The function", lambda: function_blocks(self.single, self.function)),
            "local": ("Its local derivatives", lambda: local_blocks(self.single)),
            "jacobian": (
                "The Jacobian J: every output by every input",
                lambda: jacobian_blocks(self.single, self.derivative),
            ),
            "why": (
                f"Why the gradient is multiplied by `{self.v}`",
                lambda: chain_blocks(self.single, self.derivative),
            ),
            "numbers": ("In numbers", lambda: number_blocks(self.point, self.seeds, self.gradients)),
            "rewrites": (
                "From the chain rule to the printed formula",
                lambda: product_blocks(self.function, *derivation(self.function)),
            ),
            "saved": ("What forward saves for backward", lambda: saved_blocks(self.printed.program)),
            "code": ("Each formula, and its line of code", lambda: code_blocks(self.printed)),
            "graph": ("What is computed from what", lambda: graph_blocks(self.derivative)),
            "accuracy": ("What floating point loses", lambda: accuracy_blocks(self.single, self.point)),
            "check": ("Does the code compute that?", self._check),
        }

    def _check(self) -> tuple[Block, ...]:
        return check_blocks(checked(self.declaration, self.printed, seconds=SECONDS))

    def document(self, only: Sequence[str] = ()) -> Document:
        """All of it, or some of the sections."""
        sections, name = self.sections, self.function.name
        unknown = [n for n in only if n not in sections]
        if unknown:
            raise TargetError(f"an explanation has no section {unknown[0]!r}; choose from {', '.join(sections)}.")
        lead = Paragraph(
            f"`{name}` alone cannot say how the loss moves. It knows how its output moves with its inputs: the "
            f"Jacobian J. What comes behind it knows how the loss moves with that output: v = `{self.v}`. The chain "
            f"rule multiplies the two, and the gradient is J^T v. That is why backward is given `{self.v}`, and "
            f"multiplies by it."
        )
        made = ((n, title, blocks()) for n, (title, blocks) in sections.items() if n in (only or sections))
        return Document(
            f"`{name}`: why its gradient is multiplied by `{self.v}`",
            () if only else (lead,),
            tuple(Section(n, title, blocks) for n, title, blocks in made if blocks),
        )


def checked(declaration: Declaration, found: Printed, **how: Any) -> Report | str:
    """What the check says of printed code, as `verified` is told how; or why it was not checked here."""
    try:
        return verified(declaration, found, found.load(), **how)
    except CompilerError as error:
        return f"It was not checked here: {error}"


def check_blocks(outcome: Report | str) -> tuple[Block, ...]:
    """The same for who does not know what a check does."""
    if isinstance(outcome, str):
        return (Paragraph(outcome),)
    return Paragraph(CHECK), Formulas((Formula(str(outcome), ""),))
