"""What two products have between them, and a reduction along it, is neither stored nor saved."""

from __future__ import annotations

import pytest

import symgrad as sg
from symgrad.pipeline import printed

HEAD = "f(q[n,d], k[m,d], v[m,e]): s[i,j] = sum[c](q[i,c]*k[j,c]); "
FORWARD = {  # a formula, what is a plane in its forward, and what is saved of rows
    "w[i,j] = exp(s[i,j]) / sum[p](exp(s[i,p])); out[i,l] = sum[j](w[i,j]*v[j,l])": ("s exp_s", "max_s sum_exp_s"),
    "w[i,j] = s[i,j]**2 / sum[p](s[i,p]**2); out[i,l] = sum[j](w[i,j]*v[j,l])": ("s", "sum_s"),
    "out[i,l] = sum[j](tanh(s[i,j])*v[j,l])": ("", ""),  # nothing is reduced in between
    "w[i,j] = exp(s[i,j]) / sum[p](exp(s[p,j])); out[i,l] = sum[j](w[i,j]*v[j,l])": ("", ""),  # along the other axis
    "out[i] = logsumexp[j](s[i,j]) + sum[l](v[0,l])": ("", ""),  # one product
}


@pytest.mark.parametrize("formula", FORWARD)
def test_planes(formula):
    program = printed(sg.parse(HEAD + formula), "triton").program
    found, rows = FORWARD[formula]
    assert [*program.forward.planes] == found.split()
    assert {*found.split()} <= {*program.backward.planes} or not found
    assert {*program.forward.planes}.isdisjoint(program.saved)
    assert {*rows.split()} <= {*program.saved}


def test_other_languages_store_them():
    (formula, *_) = FORWARD
    program = printed(sg.parse(HEAD + formula), "numpy").program
    assert not program.forward.planes and not program.backward.planes
