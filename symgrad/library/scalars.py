"""Small functions of scalars: the first examples."""

from .. import declare as sg


@sg.function
def squares(x, y):
    """(x^2, x y, y^2): two scalars in, three out."""
    return x**2, x * y, y**2


@sg.function
def polynomial(p: sg.Tensor["... 2"]):
    """The same as one vector of 2 giving one vector of 3."""
    x, y = p
    return sg.stack([x**2, x * y, y**2])


@sg.function
def twice(x):
    """2 x."""
    return 2 * x


@sg.function
def sine_and_double(x):
    """Two outputs, one of which is computed from the other."""
    a = sg.sin(x)
    return a, 2 * a
