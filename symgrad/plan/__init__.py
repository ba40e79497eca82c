"""Derivative -> Program: what to compute, save and return, in which order."""

from .program import Procedure, Program, Step

__all__ = ["Procedure", "Program", "Step"]
