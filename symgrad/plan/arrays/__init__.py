"""The style of NumPy, torch and JAX: whole arrays, broadcast, multiplied and reduced."""

from . import half
from .statements import array_procedures
