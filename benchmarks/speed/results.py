"""What was measured, as JSON keeps it."""

from __future__ import annotations

import gc
import json
import os
import platform
import subprocess
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from . import frameworks
from .build import blas
from .columns import COLUMNS
from .counts import compiler
from .measure import Case, Unavailable, arrays, error, interleaved, peak
from .work import BACKWARD, BY_HAND, FORWARD, NUMPY_BY_HAND, Job, Row

ROOT = Path(__file__).resolve().parents[2]
Results = dict[str, Any]  # "machine", and "rows": row -> column -> what was found
PACKAGES = ("numpy", "scipy", "torch", "jax", "casadi", "symforce", "sympy", "numba", "autograd")


def load(path: Path) -> Results:
    """What was measured before; of a file of nothing, nothing."""
    if path.exists():
        found: Results = json.loads(path.read_text())
        return found
    return {"machine": {}, "rows": {}}


def save(path: Path, results: Results) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1) + "\n")
    part.replace(path)


def measured(results: Results, row: Row, columns: Sequence[str], rounds: int, quick: bool) -> Results:
    """The results with this row measured anew."""
    job = row.job(small=quick)
    found: dict[str, Any] = {}
    cases: dict[str, Case] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        true = _true(job)
        for name in columns:
            column = COLUMNS[name]
            if row.kind not in column.kinds:
                continue
            try:
                case = column.case(job)
                found[name] = {"error": _error(case, true), **case.facts}
                if row.kind != "point":
                    found[name].setdefault("bytes", peak(case.runs[BACKWARD]))
                cases[name] = case
            except ImportError as missing:
                found[name] = {"left out": f"{missing.name} is not installed"}
            except Unavailable as reason:
                found[name] = {"left out": str(reason)}
            except Exception as failure:  # a peer that fails is told, and the others are measured
                found[name] = {"left out": f"{type(failure).__name__}: {failure}".splitlines()[0]}
        asked = [FORWARD, row.asks] if row.asks == BACKWARD else [row.asks]
        runs = {(name, which): case.runs[which] for name, case in cases.items() for which in asked}
        times = interleaved(runs, 2 if quick else rounds, 0.001 if quick else 0.02)
    for (name, which), samples in times.items():
        found[name][which] = [s / job.points for s in samples]
    gc.collect()
    return {"machine": described(), "rows": {**results["rows"], row.name: found}}


def _true(job: Job) -> Any:
    """Result and gradients by torch's autograd in float64; by hand where there is no torch."""
    try:
        case = frameworks.torch(job)
    except ImportError:
        case = COLUMNS[NUMPY_BY_HAND if job.row.kind == "tensor" else BY_HAND].case(job)
    return {which: arrays(run()) for which, run in case.runs.items()}


def _error(case: Case, true: Any) -> float:
    return max(error(arrays(run()), true[which]) for which, run in case.runs.items() if which in true)


def described() -> dict[str, str]:
    """Processor, compiler, commit and versions."""
    said = subprocess.run([*compiler(), "--version"], capture_output=True, text=True, check=False).stdout
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    found = {
        "processor": _processor(),
        "processors": str(os.cpu_count()),
        "compiler": said.splitlines()[0] if said else "none",
        "commit": commit.stdout.strip() or "unknown",
        "products by hand": blas()[2],
        "python": platform.python_version(),
    }
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    of = dict(line.split(":", 1) for line in lines if ":" in line)
    names = {key.strip(): value.strip() for key, value in of.items()}
    widest = next((w for w in ("avx512f", "avx2", "avx") if w in names.get("flags", "").split()), "")
    return f"{names.get('model name', platform.processor())} {platform.machine()} {widest}".strip()
