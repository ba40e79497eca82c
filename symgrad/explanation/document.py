"""An explanation as data: sections of blocks, frozen, which each renderer writes in its way.

In running text, what stands between two backticks is code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Union

from ..records import dataclass


@dataclass(frozen=True, slots=True)
class Formula:
    """One formula as text and in LaTeX; either is empty where it is not for renderers of that kind.

    key  what it computes, `backward grad_x`, where lines of code do; empty elsewhere
    """

    text: str
    latex: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str


@dataclass(frozen=True, slots=True)
class Formulas:
    """Formulas beneath each other.

    label   what they are
    beside  whether each has its lines of code beside it
    """

    items: tuple[Formula, ...]
    label: str = ""
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text, below a head; the first cell of a row is its name."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A rewrite: what it is called, why it is made, and the formulas before and after it."""

    name: str
    reason: str
    before: tuple[Formula, ...]
    after: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """A file; the lines, counted from 1, that compute what a key stands for."""

    name: str
    text: str
    lines: tuple[tuple[str, tuple[int, ...]], ...]

    def of(self, key: str) -> tuple[int, ...]:
        """The lines of a key."""
        return dict(self.lines).get(key, ())


@dataclass(frozen=True, slots=True)
class Pattern:
    """Where a matrix is not 0."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    filled: tuple[tuple[bool, ...], ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """What is computed of what: the names with their layers, from 0; and pairs of a value and what reads it."""

    layers: tuple[tuple[str, ...], ...]
    edges: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """Points (x, y) by what they are of."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves over an axis that is logarithmic on both sides of 0."""

    x: str
    y: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture; `said` is the same in words, for who cannot see it."""

    title: str
    picture: Union[Pattern, Graph, Plot]
    said: str


Block = Union[Paragraph, Formulas, Items, Table, Step, Code, Figure]


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Document:
    title: str
    lead: tuple[Block, ...]
    sections: tuple[Section, ...]

    def lines(self, title: str, head: Callable[[Section], str], lines_of: Callable[[Block], list[str]]) -> list[str]:
        """All of it below a title: each section by its head, and each block by its lines."""
        found = [title, "", *(line for block in self.lead for line in lines_of(block))]
        for section in self.sections:
            found += [head(section), "", *(line for block in section.blocks for line in lines_of(block))]
        return found
