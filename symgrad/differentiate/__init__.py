"""Function -> Derivative: the rule of differentiation, its forward twin, and the Jacobian for people."""

from .components import entries
from .jacobian import Jacobian, jacobian_equations
from .rule import differentiate, sloped
from .tangent import tangent
