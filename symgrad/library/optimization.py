"""Functions on which optimisers are tried."""

from .. import declare as sg


@sg.function
def rosenbrock(x, y, *, a: float = 1.0, b: float = 100.0):
    """(a - x)^2 + b (y - x^2)^2."""
    return (a - x) ** 2 + b * (y - x**2) ** 2


@sg.function
def himmelblau(x, y):
    """(x^2 + y - 11)^2 + (x + y^2 - 7)^2."""
    return (x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2


@sg.function
def booth(x, y):
    """(x + 2 y - 7)^2 + (2 x + y - 5)^2."""
    return (x + 2 * y - 7) ** 2 + (2 * x + y - 5) ** 2


@sg.function
def beale(x, y):
    """(1.5 - x + x y)^2 + (2.25 - x + x y^2)^2 + (2.625 - x + x y^3)^2."""
    return (1.5 - x + x * y) ** 2 + (2.25 - x + x * y**2) ** 2 + (2.625 - x + x * y**3) ** 2


@sg.function
def rastrigin(x: sg.Tensor["... n"]):
    """10 n + sum(x^2 - 10 cos(2 pi x)) over the last axis."""
    return (10 + x**2 - 10 * sg.cos(2 * sg.pi * x)).sum(axis=-1)


@sg.function
def ackley(x, y):
    """Ackley's function of two variables."""
    hill = -20 * sg.exp(-0.2 * sg.sqrt((x**2 + y**2) / 2))
    waves = sg.exp((sg.cos(2 * sg.pi * x) + sg.cos(2 * sg.pi * y)) / 2)
    return hill - waves + sg.exp(1) + 20
