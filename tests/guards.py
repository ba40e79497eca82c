"""Formulas with a guard, at a point where it holds: what stands in the branch has no value there, and counts nowhere.

GUARDED  text, inputs and the gradients there, by arithmetic on paper; grad_output is 1, 2, 3, ...
"""

from __future__ import annotations

import numpy as np

ZERO, ONES = np.zeros(3), np.ones(3)
HALVES = np.array([[0.0, 0, 0], [3, 0, 4]])

GUARDED = {
    "unit": (
        "f(r[3]): s = sum[k](r[k]**2); out[k] = where(s > 0, r[k]/sqrt(s), 0)",
        {"r": ZERO},
        {"r": ZERO},
    ),
    "unit or itself": (
        "f(r[3], x[3]): s = sum[k](r[k]**2); out[k] = where(s != 0, r[k]*x[k]/s, r[k])",
        {"r": ZERO, "x": np.array([1.0, 2, 3])},
        {"r": np.array([1.0, 2, 3]), "x": ZERO},
    ),
    "unit rows, by a local": (
        "f(r[n,3]): s[i] = sum[k](r[i,k]**2); u[i,k] = r[i,k]/sqrt(s[i]); out[i,k] = where(s[i] > 0, u[i,k], 0)",
        {"r": HALVES},
        {"r": np.array([[0, 0, 0], [(4 - 36 * 3 / 25) / 5, 1, (6 - 36 * 4 / 25) / 5]])},
    ),
    "a sum under a guard": (
        "f(r[n,3], x[n,3]): s[i] = sum[k](r[i,k]**2); t[i] = sqrt(s[i]);"
        "out[i] = where(s[i] > 0, sum[k](x[i,k]*r[i,k])/t[i], 0)",
        {"r": HALVES, "x": np.ones((2, 3))},
        {
            "r": np.array([[0, 0, 0], [2 / 5 - 14 * 3 / 125, 2 / 5, 2 / 5 - 14 * 4 / 125]]),
            "x": np.array([[0, 0, 0], [6 / 5, 0, 8 / 5]]),
        },
    ),
    "rotation by a vector": (
        "f(w[3], x[3]): s = sum[k](w[k]**2); t = sqrt(s);"
        "out[k] = where(s > 0, x[k]*cos(t) + w[k]*(1 - cos(t))/s*sum[j](w[j]*x[j]), x[k])",
        {"w": ZERO, "x": ONES},
        {"w": ZERO, "x": np.array([1.0, 2, 3])},
    ),
    "entropy of shares": (
        "f(x[n]): s = sum[i](x[i]); p[i] = x[i]/s; out = where(s != 0, sum[i](p[i]*log(p[i])), 0)",
        {"x": ZERO},
        {"x": ZERO},
    ),
    "a logarithm, by a local": (
        "f(x[n]): y[i] = log(x[i]); out = sum[i](where(x[i] > 0, y[i]*x[i], 0))",
        {"x": np.array([0, 1.0, np.e])},
        {"x": np.array([0, 1.0, 2])},
    ),
    "a logarithm, by two locals": (
        "f(x[n]): y[i] = log(x[i]); z[i] = y[i]*x[i]; out = sum[i](where(x[i] > 0, z[i], 0))",
        {"x": np.array([0, 1.0, np.e])},
        {"x": np.array([0, 1.0, 2])},
    ),
    "an exponential that overflows": (
        "f(x[n]): y[i] = exp(x[i]); out[i] = where(x[i] < 5, y[i]*x[i], x[i])",
        {"x": np.array([800.0, 0, 1])},
        {"x": np.array([1, 2, 6 * np.e])},
    ),
    "a guard in a guard": (
        "f(x[n], y[n]): q[i] = x[i]/y[i]; out[i] = where(y[i] != 0, where(q[i] > 0, sqrt(q[i]), q[i]), 0)",
        {"x": np.array([0, 1.0, -2, 4]), "y": np.array([1.0, 0, 2, 1])},
        {"x": np.array([1, 0, 1.5, 1]), "y": np.array([0, 0, 1.5, -4])},
    ),
    "two readers under one guard": (
        "f(x[n], y[n]): q[i] = x[i]/y[i]; a[i] = where(y[i] != 0, q[i]**2, 0);"
        "out[i] = where(y[i] != 0, a[i] + sin(q[i]), y[i])",
        {"x": np.array([0, 1.0]), "y": np.array([1.0, 0])},
        {"x": np.array([1.0, 0]), "y": np.array([0.0, 2])},
    ),
    "cosine similarity": (
        "f(a[n,m], b[n,m]): d[k] = sum[i](a[k,i]*b[k,i]); p[k] = sum[i](a[k,i]**2); q[k] = sum[i](b[k,i]**2);"
        "out[k] = where(p[k] > 0 & q[k] > 0, d[k]/sqrt(p[k]*q[k]), 0)",
        {"a": np.array([[0.0, 0], [3, 4]]), "b": np.array([[1.0, 1], [4, 3]])},
        {
            "a": np.array([[0, 0], [2 * (4 - 24 * 3 / 25) / 25, 2 * (3 - 24 * 4 / 25) / 25]]),
            "b": np.array([[0, 0], [2 * (3 - 24 * 4 / 25) / 25, 2 * (4 - 24 * 3 / 25) / 25]]),
        },
    ),
    "standardised": (
        "f(x[n]): m = sum[i](x[i])/n; v = sum[i]((x[i] - m)**2)/n; out[i] = where(v > 0, (x[i] - m)/sqrt(v), 0)",
        {"x": ONES},
        {"x": ZERO},
    ),
    "short rows as they are": (
        "f(x[n,m]): s[i] = sqrt(sum[j](x[i,j]**2)); out[i,j] = where(s[i] > 1e-3, x[i,j]/s[i], x[i,j])",
        {"x": np.array([[0.0, 0], [3, 4]])},
        {"x": np.array([[1, 2], [(3 - 25 * 3 / 25) / 5, (4 - 25 * 4 / 25) / 5]])},
    ),
    "a root that the condition asks for, too": (
        "f(w, y): t = sqrt(w) + y; out = where(t > 2, t*w, 3*w)",
        {"w": np.array(0.0), "y": np.array(1.0)},
        {"w": np.array(3.0), "y": np.array(0.0)},
    ),
    # a piece under an equality: the slope is that of its neighbour where both have one value
    "a piece that is its neighbour": (
        "f(x[n])[i] = where(x[i] == 1, x[i]**2, x[i]**3)",
        {"x": np.array([1.0, 2])},
        {"x": np.array([3.0, 24])},
    ),
    "a piece that is none": (
        "f(x[n])[i] = where(x[i] == 1, x[i]**2 + 1, x[i]**3)",
        {"x": np.array([1.0, 2])},
        {"x": np.array([2.0, 24])},
    ),
    "a limit": (
        "f(x[n])[i] = where(x[i] != 0, x[i]/(exp(x[i]) - 1), 1)",
        {"x": ZERO},
        {"x": np.array([-0.5, -1, -1.5])},
    ),
    "a limit, by a local": (
        "f(x[n]): t[i] = x[i]/(exp(x[i]) - 1); out[i] = where(x[i] != 0, t[i], 1)",
        {"x": ZERO},
        {"x": np.array([-0.5, -1, -1.5])},
    ),
    "a product with a logarithm": (
        "f(p[n], q[n]) = sum[i](where(p[i] == 0, 0, p[i]*log(q[i])))",
        {"p": np.array([0.0, 0, 1]), "q": np.array([0, np.e, 2])},
        {"p": np.array([0, 1, np.log(2)]), "q": np.array([0.0, 0, 0.5])},
    ),
    "a product with a logarithm, by a local": (
        "f(p[n], q[n]): t[i] = p[i]*log(q[i]); out = sum[i](where(p[i] != 0, t[i], 0))",
        {"p": np.array([0.0, 0, 1]), "q": np.array([0, np.e, 2])},
        {"p": np.array([0, 1, np.log(2)]), "q": np.array([0.0, 0, 0.5])},
    ),
    # a piece under an equality, beside which its neighbour has a limit and no value
    "a divided difference": (
        "f(x, y) = where(x == y, cos(x), (sin(x) - sin(y))/(x - y))",
        {"x": np.array([1.0, 2]), "y": np.array([1.0, 2])},
        {"x": -np.sin([1, 2]) / 2 * [1, 2], "y": -np.sin([1, 2]) / 2 * [1, 2]},
    ),
    "two rates of decay, by a local": (
        "f(t, a, b): d = b - a; out = where(d != 0, (exp(-a*t) - exp(-b*t))/d, t*exp(-a*t))",
        {"t": np.array(2.0), "a": np.array(0.5), "b": np.array(0.5)},
        {"t": np.array(0.0), "a": np.array(-2 / np.e), "b": np.array(-2 / np.e)},
    ),
    "the logarithmic mean": (
        "f(x, y) = where(x == y, x, (x - y)/log(x/y)) for x > 0, y > 0",
        {"x": np.array(3.0), "y": np.array(3.0)},
        {"x": np.array(0.5), "y": np.array(0.5)},
    ),
    "a mean of powers": (
        "f(x, y, r) = where(r == 0, sqrt(x*y), ((x**r + y**r)/2)**(1/r)) for x > 0, y > 0",
        {"x": np.array(1.0), "y": np.array(4.0), "r": np.array(0.0)},
        {"x": np.array(1.0), "y": np.array(0.25), "r": np.array(np.log(2) ** 2)},
    ),
    "the likelihood of a tail": (
        "f(x, k) = where(k == 0, x, (1 + 1/k)*log(1 + k*x)) for x > 0",
        {"x": np.array(3.0), "k": np.array(0.0)},
        {"x": np.array(1.0), "k": np.array(3 - 4.5)},
    ),
    "growth beside interest": (
        "f(g, r, n) = where(r == g, n/(1 + r), (1 - ((1 + g)/(1 + r))**n)/(r - g)) for g > 0, r > 0, n > 0",
        {"g": np.array(1.0), "r": np.array(1.0), "n": np.array(3.0)},
        {"g": np.array(0.75), "r": np.array(-1.5), "n": np.array(0.5)},
    ),
    "a mean of many powers": (
        "f(x[n], r) = where(r == 0, exp(sum[i](log(x[i]))/n), (sum[i](x[i]**r)/n)**(1/r)) for x > 0",
        {"x": np.exp([0.0, 2]), "r": np.array(0.0)},
        {"x": np.exp([1.0, -1]) / 2, "r": np.array(np.e / 2)},
    ),
    "a mean of twelve powers": (
        "f(x[12], r) = where(r == 0, exp(sum[i](log(x[i]))/12), (sum[i](x[i]**r)/12)**(1/r)) for x > 0",
        {"x": np.exp(6 * [0.0, 2]), "r": np.array(0.0)},
        {"x": np.exp(6 * [1.0, -1]) / 12, "r": np.array(np.e / 2)},
    ),
    "the mean of many, by exponentials": (
        "f(x[n], b) = where(b == 0, sum[i](x[i])/n, log(sum[i](exp(b*x[i]))/n)/b)",
        {"x": np.array([1.0, 3]), "b": np.array(0.0)},
        {"x": np.array([0.5, 0.5]), "b": np.array(0.5)},
    ),
    "an entropy, of shares": (
        "f(w[n], q): s = sum[j](w[j]); p[i] = w[i]/s;"
        "out = where(q == 1, -sum[i](p[i]*log(p[i])), (1 - sum[i](p[i]**q))/(q - 1)) for w > 0",
        {"w": np.array([1.0, 3]), "q": np.array(1.0)},
        {"w": np.log(3) * np.array([0.1875, -0.0625]), "q": -(np.log(4) ** 2 + 3 * np.log(0.75) ** 2) / 8},
    ),
    "means of rows": (
        "f(x[m,n], r[m])[i] = where(r[i] == 0, exp(sum[j](log(x[i,j]))/n), (sum[j](x[i,j]**r[i])/n)**(1/r[i]))"
        " for x > 0",
        {"x": np.exp([[0.0, 2], [0.0, 0]]), "r": np.array([0.0, 1])},
        {"x": np.stack([np.exp([1.0, -1]) / 2, [1.0, 1]]), "r": np.array([np.e / 2, 0])},
    ),
    "equal by chance": (
        "f(w[n], x[n], y[n])[i] = where(w[i] == 0, x[i]**2, y[i])",
        {"w": ZERO, "x": ONES, "y": ONES},
        {"w": ZERO, "x": np.array([2.0, 4, 6]), "y": ZERO},
    ),
    "equal on a line": (
        "f(x[n], y[n])[i] = where(x[i] == y[i], x[i]*y[i], x[i]**2)",
        {"x": np.array([2.0, 3]), "y": np.array([2.0, 4])},
        {"x": np.array([4.0, 12]), "y": np.array([0.0, 0])},
    ),
    "where a sum of squares is 0": (
        "f(r[3]): s = sum[k](r[k]**2); out[k] = where(s == 0, 0, r[k]/(1 + s))",
        {"r": ZERO},
        {"r": np.array([1.0, 2, 3])},
    ),
    "where both are 0": (
        "f(x, y, z) = where((x == 0) & (y == 0), z, x*y + z*cos(x))",
        {"x": np.array(0.0), "y": np.array(0.0), "z": np.array(2.0)},
        {"x": np.array(0.0), "y": np.array(0.0), "z": np.array(1.0)},
    ),
    "where three are equal": (
        "f(x[n], y[n], z[n])[i] = where((x[i] == y[i]) & (y[i] == z[i]), x[i]*y[i]*z[i], x[i]**3)",
        {"x": np.array([2.0, 3]), "y": np.array([2.0, 3]), "z": np.array([2.0, 4])},
        {"x": np.array([12.0, 54]), "y": np.array([0.0, 0]), "z": np.array([0.0, 0])},
    ),
}
