"""Formulas drawn at random, printed in torch and JAX and checked by the oracle; see tests/test_random_formulas.py."""

from __future__ import annotations

import pytest
from random_formulas import affine, hunt, scalars, tensors

KINDS = {"statements": tensors, "scalars": lambda: scalars(8), "affine subscripts": affine}


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")  # of the framework, where a value overflows
def test_random_formulas_agree_with_the_oracle(kind, to, torch, jax):
    hunt(KINDS[kind](), to, 4)
