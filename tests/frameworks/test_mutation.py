"""A printed file of torch or JAX with one mistake in it is refused; see tests/test_mutation.py."""

from __future__ import annotations

import pytest
from mutants import ADAPTERS, caught, mutants, why_unseen

ROWS = [(name, to) for to in ("torch", "jax") for name in ("squares", "layer_norm", "branches", "scatter")]
ROWS += [(name, "torch_c") for name in ADAPTERS["torch_c"]]


@pytest.mark.parametrize(("name", "to"), ROWS)
@pytest.mark.filterwarnings("ignore")  # a mutant may divide by zero
def test_mutants_are_caught(name, to, torch, jax):
    found = [(mutant, caught(mutant)) for mutant in mutants(name, to, 1)]
    assert found
    unseen = [m for m, seen in found if seen is False]
    assert not [str(m) for m in unseen if not why_unseen((m.function, m.to, m.kind, m.before))]
