"""The 46 textbook functions: what users write, as formula text, and where their arguments lie.

A formula is written as the textbook has it, with no thought of rounding. The domain of an argument is one of

    real      both signs, the magnitude log-uniform over the whole sample
    positive  the same, without the sign
    unit      between 0 and 1, half of the points near 1
    signed    between -1 and 1, half of the points near the ends
    above     larger than -1, half of the negative ones near -1
    angle     between -pi and pi
    latitude  between -pi/2 and pi/2
    large     larger than 1
    a..b      between these, either of which may be left out
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Formula:
    """A function of scalars: its name in the table, its arguments with their domains, and its body."""

    name: str
    arguments: dict[str, str]
    body: str

    @property
    def text(self) -> str:
        """As symgrad's text door reads it."""
        return f"f({', '.join(self.arguments)}) = {self.body}"


def row(name: str, arguments: str, body: str) -> Formula:
    """A formula, its arguments written as "x y:positive"."""
    pairs = [a.split(":") for a in arguments.split()]
    return Formula(name, {a: (domain or ["real"])[0] for a, *domain in pairs}, body)


FORMULAS = (
    # saturation and overflow of exp
    row("sigmoid", "x", "1/(1 + exp(-x))"),
    row("softplus", "x", "log(1 + exp(x))"),
    row("log sigmoid", "x", "log(1/(1 + exp(-x)))"),
    row("silu", "x", "x/(1 + exp(-x))"),
    row("mish", "x", "x*tanh(log(1 + exp(x)))"),
    row("tanh", "x", "(exp(x) - exp(-x))/(exp(x) + exp(-x))"),
    row("log cosh", "x", "log(cosh(x))"),
    row("logsumexp of 2", "x y", "log(exp(x) + exp(y))"),
    row("logsumexp of 3", "x y z", "log(exp(x) + exp(y) + exp(z))"),
    row("softmax of 2", "x y", "exp(x)/(exp(x) + exp(y))"),
    row("cross entropy of logits", "x t:unit", "-t*log(1/(1 + exp(-x))) - (1 - t)*log(1 - 1/(1 + exp(-x)))"),
    row("logistic growth", "t a:positive", "a/(a + (1 - a)*exp(-t))"),
    row("log(1 - exp(-x))", "x:positive", "log(1 - exp(-x))"),
    row("celu", "x a:positive", "where(x > 0, x, a*(exp(x/a) - 1))"),
    row("gelu", "x", "x*(1 + erf(x/sqrt(2)))/2"),
    row("log of the normal cdf", "x", "log(erfc(-x/sqrt(2))/2)"),
    row("x erfc(x)", "x", "x*erfc(x)"),
    # removable singularities
    row("sinc", "x", "sin(x)/x"),
    row("(1 - cos t)/t^2", "t", "(1 - cos(t))/t**2"),
    row("(t - sin t)/t^3", "t", "(t - sin(t))/t**3"),
    row("(e^x - 1)/x", "x", "(exp(x) - 1)/x"),
    row("log(1 + x)/x", "x:above", "log(1 + x)/x"),
    row("Planck's law", "x:positive", "x**3/(exp(x) - 1)"),
    row("Bose-Einstein", "x:positive", "1/(exp(x) - 1)"),
    row("Langevin", "x", "1/tanh(x) - 1/x"),
    row("quaternion log", "w:signed", "2*acos(w)/sqrt(1 - w**2)"),
    # differences that factor
    row("sqrt(x + 1) - sqrt(x)", "x:positive", "sqrt(x + 1) - sqrt(x)"),
    row("1/(x + 1) - 1/x", "x:positive", "1/(x + 1) - 1/x"),
    row("quadratic root", "a:positive b c", "(-b + sqrt(b**2 - 4*a*c))/(2*a)"),
    row("law of cosines", "a:positive b:positive t:angle", "sqrt(a**2 + b**2 - 2*a*b*cos(t))"),
    row("great circle", "a:latitude b:latitude d:angle", "acos(sin(a)*sin(b) + cos(a)*cos(b)*cos(d))"),
    row("acos", "x:signed", "acos(x)"),
    row("logit", "p:unit", "log(p/(1 - p))"),
    row("entropy of a coin", "p:unit", "-p*log(p) - (1 - p)*log(1 - p)"),
    row("KL of two coins", "p:unit q:unit", "p*log(p/q) + (1 - p)*log((1 - p)/(1 - q))"),
    # norms, angles and quotients
    row("hypot", "x y", "sqrt(x**2 + y**2)"),
    row("norm of 3", "x y z", "sqrt(x**2 + y**2 + z**2)"),
    row("unit vector", "x y", "x/sqrt(x**2 + y**2)"),
    row("angle", "y x", "atan2(y, x)"),
    row("cosine similarity", "x y", "(3*x + 4*y)/(5*sqrt(x**2 + y**2))"),
    row("softsign", "x", "x/(1 + abs(x))"),
    row("x log x", "x:positive", "x*log(x)"),
    row("hill", "x:positive n", "x**n/(1 + x**n)"),
    row("Michaelis-Menten", "s:positive k:positive", "s/(k + s)"),
    row("Black-Scholes call", "s:positive k:positive v:positive",
         "s*erfc(-(log(s/k) + v**2/2)/(v*sqrt(2)))/2 - k*erfc(-(log(s/k) - v**2/2)/(v*sqrt(2)))/2"),
    row("Lennard-Jones", "r:positive s:positive", "4*((s/r)**12 - (s/r)**6)"),
)  # fmt: skip
