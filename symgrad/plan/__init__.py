"""Derivative -> Program: what to compute, save and return, in which order."""

from .build import plan
from .program import Item, Procedure, Program, Recurrence, Step, Subscript

__all__ = ["Item", "Procedure", "Program", "Recurrence", "Step", "Subscript", "plan"]
