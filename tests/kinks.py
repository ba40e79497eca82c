"""Values and slopes at a kink, at the edge of a domain, or of a NaN, as torch and JAX have them.

A row: a formula or a function of the library, the inputs, its value, and its slope in each input. Where both frameworks
have the function and agree, their value stands here; where they differ, torch's if it is a slope of one side or between
the two, else the reason is beside. `None` is not compared.
"""

from math import inf, nan

ACTIVATIONS = [  # name, point, value, slope, second derivative
    ("relu", 0, 0, 0, 0),
    ("relu6", 0, 0, 0, 0),
    ("relu6", 6, 6, 0, 0),
    ("relu6", nan, nan, None, None),
    ("hardtanh", -1, -1, 0, 0),  # in JAX the slope is 1
    ("hardtanh", 1, 1, 0, 0),
    ("hardtanh", nan, nan, 1, 0),
    ("hardsigmoid", -3, 0, 0, 0),
    ("hardsigmoid", 3, 1, 0, 0),
    ("hardswish", -3, 0, 0, 0),
    ("hardswish", 3, 3, 1, 0),
    ("elu", 0, 0, 1, None),  # the second derivative is 0 in torch and 1 in JAX
    ("selu", 0, 0, 1.0507009873554805 * 1.6732632423543772, None),
    ("celu", 0, 0, 1, None),
    ("leaky_relu", 0, 0, 0.01, 0),  # in JAX the slope is 1
    ("softsign", 0, 0, 1, 0),
    ("hardshrink", -0.5, 0, 0, 0),
    ("hardshrink", 0.5, 0, 0, 0),
    ("hardshrink", nan, nan, 1, 0),
    ("softshrink", -0.5, 0, 0, 0),
    ("softshrink", 0.5, 0, 0, 0),
    ("softshrink", nan, nan, 1, 0),
    ("threshold", 0, 0, 0, 0),
    ("threshold", nan, nan, 1, 0),
]
FORMULAS = [  # formula, point, value, slopes
    ("x**y", (0, 0), 1, (0, 0)),
    ("x**y", (0, 1), 0, (1, 0)),
    ("x**y", (0, 0.5), 0, (inf, 0)),
    ("x**y", (0, -1), inf, (-inf, -inf)),
    ("x**y", (-1, 2), 1, (-2, nan)),
    ("x**y", (-1, 0.5), nan, (nan, nan)),
    ("xlogy(x, y)", (0, 0), 0, (0, 0)),  # in both the slope in y is no number, where xlogy(0, y) is 0 for every y
    ("xlogy(x, y)", (1, 0), -inf, (-inf, inf)),
    ("xlogy(x, y)", (-1, 0), inf, (-inf, -inf)),
    ("xlogy(x, y)", (0, -1), 0, (0, 0)),
    ("xlogy(x, y)", (1, -1), nan, (nan, None)),
    ("digamma(x)", (inf,), inf, (0,)),
    ("clip(x, 0, 6)", (0,), 0, (1,)),  # in JAX the slope is 1/2
    ("maximum(x, 0)", (0,), 0, (0.5,)),
    ("abs(x)", (0,), 0, (0,)),  # in JAX the slope is 1
    ("erfinv(x)", (1,), inf, (inf,)),
    ("erfinv(x)", (2,), nan, (nan,)),
    ("log(x/(1 - x))", (0,), -inf, (inf,)),
    ("log(x/(1 - x))", (1.5,), nan, (None,)),  # a slope, as log has one outside of its domain
]
