"""Printed C under the compiler's own watch: out of bounds, undefined arithmetic, at small sizes and at real ones.

A driver is compiled with the printed file, both with -fsanitize=address,undefined, and is a program of its own: it
reads calls from a file, and gives every array just the memory that it needs. How much forward saves it finds by letting
it write into more. A compiler or machine without sanitizers is left in peace.
"""

from __future__ import annotations

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
from ..source.tree import Parameter as Argument
from .c_text import CText
from .c_types import Parameter
from .sizes import boxes
from .text import Values, full_shape

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


_LETTERS = {"gradient": "g", "cotangent": "c", "presence": "h"}


class Driver:
    """The program that calls one function's forward and backward, and what it reads.

    What it passes has names of its own: `v_x` of a tensor, `v_size_0`, `v_option_1`, `g_x` of a gradient and `c_out` of
    a cotangent.
    """

    def __init__(self, function: Function, text: CText, header: str) -> None:
        self.function = function
        ending = "_batch" if text.component else ""
        self.heads = {which: text.heads[f"{which}{ending}"] for which in ("forward", "backward")}
        self.forward, self.backward = (text.parameters(f"{which}{ending}") for which in self.heads)
        self.works = {
            f"w_{macro.work}_{which}": macro
            for which in self.heads for end in ("", ending) for macro in text.heads[f"{which}{end}"].macros
        }  # fmt: skip
        self.sizes = {d.name: f"v_size_{k}" for k, d in enumerate(function.dims)}
        self.options = {o.name: f"v_option_{k}" for k, o in enumerate(function.options)}
        arguments = [*self.forward, *self.backward]
        self.saved = [p.tensor for _, p in self.forward if p.role == "saved"]
        self.grads = [p.tensor for _, p in self.backward if p.role == "gradient"]
        self.pointers = {self._variable(p, ""): p.type.pointer for _, p in reversed(arguments)}
        self.source = DRIVER.format(header=header, body="\n".join(f"    {line}" for line in self._body()))

    def _variable(self, p: Argument, which: str) -> str:
        """What is passed for a parameter."""
        if p.role in ("size", "option"):
            return (self.sizes if p.role == "size" else self.options)[p.tensor]
        if p.role == "work":
            return f"w_{p.tensor}_{which}"
        return f"{_LETTERS.get(p.role, 'v')}_{p.tensor}"

    def _body(self) -> list[str]:
        inputs = [f"v_{n}" for n in self.function.inputs]
        outputs = [f"v_{n}" for n in self.function.outputs]
        saved, grads = [f"v_{n}" for n in self.saved], [f"g_{n}" for n in self.grads]
        seeds = [f"c_{n}" for n in self.function.outputs]
        lines = [f"size_t {v} = driver_count();" for v in self.sizes.values()]
        lines += [f"double {v} = driver_number();" for v in self.options.values()]
        lines += [self._read(v) for v in inputs]
        lines += [f"int h_{n} = driver_count() != 0;" for n in self.function.optional]
        lines += [f"void *{v} = driver_result();" for v in outputs]
        lines.append("size_t driver_most = driver_count();")
        lines += [f"void *{v} = driver_room(driver_most);" for v in saved]
        lines += self._work("forward")
        lines.append(self._call("forward", self.forward))
        if saved:
            lines += [f"{v} = driver_exactly({v}, driver_most);" for v in saved]
            lines.append(self._call("forward", self.forward))
        lines += [self._read(v) for v in seeds]
        lines += [f"void *{v} = driver_result();" for v in grads]
        lines += self._work("backward")
        lines.append(self._call("backward", self.backward))
        lines += [f"(void)h_{n};" for n in self.function.optional]
        arrays = [v for v in (*inputs, *seeds) if self.pointers.get(v, True)]
        return [*lines, *(f"free({v});" for v in (*arrays, *outputs, *saved, *grads, *self.works))]

    def _call(self, which: str, parameters: list[tuple[Parameter, Argument]]) -> str:
        return f"{self.heads[which].name}({', '.join(self._passed(own, p, which) for own, p in parameters)});"

    def _read(self, variable: str) -> str:
        if self.pointers.get(variable, True):
            return f"void *{variable} = driver_block();"
        return f"double {variable} = driver_number();"

    def _work(self, which: str) -> list[str]:
        lines = []
        for name, macro in self.works.items():
            if name.endswith(f"_{which}"):
                given = ", ".join(self._variable(p, which) for p in macro.parameters)
                lines.append(f"void *{name} = driver_room({EIGHT} * {macro.name}({given}));")
        return lines

    def _passed(self, own: Parameter, p: Argument, which: str) -> str:
        if p.role == "saved" and not p.type.pointer:
            return f"*({'double' if own.kind == 'double' else 'int64_t'} *)v_{p.tensor}"
        return self._variable(p, which)

    def call(self, inputs: Values, options: Mapping[str, Any], seeds: Values) -> bytes:
        """One call as the program reads it."""
        function = self.function
        sizes = bind(function, inputs)
        parts = [b"\n", *(struct.pack("<Q", _count(sizes.get(n, 0))) for n in self.sizes)]
        parts += [struct.pack("<d", float(options[n])) for n in self.options]
        parts += [self._given(f"v_{n}", inputs.get(n), STORED[function.table[n].dtype]) for n in function.inputs]
        parts += [struct.pack("<Q", inputs.get(n) is not None) for n in function.optional]
        shapes = {n: full_shape(function, n, inputs, options) for n in function.outputs}
        parts += [
            struct.pack("<Q", 1 + prod(s) * np.dtype(STORED[function.table[n].dtype]).itemsize)
            for n, s in shapes.items()
        ]
        plain = {n: s for n, s in sizes.items() if isinstance(s, int)}
        packs = {n: s for n, s in sizes.items() if isinstance(s, tuple)}
        most = max([_product(sizes.values()), *(prod(b) for b in boxes(function, plain, packs, options))])
        parts.append(struct.pack("<Q", min(LARGEST, 4096 + 32 * most)))
        for name in function.outputs:
            seed = seeds.get(name)
            parts.append(self._given(f"c_{name}", np.zeros(shapes[name]) if seed is None else seed, np.float64))
        for name in self.grads:
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
    function: Function, text: CText, files: Mapping[str, str], calls: list[tuple[Values, Mapping[str, Any], Values]]
) -> tuple[str, int] | None:
    """What the sanitizers say of the calls, and the number of the call; None if nothing, or if there are none."""
    names = {name.rpartition("/")[2]: content for name, content in files.items()}
    header = next((n for n in names if n.endswith(".h")), None)
    if header is None:
        return None
    driver = Driver(function, text, header)
    with tempfile.TemporaryDirectory(prefix="symgrad-") as place:
        folder = Path(place)
        for name, content in {**names, "driver.c": driver.source}.items():
            folder.joinpath(name).write_text(content, encoding="utf-8")
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
