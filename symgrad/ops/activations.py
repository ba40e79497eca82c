"""Activations of networks, in the form that neither overflows nor cancels."""

from __future__ import annotations

from ..expr import ONE, ZERO, Apply, Const, Expr, apply, ref, select
from ..later import mp, mpmath, sympy
from .row import Helper, Op, everywhere, exponential, function, jump, real


def _magnitude(x: Expr) -> Expr:
    """abs(x), the same for x and -x: what reads both computes it once."""
    if isinstance(x, Apply) and x.op == "neg":
        x = x.args[0]
    if isinstance(x, Apply) and x.op == "sub":
        x = min(x, -x, key=lambda u: (isinstance(u.args[0], Const), repr(u)))
    return apply("abs", x)


def _decaying(x: Expr) -> Expr:
    """exp(-|x|); of n*log(b) as a power of b, which does not lose the digits that x has before the point."""
    if isinstance(x, Apply) and x.op == "mul":
        for log_b, n in (x.args, x.args[::-1]):
            if isinstance(log_b, Apply) and log_b.op == "log":
                return log_b.args[0] ** select(apply("ge", x, 0), -n, n)
    return apply("exp", -_magnitude(x))


def _not_negative(x: Expr) -> Expr:
    """x >= 0, of a difference as a comparison."""
    if isinstance(x, Apply) and x.op == "sub":
        return apply("ge", *x.args)
    return apply("le", x.args[0], 0) if isinstance(x, Apply) and x.op == "neg" else apply("ge", x, 0)


def _risen(x: Expr) -> Expr:
    """exp(min(x, 0)). Of a difference, and of a power, it is read off `_decaying`, which keeps digits of these."""
    decaying = _decaying(x)
    apart = isinstance(x, Apply) and x.op == "sub"
    if apart or not (isinstance(decaying, Apply) and decaying.op == "exp"):
        return select(_not_negative(x), ONE, decaying)
    return apply("capped_exp", x)


_x, _y, _distance = map(ref, ("x", "y", "distance"))
_back, _lost, _decay = map(ref, ("back", "lost", "decay"))

_EXP_APART = Helper(
    "exp(-abs(x - y)), with the part of x - y that rounding takes away, by Knuth's two-sum.",
    (
        ("distance", _x - _y),
        ("back", _distance - _x),
        ("lost", select(apply("lt", apply("abs", _distance), 1000), (_x - (_distance - _back)) - (_y + _back), ZERO)),
        ("decay", apply("exp", -apply("abs", _distance)) * (1 - apply("sign", _distance) * _lost)),
        ("result", select(apply("eq", _x, _y), ONE, _decay)),  # also of infinities
    ),
    ("x", "y"),
)

ACTIVATIONS: tuple[Op, ...] = (
    function("sigmoid", lambda x, y: y * (1 - y), lambda x: 1 / (1 + sympy.exp(-x)),
             lambda x: 1 / (1 + exponential(-x)), names=("expit",),
             spell={"torch": "torch.sigmoid", "jax": "jax.nn.sigmoid", "triton": "tl.sigmoid"},
             expand=lambda x: _risen(x) / (1 + _decaying(x)), nonnegative=True,
             monotone=1,
             ball=lambda x: 1 / (1 + (-x).exp()), bounded=True),
    # NumPy chooses between elements slower than it computes exp, where the choice has no pattern
    function("capped_exp", lambda x, y: select(apply("le", x, 0), y, ZERO), lambda x: sympy.exp(sympy.Min(x, 0)),
             lambda x: exponential(min(x, 0)), spell={"numpy": "np.exp(np.minimum({}, 0))"},
             expand=lambda x: select(_not_negative(x), ONE, _decaying(x)), nonnegative=True,
             kinks=jump("x == 0", lambda x: bool(x == 0), 1), series=False,
             ball=lambda x: x.min(0 * x).exp(), bounded=True),
    # sigmoid(x) (1 - sigmoid(x)) without cancellation
    function("sigmoid_slope", lambda x, y: -y * apply("tanh", x / 2), lambda x: 1 / (2 + sympy.exp(x) + sympy.exp(-x)),
             lambda x: 1 / (2 + exponential(x) + exponential(-x)), nonnegative=True,
             expand=lambda x: apply("saturation", _decaying(x)) - apply("saturation", _decaying(x)) ** 2,
             ball=lambda x: 1 / (4 * (x / 2).cosh() ** 2), bounded=True),
    # of exp(-abs(x)): sigmoid(-abs(x)), whose rounding s - s**2 forgets near 1/2
    function("saturation", lambda x, y: 1 / (1 + x) ** 2, lambda x: x / (1 + x), lambda x: x / (1 + x),
             expand=lambda x: x / (1 + x), domain="x != -1", inside=(0,), series=False,
             ball=lambda x: x / (1 + x)),
    # exp(-abs(x - y)) of inputs, whose difference is rounded where they are not
    Op("exp_apart", 2, real(lambda x, y: exponential(-abs(x - y))),
       lambda x, y, z: (apply("sign", y - x) * z, apply("sign", x - y) * z), lambda x, y: sympy.exp(-sympy.Abs(x - y)),
       spell=everywhere("exp_apart"), helper=_EXP_APART, kinks=jump("x == y", lambda x, y: bool(x == y), 0, 0),
       nonnegative=True,
       ball=lambda x, y: (-abs(x - y)).exp(), bounded=True),
    # exp(x - y) of inputs, y the largest of several; a language that differentiates it has no helper
    Op("exp_below", 2, real(lambda x, y: exponential(x - y)), lambda x, y, z: (z, -z), lambda x, y: sympy.exp(x - y),
       spell={"numpy": "_exp_apart", "jax": "", "c": "exp_apart"}, helper=_EXP_APART,
       expand=lambda x, y: apply("exp", x - y), domain="x <= y", nonnegative=True, series=False,
       ball=lambda x, y: (x - y).exp()),
    # torch: logaddexp, whose slope at 0 is 1/2, unlike that of a maximum
    function("softplus", lambda x, y: apply("sigmoid", x), lambda x: sympy.log(1 + sympy.exp(x)),
             lambda x: mp.log1p(exponential(x)),
             spell={"numpy": "np.logaddexp(0, {})", "torch": "torch.logaddexp({0}, torch.zeros_like({0}))",
                    "jax": "jax.nn.softplus"},
             expand=lambda x: apply("maximum", x, 0) + apply("log1p", _decaying(x)), nonnegative=True, monotone=1,
             single=True,
             ball=lambda x: x.exp().log1p()),
    Op("relu", 1, lambda x: x if x > 0 else mpmath.mpf(0) * x, lambda x, y: (select(apply("gt", y, 0), ONE, ZERO),),
       lambda x: sympy.Max(x, 0), spell={"torch": "torch.relu", "jax": "jax.nn.relu"},
       expand=lambda x: apply("maximum", x, 0), kinks=jump("x == 0", lambda x: bool(x == 0), 0), nonnegative=True,
       monotone=1, integral=True,
       ball=lambda x: x.max(0 * x)),
)  # fmt: skip
