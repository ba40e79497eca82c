"""A logsumexp of no terms is -oo: the reference has it so, and the check asks for it."""

from __future__ import annotations

import numpy as np
import pytest
from loading import numpy_module

import symgrad as sg
from symgrad.pipeline import printed
from symgrad.verify import check
from symgrad.verify.reference import Declaration

CONSTANT = "f(x[n])[i:n] = x[i] + logsumexp[k:n-1](0.5)"
TERMS = "f(x[n])[i:n] = x[i] + logsumexp[k:n-1](x[k])"
WRITTEN_OUT = "f(x[n], y[n])[i] = log(sum[k:n-1](exp(x[k] + y[i])))"
FORMULAS = [CONSTANT, TERMS, WRITTEN_OUT]


@pytest.mark.parametrize("text", FORMULAS)
def test_the_reference_knows_it(text):
    function = sg.parse(text)
    value = Declaration(function).trace({name: np.array([2.0]) for name in function.inputs}, {}).arrays["out"]
    assert value.tolist() == [-np.inf]


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize("text", FORMULAS)
def test_the_code_says_it(text, to):
    function = sg.parse(text)
    assert sg.check(function, to).ok
    with np.errstate(divide="ignore"):
        out, _ = sg.load(function, to).forward(*([2.0] for _ in function.inputs))
    assert np.array_equal(out, [-np.inf])


@pytest.mark.parametrize("to", ["numpy", "c"])
def test_what_is_no_number_beside_nothing_is_not_asked_for(to):
    """The formula has a sum of nothing, the code 0 times what is 0/0 there."""
    quotient = "f(v[n], w[m])[i,j] = v[i]*(sum[k](w[k])/sum[k](w[k]**2))*w[j]"
    assert sg.check(sg.parse(quotient), to).ok


@pytest.mark.parametrize("to", ["numpy", "c"])
def test_the_code_takes_infinite_terms(to):
    """As SciPy, torch and JAX: -oo where all terms are; the gradient of an infinite value is NaN, as theirs is."""
    code = sg.load(sg.parse("f(x[n,m])[i] = logsumexp[j](x[i,j])"), to, check=False)
    with np.errstate(invalid="ignore"):
        out, saved = code.forward(np.array([[-np.inf, -np.inf], [np.inf, 1], [-np.inf, 1], [np.nan, 1]]))
        (grad,) = code.backward(saved, np.ones(4))
    np.testing.assert_array_equal(out, [-np.inf, np.inf, 1, np.nan])
    np.testing.assert_array_equal(grad[[0, 2]], [[np.nan, np.nan], [0, 1]])


MUTANTS = [
    (CONSTANT, "max(n - 1, 0)", "max(n - 1, 1)"),  # x[0] + 0.5, as it was printed once
    (CONSTANT, "max(n - 1, 0)", "(n - 1 if n > 1 else 1e-300)"),
    (TERMS, "initial=-np.inf", ""),
]


@pytest.mark.parametrize(("text", "right", "wrong"), MUTANTS)
def test_another_value_is_caught(text, right, wrong):
    function = sg.parse(text)
    files = dict(printed(function, "numpy").files)
    assert any(right in source for source in files.values())
    files = {name: source.replace(right, wrong) for name, source in files.items()}
    assert not check(function, files, "numpy", numpy_module(files)).ok
