"""Inputs of which -inf is a value, the logarithm of 0: which they are, and that the check asks there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from mathematics import both

from symgrad.formulas import parse
from symgrad.library import hmm_log_likelihood, log_softmax, masked_softmax, softmax
from symgrad.pipeline import printed, verified
from symgrad.verify.logarithms import logarithms
from symgrad.verify.reference import Declaration
from symgrad.verify.sampling import sample

INPUTS = {
    "f(x, y) = logaddexp(x + 1, y)": "x y",
    "f(x, y) = exp(x - y)": "x",
    "f(x, y) = exp(x)*y": "x",
    "f(x, y) = exp(x) + y*x": "",
    "f(x) = x - log(exp(x))": "",
    "f(x, y) = exp(x*y)": "",
    "f(x, y) = exp(2*x + y/3)": "x y",
    "f(x) = exp(-x)": "",
    "f(x, y) = where(x > 0, exp(x), exp(y))": "y",
    "f(x[n]) = max[i](x[i])": "x",
    "f(x[n]) = min[i](x[i])": "",
    "f(x[n], w[n]) = sum[i](w[i]*exp(x[i]))": "x",
    "f(x[n]) = exp(sum[i](x[i])/n)": "x",
    "f(x[n]) = exp(mean[i](x[i]**2))": "",
    "f(x[n])[i] = logsumexp[j](x[j]) - x[i]": "",
    "f(x[n], w): h[0] = 2*w; h[i+1] = logaddexp(h[i], x[i]); out = h[n]": "x",
    "f(x[n]): h[0] = x[0]; h[i+1] = tanh(h[i]) + exp(x[i]); out = h[n]": "",
    "f(x[n])[i:n] = where(i > 0, exp(x[i]), 0)": "x",
}
LIBRARY = [
    (softmax, "x"),
    (masked_softmax, "x"),
    (log_softmax, ""),
    (hmm_log_likelihood, "log_start log_move log_emit"),
]


@pytest.mark.parametrize(("text", "names"), INPUTS.items(), ids=INPUTS)
def test_inputs_that_are_logarithms(text, names):
    assert logarithms(parse(text)) == tuple(names.split())


@pytest.mark.parametrize(("declared", "names"), LIBRARY, ids=[f.function.name for f, _ in LIBRARY])
def test_of_the_library(declared, names):
    assert logarithms(declared.function) == tuple(names.split())


@pytest.mark.parametrize("text", ["f(x, y) = logaddexp(x, y)", "f(x[n,m])[i] = logsumexp[j](x[i,j])"])
def test_each_is_drawn(text):
    function = parse(text)
    drawn = [case.inputs for case in sample(Declaration(function)).cases if "-inf" in case.label]
    assert drawn and all(np.isneginf(inputs[name]).any() for inputs in drawn for name in logarithms(function))


def test_a_row_of_them_is_drawn():
    (case,) = (c for c in sample(Declaration(softmax.function)).cases if c.label == "rows of -inf")
    rows = np.isneginf(case.inputs["x"]).reshape(-1, case.inputs["x"].shape[-1])
    assert rows.all(axis=1).any() and not rows.all()


MISTAKES = [  # (formula, language, what is printed, and what goes wrong at -inf alone)
    ("f(x[n,m])[i] = logsumexp[j](x[i,j])", "numpy", "np.where(np.isnan(sum_exp_x), 1, sum_exp_x)", "sum_exp_x"),
    ("f(x[n,m])[i] = logsumexp[j](x[i,j])", "c", "isnan(sum_exp_x) ? 1.0 : sum_exp_x", "sum_exp_x"),
    ("f(x[n])[i] = exp(x[i])*2", "numpy", "np.exp(x)", "np.exp(x + 0 * x)"),
    ("f(x[n,m])[i] = max[j](x[i,j])", "c", "-INFINITY", "-1e300"),
    ("f(x, y, z) = log(exp(x) + exp(y) + exp(z))", "c", "x_sum == z ? 0.0 : ", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "to", "right", "wrong"), MISTAKES, ids=[f"{t} {to}" for t, to, *_ in MISTAKES])
def test_a_mistake_there_is_seen(text, to, right, wrong):
    declared = parse(text)
    result = printed(declared, to)
    files = {name: source.replace(right, wrong) for name, source in result.files.items()}
    assert files != result.files
    result = replace(result, files=files)
    assert not verified(declared, result, result.load()).ok


@both
@pytest.mark.parametrize("text", [text for text, names in INPUTS.items() if names])
@pytest.mark.in_turn
def test_what_is_printed_agrees(text, to):
    declared = parse(text)
    result = printed(declared, to)
    report = verified(declared, result, result.load())
    assert report.ok, report
