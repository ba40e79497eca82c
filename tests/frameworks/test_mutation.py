"""A printed file of torch or JAX with one mistake in it is refused; see tests/test_mutation.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mutants import ADAPTERS, judged

ROWS = [(name, to) for to in ("torch", "jax") for name in ("squares", "layer_norm", "branches", "scatter")]


# C that is given other shapes reads where it likes: beside JAX a check has no process of its own
APART = """
import json, sys, warnings
from mutants import judged
warnings.simplefilter("ignore")
print(json.dumps(judged(sys.argv[1], "torch_c", 1)))
"""


@pytest.mark.parametrize(("name", "to"), ROWS)
@pytest.mark.filterwarnings("ignore")  # a mutant may divide by zero
def test_mutants_are_caught(name, to, torch, jax):
    count, unseen = judged(name, to, 1)
    assert count and not unseen


@pytest.mark.parametrize("name", ADAPTERS["torch_c"])
def test_mutants_of_torch_over_c_are_caught(name, torch):
    folder = Path(__file__).parent.parent
    path = os.pathsep.join(filter(None, (str(folder), str(folder.parent), os.environ.get("PYTHONPATH"))))
    line = [sys.executable, "-c", APART, name]
    done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    count, unseen = json.loads(done.stdout.splitlines()[-1])
    assert count and not unseen
