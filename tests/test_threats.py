"""Input from anywhere is safe: every row of `threats` is tried, and comes to what it must."""

from __future__ import annotations

import os

import pytest
from mathematics import COMPILER
from threats import THREATS

pytestmark = pytest.mark.long

ROWS = [pytest.param(attempt, id=name) for rows in THREATS.values() for name, attempt in rows.items()]


@pytest.mark.skipif(os.name == "nt", reason="links, signals and names of files are those of POSIX")
@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize("attempt", ROWS)
@pytest.mark.in_turn
def test_what_was_tried(attempt, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert attempt()
