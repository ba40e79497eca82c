"""A printed file of torch or JAX with one mistake in it is refused; see tests/test_mutation.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mutants import ADAPTERS, caught, mutants, why_unseen

ROWS = [(name, to) for to in ("torch", "jax") for name in ("squares", "layer_norm", "branches", "scatter")]


# C that is given other shapes reads where it likes: beside JAX a check has no process of its own
APART = """
import json, sys, warnings
from mutants import caught, mutants, why_unseen
warnings.simplefilter("ignore")
found = [(m, caught(m)) for m in mutants(sys.argv[1], sys.argv[2], 1)]
unseen = [str(m) for m, seen in found if seen is False and not why_unseen((m.function, m.to, m.kind, m.before))]
print(json.dumps([len(found), unseen]))
"""


@pytest.mark.parametrize(("name", "to"), ROWS)
@pytest.mark.filterwarnings("ignore")  # a mutant may divide by zero
def test_mutants_are_caught(name, to, torch, jax):
    found = [(mutant, caught(mutant)) for mutant in mutants(name, to, 1)]
    assert found
    unseen = [m for m, seen in found if seen is False]
    assert not [str(m) for m in unseen if not why_unseen((m.function, m.to, m.kind, m.before))]


@pytest.mark.parametrize("name", ADAPTERS["torch_c"])
def test_mutants_of_torch_over_c_are_caught(name, torch):
    folder = Path(__file__).parent.parent
    path = os.pathsep.join(filter(None, (str(folder), str(folder.parent), os.environ.get("PYTHONPATH"))))
    line = [sys.executable, "-c", APART, name, "torch_c"]
    done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    count, unseen = json.loads(done.stdout.splitlines()[-1])
    assert count and not unseen
