"""Function -> Derivative: the rule of differentiation, its forward twin, and the Jacobian for people."""

from .components import by_components, entries, in_values
from .derived import (
    Ordered,
    arranged,
    chosen,
    gauss_newton_of,
    gradient_of,
    hessian_of,
    jacobian_of,
    slopes_of,
    sparse_of,
)
from .jacobian import Jacobian, jacobian_equations
from .neighbours import is_choice_by_equality
from .perturbed import Perturbations, at_rest, perturbations, perturbed, resting
from .products import curved_of, pushed_of
from .rule import differentiate, jumps, sloped
from .sparse import flat_size, literal
from .tangent import tangent
