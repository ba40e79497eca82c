"""Where an equation is evaluated: indices, and a conjunction of conditions on them, on sizes and on data."""

from .atoms import EQ, GE, NE, Affine, Opaque, alternatives, conjunction_of
from .domain import Bound, Box, Domain, Need
from .facts import NOTHING, Facts
