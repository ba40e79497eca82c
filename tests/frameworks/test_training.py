"""Whole trainings, in float64: torch's own modules, printed torch and printed NumPy give one curve."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from numpy.testing import assert_allclose

STEPS = {"lenet": 50, "character_gpt": 100}
each = pytest.mark.parametrize("name", STEPS)


@pytest.fixture
def example(name, monkeypatch):
    """An example of training, where nothing can import symgrad."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples" / "training"))
    monkeypatch.setitem(sys.modules, "symgrad", None)
    return importlib.import_module(name)


@each
def test_numpy_alone_learns(name, example):
    (losses,) = example.curves(["numpy"]).values()
    assert len(losses) == STEPS[name]
    assert losses[-5:].mean() < 0.6 * losses[0]


@each
def test_three_ways_give_one_curve(name, example, torch):
    curves = example.curves()
    assert list(curves) == ["torch modules", "torch Functions", "numpy"]
    for losses in curves.values():
        assert len(losses) == STEPS[name]
        assert_allclose(losses, curves["torch modules"], rtol=1e-6, atol=0)
