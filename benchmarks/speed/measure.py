"""How a cell of the table is measured: time, ratio, error and memory."""

from __future__ import annotations

import ctypes
import ctypes.util
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Run = Callable[[], Any]
Array = np.ndarray[Any, Any]


class Unavailable(Exception):
    """A column has no way to do this row; the message says why."""


@dataclass(frozen=True)
class Case:
    """How a column does a row.

    runs   "forward" and "backward" (or "jacobian"), each a call that returns its arrays
    facts  generated and compiled (seconds), lines of code, bytes of results, saved values and workspace
    """

    runs: Mapping[str, Run]
    facts: dict[str, float] = field(default_factory=dict)


def interleaved(runs: Mapping[Any, Run], rounds: int, sample: float, budget: float = 60.0) -> dict[Any, list[float]]:
    """Seconds of one call, a sample in each round: A B C, A B C ...

    A sample is as many calls as take `sample` seconds. Time is the processor's: what a neighbour takes of it does not
    count. The rounds end when `budget` seconds are over, and two are measured.
    """
    calls = {key: _calls_in(run, sample) for key, run in runs.items()}
    found: dict[Any, list[float]] = {key: [] for key in runs}
    start = time.perf_counter()
    for turn in range(rounds):
        for key, run in runs.items():
            found[key].append(_seconds(run, calls[key]) / calls[key])
        if time.perf_counter() - start > budget and turn >= 1:
            break
    return found


def _seconds(run: Run, calls: int) -> float:
    before = time.process_time()
    for _ in range(calls):
        run()
    return time.process_time() - before


def _calls_in(run: Run, sample: float) -> int:
    run()
    calls = 1
    while (took := _seconds(run, calls)) < sample:
        calls = max(calls + 1, int(calls * min(20.0, 1.2 * sample / max(took, 1e-7))))
    return calls


def ratio(samples: Sequence[float], base: Sequence[float]) -> float:
    """Of the same rounds, so that what slows a whole round does not count: the median."""
    return float(np.median([s / b for s, b in zip(samples, base, strict=True)]))


def error(found: Sequence[Any], true: Sequence[Array]) -> float:
    """The largest error of an array by its largest entry."""
    pairs = [(np.asarray(f, float), t) for f, t in zip(found, true, strict=True)]
    return max(float(np.abs(f.reshape(t.shape) - t).max() / max(np.abs(t).max(), 1e-300)) for f, t in pairs)


def arrays(results: Any) -> list[Array]:
    """As NumPy's, of whatever a column returns."""
    if not isinstance(results, tuple | list):
        results = (results,)
    return [np.asarray(r.detach() if hasattr(r, "detach") else r) for r in results]


def peak(run: Run) -> float:
    """Bytes that a call takes beyond what is held before it; NaN where the system does not say (it is Linux that does).

    What was freed is given back first: memory that a call finds would be no memory that it takes.
    """
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not reset.exists():
        return float("nan")
    trim = getattr(ctypes.CDLL(ctypes.util.find_library("c")), "malloc_trim", None)
    if trim is not None:
        trim(0)
    try:
        reset.write_text("5")  # the highest mark is what is held now
    except OSError:
        return float("nan")
    before = _status(status, "VmRSS")
    kept = run()
    after = _status(status, "VmHWM")
    del kept
    return max(0.0, after - before)


def _status(path: Path, key: str) -> float:
    found = re.search(rf"{key}:\s+(\d+) kB", path.read_text())
    return 1024.0 * int(found[1]) if found else float("nan")
