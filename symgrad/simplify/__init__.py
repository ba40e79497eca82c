"""Derivative -> Derivative: the same mathematics in the form that an expert would write."""

from .forward import SEARCHED, both_stable, stable
from .gradient import simplify
from .shorter import shorter
from .table import STABLE
