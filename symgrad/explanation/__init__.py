"""Why the gradient is what it is, of one function, for who asks: `explain`.

The document is built once of the declaration (build.py), as data (document.py); terminal.py, markdown.py and html.py
write it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import click

from ..derivatives import Declaration
from ..records import dataclass
from .build import Explained
from .document import Document
from .html import page
from .inputs import read_point
from .markdown import markdown
from .terminal import terminal

__all__ = ["Explanation", "explain", "read_point"]


@dataclass(frozen=True)
class Explanation:
    """An explanation; it prints as text, and has `.markdown()` and `.html()`; `.document` is it as data."""

    document: Document

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return str(click.unstyle(self.terminal()))

    def terminal(self) -> str:
        """The text with the escapes of a terminal for colours."""
        return terminal(self.document)

    def markdown(self) -> str:
        """The text of a Markdown file."""
        return markdown(self.document)

    def html(self) -> str:
        """The text of one page that needs no network. Raises TargetError where symgrad[html] is not installed."""
        return page(self.document)

    def _repr_markdown_(self) -> str:
        return self.markdown()


def explain(
    declaration: Declaration,
    at: Mapping[str, Any] = MappingProxyType({}),
    to: str = "numpy",
    only: Sequence[str] = (),
) -> Explanation:
    """Explain the gradient of a function: local derivatives, J, why J^T v, numbers, rewrites, what is saved, the code.

    at    inputs, options and grad_output with which it is worked out in numbers; what it does not name is chosen
    to    the language of the code: "numpy", "torch", "jax" or "c"
    only  the sections that are wanted, of "function", "local", "jacobian", "why", "numbers", "rewrites", "saved",
          "code", "graph", "accuracy" and "check"; all of them, if none is named
    """
    names = (only,) if isinstance(only, str) else tuple(only)
    return Explanation(Explained(declaration, at, to).document(names))
