"""What was printed wrong once, in torch and JAX."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from mended import MENDED

import symgrad as sg

# as these tests compile for XLA, a cube root is a power, and loses six bits
ROOTS = {name: text for name, text in MENDED.items() if "cbrt" in text}
CHECK = "import sys, symgrad as sg; [print(sg.check(sg.parse(text), to='jax')) for text in sys.argv[1:]]"


@pytest.mark.parametrize(
    ("name", "to"), [(n, to) for n in MENDED for to in ("torch", "jax") if to == "torch" or n not in ROOTS]
)
def test_agrees_with_the_formula(name, to):
    report = sg.check(sg.parse(MENDED[name]), to=to)
    assert report.ok, report


def test_cube_roots_agree_in_jax(jax):
    """In a process that compiles as users do."""
    own = {n: value for n, value in os.environ.items() if n != "XLA_FLAGS"}
    done = subprocess.run([sys.executable, "-c", CHECK, *ROOTS.values()], env=own, capture_output=True, text=True)
    assert done.stdout.count("agrees with the formula") == len(ROOTS), done.stdout + done.stderr
