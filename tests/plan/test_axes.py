"""The index of points is innermost in temporaries that sums over a triangle read and write."""

import pytest
from mathematics import COMPILER

import symgrad as sg

BELOW = "z[r,i] = sum[j](where(j < i, w[i,j]*{}[r,j], 0))"
APART = f"apart[r,i] = x[r,i] - mu[i]; {BELOW.format('apart')}; out = sum[r,i]((apart[r,i] + z[r,i])**2*s[r])"
MOVED = {  # what backward has in its workspace, where axes are moved
    "a quadratic form": (f"f(x[n,d], mu[d], w[d,d], s[n]): {APART}", "z[i,r]"),
    "of groups": (
        "f(x[n,d], mu[k,d], w[k,d,d]): apart[a,r,i] = x[r,i] - mu[a,i]; "
        "z[a,r,i] = apart[a,r,i] + sum[j](where(j < i, w[a,i,j]*apart[a,r,j], 0)); "
        "like[r,a] = -sum[i](z[a,r,i]**2); out = sum[r](logsumexp[a](like[r,a]))",
        "apart[a,i,r]",
    ),
    "of what the caller has": (f"f(x[n,d], w[d,d]): {BELOW.format('x')}; out = sum[r,i](exp(z[r,i]))", ""),
    "of a batch": (
        "f(x[...,d], mu[d], w[d,d]): apart[...,i] = x[...,i] - mu[i]; "
        "z[...,i] = sum[j](where(j < i, w[i,j]*apart[...,j], 0)); out[...] = sum[i](z[...,i]**2)",
        "",
    ),
    "without a condition": (f"f(x[n,d], mu[d], w[d,d], s[n]): {APART.replace('j < i', 'w[i,j] > 0')}", ""),
}


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize("save", ["minimal", "balanced", "all"])
@pytest.mark.parametrize("name", MOVED)
@pytest.mark.in_turn
def test_points_are_last(name, save):
    declared, shown = sg.parse(MOVED[name][0]), MOVED[name][1]
    assert sg.check(declared, to="c", save=save).ok
    text = sg.generate(declared, to="c", save="minimal", check=False)["f.c"].partition("f_backward(")[2]
    moved = any(f"{other}[{at}] =" in text for other in ("z", "apart") for at in ("i,r", "a,i,r", "i,b"))
    assert (f"{shown} =" in text) if shown else not moved


def test_what_the_loops_of_points_read_again_and_again_is_copied():
    """For each group a, x is read across its points, and grad_x added up; what there is no group of is read once."""
    declared = sg.parse(MOVED["of groups"][0])
    forward, _, backward = sg.generate(declared, to="c", check=False)["f.c"].partition("f_backward(")
    assert forward.count("x_columns[i,r] = x[r, i] */") == 1
    assert "grad_x[r,i] = grad_x_columns[i, r] */" in backward
    alone = sg.parse(MOVED["a quadratic form"][0])
    assert "_columns" not in sg.generate(alone, to="c", save="minimal", check=False)["f.c"]
