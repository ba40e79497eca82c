"""Printed C runs no more instructions, and printing takes no more calls, than benchmarks/speed/counts.json says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.speed import counts
from benchmarks.speed.work import ROWS

STORED = {
    "of": counts.versions() if not counts.missing() else {},
    "run": {"squares": {"forward, instructions": 100, "forward, calls": 0}},
    "generated": {"squares": {"calls": 1000}},
}


@pytest.fixture(autouse=True)
def tools(request):
    """valgrind and a compiler."""
    if lacks := counts.missing():
        assert not request.config.option.frameworks, lacks
        pytest.skip(lacks)


def test_no_count_grew_by_more_than_a_tenth(request):
    grew, apart = counts.compared(counts.counted(), json.loads(counts.FILE.read_text()))
    assert not grew, "\n".join([*grew, f"if this is meant: {counts.UPDATE}"])
    if apart:
        pytest.skip("; ".join(apart))


def test_counts_are_the_same_each_time():
    assert counts.instructions(ROWS["gelu"]) == counts.instructions(ROWS["gelu"])


@pytest.mark.parametrize(
    "kind, which, count, says",
    [
        pytest.param("run", "forward, instructions", 110, [], id="a tenth more"),
        pytest.param("run", "forward, instructions", 111, ["run, squares, forward, instructions: 111, 100 before"],
                     id="more than a tenth"),
        pytest.param("run", "forward, calls", 1, ["run, squares, forward, calls: 1, 0 before"], id="none before"),
        pytest.param("generated", "calls", 1101, ["generated, squares, calls: 1,101, 1,000 before"], id="generation"),
        pytest.param("generated", "calls", 10, [], id="less"),
    ],
)  # fmt: skip
def test_what_grew_is_told(kind, which, count, says):
    now = {k: {n: dict(of) for n, of in STORED[k].items()} for k in ("run", "generated")}
    now[kind]["squares"][which] = count
    assert counts.compared(now, STORED) == (says, [])


def test_another_compiler_is_named_and_not_compared():
    stored = STORED | {"of": STORED["of"] | {"run": "gcc 1, pdp11"}}
    now = {"run": {"squares": {"forward, instructions": 10**6}}, "generated": STORED["generated"]}
    grew, (apart,) = counts.compared(now, stored)
    assert not grew and apart.startswith("run: counts.json is of gcc 1, pdp11, and this is")
