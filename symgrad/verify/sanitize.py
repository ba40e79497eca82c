"""Printed C under the compiler's own watch: out of bounds, undefined arithmetic, at small sizes and at real ones.

A driver is compiled with the printed file, both with -fsanitize=address,undefined, and is a program of its own: it
reads calls from a file, and gives every array just the memory that it needs. How much forward saves it finds by letting
it write into more. A compiler or machine without sanitizers is left in peace.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..ir import Dtype, Function, bind
from .c_types import WORKSPACES, Parameter, Unit
from .sizes import boxes
from .text import Values, full_shape, gradients

FLAGS = ("-std=c99", "-O0", "-g1", "-w", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
LARGEST = 1 << 26  # bytes that are offered to what forward saves
EIGHT = "(size_t)8"  # bytes of an element of a workspace, and of what is saved
LIMIT = 120.0  # seconds
STORED = {Dtype.REAL: np.float64, Dtype.INT: np.int64, Dtype.BOOL: np.uint8}

DRIVER = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "{header}"
static FILE *driver_file;
static size_t driver_count(void)
{{
    uint64_t n = 0;
    if (fread(&n, sizeof n, 1, driver_file) != 1) {{ exit(9); }}
    return (size_t)n;
}}
static double driver_number(void)
{{
    double x = 0.0;
    if (fread(&x, sizeof x, 1, driver_file) != 1) {{ exit(9); }}
    return x;
}}
static void *driver_room(size_t bytes) {{ void *p = malloc(bytes); memset(p, 0xA5, bytes); return p; }}
static void *driver_block(void)
{{
    size_t n = driver_count();
    if (n == 0) {{ return NULL; }}
    void *p = malloc(n - 1);
    if (fread(p, 1, n - 1, driver_file) != n - 1) {{ exit(9); }}
    return p;
}}
static void *driver_result(void)
{{
    size_t n = driver_count();
    return n == 0 ? NULL : driver_room(n - 1);
}}
static void *driver_exactly(unsigned char *p, size_t bytes)
{{
    while (bytes > 0 && p[bytes - 1] == 0xA5) {{ --bytes; }}
    free(p);
    return driver_room((bytes + 7) / 8 * 8);
}}
static void driver_run(void)
{{
{body}
}}
int main(int argc, char **argv)
{{
    driver_file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (driver_file == NULL) {{ return 9; }}
    for (int next = getc(driver_file); next != EOF; next = getc(driver_file)) {{
        driver_run();
        puts("");
        fflush(stdout);
    }}
    return 0;
}}
"""


class Driver:
    """The program that calls one function's forward and backward, and what it reads."""

    def __init__(self, function: Function, unit: Unit, header: str) -> None:
        self.function = function
        stem = function.name
        self.batched = f"{stem}_forward_batch" in unit.functions
        ending = "_batch" if self.batched else ""
        self.forward = unit.functions[f"{stem}_forward{ending}"]
        self.backward = unit.functions[f"{stem}_backward{ending}"]
        self.works: dict[str, tuple[str, tuple[Parameter, ...]]] = {}
        for which, work in itertools.product(("forward", "backward"), WORKSPACES):
            for name in (f"{stem}_{which}_{work}".upper(), f"{stem}_{which}{ending}_{work}".upper()):
                if name in unit.functions:
                    self.works[f"{work}_{which}"] = name, unit.functions[name]
        labels = ["batch" if d.name == "..." else d.name.removeprefix("*") for d in function.dims]
        self.sizes = dict(zip(labels, (d.name for d in function.dims), strict=True))
        self.options = {o.name: o.dtype for o in function.options}
        outputs = function.outputs
        self.seeds = {"grad_output" if len(outputs) == 1 else f"grad_{n}": n for n in outputs}
        self.grads = gradients(function)
        known = {*self.sizes, *self.options, *function.inputs, *outputs, *WORKSPACES}
        self.saved = [p.name for p in self.forward if p.pointer and p.name not in known]
        self.pointers = {p.name: p.pointer for p in (*self.backward, *self.forward)}
        self.source = DRIVER.format(header=header, body="\n".join(f"    {line}" for line in self._body(ending)))

    def _body(self, ending: str) -> list[str]:
        stem = self.function.name
        lines = [f"size_t v_{n} = driver_count();" for n in self.sizes]
        lines += [f"double v_{n} = driver_number();" for n in self.options]
        for name in self.function.inputs:
            lines.append(self._read(name))
        for name in self.function.outputs:
            lines.append(f"void *v_{name} = driver_result();")
        lines.append("size_t driver_most = driver_count();")
        lines += [f"void *v_{n} = driver_room(driver_most);" for n in self.saved]
        lines += self._work("forward")
        call = f"{stem}_forward{ending}({', '.join(self._passed(p, 'forward') for p in self.forward)});"
        lines.append(call)
        if self.saved:
            lines += [f"v_{n} = driver_exactly(v_{n}, driver_most);" for n in self.saved]
            lines.append(call)
        for name in self.seeds:
            lines.append(self._read(name))
        lines += [f"void *v_{n} = driver_result();" for n in self.grads if n not in self.seeds]
        lines += self._work("backward")
        lines.append(f"{stem}_backward{ending}({', '.join(self._passed(p, 'backward') for p in self.backward)});")
        arrays = [n for n in (*self.function.inputs, *self.seeds) if self.pointers.get(n, True)]
        arrays += [*self.function.outputs, *self.saved, *(n for n in self.grads if n not in self.seeds)]
        return [*lines, *(f"free(v_{n});" for n in arrays), *(f"free(w_{name});" for name in self.works)]

    def _read(self, name: str) -> str:
        if self.pointers.get(name, True):
            return f"void *v_{name} = driver_block();"
        return f"double v_{name} = driver_number();"

    def _work(self, which: str) -> list[str]:
        lines = []
        for key, (name, parameters) in self.works.items():
            if key.endswith(f"_{which}"):
                given = ", ".join(f"v_{p.name}" for p in parameters)
                lines.append(f"void *w_{key} = driver_room({EIGHT} * {name}({given}));")
        return lines

    def _passed(self, p: Parameter, which: str) -> str:
        if p.name in WORKSPACES:
            return f"w_{p.name}_{which}"
        if not p.pointer and p.name in (*self.function.outputs, *self.saved):
            return f"*({'double' if p.kind == 'double' else 'int64_t'} *)v_{p.name}"
        return f"v_{p.name}"

    def call(self, inputs: Values, options: Mapping[str, Any], seeds: Values) -> bytes:
        """One call as the program reads it."""
        function = self.function
        sizes = bind(function, inputs)
        parts = [b"\n", *(struct.pack("<Q", _count(sizes.get(n, 0))) for n in self.sizes.values())]
        parts += [struct.pack("<d", float(options[n])) for n in self.options]
        parts += [self._given(n, inputs.get(n), STORED[function.table[n].dtype]) for n in function.inputs]
        shapes = {n: full_shape(function, n, inputs, options) for n in function.outputs}
        parts += [
            struct.pack("<Q", 1 + prod(s) * np.dtype(STORED[function.table[n].dtype]).itemsize)
            for n, s in shapes.items()
        ]
        plain = {n: s for n, s in sizes.items() if isinstance(s, int)}
        packs = {n: s for n, s in sizes.items() if isinstance(s, tuple)}
        most = max([_product(sizes.values()), *(prod(b) for b in boxes(function, plain, packs, options))])
        parts.append(struct.pack("<Q", min(LARGEST, 4096 + 32 * most)))
        for parameter, name in self.seeds.items():
            seed = seeds.get(name)
            parts.append(self._given(parameter, np.zeros(shapes[name]) if seed is None else seed, np.float64))
        for parameter, name in self.grads.items():
            if parameter not in self.seeds:
                given = inputs.get(name)
                parts.append(struct.pack("<Q", 0 if given is None else 1 + 8 * np.size(given)))
        return b"".join(parts)

    def _given(self, name: str, value: Any, dtype: Any) -> bytes:
        if not self.pointers.get(name, True):
            return struct.pack("<d", 0.0 if value is None else float(value))
        if value is None:
            return struct.pack("<Q", 0)
        data = np.ascontiguousarray(value, dtype=dtype).tobytes()
        return struct.pack("<Q", 1 + len(data)) + data


def _count(size: int | tuple[int, ...]) -> int:
    return prod(size) if isinstance(size, tuple) else size


def _product(sizes: Iterable[int | tuple[int, ...]]) -> int:
    return prod(max(_count(s), 1) for s in sizes)


def sanitized(
    function: Function, unit: Unit, files: Mapping[str, str], calls: list[tuple[Values, Mapping[str, Any], Values]]
) -> tuple[str, int] | None:
    """What the sanitizers say of the calls, and the number of the call; None if nothing, or if there are none."""
    names = {name.rpartition("/")[2]: text for name, text in files.items()}
    header = next((n for n in names if n.endswith(".h")), None)
    if header is None:
        return None
    driver = Driver(function, unit, header)
    with tempfile.TemporaryDirectory(prefix="symgrad-") as place:
        folder = Path(place)
        for name, text in {**names, "driver.c": driver.source}.items():
            folder.joinpath(name).write_text(text, encoding="utf-8")
        sources = [n for n in (*names, "driver.c") if n.endswith(".c")]
        line = [*shlex.split(os.environ.get("CC") or "cc"), *FLAGS, "-o", "driver", *sources, *_libraries(names), "-lm"]
        try:
            if subprocess.run(line, cwd=folder, capture_output=True, check=False).returncode:
                return None
            folder.joinpath("calls").write_bytes(b"".join(driver.call(*c) for c in calls))
            done = subprocess.run(
                [str(folder / "driver"), "calls"],
                cwd=folder, capture_output=True, text=True, errors="replace", check=False, timeout=LIMIT,
                env={**os.environ, **ENVIRONMENT},
            )  # fmt: skip
        except OSError:
            return None
        except subprocess.TimeoutExpired as error:
            return f"does not end within {LIMIT:g} s", (error.stdout or b"").count(b"\n")
    assert done.returncode != 9, f"the driver of {function.name} reads its calls wrongly"
    return _said(done.stderr, done.stdout.count("\n"), driver) if done.returncode else None


def _libraries(files: Mapping[str, str]) -> list[str]:
    """The compiler's flags for the libraries that the files call."""
    calls = any("#include <lapacke.h>" in text for text in files.values())
    return shlex.split(os.environ.get("LAPACKE") or "-llapacke") if calls else []


def _said(text: str, number: int, driver: Driver) -> tuple[str, int] | None:
    """The sentence of a sanitizer and the place in the printed file; None if it says nothing."""
    kind = re.search(r"AddressSanitizer: ([\w-]+)", text) or re.search(r"runtime error: ([^\n]*)", text)
    if kind is None:
        return None
    lines = re.findall(rf"\b({re.escape(driver.function.name)}\.[ch]:\d+)", text)
    return f"{kind.group(1)}{f' at {lines[0]}' if lines else ''}", number
