"""Derivative -> Derivative: the same mathematics in the form that an expert would write."""

from .forward import STABLE, Identity, stable
from .gradient import simplify

__all__ = ["STABLE", "Identity", "simplify", "stable"]
