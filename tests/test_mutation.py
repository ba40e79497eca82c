"""The check is checked: a printed file with one mistake in it is refused, in NumPy and C.

A few mutants of every function here, others of torch and JAX in tests/frameworks; `python docs/make_trust.py` makes
some hundreds in all languages, and docs/trust.md has what came of them.
"""

from __future__ import annotations

import pytest
from mathematics import both
from mutants import BESIDE, FUNCTIONS, judged

pytestmark = pytest.mark.long

EACH = {"numpy": 2, "c": 1}  # of one function


@both
@pytest.mark.parametrize("name", (*FUNCTIONS, *BESIDE))
@pytest.mark.filterwarnings("ignore")  # a mutant may divide by zero
@pytest.mark.in_turn
def test_mutants_are_caught(name, to):
    count, unseen = judged(name, to, EACH[to])
    assert count and not unseen
