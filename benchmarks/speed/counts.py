"""Instructions of printed C, and calls that printing takes: what CI compares with counts.json.

    python -m benchmarks.speed.counts              # counts, and compares
    python -m benchmarks.speed.counts --update     # counts, and writes counts.json

Seconds are another number each time; these are the same, printing's within a hundredth: a tenth more is a change of the
code.

What runs: the instructions of the printed functions under valgrind's callgrind, and the calls that leave the file, of
which the C library's own instructions depend on the machine. At -O3, as in docs/speed.md (at -O2 the functions for
vectors are calls), for one processor that valgrind knows: it has no AVX-512, and -march=native is another number on
each machine. Without AVX-512 gcc makes a vector of `x < 0 ? 2 - y : y` only if arithmetic need not trap; a loop that is
no vector any more has three times the instructions, and shows. What is generated: the calls of Python and C functions
from a declaration to its texts, in a process of its own. The first depends on the compiler, the second on the
interpreter: their versions are stored, and counts of another version are not compared.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from symgrad import parse, pipeline

from .generating import WORK
from .printed_c import Call, Content, as_one_file, calls, point_functions, printed
from .work import POINTS, ROWS, Row, declared

FILE = Path(__file__).with_name("counts.json")
ROOT = Path(__file__).resolve().parents[2]
UPDATE = "python -m benchmarks.speed.counts --update"
PROCESSOR = ("-march=x86-64-v3",) if platform.machine() in ("x86_64", "AMD64") else ()  # AVX2
FLAGS = ("-O3", "-fopenmp-simd", "-fno-trapping-math", "-g1", *PROCESSOR)
GROWTH = 1.10  # more than this is a failure
RUN = ("ba", "arm_batch", "quadrotor", "softmax_ce", "layer_norm", "gelu", "chain", "conv2d", "attention", "linear_64")
TENSORS_AND_POINTS = ("ba", "arm", "quadrotor", "softmax_ce", "chain", "conv2d", "gmm")
PRINTED: dict[str, Callable[[], Any]] = {
    **{name: partial(declared, ROWS[name].formula) for name in TENSORS_AND_POINTS},
    **{name: WORK[name].declare for name in ("recurrence", "shared")},
}

TARGETS = ("numpy", "c")

Counts = dict[str, dict[str, dict[str, int]]]

PROGRAM = """
{code}
__attribute__((noinline)) void next_count(void) {{ __asm__ volatile(""); }}
{memory}
int main(void)
{{
    next_count();
    {forward}
    next_count();
    {backward}
    next_count();
    return 0;
}}
"""


def instructions(row: Row) -> dict[str, int]:
    """Of forward, and from arguments to gradients: instructions, and calls of the C library."""
    with tempfile.TemporaryDirectory(prefix="symgrad-") as name:
        folder = Path(name)
        (folder / "program.c").write_text(_program(row))
        command = [*compiler(), *FLAGS, "-o", "program", "program.c", "-lm", "-Wl,-z,now"]
        subprocess.run(command, cwd=folder, check=True)
        tool = ["valgrind", "--tool=callgrind", "--dump-before=next_count", "--callgrind-out-file=counts"]
        plain = ["--compress-strings=no", "--compress-pos=no", "./program"]
        subprocess.run([*tool, *plain], cwd=folder, check=True, capture_output=True)
        found: dict[str, int] = {}
        for dump, which in ((2, "forward"), (3, "backward")):  # the first is what comes before main
            own, called = _counted((folder / f"counts.{dump}").read_text())
            found |= {f"{which}, instructions": own, f"{which}, calls": called}
        return found


def _counted(profile: str) -> tuple[int, int]:
    """Of one dump: the instructions of the functions of the program but main, and the calls from there to others."""
    own = called = 0
    inside = skip = False
    for line in profile.splitlines():
        if m := re.match(r"(c?ob|c?fn|calls)=(.*)", line):
            key, value = m.groups()
            if key == "ob":
                here, inside = value.endswith("/program"), False
            elif key == "fn":
                inside, target = here and value not in ("main", "next_count"), True
            elif key == "cob":
                target = value.endswith("/program")
            elif key == "calls":
                called += 0 if target or not inside else int(value.split()[0])
                skip, target = True, True  # the next line is what the callee costs
        elif m := re.match(r"(\+?-?\d+|\*) (\d+)$", line):
            own += int(m[2]) if inside and not skip else 0
            skip = False
    return own, called


def _program(row: Row) -> str:
    """The printed file, and a main that calls its functions at the small sizes."""
    code, job = printed(row), row.job(small=True)
    text = as_one_file(code.files)
    if row.kind == "point":
        point, x, v = POINTS[row.formula], np.ravel(np.stack(job.arguments).T), np.ravel(job.cotangent.T)
        n, m = len(point.names), point.results
        memory = [_array("x", x), _array("v", v), f"static double y[{m}], g[{len(row.wrt)}];"]
        turns = f"for (int k = 0; k < {row.small[0]}; ++k)"
        forward = f"{turns} {{ run_forward(x + {n} * k, y); }}"
        backward = f"{turns} {{ run_backward(x + {n} * k, v + {m} * k, g); }}"
        # calls of one point are calls: not written into main
        text += re.sub(r"(?m)^void run_", "__attribute__((noinline)) void run_", point_functions(row, code))
    else:
        found = calls(job, code)
        names: dict[int, str] = {}
        memory = []
        forward = _called(found.alone, names, memory)
        backward = " ".join(_called(c, names, memory) for c in (found.saving, found.backward) if c)
    return PROGRAM.format(code=text, memory="\n".join(memory), forward=forward, backward=backward)


def _called(call: Call, names: dict[int, str], memory: list[str]) -> str:
    """A call in C; its arrays come to `memory`."""

    def passed(value: Any) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, Content):
            return f"*{passed(value.memory)}"
        if not isinstance(value, np.ndarray):
            return repr(value)
        if id(value) not in names:
            names[id(value)] = f"memory_{len(names)}"
            memory.append(_array(names[id(value)], value))
        return names[id(value)]

    return f"{call.name}({', '.join(map(passed, call.arguments))});"


def _array(name: str, a: Any) -> str:
    kind = "double" if a.dtype == np.float64 else "int64_t" if a.dtype == np.int64 else "unsigned char"
    return f"static {kind} {name}[{max(a.size, 1)}] = {{{', '.join(map(repr, np.ravel(a).tolist()))}}};"


def generated(name: str) -> int:
    """Calls of Python and C functions from a declaration to its text in NumPy and C, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.speed.counts", "--printing", name]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return int(done.stdout)


def _calls_of_printing(declare: Callable[[], Any]) -> int:
    """In this process; what is imported late is imported before."""
    import_module("sympy")
    for to in TARGETS:
        pipeline.printed(parse("first(x) = sin(x)/(1 + x**2)"), to)
    profile = cProfile.Profile()
    profile.enable()
    for to in TARGETS:
        pipeline.printed(declare(), to)
    profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


def compiler() -> list[str]:
    return shlex.split(os.environ.get("CC") or "cc")


def missing() -> str:
    """What this machine lacks to count; empty if nothing."""
    if lacks := [tool for tool in (compiler()[0], "valgrind") if shutil.which(tool) is None]:
        return f"{' and '.join(lacks)} missing (Debian, Ubuntu: apt install gcc valgrind)"
    cpuinfo = Path("/proc/cpuinfo")
    if PROCESSOR and cpuinfo.exists() and "avx2" not in cpuinfo.read_text():
        return "the processor has no AVX2, and the counts are of code for it"
    return ""


def versions() -> dict[str, str]:
    """What the two kinds of counts depend on."""
    said = subprocess.run([*compiler(), "--version"], check=True, capture_output=True, text=True).stdout
    major = re.search(r"(\d+)\.\d+", said)
    name = "clang" if "clang" in said else "gcc"
    python = ".".join(platform.python_version_tuple()[:2])
    return {"run": f"{name} {major[1] if major else said}, {platform.machine()}", "generated": f"Python {python}"}


def counted() -> Counts:
    """All of them."""
    with ThreadPoolExecutor(2) as pool:
        run = dict(zip(RUN, pool.map(lambda name: instructions(ROWS[name]), RUN), strict=True))
        calls = dict(zip(PRINTED, pool.map(generated, PRINTED), strict=True))
    return {"run": run, "generated": {name: {"calls": n} for name, n in calls.items()}}


def compared(now: Counts, stored: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """What grew by more than a tenth, and what could not be compared, in words."""
    grew, apart = [], []
    for kind, version in versions().items():
        if stored["of"][kind] != version:
            apart.append(f"{kind}: counts.json is of {stored['of'][kind]}, and this is {version}")
            continue
        for name, counts in now[kind].items():
            before = stored[kind].get(name, {})
            for which, count in counts.items():
                old = before.get(which, 0)
                if count > GROWTH * old:
                    grew.append(f"{kind}, {name}, {which}: {count:,}, {old:,} before")
    return grew, apart


def _shown(stored: Mapping[str, Any]) -> str:
    """As JSON, a line for each name."""
    kinds = (
        f'"{kind}": {{\n' + ",\n".join(f'  "{name}": {json.dumps(of)}' for name, of in names.items()) + "\n}"
        for kind, names in stored.items()
    )
    return "{" + ",\n".join(kinds) + "}\n"


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--update", action="store_true", help="write counts.json")
    read.add_argument("--printing", choices=PRINTED, help=argparse.SUPPRESS)
    asked = read.parse_args()
    if asked.printing:
        print(_calls_of_printing(PRINTED[asked.printing]))
        return
    if lacks := missing():
        sys.exit(lacks)
    now = counted()
    if asked.update:
        FILE.write_text(_shown({"of": versions(), **now}))
        return
    grew, apart = compared(now, json.loads(FILE.read_text()))
    print("\n".join([*apart, *grew]) or "no count grew by more than a tenth")
    if grew:
        sys.exit(f"if this is meant: {UPDATE}")


if __name__ == "__main__":
    main()
