"""What is read where an optional input is given alone is computed there alone."""

from __future__ import annotations

import pytest

import symgrad as sg

INPUTS = "f(x[n], m[n]?, k[n]?) -> y: "
TABLE = {  # the equations, and the conditions under which each that is left counts
    "nothing optional": ("a[i] = exp(x[i]); y[i] = a[i]", ["", ""]),
    "read in one case": (
        "a[i] = exp(x[i]); y[i] = x[i]; y[i] += a[i]*m[i] when m is given",
        ["m is given", "", "m is given"],
    ),
    "read in either": (
        "a[i] = exp(x[i]); y[i] = a[i]*m[i] when m is given; y[i] = a[i] when m is absent",
        ["", "m is given", "m is absent"],
    ),
    "through another": (
        "a[i] = exp(x[i]); b[i] = a[i] + 1; y[i] = x[i]; y[i] += b[i]*m[i] when m is given and k is absent",
        ["m is given and k is absent", "m is given and k is absent", "", "m is given and k is absent"],
    ),
    "in no case": (
        "a[i] = m[i] when m is given; a[i] = x[i] when m is absent; y[i] = x[i]; y[i] += a[i]*m[i] when m is given",
        ["m is given", "", "m is given"],
    ),
    "in cases that no condition says": (
        "a[i] = exp(x[i]); y[i] = x[i]; y[i] += a[i]*m[i] when m is given; y[i] += a[i]*k[i] when k is given",
        ["", "", "m is given", "k is given"],
    ),
    "by what reads itself": (
        "a[0] = x[0]; a[t+1] = a[t]*x[t]; y[i] = x[i]; y[i] += a[i]*m[i] when m is given",
        ["m is given", "m is given", "", "m is given"],
    ),
}


@pytest.mark.parametrize("equations, expected", TABLE.values(), ids=TABLE)
def test_conditions(equations, expected):
    statements = sg.parse(INPUTS + equations).statements
    said = [" and ".join(f"{n} is {'given' if there else 'absent'}" for n, there in e.when) for e in statements]
    assert said == expected
