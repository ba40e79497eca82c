"""Derivative -> Program: what to compute, save and return, in which order."""

from .build import plan
from .program import Procedure, Program, Step

__all__ = ["Procedure", "Program", "Step", "plan"]
