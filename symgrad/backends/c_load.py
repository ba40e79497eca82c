"""What was printed in C, compiled and called from Python."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CompilerError
from ..expr import Expr, show
from ..ir import Dtype, Tensor, bind, extent_of, shape_of
from ..plan import Program
from ..source.python import Import, Module
from ..source.tree import BOOL, FLAG, INT, INTEGER, REAL, SIZE, Parameter
from .c_signature import Printed, of_arrays
from .options import DEFAULT, Options
from .python_checks import cotangent_helper, cotangents_helper, inputs_helper, type_helpers
from .python_names import module_from, resolved
from .python_print import module as print_module

Array = np.ndarray[Any, Any]
Size = int | tuple[int, ...]

FLAGS = ("-std=c99", "-O2", "-fopenmp-simd", "-fPIC", "-shared")
NATIVE = ("-march=native",)  # it runs on the machine that compiles it; not every compiler knows the flag
STORED = {Dtype.REAL: np.float64, Dtype.INT: np.int64, Dtype.BOOL: np.uint8}
NUMBERS = {
    REAL: ctypes.c_double, SIZE: ctypes.c_size_t, INT: ctypes.c_ssize_t, BOOL: ctypes.c_int, INTEGER: ctypes.c_int64,
    FLAG: ctypes.c_ubyte,
}  # fmt: skip
NO_COMPILER = """there is no C compiler here ({command}). To get one:
    Debian, Ubuntu   apt install gcc
    macOS            xcode-select --install
    Windows          MSYS2 or clang
or set the environment variable CC to its command."""

NO_LAPACK = """there is no LAPACKE here. To get one:
    Debian, Ubuntu   apt install liblapacke-dev
    macOS            brew install lapack
or set the environment variable LAPACKE to the compiler's flags for it."""


def compile_library(name: str, files: Mapping[str, str]) -> Library:
    """Compile the printed files with the machine's C compiler ($CC, else cc) and load the result.

    Raises CompilerError if there is no compiler, or if it refuses the text.
    """
    command = find_compiler(name)
    folder = Path(tempfile.mkdtemp(prefix="symgrad-"))
    for file, text in files.items():
        folder.joinpath(file).write_text(text, encoding="utf-8")
    sources = [file for file in files if file.endswith(".c")]
    for own in (NATIVE, ()):
        line = [*command, *FLAGS, *own, "-o", f"{name}.so", *sources, *libraries(files), "-lm"]
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
        if not done.returncode:
            break
    else:
        shutil.rmtree(folder, ignore_errors=True)
        if len(libraries(files)) and _lacks_lapack(done.stderr):
            raise CompilerError(f"{name}: {NO_LAPACK}")
        raise CompilerError(f"{name}: {' '.join(line)} failed:\n{done.stderr}")
    return Library(folder, ctypes.CDLL(str(folder / f"{name}.so")))


def find_compiler(name: str) -> list[str]:
    """The command of the machine's C compiler; CompilerError if there is none for the function `name`."""
    command = shlex.split(os.environ.get("CC") or "cc")
    if shutil.which(command[0]) is None:
        raise CompilerError(f"{name}: {NO_COMPILER.format(command=command[0])}")
    return command


def libraries(files: Mapping[str, str]) -> list[str]:
    """What the compiler must be told for the libraries that the printed files call ($LAPACKE, else -llapacke)."""
    calls = any("#include <lapacke.h>" in text for text in files.values())
    return shlex.split(os.environ.get("LAPACKE") or "-llapacke") if calls else []


def _lacks_lapack(said: str) -> bool:
    return "lapacke.h" in said or "-llapacke" in said or "LAPACKE_" in said


class Library:
    """A loaded library; its folder goes when it does."""

    def __init__(self, folder: Path, functions: ctypes.CDLL) -> None:
        self.functions = functions
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)


class Artefact:
    """`forward(*inputs, **options) -> (out, saved)` and `backward(saved, grad_output, needs_input_grad) -> gradients`.

    They mean what the printed NumPy means; an argument is copied only where it is not contiguous, or of another type.
    Where backward adds to gradients, they are 0 before, or `into`: an array, or None, for each input.
    """

    def __init__(
        self, program: Program, library: Library, printed: Sequence[Printed], options: Options = DEFAULT
    ) -> None:
        self.single = options.single  # real numbers are float32
        self.accumulates = options.accumulate  # to what is in the gradients' arrays
        self._stored = {**STORED, Dtype.REAL: np.float32 if self.single else np.float64}
        self._program = program
        self._primal = program.derivative.primal
        self._library = library
        self._forward, self._backward = of_arrays(printed)
        self._checks = _checks(program)
        derivative = program.derivative
        self._tensors = {"gradient": dict(derivative.gradients), "cotangent": dict(derivative.seeds)}
        self._numbers = NUMBERS | ({REAL: ctypes.c_float} if self.single else {})

    def forward(self, *inputs: Any, **options: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return the outputs (a tuple if there are several) and what backward needs."""
        program, primal = self._program, self._primal
        given = dict(zip(primal.inputs, self._given(inputs), strict=True))
        numbers = {o.name: options.pop(o.name, o.default) for o in primal.options}
        if options:
            raise TypeError(f"{primal.name}: there is no option {next(iter(options))}")
        sizes = self._sizes(given)
        values: dict[str, Any] = dict(given)
        results = [*program.forward.returns, *(n for n in program.saved if n not in primal.inputs)]
        for name in dict.fromkeys(results):
            values[name] = self._empty(program.table[name], sizes, numbers)
        self._call(self._forward, values, sizes, numbers, {n: given[n] is not None for n in primal.inputs})
        outputs = tuple(self._result(values[n]) for n in program.forward.returns)
        saved: list[Any] = [values[n] if n in given else self._result(values[n]) for n in program.saved]
        saved += [sizes[n] for n in program.saved_sizes]
        saved += [numbers[n] for n in program.saved_options]
        saved += [given[n] is not None for n in program.saved_presence]
        return (outputs if len(outputs) > 1 else outputs[0]), tuple(saved)

    def backward(
        self,
        saved: Sequence[Any],
        grad_output: Any = None,
        needs_input_grad: Sequence[bool] | None = None,
        into: Sequence[Any] | None = None,
    ) -> tuple[Any, ...]:
        """Return J^T grad_output: one gradient per input, None where it is not needed, absent or an integer."""
        program, primal = self._program, self._primal
        rest = list(saved)
        values: dict[str, Any] = {n: rest.pop(0) for n in program.saved}
        sizes = self._sizes(values) | {n: rest.pop(0) for n in program.saved_sizes}
        numbers = {o.name: o.default for o in primal.options}
        numbers |= {n: rest.pop(0) for n in program.saved_options}
        present = {n: values[n] is not None for n in primal.inputs if n in values}
        present |= {n: rest.pop(0) for n in program.saved_presence}
        values |= self._cotangents(grad_output, sizes, numbers)
        needs = tuple(needs_input_grad) if needs_input_grad is not None else (True,) * len(primal.inputs)
        gradients = dict(program.derivative.gradients)
        wanted = {
            name: gradients[name]
            for name, need in zip(primal.inputs, needs, strict=True)
            if need and name in gradients and present.get(name, True)
        }
        for gradient in gradients.values():
            values[gradient] = None
        before = dict(zip(primal.inputs, into or (), strict=into is not None))
        for name, gradient in wanted.items():
            values[gradient] = self._empty(program.table[gradient], sizes, numbers)
            if self.accumulates:
                values[gradient][...] = 0 if before.get(name) is None else before[name]
        self._call(self._backward, values, sizes, numbers, present)
        return tuple(self._result(values[wanted[n]]) if n in wanted else None for n in primal.inputs)

    # arguments

    def _given(self, inputs: Sequence[Any]) -> list[Array | None]:
        """Copies of the inputs, which fit, in the types that C stores."""
        primal = self._primal
        padded = [*inputs, *[None] * (len(primal.inputs) - len(inputs))]
        found = self._checks._inputs(*padded) if primal.inputs else ()
        arrays = (found,) if len(primal.inputs) == 1 else found
        stored = (self._stored[primal.table[n].dtype] for n in primal.inputs)
        return [None if a is None else np.array(a, dtype=d, order="C") for a, d in zip(arrays, stored, strict=True)]

    def _sizes(self, arrays: Mapping[str, Any]) -> dict[str, Size]:
        return bind(self._primal, arrays, self._program.tensors)

    def _cotangents(
        self, grad_output: Any, sizes: Mapping[str, Size], numbers: Mapping[str, Any]
    ) -> dict[str, Array]:
        """The cotangents as arrays; None among several means zero."""
        program = self._program
        shapes = [self._shape(program.table[output], sizes, numbers) for output, _ in program.derivative.seeds]
        seeds = [seed for _, seed in program.derivative.seeds]
        if len(seeds) > 1:
            given = self._checks._cotangents(grad_output, shapes, float)
        elif program.table[self._primal.outputs[0]].dtype is Dtype.REAL:
            given = [self._checks._cotangent(grad_output, shapes[0], float)]
        else:
            given = [np.zeros(shapes[0])]  # it does not count
        return dict(zip(seeds, given, strict=True))

    def _shape(self, tensor: Tensor, sizes: Mapping[str, Size], numbers: Mapping[str, Any]) -> tuple[int, ...]:
        try:
            return shape_of(tensor.shape, sizes, numbers)
        except ZeroDivisionError:  # of a step of 0, which the code refuses
            return (0,) * len(tensor.shape)

    def _empty(self, tensor: Tensor, sizes: Mapping[str, Size], numbers: Mapping[str, Any]) -> Array:
        """Memory for a result, full of what nobody would take for one."""
        shape = self._shape(tensor, sizes, numbers)
        poison = np.nan if tensor.dtype is Dtype.REAL else 0x7F  # fits every integer type
        return np.full(shape, poison, dtype=self._stored[tensor.dtype])

    def _result(self, array: Array | None) -> Any:
        if array is None:
            return None
        array = array.astype(bool) if array.dtype == np.uint8 else array
        return array if array.shape else array[()]

    # the call

    def _call(
        self,
        function: Printed,
        values: Mapping[str, Any],
        sizes: Mapping[str, Size],
        numbers: Mapping[str, Any],
        present: Mapping[str, bool],
    ) -> None:
        arguments: list[Any] = []
        alive: list[Array] = []
        for p in function.parameters:
            if p.role == "size":
                size = sizes[p.tensor]
                arguments.append(ctypes.c_size_t(prod(size) if isinstance(size, tuple) else size))
            elif p.role == "option":
                arguments.append(self._numbers[p.type.of](numbers[p.tensor]))
            elif p.role == "presence":
                arguments.append(ctypes.c_int(present[p.tensor]))
            elif p.role == "work":
                integers = p.type.of == INTEGER
                room = self._work(sizes, numbers, function.work[p.tensor])
                kind = self._stored[Dtype.INT if integers else Dtype.REAL]
                alive.append(np.full(room, 0x7F if integers else np.nan, dtype=kind))
                arguments.append(ctypes.c_void_p(alive[-1].ctypes.data))
            else:
                tensor = self._tensors.get(p.role, {}).get(p.tensor, p.tensor)
                arguments.append(self._argument(p, tensor, values[tensor], alive))
        call = getattr(self._library.functions, function.name)
        call.restype = None if function.function.result is None else ctypes.c_int
        status: int | None = call(*arguments)
        if status == 2 and self._primal.constraints:
            needed = " and ".join(show(c) for c in self._primal.constraints)
            told = ", ".join(f"{name} = {size}" for name, size in sizes.items())
            raise ValueError(f"{self._primal.name}: needs {needed}, here {told}")
        if status == 1 and self._program.indexed:
            raise IndexError(f"{self._primal.name}: an index is out of range")
        if status:
            called = ", ".join(function.calls)
            raise np.linalg.LinAlgError(f"{self._primal.name}: LAPACK says {status} in one of {called}")

    def _argument(self, p: Parameter, tensor: str, value: Any, alive: list[Array]) -> Any:
        if value is None:
            return ctypes.c_void_p(None)
        array = np.asarray(value, dtype=self._stored[self._program.table[tensor].dtype], order="C")
        if not p.type.pointer:
            number: Any = array[()]
            return self._numbers[p.type.of](number)
        assert array is value or p.type.constant, f"{p.name} would be written to a copy"
        alive.append(array)
        return ctypes.c_void_p(array.ctypes.data)

    def _work(self, sizes: Mapping[str, Size], numbers: Mapping[str, Any], shapes: Sequence[tuple[Expr, ...]]) -> int:
        names = {o.name: numbers[o.name] for o in self._primal.options} | dict(sizes)
        names |= {k.removeprefix("*") if k != "..." else "batch": v for k, v in sizes.items()}
        return sum(prod(extent_of(e, names) for e in shape) for shape in shapes)


def _checks(program: Program) -> Any:
    """What refuses arguments of other types and shapes, as it is printed for NumPy."""
    primal = program.derivative.primal
    outputs = list(primal.outputs)
    one = cotangent_helper(primal.name, outputs[0], "sometimes")
    own = [one if len(outputs) == 1 else cotangents_helper(primal.name, outputs), *type_helpers(primal, "np")]
    if primal.inputs:
        own.append(inputs_helper(program, None))
    module = Module((), ((Import("numpy", "np"),),), tuple(d.name for d in own), tuple(own))
    return module_from(f"{primal.name}_checks.py", print_module(resolved(module)))
