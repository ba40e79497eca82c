"""What was printed wrong once, in torch and JAX."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from mended import MENDED

import symgrad as sg


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("name", [name for name in MENDED if "cbrt" not in MENDED[name]])
def test_agrees_with_the_formula(name, to):
    report = sg.check(sg.parse(MENDED[name]), to=to)
    assert report.ok, report


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("name", [name for name in MENDED if "cbrt" in MENDED[name]])
def test_agrees_with_cube_roots(name, to):
    """In a process of its own: as these tests compile for XLA, a cube root is a power, and loses six bits."""
    own = {n: value for n, value in os.environ.items() if n != "XLA_FLAGS"}
    command = [sys.executable, "-m", "symgrad", "check", MENDED[name], "--to", to]
    done = subprocess.run(command, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
