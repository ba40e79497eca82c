"""No name of a user's clashes with one of torch's or JAX's, or of the printed file."""

import pytest
from names import FUNCTIONS, ROWS, computes

import symgrad as sg

each = pytest.mark.parametrize("text", ROWS.values(), ids=list(ROWS))


@pytest.mark.parametrize("functions", ["forward,backward", "forward,backward,jvp"], ids=["", "jvp"])
@each
@pytest.mark.in_turn
def test_torch(text, functions, torch):
    report = sg.check(sg.parse(text), to="torch", functions=functions)
    assert report.ok, report


@pytest.mark.parametrize("functions", ["forward,backward", "forward,backward,jvp"], ids=["", "jvp"])
@each
def test_jax(text, functions, jax):
    report = sg.check(sg.parse(text), to="jax", functions=functions)
    assert report.ok, report


@pytest.mark.parametrize("row", ["scalars", "options", "results", "the function"])
def test_torch_over_c(row, torch):
    report = sg.check(sg.parse(ROWS[row]), to="torch_c")
    assert report.ok, report


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_may_have_any_name(name, to):
    computes(name, to)
