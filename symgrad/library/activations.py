"""Elementwise functions of neural networks, from their definitions."""

from .. import declare as sg

# Where a comparison stands, the value and the derivative at a kink are those of torch and JAX where the two agree, else
# of torch; a NaN satisfies no comparison, and is let through by the last branch.


def _saturated(x, low, high):
    """x between low and high, with the derivative 0 at both; that of clip is 1 there."""
    return sg.where(x <= low, low, sg.where(x >= high, high, x))


@sg.function
def relu(x):
    """max(x, 0); its derivative at 0 is 0."""
    return sg.relu(x)


@sg.function
def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return 1 / (1 + sg.exp(-x))


@sg.function
def tanh(x):
    """(exp(x) - exp(-x)) / (exp(x) + exp(-x))."""
    return (sg.exp(x) - sg.exp(-x)) / (sg.exp(x) + sg.exp(-x))


@sg.function
def softplus(x):
    """log(1 + exp(x))."""
    return sg.log(1 + sg.exp(x))


@sg.function
def silu(x):
    """x sigmoid(x)."""
    return x / (1 + sg.exp(-x))


@sg.function
def gelu(x):
    """The tanh form of the Gaussian error linear unit (Hendrycks and Gimpel, 2016)."""
    inner = sg.sqrt(2 / sg.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + sg.tanh(inner))


@sg.function
def gelu_exact(x):
    """x Phi(x), where Phi is the normal distribution."""
    return x * sg.ndtr(x)


@sg.function
def quick_gelu(x):
    """x sigmoid(1.702 x)."""
    return x * sg.sigmoid(1.702 * x)


@sg.function
def relu6(x):
    """min(max(x, 0), 6); its derivative at 0 and at 6 is 0."""
    return _saturated(x, 0, 6)


@sg.function
def leaky_relu(x, *, negative_slope: float = 0.01):
    """x, or negative_slope x where x is not positive."""
    return sg.where(x > 0, x, negative_slope * x)


@sg.function
def prelu(x: sg.Tensor["... c w*places"], slope: sg.Tensor["c"], *, places: sg.Static = 0):
    """The leaky ReLU whose slope is learned, one per channel."""
    return sg.where(x > 0, x, slope[:, *[None] * places] * x)


@sg.function
def elu(x, *, alpha: float = 1.0):
    """x, or alpha (exp(x) - 1) where x is not positive."""
    return sg.where(x > 0, x, alpha * (sg.exp(x) - 1))


@sg.function
def selu(x):
    """The scaled ELU (Klambauer and others, 2017)."""
    return 1.0507009873554805 * sg.where(x > 0, x, 1.6732632423543772 * (sg.exp(x) - 1))


@sg.function
def celu(x, *, alpha: float = 1.0):
    """x, or alpha (exp(x / alpha) - 1) where x is not positive."""
    return sg.where(x > 0, x, alpha * (sg.exp(x / alpha) - 1))


@sg.function
def mish(x):
    """x tanh(softplus(x))."""
    return x * sg.tanh(softplus(x))


@sg.function
def softplus_beta(x, *, beta: float = 1.0):
    """log(1 + exp(beta x)) / beta."""
    return sg.log(1 + sg.exp(beta * x)) / beta


@sg.function
def squareplus(x, *, b: float = 4.0):
    """(x + sqrt(x^2 + b)) / 2."""
    return (x + sg.sqrt(x**2 + b)) / 2


@sg.function
def softsign(x):
    """x / (1 + |x|)."""
    return x / (1 + abs(x))


@sg.function
def hardtanh(x, *, low: float = -1.0, high: float = 1.0):
    """x between low and high; the derivative at both is 0."""
    return _saturated(x, low, high)


@sg.function
def hardsigmoid(x):
    """(x + 3) / 6 between 0 and 1; the derivative at both is 0."""
    return sg.where(x <= -3, 0, sg.where(x >= 3, 1, (x + 3) / 6))


@sg.function
def hardswish(x):
    """x hardsigmoid(x)."""
    return x * hardsigmoid(x)


@sg.function
def hardshrink(x, *, bound: float = 0.5):
    """x where |x| > bound, else 0."""
    return sg.where(abs(x) <= bound, 0, x)


@sg.function
def softshrink(x, *, bound: float = 0.5):
    """x moved towards 0 by bound, and 0 within it."""
    return sg.where(x > bound, x - bound, sg.where(x >= -bound, 0, x + bound))


@sg.function
def tanhshrink(x):
    """x - tanh(x)."""
    return x - sg.tanh(x)


@sg.function
def logsigmoid(x):
    """log(1 / (1 + exp(-x)))."""
    return sg.log(sigmoid(x))


@sg.function
def logit(x: sg.Tensor["..."], *, eps: sg.Static = None):
    """log(x / (1 - x)), the inverse of the sigmoid; of x between eps and 1 - eps."""
    p = x if eps is None else sg.clip(x, eps, 1 - eps)
    return sg.log(p / (1 - p))


@sg.function
def threshold(x, *, bound: float = 0.0, value: float = 0.0):
    """x where x > bound, else value."""
    return sg.where(x <= bound, value, x)


@sg.function
def snake(x, *, a: float = 1.0):
    """x + sin(a x)^2 / a (Ziyin and others, 2020)."""
    return x + sg.sin(a * x) ** 2 / a


@sg.function
def gaussian(x):
    """exp(-x^2)."""
    return sg.exp(-(x**2))


@sg.function
def glu(value, gate):
    """value sigmoid(gate)."""
    return value * sg.sigmoid(gate)


@sg.function
def swiglu(value, gate):
    """value silu(gate)."""
    return value * silu(gate)


@sg.function
def geglu(value, gate):
    """value gelu(gate), in the tanh form."""
    return value * gelu(gate)


@sg.function
def glu_halves(x: sg.Tensor["n*before d m*behind"], *, before: sg.Static = 1, behind: sg.Static = 0):
    """The first half of an axis times the sigmoid of the second, as torch's glu."""
    halves = x.reshape(*x.shape[:before], 2, -1, *x.shape[before + 1 :])
    value, gate = (halves[(slice(None),) * before + (k,)] for k in range(2))
    return value * sg.sigmoid(gate)
