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
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..ir import Dtype, Function, bind
from ..ops.primitive import Primitive
from ..source.tree import REAL, Parameter
from .c_matrix import PATTERN, CMatrix
from .c_text import CText
from .cases import Case
from .sizes import boxes, count
from .text import full_shape, has_backward

FLAGS = ("-std=c99", "-O0", "-g1", "-w", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
LARGEST = 1 << 26  # bytes that are offered to what forward saves
ELEMENT = 8  # bytes of one, in a workspace and in what is saved
LIBRARIES = {"LAPACKE": "-llapacke", "CBLAS": "-lopenblas"}  # by the variable that holds other flags
LIMIT = 120.0  # seconds
ENDLESS = f"does not end within {LIMIT:g} s"
NONE, GIVEN, ROOM = range(3)  # how a block begins: no memory, memory and what it holds, or memory to write to

DRIVER = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "{header}"
static FILE *driver_file;
static void driver_read(void *p, size_t bytes)
{{
    if (fread(p, 1, bytes, driver_file) != bytes) {{ exit(9); }}
}}
static void *driver_room(size_t bytes) {{ void *p = malloc(bytes); memset(p, 0xA5, bytes); return p; }}
static void *driver_block(void)
{{
    uint64_t head[2];
    driver_read(head, sizeof head);
    if (head[0] == {none}) {{ return NULL; }}
    void *p = driver_room(head[1]);
    if (head[0] == {given}) {{ driver_read(p, head[1]); }}
    return p;
}}
static void *driver_exactly(unsigned char *p, size_t bytes)
{{
    while (bytes > 0 && p[bytes - 1] == 0xA5) {{ --bytes; }}
    free(p);
    return driver_room((bytes + 7) / 8 * 8);
}}
static void driver_run(void)
{{
    void *v[{count}];
    uint64_t most;
    driver_read(&most, sizeof most);
    for (int k = 0; k < {count}; ++k) {{ v[k] = driver_block(); }}
    {body}
    for (int k = 0; k < {count}; ++k) {{ free(v[k]); }}
}}
int main(void)
{{
    driver_file = fopen("calls", "rb");
    if (driver_file == NULL) {{ return 9; }}
    for (int next = getc(driver_file); next != EOF; next = getc(driver_file)) {{
        driver_run();
        puts("");
        fflush(stdout);
    }}
    return 0;
}}
"""
_ALONE = ("size", "option", "presence", "cotangent", "gradient")  # the rest is one memory in forward and backward


class Driver:
    """The program that calls one function's forward and backward, and what it reads.

    slots  what it passes, in order: the role that tells it apart, and the tensor; of a workspace, whose it is
    """

    def __init__(self, function: Function, text: CText, header: str, integers: Any = np.int64) -> None:
        self.function, self.text, self.file = function, text, header.removesuffix(".h")
        self.stored = {Dtype.REAL: np.float64, Dtype.INT: integers, Dtype.BOOL: np.uint8}
        self.ending = "_batch" if text.component else ""
        own = ("forward", "backward") if has_backward(function) else ("forward",)
        own = (PATTERN, *own) if isinstance(text, CMatrix) else own
        heads = {which: text.heads[f"{which}{self.ending}"] for which in own}
        self.slots = {_slot(p, which): p for which, head in heads.items() for p in head.parameters}
        number = {slot: k for k, slot in enumerate(self.slots)}
        self.saved = [_slot(p, "") for p in heads["forward"].parameters if p.role == "saved"]
        calls = {
            which: f"{head.name}({', '.join(_passed(p, number[_slot(p, which)]) for p in head.parameters)});"
            for which, head in heads.items()
        }
        before, forward, backward = ([calls[w]] if w in calls else [] for w in (PATTERN, "forward", "backward"))
        lines = [*before, *forward, *(f"v[{number[s]}] = driver_exactly(v[{number[s]}], most);" for s in self.saved)]
        lines += forward * bool(self.saved) + backward
        self.source = DRIVER.format(
            header=header, body="\n    ".join(lines), count=len(self.slots), none=NONE, given=GIVEN
        )

    def call(self, case: Case) -> bytes:
        """One call as the program reads it."""
        inputs, options, seeds = case.inputs, case.options, case.seeds
        function, sizes = self.function, bind(self.function, inputs)
        numbers = {n: count(s) for n, s in sizes.items()}
        points = max([prod(max(n, 1) for n in numbers.values()), *map(prod, boxes(function, sizes, options))])
        most = min(LARGEST, 4096 + 4 * ELEMENT * points)
        shapes = {n: full_shape(function, n, inputs, options) for n in function.outputs}
        passed = self.text.sizes(inputs, options)
        places = self.text.places(inputs, options) if isinstance(self.text, CMatrix) else {}

        def block(role: str, name: str) -> bytes:
            kind = self.slots[role, name].type
            if role == "gradient":
                given = inputs.get(name)
                return _head(NONE) if given is None else _head(ROOM, ELEMENT * np.size(given))
            if role == "" and name in places:
                return _head(ROOM, ELEMENT * places[name])
            if role in (PATTERN, "forward", "backward"):
                return _head(ROOM, ELEMENT * self.text.room(name, role, self.ending, passed))
            if role in ("size", "option"):
                value = numbers.get(name, 0) if role == "size" else options[name]
            elif role == "cotangent":
                value = np.zeros(shapes[name]) if seeds.get(name) is None else seeds[name]
            elif role == "presence" or name in function.inputs:
                value = inputs.get(name) is not None if role else inputs.get(name)
            else:
                dtype = np.dtype(self.stored[function.table[name].dtype]) if name in shapes else None
                return _head(ROOM, most if dtype is None else prod(shapes[name]) * dtype.itemsize)
            if not kind.pointer:
                return _given(0 if value is None else value, np.float64 if kind.of == REAL else np.int64)
            return _head(NONE) if value is None else _given(value, self.stored[function.table[name].dtype])

        return b"".join([b"\n", struct.pack("<Q", most), *(block(*slot) for slot in self.slots)])


def _slot(p: Parameter, which: str) -> tuple[str, str]:
    return which if p.role == "work" else p.role if p.role in _ALONE else "", p.tensor


def _passed(p: Parameter, number: int) -> str:
    """A parameter in a call: memory, or the number that it holds."""
    if p.type.pointer:
        return f"v[{number}]"
    return f"*({'double' if p.type.of == REAL else 'int64_t'} *)v[{number}]"


def _head(how: int, size: int = 0) -> bytes:
    return struct.pack("<QQ", how, size)


def _given(value: Any, dtype: Any) -> bytes:
    data = np.ascontiguousarray(value, dtype=dtype).tobytes()
    return _head(GIVEN, len(data)) + data


def sanitized(
    function: Function, text: CText, files: Mapping[str, str], calls: Sequence[Case], integers: Any = np.int64
) -> tuple[str, int] | None:
    """What the sanitizers say of the calls, and the number of the call; None if nothing, or if there are none.

    integers  the type of those in arrays
    """
    header = next((n for n in files if n.endswith(".h")), None)
    if header is None:
        return None
    driver = Driver(function, text, header, integers)
    others = {source for op in text.users for source in op.about.sources}
    files = files if others else {**files, **stand_ins(text.users)}
    sources = [*(n for n in files if n.endswith(".c")), *sorted(others)]
    written: dict[str, str | bytes] = {**files, "driver.c": driver.source, "calls": b"".join(map(driver.call, calls))}
    done = ran(written, [*sources, "driver.c"])
    if done is None or done.returncode == 0:
        return None
    assert done.returncode != 9, f"the driver of {function.name} reads its calls wrongly"
    number = done.stdout.count(b"\n")
    return (ENDLESS, number) if done.returncode is None else _said(done.stderr.decode(errors="replace"), number, driver)


def stand_ins(own: Iterable[Primitive]) -> dict[str, str]:
    """A file that has functions of the user's, of some value: which memory is read and written depends on none."""
    lines = []
    for op in own:
        for real, end in (("double", ""), ("float", "f")):
            given = ", ".join(f"{real} x{k}" for k in range(len(op.about.arguments)))
            lines.append(f"{real} {op.about.places['c']}{end}({given}) {{ return ({real})0.5; }}\n")
    return {"primitives.c": "".join(lines)} if lines else {}


def ran(files: Mapping[str, str | bytes], sources: Sequence[str], flags: Sequence[str] | None = None) -> Any:
    """What a program of these files does, as of `subprocess.run`; its returncode is None if it does not end. None where
    the machine cannot compile it with these flags, or FLAGS."""
    with tempfile.TemporaryDirectory(prefix="symgrad-") as place:
        for name, content in files.items():
            Path(place, name).write_bytes(content if isinstance(content, bytes) else content.encode())
        texts = [text for text in files.values() if isinstance(text, str)]
        called = {n: flag for n, flag in LIBRARIES.items() if any(f"#include <{n.lower()}.h>" in t for t in texts)}
        libraries = [word for n, flag in called.items() for word in shlex.split(os.environ.get(n) or flag)]
        command = [*shlex.split(os.environ.get("CC") or "cc"), *(flags or FLAGS), "-o", "program"]
        run = partial(subprocess.run, cwd=place, capture_output=True, check=False, env={**os.environ, **ENVIRONMENT})
        try:
            if run([*command, *sources, *libraries, "-lm"]).returncode:
                return None
            return run([f"{place}/program"], timeout=LIMIT)
        except OSError:
            return None
        except subprocess.TimeoutExpired as error:
            return SimpleNamespace(returncode=None, stdout=error.stdout or b"")


def _said(text: str, number: int, driver: Driver) -> tuple[str, int] | None:
    """The sentence of a sanitizer and the place in the printed file; None if it says nothing of the program: it may say
    that it finds no memory for itself, where addresses are limited (`ulimit -v`)."""
    kind = re.search(r"ERROR: AddressSanitizer: (?!out of memory)([\w-]+)", text)
    kind = kind or re.search(r"runtime error: ([^\n]*)", text)
    if kind is None:
        return None
    lines = re.findall(rf"\b({re.escape(driver.file)}\.[ch]:\d+)", text)
    return f"{kind.group(1)}{f' at {lines[0]}' if lines else ''}", number
