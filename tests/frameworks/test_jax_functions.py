"""A part of docs/frameworks.md: printed JAX beside functions of jax.nn and jax.scipy, values and gradients."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NAMES = """nn.gelu nn.softmax nn.logsumexp nn.glu nn.squareplus nn.dot_product_attention scipy.special.log_ndtr
    scipy.special.betaln scipy.special.polygamma scipy.stats.beta.logpdf scipy.stats.multivariate_normal.logpdf
    scipy.linalg.cholesky scipy.signal.convolve""".split()


@pytest.fixture
def functions(jax):
    sys.path.insert(0, str(DOCS))
    yield importlib.import_module("jax_functions")
    sys.path.remove(str(DOCS))


@pytest.mark.parametrize("name", NAMES)
def test_as_jax(name, functions):
    rows = [row for row in functions.ROWS if row[0] == name]
    ((_, counts),) = functions.compared(tuple(rows))
    assert rows and {kind for kind, _ in counts} == {"agree"}, counts
