"""Which elements an equation writes: each once, and none that another one writes."""

from __future__ import annotations

import pytest

import symgrad as sg
from symgrad.ir import disjoint_writes, writes_once
from symgrad.ir.text import accumulating

TARGETS = [
    ("y[i,j] += x[i,j]", True),
    ("y[2*i+1,j] += x[i,j]", True),
    ("y[(i j)] += x[i,j]", True),
    ("y[j,n-1-i] += x[i,j]", True),
    ("y[2*i+j] += x[i,j]", False),
    ("y[i] = sum[j](x[i,j])", True),
    ("y[k:n,j:m] = 0; y[t[i],j] += x[i,j]", False),
]


@pytest.mark.parametrize(("text", "once"), TARGETS, ids=[text for text, _ in TARGETS])
def test_whether_two_points_write_one_element(text, once):
    *_, e = sg.parse(f"f(x[n,m], t[n]: int): {text}").statements
    assert writes_once(e) is once


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("y[0] = x[0]", "y[1] = x[1]", True),
        ("y[2*i] = x[i]", "y[2*i+1] = x[i]", True),
        ("y[i] = x[i]", "y[i+n] = x[i]", True),
        ("y[i] = x[i]", "y[2*i] = x[i]", False),
        ("y[i] = x[i]", "y[i+1] = x[i]", False),
    ],
)
def test_whether_two_equations_write_one_element(one, other, apart):
    first, second = sg.parse(f"f(x[n]): {one}; {other.replace(' = ', ' += ')}").statements
    assert disjoint_writes(first, [second]) is apart
    assert accumulating([first, second]) == [False, not apart]
