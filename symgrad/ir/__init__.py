"""The data of every stage, how it is written as mathematics, and its plain interpreter."""

from .data import (
    REDUCTIONS,
    Box,
    Derivative,
    Dim,
    Dtype,
    Equation,
    Function,
    Option,
    Role,
    Tensor,
    When,
    names_of,
)
from .interpreter import bind, extent_of, interpret
from .latex import latex_equations, latex_of
from .order import Cycle, alive, by_target, ordered
from .reach import inside, range_of, unguarded, untold
from .text import (
    show_derivative,
    show_element,
    show_equation,
    show_equations,
    show_function,
    show_inputs,
    show_right,
    show_shape,
    show_target,
)

__all__ = [
    "REDUCTIONS",
    "Box",
    "Cycle",
    "Derivative",
    "Dim",
    "Dtype",
    "Equation",
    "Function",
    "Option",
    "Role",
    "Tensor",
    "When",
    "alive",
    "bind",
    "by_target",
    "extent_of",
    "inside",
    "interpret",
    "latex_equations",
    "latex_of",
    "names_of",
    "ordered",
    "range_of",
    "show_derivative",
    "show_element",
    "show_equation",
    "show_equations",
    "show_function",
    "show_inputs",
    "show_right",
    "show_shape",
    "show_target",
    "unguarded",
    "untold",
]
