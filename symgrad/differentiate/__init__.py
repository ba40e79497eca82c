"""Function -> Derivative: the rule of differentiation, its forward twin, and the Jacobian for people."""

from .components import entries
from .jacobian import Entry, Jacobian, jacobian_equations
from .rule import differentiate, sloped
from .tangent import tangent

__all__ = ["Entry", "Jacobian", "differentiate", "entries", "jacobian_equations", "sloped", "tangent"]
