"""Whole trainings, in float64: torch's own modules, printed torch and printed NumPy give one curve."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from numpy.testing import assert_allclose

EXAMPLES = Path(__file__).parents[2] / "examples" / "training"
STEPS = {"lenet": 50, "character_gpt": 100}
each = pytest.mark.parametrize("name", STEPS)


@pytest.fixture
def example(name, monkeypatch):
    """An example of training, where nothing can import symgrad."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
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


def test_layers_of_triton_give_the_curve_of_torch(triton):
    """In a process of its own, in which kernels are interpreted."""
    program = "import json, character_gpt_triton as c; print(json.dumps({w: [*a] for w, a in c.curves(2).items()}))"
    paths = os.pathsep.join([str(EXAMPLES), str(EXAMPLES.parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": paths}
    said = subprocess.run([sys.executable, "-c", program], env=environment, check=True, stdout=subprocess.PIPE).stdout
    curves = json.loads(said)
    assert len(curves["triton layers"]) == 2
    assert_allclose(curves["triton layers"], curves["torch modules"], rtol=1e-12, atol=0)
