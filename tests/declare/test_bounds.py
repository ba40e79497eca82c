"""The conditions on sizes under which nothing is read or written outside, and what no sizes allow."""

from __future__ import annotations

import pytest
from outside import OUTSIDE, refuses

import symgrad as sg
from symgrad.expr import show

NEEDS = [
    ("f(x[n])[i:n] = x[i]*x[0]", "1 <= n"),
    ("f(x[n,m])[i:n] = x[i,5]", "6 <= m"),
    ("f(x[n,m], w)[i:n] = where(i >= 1, x[i-1,5]*w, -w)", "6 <= m or n <= 1"),
    ("f(x[n], w)[i:8] = where(w >= 1, x[i]*w, w)", "8 <= n"),
    ("f(x[n,m])[i:n] = where(x[i,0] > 0, x[i,5], x[i,0])", "6 <= m"),
    ("f(x[n])[i:n] = where(i >= 1, x[i-1], x[i])", ""),
    ("f(x[n])[i:n] = where(i < n - 1, x[i+1], x[0])", ""),
    ("f(x[n])[i:n] = where(i == 0, x[n-1], x[i-1])", ""),
    ("f(x[n])[i:n] = where(i != 0, x[i-1], x[i])", ""),
    ("f(x[n])[i:n] = where((i >= 1) & (x[i] > 0), x[i-1], 1)", ""),
    ("f(x[n])[i:n] = where(x[i] > 0, where(i >= 1, x[i-1], 0), where(i < n - 1, x[i+1], 0))", ""),
    ("f(x[n], y[m])[i:n+m] = where(i < n, x[i], y[i-n])", ""),
    ("f(x[n])[i:n] = where(n >= 3, x[2], x[0])", ""),
    ("f(x[n])[i:n] = where(i % 2 == 1, x[i-1], x[i])", ""),
    ("f(x[4])[i:4] = where(i % 2 == 0, x[i+1], x[i])", ""),
    ("f(x[n])[i:n] = x[maximum(0, minimum(i + 1, n - 1))]", ""),
    ("f(x[n])[i:n] = x[(i + 1) % n]", ""),
    ("f(x[n])[i:n] = x[clip(i - 1, 0, n - 1)]", ""),
    ("f(x[n], t: int) = x[clip(t, 0, n - 1)]", "1 <= n"),
    ("f(x[n], k[m]: int)[j] = x[clip(k[j], -1, n - 2) + 1]", "1 <= n"),
    ("f(x[n], k[m]: int)[j] = x[maximum(0, minimum(k[j], n - 1))]", "1 <= n"),
    ("f(x[n], t: int)[i:n] = x[i]*x[(t % n + 2) % n]", "1 <= n"),
    ("f(x[n], k[n]: int)[i] = x[i]*x[(k[i] % n + i) % n]", ""),
    ("f(x[n]; k=2)[i:n] = where(i >= k, x[i-k], 0)", "k >= 0"),
    ("f(x[n]; s=2)[i:n] = where(i >= 1, x[s*i-s], 0)", "s >= 0; n <= 1 or n * s + 1 <= n + 2 * s"),
    ("f(x[n])[i] = x[i]*(7 % n)", "1 <= n"),
    ("f(x[n])[i] = x[i]*((i + 3) % n)", ""),
    ("f(x[n])[i] = x[i]*(7 // (n - 2))", "n - 2 != 0"),
    ("f(x[n]; s=2)[i] = where(s != 0, x[i]*(i % s), 0)", "s != 0"),
    ("f(x[n], k[n]: int)[i] = where(k[i] > 0, x[i]*(i % k[i]), 0)", ""),
    ("f(x[n], k[n]: int)[i] = x[i]*(i // k[i]) for k >= 1", ""),
    ("f(x[n], k: int, l: int)[i] = x[i]*(i // (abs(where(l == 2, k, 3)) + 1) % maximum(k, 1))", ""),
]


@pytest.mark.parametrize(("text", "needs"), NEEDS, ids=[text for text, _ in NEEDS])
def test_what_the_sizes_must_meet(text, needs):
    assert "; ".join(map(show, sg.parse(text).constraints)) == needs


@pytest.mark.parametrize(
    "text",
    [
        "f(x[n])[i:n] = x[i+1]",
        "f(x[n])[i:n] = x[2*i+1]",
        "f(x[n])[i:n] = where(i >= 1, x[i-2], x[i])",
        "f(x[n])[i:n] = where(i >= 1 | x[i] > 0, x[i-1], 1)",
        "f(x[n])[i:n] = where(x[i] > 0, x[i+1], 1)",
        "f(x[n], t[n]: int)[i:n] = where(t[i] >= 1, x[i-1], 0)",
        "f(x[n], t[m]: int)[i] = where(i > 3, x[7*t[i]], 0)",
        "f(x[n], t[m]: int)[i] = where(t[i] > 3, x[t[i]*t[i]], 0)",
        "f(x[n], y[m])[i] = where(i > 3, x[i*i]*y[i], 0)",
    ],
)
def test_what_no_sizes_allow_is_refused(text):
    with pytest.raises(sg.ShapeError, match="is outside of x"):
        sg.parse(text)


@pytest.mark.parametrize("subscript", ["i*i", "i*j", "(i % 2)*i", "i*j // n", "j // (m // n)"])
def test_a_subscript_of_which_nothing_tells_that_it_is_inside_is_refused(subscript):
    inside = r"nothing tells that x\[.*\] is inside of x: .* Keep it inside, clip\("
    with pytest.raises(sg.ShapeError, match=inside):
        sg.parse(f"f(x[n], y[m,p])[i,j:m] = x[{subscript}]*y[i,0]")
    sg.parse(f"f(x[n], y[m,p])[i,j:m] = x[clip({subscript}, 0, n - 1)]*y[i,0]")
    sg.parse(f"f(x[n], y[m,p])[i,j:m] = where(0 <= {subscript} < n, x[{subscript}], 0)*y[i,0]")


def test_what_no_condition_proves_is_refused_at_once():
    text = "f(x[n], w[o]; g=2): require(o % g == 0, n == g); out[q] = x[q // (o // g)]*w[q]"
    with pytest.raises(sg.ShapeError, match="nothing tells that"):
        sg.parse(text)


MAY_LEAVE = ["k[j] + 1", "abs(k[j])", "minimum(k[j], n - 1)", "k[j] % (n + 1)", "(k[j] + 1) % n", "clip(2*k[j], 0, 1)"]


@pytest.mark.parametrize("subscript", MAY_LEAVE)
def test_a_subscript_of_data_that_may_be_outside_is_refused(subscript):
    with pytest.raises(sg.UnsupportedError, match=r"from k, and may be outside, or overflow .* Keep each given"):
        sg.parse(f"f(x[n], k[m]: int)[j] = x[{subscript}]")


@pytest.mark.parametrize("divisor", ["k[i]", "i - 2", "where(k[i] > 0, k[i] - 1, 1)"])
def test_an_integer_that_may_be_divided_by_0_is_refused(divisor):
    with pytest.raises(sg.UnsupportedError, match=r"divides an integer by .* may be 0\. Guard it"):
        sg.parse(f"f(x[n], k[n]: int)[i] = x[i]*(7 // ({divisor}))")


@sg.function
def reduced_before(x: sg.Tensor["n m"]):
    i, k = sg.indices("i k")
    before = sg.sum[k](x[i - 1, k] ** 2)
    return sg.tensor[i](sg.where(i >= 1, before, 0))


@pytest.mark.parametrize(
    ("declared", "computed"),
    [
        ("f(x[n,m])[i:n] = where(i >= 1, sum[k](x[i-1,k]**2), 0)", "i >= 1"),
        (reduced_before, "i >= 1"),
        ("f(x[n,m])[i:n,j:m] = where(j < i, sum[k](x[i-1,k]), 0)", "1 <= i"),  # one sum for all j
        ("f(x[n,m])[i:n] = sum[j:i](sum[k](x[i-1,k])*x[i,j])", "1 <= i"),
        ("f(x[n,m], y[m]): h[t:n,k] = where(t >= 1, tanh(sum[j](x[t-1,j]*h[t-1,k])), y[k]); out = sum[t,k](h[t,k])",
         "t >= 1"),
        ("f(x[n,m])[i:n] = where(i >= 1, sum[k](x[i,k]), 0)", ""),  # is inside everywhere
    ],
    ids=["text", "Python", "another index", "an extent", "a recurrence", "inside"],
)  # fmt: skip
def test_a_reduction_in_a_branch_is_computed_where_it_is_read(declared, computed):
    function = sg.parse(declared) if isinstance(declared, str) else declared.function
    (local, *_) = [e for e in function.statements if e.target not in function.outputs and e.reduce == "sum"]
    assert ", ".join(map(show, local.conditions)) == computed
    assert sg.check(declared if isinstance(declared, sg.Declared) else function).ok


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize("declared", OUTSIDE)
def test_it_is_tested_before_anything_runs(declared, to):
    refuses(declared, to)
