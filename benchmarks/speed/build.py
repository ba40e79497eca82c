"""C and C++ made into libraries, and called."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .measure import Case, Unavailable
from .printed_c import Content
from .work import BACKWARD, FORWARD, JACOBIAN, Job

C = Path(__file__).with_name("c")
NATIVE = ("-O3", "-march=native", "-fopenmp-simd")
Array = np.ndarray[Any, Any]


def compiled(
    source: str, flags: Sequence[str], libraries: Sequence[str] = ("-lm",), cxx: bool = False
) -> tuple[Any, float]:
    """A library of the text, and the seconds that took."""
    command = shlex.split(os.environ.get("CXX") or "c++") if cxx else shlex.split(os.environ.get("CC") or "cc")
    with tempfile.TemporaryDirectory(prefix="symgrad-") as folder:
        path = Path(folder, "source.cpp" if cxx else "source.c")
        path.write_text(source)
        line = [
            *command,
            *flags,
            "-w",
            "-fPIC",
            "-shared",
            f"-I{C}",
            "-o",
            f"{folder}/library.so",
            str(path),
            *libraries,
        ]
        start = time.perf_counter()
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        took = time.perf_counter() - start
        if done.returncode:
            raise Unavailable(f"it does not compile: {done.stderr.strip().splitlines()[0][:200]}")
        return ctypes.CDLL(f"{folder}/library.so"), took


ARITHMETIC = re.compile(r"\tv?(?:add|sub|mul|div|sqrt|min|max)sd\t")
CALL = re.compile(r"\tcall\t(?!mem)(\w+)")
COUNT = "\tpushfq\n\tincq\toperations_counted(%rip)\n\tpopfq\n"
SAMPLE = 100  # points over which what is counted is averaged


def operations(job: Job, source: str, flags: Sequence[str] = (), cxx: bool = False) -> float:
    """Of the Jacobian of a function, at some of its points."""
    points = np.ascontiguousarray(np.stack(job.arguments).T)[:SAMPLE]
    return executed(source, points, (job.cotangent.shape[0], len(job.row.wrt)), flags, cxx)


def executed(source: str, points: Array, shape: tuple[int, int], flags: Sequence[str], cxx: bool) -> float:
    """Additions, multiplications, divisions, roots and calls of other functions that `run_jacobian` of a text executes
    at a point, compiled at -O2 without vectors: each is counted by an instruction behind it."""
    command = shlex.split(os.environ.get("CXX") or "c++") if cxx else shlex.split(os.environ.get("CC") or "cc")
    # a counter of the file, and nothing of a function's below the stack, where the flags are kept
    counter = """
#ifdef __cplusplus
extern "C" {
#endif
__attribute__((visibility("hidden"))) long operations_counted;
long counted(void) { return operations_counted; }
#ifdef __cplusplus
}
#endif
"""
    plain = ["-O2", "-fno-tree-vectorize", "-fno-math-errno", "-mno-red-zone", "-fPIC", f"-I{C}", "-w"]
    with tempfile.TemporaryDirectory(prefix="symgrad-") as folder:
        path = Path(folder, "source.cpp" if cxx else "source.c")
        path.write_text(source + counter)
        subprocess.run([*command, *flags, *plain, "-S", "-o", f"{folder}/source.s", str(path)], check=True)
        text = Path(folder, "source.s").read_text()
        own = set(re.findall(r"^(\w+):", text, re.MULTILINE))
        lines = text.splitlines(keepends=True)
        told = (ARITHMETIC.match(line) or (c := CALL.match(line)) and c[1] not in own for line in lines)
        counted = "".join(line + COUNT * bool(is_one) for line, is_one in zip(lines, told, strict=True))
        Path(folder, "source.s").write_text(counted)
        line = [*command, "-shared", "-o", f"{folder}/library.so", f"{folder}/source.s", "-lm"]
        subprocess.run(line, check=True)
        library = ctypes.CDLL(f"{folder}/library.so")
    y, jacobian = np.zeros(shape[0]), np.zeros(shape)
    for x in points:
        library.run_jacobian(address(x), address(y), address(jacobian))
    library.counted.restype = ctypes.c_long
    return float(library.counted()) / len(points)


def address(a: Array | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if a is None else a.ctypes.data)


def passed(value: Any) -> Any:
    """An argument as ctypes takes it."""
    if value is None or isinstance(value, np.ndarray):
        return address(value)
    if isinstance(value, Content):
        return ctypes.c_double(value.memory.item())
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_size_t(value)


def call(library: Any, name: str, arguments: Sequence[Any], results: Any) -> Callable[[], Any]:
    """A call that returns `results`; the arguments are made once, and stay alive with it."""
    function = getattr(library, name)
    function.restype = None
    made = tuple(map(passed, arguments))

    def run(kept: Any = arguments) -> Any:
        function(*made)
        return results

    return run


@cache
def _driver() -> Any:
    return compiled((C / "drive.c").read_text(), ("-O2",))[0]


def point_case(job: Job, library: Any, facts: dict[str, float]) -> Case:
    """Points, one after the other, of a library that has run_forward, run_backward and run_jacobian."""
    drive, row = _driver(), job.row
    x, v = np.ascontiguousarray(np.stack(job.arguments).T), np.ascontiguousarray(job.cotangent.T)
    (n, inputs), outputs, gradients = x.shape, v.shape[1], len(row.wrt)
    y, g, jacobian = np.zeros((n, outputs)), np.zeros((n, gradients)), np.zeros((n, outputs, gradients))

    def pointer(name: str) -> Any:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p)

    if row.kind == "batch":
        facts["bytes"] = g.nbytes
    if row.asks == JACOBIAN:
        given = (n, x, inputs, y, outputs, jacobian, gradients)
        run = _driven(drive.drive_jacobian, pointer("run_jacobian"), given, [jacobian])
        # to compare: v^T times it
        return Case({BACKWARD: lambda: [*np.einsum("no,nog->gn", v, run()[0])], JACOBIAN: run}, facts)
    forward = _driven(drive.drive_forward, pointer("run_forward"), (n, x, inputs, y, outputs), [*y.T])
    given = (n, x, inputs, v, outputs, g, gradients)
    return Case(
        {FORWARD: forward, BACKWARD: _driven(drive.drive_backward, pointer("run_backward"), given, [*g.T])}, facts
    )


def _driven(function: Any, of: Any, arguments: Sequence[Any], results: Any) -> Callable[[], Any]:
    made = tuple(map(passed, arguments))

    def run(kept: Any = arguments) -> Any:
        function(of, *made)
        return results

    return run


def blas() -> tuple[Sequence[str], Sequence[str], str]:
    """Flags, libraries and name of the OpenBLAS that products by hand call; none of them where there is none."""
    if find_spec("scipy_openblas32"):
        import scipy_openblas32 as openblas

        folder = openblas.get_lib_dir()
        name = f"OpenBLAS of scipy-openblas32 {openblas.__version__}"
        return ("-DDGEMM=scipy_cblas_dgemm",), (f"-L{folder}", "-lscipy_openblas", f"-Wl,-rpath,{folder}"), name
    if ctypes.util.find_library("openblas"):
        return ("-DDGEMM=cblas_dgemm",), ("-lopenblas",), "the system's OpenBLAS"
    return (), (), "plain loops: there is no OpenBLAS (pip install scipy-openblas32)"
