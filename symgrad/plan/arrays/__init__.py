"""The style of NumPy, torch and JAX: whole arrays, broadcast, multiplied and reduced."""

from .statements import ArrayProcedure, array_procedures

__all__ = ["ArrayProcedure", "array_procedures"]
