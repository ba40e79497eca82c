"""Where an equation is evaluated: indices, and a conjunction of conditions on them, on sizes and on data."""

from .atoms import EQ, GE, NE, NEVER, Affine, Atom, Conjunction, Opaque, alternatives, conjunction_of
from .domain import Bound, Box, Domain, Need
from .facts import NOTHING, Facts, fixed

__all__ = [
    "EQ",
    "GE",
    "NE",
    "NEVER",
    "NOTHING",
    "Affine",
    "Atom",
    "Bound",
    "Box",
    "Conjunction",
    "Domain",
    "Facts",
    "Need",
    "Opaque",
    "alternatives",
    "conjunction_of",
    "fixed",
]
