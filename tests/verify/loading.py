"""Loading printed files in tests: a NumPy module by exec, C by `cc` and ctypes."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import types
from math import prod
from pathlib import Path

import numpy as np

from symgrad.ir import Function, bind
from symgrad.source.tree import REAL, Macro, Number, Parameter, Type
from symgrad.source.tree import Function as Head
from symgrad.verify.c_source import prepared
from symgrad.verify.c_translate import translate
from symgrad.verify.c_types import DOUBLE
from symgrad.verify.text import full_shape

WORK = 4096  # doubles: enough for every file of these tests


def numpy_module(files):
    """The module of a printed NumPy file."""
    (source,) = files.values()
    module = types.ModuleType("printed")
    exec(compile(source, "printed.py", "exec"), module.__dict__)
    return module


def heads(function: Function, files):
    """What the parameters of C by hand are, told by their names."""
    unit = translate(prepared(files), {})
    dims = {"batch" if d.name == "..." else d.name: d.name for d in function.dims}
    options = {o.name for o in function.options}
    seeds = {"grad_output" if len(function.outputs) == 1 else f"grad_{n}": n for n in function.outputs}

    def parameter(p):
        kind = Type(REAL if p.kind == DOUBLE else p.kind, p.pointer, p.const)
        for role, tensors in (
            ("size", dims),
            ("option", dict(zip(options, options, strict=True))),
            ("work", {"work": "work"}),
            ("input", {n: n for n in function.inputs}),
            ("output", {n: n for n in function.outputs if not p.const}),
            ("cotangent", seeds),
            ("gradient", {f"grad_{n}": n for n in function.inputs}),
            ("presence", {f"has_{n}": n for n in function.inputs}),
        ):
            if p.name in tensors:
                return Parameter(p.name, role, kind, tensors[p.name])
        return Parameter(p.name, "saved", kind, p.name)

    found = [Head("local", "PI", (), (), stands_for="PI")]
    for name, parameters in unit.functions.items():
        role = name.removeprefix(f"{function.name}_")
        if role not in ("forward", "backward", "forward_batch", "backward_batch"):
            continue
        macro = f"{name}_work".upper()
        macros = [
            Macro(macro, tuple(map(parameter, unit.functions[macro])), Number("0"), "work")
            for macro in [macro]
            if macro in unit.functions
        ]
        found.append(Head(role, name, tuple(map(parameter, parameters)), (), macros=tuple(macros)))
    return tuple(found)


class Compiled:
    """A printed C file behind forward and backward."""

    def __init__(self, function: Function, files):
        self.function = function
        unit = translate(prepared(files), {})
        self.heads = heads(function, files)
        self.parameters, self.results = unit.functions, unit.results
        folder = Path(tempfile.mkdtemp())
        for name, text in files.items():
            (folder / name).write_text(text)
        (source,) = (folder / name for name in files if name.endswith(".c"))
        library = folder / "printed.so"
        flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-O2", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, "-o", library, source, "-lm"], check=True, capture_output=True, cwd=folder)
        self.library = ctypes.CDLL(str(library))
        self.variant = "_batch" if f"{function.name}_forward_batch" in self.parameters else ""

    def _call(self, which, values):
        name = f"{self.function.name}_{which}{self.variant}"
        kept, arguments = [], []
        for p in self.parameters[name]:
            value = np.empty(WORK) if p.name == "work" else values.get(p.name)
            if p.pointer:
                if value is not None and not isinstance(value, np.ndarray):
                    value = np.asarray(value)
                kept.append(value)
                arguments.append(None if value is None else ctypes.c_void_p(value.ctypes.data))
            elif p.kind == "double":
                arguments.append(ctypes.c_double(0.0 if value is None else float(value)))
            else:
                arguments.append(ctypes.c_size_t(int(value)))
        call = getattr(self.library, name)
        call.restype = None if self.results[name] == "void" else ctypes.c_int
        status = call(*arguments)
        if status:
            wrong = IndexError if status == 1 else ValueError  # of sizes, or outside of the domain
            raise wrong(f"{name} returned {status}")

    def forward(self, *inputs, **options):
        options = {o.name: o.default for o in self.function.options} | options
        named = dict(zip(self.function.inputs, inputs, strict=True))
        given = {}
        for name, value in named.items():
            if value is not None:
                dtype = np.float64 if self.function.table[name].dtype == "real" else np.int64
                given[name] = np.array(value, dtype=dtype, order="C")
        sizes = {
            "batch" if n == "..." else n: prod(s) if isinstance(s, tuple) else s
            for n, s in bind(self.function, given).items()
        }
        outputs = {n: np.full(full_shape(self.function, n, given, options), np.nan) for n in self.function.outputs}
        names = {p.name for p in self.parameters[f"{self.function.name}_forward{self.variant}"]}
        saved = {n: np.full(WORK, np.nan) for n in names - set(sizes) - set(options) - set(named) - set(outputs)}
        values = {**sizes, **options, **given, **saved, **outputs}
        self._call("forward", values)
        out = tuple(outputs.values())
        return (out if len(out) > 1 else out[0]), {**values, **{n: o.copy() for n, o in outputs.items()}}

    def backward(self, saved, grad_output=None, needs_input_grad=None):
        outputs = self.function.outputs
        given = grad_output if isinstance(grad_output, tuple) else (grad_output,)
        needs = needs_input_grad or (True,) * len(self.function.inputs)
        values = dict(saved)
        for name, seed in zip(outputs, given, strict=True):
            label = "grad_output" if len(outputs) == 1 else f"grad_{name}"
            if seed is None:
                if len(outputs) == 1 and saved[name].ndim:
                    raise ValueError("grad can be implicitly created only for scalar outputs")
                seed = np.full(saved[name].shape, float(len(outputs) == 1))
            values[label] = np.array(seed, dtype=np.float64, order="C")
        grads = []
        for name, need in zip(self.function.inputs, needs, strict=True):
            real = self.function.table[name].dtype == "real"
            grads.append(np.full(np.shape(saved[name]), np.nan) if need and real and name in saved else None)
            values[f"grad_{name}"] = grads[-1]
        self._call("backward", values)
        return tuple(grads)
