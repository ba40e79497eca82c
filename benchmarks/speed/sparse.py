"""Sparse Jacobians of four functions of arrays, beside those by colouring: the end of docs/sparse.md.

    python -m benchmarks.speed.sparse                           # all; writes docs/sparse.md
    python -m benchmarks.speed.sparse --work burgers            # some functions; prints their rows
    python -m benchmarks.speed.sparse --quick                   # small sizes, two rounds: whether it all works

Columns that share no row are found at once by colouring (`scipy.optimize._numdiff.group_columns`): by differences in
NumPy (`approx_derivative`), and by J v for each colour in JAX. The pattern is known to all of them before.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize._numdiff import approx_derivative, group_columns

import symgrad as sg
from symgrad.records import dataclass

from .measure import interleaved, ratio
from .report import machine, table
from .results import described

ROOT = Path(__file__).resolve().parents[2]
FITS = 2**30  # bytes of a dense matrix that is computed
HEAD = """\
## Measured

Made by `python -m benchmarks.speed.sparse`: values and entries of `--functions jacobian:sparse` at a point, with the
pattern that was asked for once. Beside it what is done without: a colouring of the columns (`scipy.optimize`'s), so
that columns which share no row are taken at once, by differences in NumPy (`approx_derivative`) or by J v in JAX (`jit`
of `vmap` of what `linearize` gives); and JAX's dense `jacfwd` where it fits into 1 GiB. The time is of a call; what is
behind `÷` is a multiple of that of the printed code of its language, NumPy or JAX. Pattern (NumPy's) and colouring have
a column of their own.

{machine}

The memory is what a call has at its most besides its inputs, results included: as `tracemalloc` counts the arrays of C
and NumPy, and as XLA plans in JAX.
"""
CAMERA = """ba(cameras[c,9], points[p,3], camera[o]: int, point[o]: int, seen[o,2]) -> residual:
    angle[k] = sqrt(sum[j:3](cameras[camera[k],j]**2))
    along[k] = sum[j:3](cameras[camera[k],j]*points[point[k],j])*(1 - cos(angle[k]))/angle[k]**2
    x[k] = cos(angle[k])*points[point[k],0] + cameras[camera[k],0]*along[k] + cameras[camera[k],3]
        + sin(angle[k])/angle[k]*(cameras[camera[k],1]*points[point[k],2] - cameras[camera[k],2]*points[point[k],1])
    y[k] = cos(angle[k])*points[point[k],1] + cameras[camera[k],1]*along[k] + cameras[camera[k],4]
        + sin(angle[k])/angle[k]*(cameras[camera[k],2]*points[point[k],0] - cameras[camera[k],0]*points[point[k],2])
    z[k] = cos(angle[k])*points[point[k],2] + cameras[camera[k],2]*along[k] + cameras[camera[k],5]
        + sin(angle[k])/angle[k]*(cameras[camera[k],0]*points[point[k],1] - cameras[camera[k],1]*points[point[k],0])
    square[k] = (x[k]**2 + y[k]**2)/z[k]**2
    scale[k] = -cameras[camera[k],6]*(1 + square[k]*(cameras[camera[k],7] + cameras[camera[k],8]*square[k]))/z[k]
    residual[k,0] = scale[k]*x[k] - seen[k,0]
    residual[k,1] = scale[k]*y[k] - seen[k,1]"""


@dataclass(frozen=True)
class Work:
    """A function, with respect to which inputs, and these at a size: those measured, and the quick one."""

    title: str
    formula: str
    wrt: str
    inputs: Callable[[int], list[Any]]
    sizes: tuple[int, int, int]


def _grid(n: int) -> list[Any]:
    return [np.random.default_rng(1).uniform(-1, 1, (n, n))]


def _line(n: int) -> list[Any]:
    rng = np.random.default_rng(2)
    return [rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)]


def _seen(n: int) -> list[Any]:
    """Observations of a third as many points by a hundredth as many cameras."""
    rng = np.random.default_rng(3)
    cameras, points = max(n // 100, 2), max(n // 3, 3)
    moved = rng.uniform(-0.2, 0.2, (cameras, 9)) + np.array([0, 0, 0, 0, 0, 4, 500, 0, 0])
    where = rng.integers(0, cameras, n), rng.integers(0, points, n)
    return [moved, rng.uniform(-1, 1, (points, 3)), *where, rng.uniform(-100, 100, (n, 2))]


def _springs(n: int) -> list[Any]:
    """Three springs from each point to some near it."""
    rng = np.random.default_rng(4)
    first = np.repeat(np.arange(n), 3)
    second = (first + rng.integers(1, 9, 3 * n)) % n
    return [rng.uniform(0, 1, (n, 2)), first, second, rng.uniform(0.1, 0.5, 3 * n)]


WORKS = {
    "poisson": Work(
        "2-D Poisson with a cubic term",
        "poisson(u[n,m])[i,j] = 4*u[i,j] + u[i,j]**3 - where(i > 0, u[i-1,j], 0) - where(i + 1 < n, u[i+1,j], 0)"
        " - where(j > 0, u[i,j-1], 0) - where(j + 1 < m, u[i,j+1], 0)",
        "u",
        _grid,
        (200, 40, 20),
    ),
    "burgers": Work(
        "implicit step of Burgers' equation",
        "burgers(u[n], before[n]; step=0.01, width=0.02, viscosity=0.1): right[i:n] = where(i + 1 < n, u[i+1], 0);"
        " left[i:n] = where(i > 0, u[i-1], 0); out[i] = u[i] - before[i] + step*(u[i]*(right[i] - left[i])/(2*width)"
        " - viscosity*(right[i] - 2*u[i] + left[i])/width**2)",
        "u",
        _line,
        (100_000, 2_000, 50),
    ),
    "ba": Work("bundle adjustment", CAMERA, "cameras,points", _seen, (10_000, 1_000, 30)),
    "springs": Work(
        "forces of a spring network",
        "springs(p[n,2], a[e]: int, b[e]: int, rest[e]) -> force:"
        " length[k] = sqrt(sum[d:2]((p[b[k],d] - p[a[k],d])**2));"
        " pull[k,d:2] = (1 - rest[k]/length[k])*(p[b[k],d] - p[a[k],d]);"
        " force[i:n,d:2] = 0; force[a[k],d] += pull[k,d]; force[b[k],d] += -pull[k,d]",
        "p",
        _springs,
        (10_000, 1_000, 30),
    ),
}


class Function:
    """A function of the moved inputs as one vector, printed for NumPy and JAX, and its matrix."""

    def __init__(self, work: Work, size: int) -> None:
        self.function, self.inputs = sg.parse(work.formula), work.inputs(size)
        self.places = [self.function.inputs.index(name) for name in work.wrt.split(",")]
        asked: Any = {"functions": "forward,jacobian:sparse", "wrt": work.wrt, "check": False}
        self.numpy = sg.load(self.function, **asked)
        self.c = sg.load(self.function, to="c", **asked)
        self.jax = sg.load(self.function, to="jax", **asked).module
        start = time.perf_counter()
        self.pattern = self.numpy.jacobian_pattern(*self.inputs)
        self.seconds_of_pattern = time.perf_counter() - start
        self.matrix = self.numpy.jacobian_sparse(*self.inputs)[-1]
        start = time.perf_counter()
        self.groups = group_columns(self.matrix)
        self.seconds_of_groups = time.perf_counter() - start
        self.colours = int(self.groups.max()) + 1
        self.x = np.concatenate([self.inputs[k].ravel() for k in self.places])

    def given(self, x: Any) -> list[Any]:
        """The inputs, with those that move taken from the vector."""
        found, start = list(self.inputs), 0
        for k in self.places:
            found[k] = x[start : start + self.inputs[k].size].reshape(self.inputs[k].shape)
            start += self.inputs[k].size
        return found

    # what is measured: each gives the entries, in rows

    def printed_numpy(self) -> Callable[[], Any]:
        return lambda: self.numpy.jacobian_values(self.pattern, *self.inputs)[-1]

    def printed_c(self) -> Callable[[], Any]:
        pattern = self.c.jacobian_pattern(*self.inputs)
        return lambda: self.c.jacobian_values(pattern, *self.inputs)[-1]

    def differences(self) -> Callable[[], Any]:
        def values(x: Any) -> Any:
            return np.ravel(self.numpy.forward(*self.given(x)))

        known = self.matrix, self.groups
        return lambda: approx_derivative(values, self.x, method="2-point", sparsity=known).tocsr().data

    def printed_jax(self, jax: Any) -> Any:
        def values(x: Any) -> Any:
            return self.jax.jacobian_values(self.pattern, *self.given(x))

        return jax.jit(values).lower(self.x).compile()

    def _values(self, jax: Any) -> Callable[[Any], Any]:
        return lambda x: jax.numpy.ravel(self.jax.forward(*self.given(x)))

    def colouring(self, jax: Any) -> Any:
        seeds = (self.groups == np.arange(self.colours)[:, None]).astype(float)
        rows = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr))
        colours, values = self.groups[self.matrix.indices], self._values(jax)

        def entries(x: Any) -> Any:
            out, push = jax.linearize(values, x)
            return out, jax.vmap(push)(seeds)[colours, rows]

        return jax.jit(entries).lower(self.x).compile()

    def dense(self, jax: Any) -> Any:
        values = self._values(jax)
        return jax.jit(lambda x: (values(x), jax.jacfwd(values)(x))).lower(self.x).compile()


def measured(work: Work, size: int, rounds: int, quick: bool) -> list[str]:
    """A line of the table."""
    import jax

    jax.config.update("jax_enable_x64", True)
    f = Function(work, size)
    runs: dict[str, Callable[[], Any]] = {"C": f.printed_c(), "NumPy": f.printed_numpy()}
    runs["differences"] = f.differences()
    memory = {name: _peak(run) for name, run in runs.items()}
    made: dict[str, Any] = {"JAX": f.printed_jax, "colouring": f.colouring}
    if np.prod(f.matrix.shape) * 8 <= FITS:
        made["jacfwd"] = f.dense
    for name, make in made.items():
        compiled = make(jax)
        plan = compiled.memory_analysis()
        memory[name] = plan.temp_size_in_bytes + plan.output_size_in_bytes
        runs[name] = lambda compiled=compiled: compiled(f.x)[1].block_until_ready()
    for name, run in runs.items():
        found = np.asarray(run())
        found = found[f.matrix.nonzero()] if found.ndim == 2 else found
        true = f.matrix.data if found.shape == f.matrix.data.shape else f.matrix.data[f.matrix.data != 0]
        close = 1e-4 if name == "differences" else 1e-9
        assert np.allclose(found, true, rtol=close, atol=close * np.abs(true).max()), f"{work.title}: {name} differs"
    times = interleaved(runs, 2 if quick else rounds, 0.001 if quick else 0.05)
    shape = " x ".join(f"{n:,}" for n in f.matrix.shape)

    def time_of(name: str, base: str = "") -> str:
        if name not in times:
            return ""
        return f"{ratio(times[name], times[base]):.3g}" if base else f"{1e3 * min(times[name]):.3g} ms"

    def bytes_of(*names: str) -> str:
        return " / ".join(f"{memory[n] / 2**20:.3g}" if n in memory else "-" for n in names)

    return [
        f"{work.title}, {shape}",
        f"{f.matrix.nnz:,}, {f.colours}",
        time_of("C"),
        time_of("NumPy"),
        time_of("differences", "NumPy"),
        time_of("JAX"),
        time_of("colouring", "JAX"),
        time_of("jacfwd", "JAX"),
        bytes_of("C", "NumPy", "differences"),
        bytes_of("JAX", "colouring", "jacfwd"),
        f"{f.seconds_of_pattern:.2g} / {f.seconds_of_groups:.2g}",
    ]


def _peak(run: Callable[[], Any]) -> int:
    """The bytes that a call has at its most."""
    run()
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main() -> None:
    read = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.sparse",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    read.add_argument("--work", default="", help=f"functions, by commas: {', '.join(WORKS)}")
    read.add_argument("--rounds", type=int, default=15)
    read.add_argument("--quick", action="store_true", help="small sizes, two rounds, nothing written to docs")
    asked = read.parse_args()
    wanted = [name for name in asked.work.split(",") if name]
    if unknown := set(wanted) - {*WORKS}:
        sys.exit(f"there is no function {min(unknown)!r}; there are {', '.join(WORKS)}")
    if hasattr(os, "sched_setaffinity") and not asked.quick:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    lines = [
        ["", "entries, colours", "C", "NumPy", "differences ÷", "JAX", "colouring ÷", "jacfwd ÷",
         "MiB: C / NumPy / differences", "MiB: JAX / colouring / jacfwd", "s: pattern / colouring"],
    ]  # fmt: skip
    for name, work in WORKS.items():
        if not wanted or name in wanted:
            print(f"{name} ...", file=sys.stderr)
            sizes = work.sizes[2:] if asked.quick else work.sizes[:2]
            lines += [measured(work, size, asked.rounds, asked.quick) for size in sizes]
    print(table(lines))
    if not (wanted or asked.quick):
        text = f"{HEAD.format(machine=machine(described()))}\n{table(lines)}\n"
        page = ROOT / "docs" / "sparse.md"
        before, _, _ = page.read_text(encoding="utf-8").partition("## Measured")
        page.write_text(before + text, encoding="utf-8")


if __name__ == "__main__":
    main()
