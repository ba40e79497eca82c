"""A product of which only numbers for each row are kept is computed in chunks of rows."""

from __future__ import annotations

import pytest

import symgrad as sg
from symgrad import library
from symgrad.pipeline import printed

HEAD = "f(x[b,k], w[v,k], y[b]: int, t[b,v], u[k,v], a[v]): z[i,c] = sum[j](x[i,j]*w[c,j]); "
IN_CHUNKS = {  # what is made of z, and which products are computed in chunks
    "out = sum[i](logsumexp[c](z[i,c]) - z[i,y[i]])/b": "z",
    "out[i] = max[c](z[i,c])": "z",
    "out = sum[i](a[y[i]]*(logsumexp[c](z[i,c]) - z[i,y[i]]))/sum[i](a[y[i]])": "z",  # a weight for each class
    "out = sum[i](log(sum[c](a[c]*z[i,c]**2)) - a[y[i]]*z[i,y[i]])": "z",  # of all of them, and of the own one
    "out = sum[i,c]((z[i,c] - t[i,c])**2)": "z",
    "out = sum[i](log(sum[c](z[i,c]**2*t[i,c])))": "z",
    "s[i,c] = sum[j](x[i,j]*u[j,c]); out = sum[i](logsumexp[c](z[i,c] - s[i,c]))": "s z",
    "out = sum[i,c](i*tanh(z[i,c]))": "z",
    "out[c] = sum[i](z[i,c])": "z",
    "out[i,j] = sum[c](tanh(z[i,c])*u[j,c])": "",  # another product reads it
    "h[i,j] = sum[c](tanh(z[i,c])*u[j,c]); out = sum[i](logsumexp[j](h[i,j]))": "h",  # the last one alone
    "out[i,c] = tanh(z[i,c])": "",  # an output
    "out = sum[c](logsumexp[i](z[i,c]))": "",  # along the other axis: rows are not apart
    "out = sum[i](logsumexp[c](z[i,c])) + sum[c](logsumexp[i](z[i,c]))": "",
    "m[c] = sum[i](z[i,c]); out = sum[i,c]((z[i,c] - m[c])**2)": "",  # a sum over rows is read beside elements
    "out[i] = logsumexp[c](z[b-1-i,c])": "",  # another row is read
}


@pytest.mark.parametrize("formula", IN_CHUNKS)
def test_what_ends_in_rows_is_computed_in_chunks(formula):
    program = printed(sg.parse(HEAD + formula), "triton").program
    found = IN_CHUNKS[formula].split()
    assert sorted(program.forward.chunked) == sorted(program.backward.chunked) == found
    stored = {s: len(program.table[s].shape) for s in program.saved if s not in program.derivative.primal.inputs}
    assert {*found}.isdisjoint(stored)
    assert not found or max(stored.values(), default=0) <= 1 or found == ["h"]  # numbers for each row are saved


def test_what_is_picked_of_a_row_is_kept():
    """The gradient of a weight reads a number for each row, and waits for no loop."""
    weighted = "out = sum[i](a[y[i]]*(logsumexp[c](z[i,c]) - z[i,y[i]]))/sum[i](a[y[i]])"
    program = printed(sg.parse(HEAD + weighted), "triton").program
    assert "z_y" in program.saved
    (grad_a,) = [e for e in program.backward.equations if e.target == "grad_a"]
    assert "z" not in {r.name for r in grad_a.reads}


def test_what_each_row_has_a_multiple_of_is_summed_once():
    smoothed = "out = sum[i,c](a[c]*(logsumexp[p](z[i,p]) - z[i,c])) + sum[i](a[y[i]]*logsumexp[c](z[i,c]))"
    program = printed(sg.parse(HEAD + smoothed), "triton").program
    sums = [e for e in program.backward.equations if e.reduce == "sum" and {r.name for r in e.reads} == {"a"}]
    assert [e.subscripts for e in sums] == [()]


@pytest.mark.parametrize("name", "linear mlp linear_gelu swiglu_layer attention causal_attention".split())
def test_layers_are_computed_at_once(name):
    program = printed(getattr(library, name), "triton").program
    assert not program.forward.chunked and not program.backward.chunked


def test_other_languages_compute_at_once():
    (formula, *_) = IN_CHUNKS
    program = printed(sg.parse(HEAD + formula), "numpy").program
    assert not program.forward.chunked and not program.backward.chunked
