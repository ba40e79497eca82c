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
from ..expr import Const, Expr, Ref, show
from ..ir import Dtype, Tensor, extent_of
from ..plan import Program
from ..source.tree import BOOL, FLAG, INT, INTEGER, REAL, SIZE, Parameter
from .c_signature import Printed, of_arrays
from .options import DEFAULT, Options

Array = np.ndarray[Any, Any]
Size = int | tuple[int, ...]

FLAGS = ("-std=c99", "-O2", "-fopenmp-simd", "-fPIC", "-shared")
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
    line = [*command, *FLAGS, "-o", f"{name}.so", *sources, *libraries(files), "-lm"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
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

    They mean what the printed NumPy means; each call copies its arguments to contiguous arrays and back. Where backward
    adds to gradients, they are 0 before, or `into`: an array, or None, for each input.
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
        derivative = program.derivative
        self._tensors = {"gradient": dict(derivative.gradients), "cotangent": dict(derivative.seeds)}
        self._numbers = NUMBERS | ({REAL: ctypes.c_float} if self.single else {})

    def forward(self, *inputs: Any, **options: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return the outputs (a tuple if there are several) and what backward needs."""
        program, primal = self._program, self._primal
        given = self._inputs(inputs)
        numbers = {o.name: options.pop(o.name, o.default) for o in primal.options}
        if options:
            raise TypeError(f"{primal.name}: there is no option {next(iter(options))}")
        sizes = self._bind(given)
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
        sizes: dict[str, Size] = {n: rest.pop(0) for n in program.saved_sizes}
        numbers = {o.name: o.default for o in primal.options}
        numbers |= {n: rest.pop(0) for n in program.saved_options}
        present = {n: values[n] is not None for n in primal.inputs if n in values}
        present |= {n: rest.pop(0) for n in program.saved_presence}
        sizes = self._bind({n: v for n, v in values.items() if v is not None}, sizes)
        values |= self._seeds(grad_output, sizes, numbers)
        needs = tuple(needs_input_grad) if needs_input_grad is not None else (True,) * len(primal.inputs)
        if len(needs) != len(primal.inputs):
            raise ValueError(
                f"{primal.name}: needs_input_grad has {len(needs)} entries for {len(primal.inputs)} inputs"
            )
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

    def _inputs(self, inputs: Sequence[Any]) -> dict[str, Any]:
        primal = self._primal
        required = [n for n in primal.inputs if not primal.table[n].optional]
        if not len(required) <= len(inputs) <= len(primal.inputs):
            raise TypeError(f"{primal.name} takes {', '.join(primal.inputs)}; {len(inputs)} arguments were given")
        padded = [*inputs, *([None] * (len(primal.inputs) - len(inputs)))]
        found: dict[str, Any] = {}
        for name, value in zip(primal.inputs, padded, strict=True):
            tensor = primal.table[name]
            if value is None:
                if not tensor.optional:
                    raise TypeError(f"{primal.name}: {name} is not optional")
                found[name] = None
            else:
                found[name] = self._array(name, tensor, value)
        return found

    def _array(self, name: str, tensor: Tensor, value: Any) -> Array:
        array = np.asarray(value)
        allowed = {Dtype.REAL: "f", Dtype.INT: "iu", Dtype.BOOL: "b"}[tensor.dtype]
        if array.dtype.kind not in allowed:
            kind = {"real": "floating-point numbers", "int": "integers", "bool": "booleans"}[tensor.dtype]
            raise TypeError(f"{self._primal.name}: {name} holds {array.dtype}; it must be an array of {kind}")
        return np.array(array, dtype=self._stored[tensor.dtype], order="C")

    def _bind(self, arrays: Mapping[str, Any], known: Mapping[str, Size] | None = None) -> dict[str, Size]:
        """The sizes that the arrays tell; ValueError where two of them disagree."""
        sizes: dict[str, Size] = dict(known or {})
        told: dict[str, str] = {}
        name_of = self._primal.name
        for name, array in arrays.items():
            if array is None:
                continue
            shape, given = self._program.table[name].shape, np.shape(array)
            axes, first = list(shape), 0
            if axes and self._is_pack(axes[0]):
                first = len(given) - len(axes) + 1
                if first < 0:
                    raise ValueError(f"{name_of}: {name} has {len(given)} axes; it needs {len(axes) - 1} or more")
                self._agree(sizes, told, axes.pop(0), given[:first], name, "(leading axes)")
            if len(given) - first != len(axes):
                raise ValueError(f"{name_of}: {name} has {len(given)} axes; it needs {len(axes)}")
            for axis, (extent, size) in enumerate(zip(axes, given[first:], strict=True), first):
                if isinstance(extent, Ref):
                    self._agree(sizes, told, extent, size, name, f"(axis {axis})")
                elif isinstance(extent, Const) and extent.value != size:
                    raise ValueError(f"{name_of}: {name} has {size} elements on axis {axis}; it needs {show(extent)}")
        return sizes

    def _agree(
        self, sizes: dict[str, Size], told: dict[str, str], dim: Expr, size: Size, name: str, place: str
    ) -> None:
        assert isinstance(dim, Ref)
        shown = "the batch" if dim.name == "..." else dim.name
        here = f"{name} has {shown} = {size} {place}"
        if sizes.setdefault(dim.name, size) != size:
            before = told.get(dim.name, f"{shown} = {sizes[dim.name]} before")
            raise ValueError(f"{self._primal.name}: {before}, {here}")
        told.setdefault(dim.name, here)

    def _seeds(self, grad_output: Any, sizes: dict[str, Size], numbers: Mapping[str, Any]) -> dict[str, Any]:
        """The cotangents as arrays; None among several means zero."""
        program, name = self._program, self._primal.name
        seeds = program.derivative.seeds
        if grad_output is None and len(seeds) == 1:
            shape = self._shape(program.table[seeds[0][0]], sizes, numbers)
            if shape != () and program.table[seeds[0][0]].dtype is Dtype.REAL:
                wanted = shape if shape is not None else "of the output"
                raise ValueError(
                    f"{name}: grad can be implicitly created only for scalar outputs; "
                    f"pass grad_output of shape {wanted}"
                )
            return {seeds[0][1]: np.ones(shape if shape is not None else ())}
        given = (grad_output,) if len(seeds) == 1 else tuple(grad_output if grad_output is not None else ())
        if len(given) != len(seeds):
            outputs = ", ".join(output for output, _ in seeds)
            raise ValueError(
                f"{name}: grad can be implicitly created only for scalar outputs; pass grad_output as a tuple of one "
                f"array for each of {outputs}"
            )
        arrays = {
            seed: self._array(seed, program.table[seed], value)
            for (_, seed), value in zip(seeds, given, strict=True)
            if value is not None
        }
        for output, seed in seeds:
            if seed in arrays:
                shape = self._shape(program.table[output], sizes, numbers)
                if shape is not None and arrays[seed].shape != shape:
                    raise ValueError(f"{name}: {seed} has shape {arrays[seed].shape}, {output} has shape {shape}")
                sizes |= self._bind({seed: arrays[seed]}, sizes)
        for output, seed in seeds:
            if seed not in arrays:
                shape = self._shape(program.table[output], sizes, numbers)
                if shape is None:
                    raise ValueError(f"{name}: pass {seed}; nothing else tells its shape")
                arrays[seed] = np.zeros(shape)
        return arrays

    def _is_pack(self, extent: Expr) -> bool:
        return isinstance(extent, Ref) and extent.name in self._primal.packs

    def _shape(self, tensor: Tensor, sizes: Mapping[str, Size], numbers: Mapping[str, Any]) -> tuple[int, ...] | None:
        """The shape of a tensor, packs in full; None if not all sizes are known."""
        shape: list[int] = []
        for extent in tensor.shape:
            try:
                if self._is_pack(extent):
                    assert isinstance(extent, Ref)
                    pack = sizes[extent.name]
                    shape += pack if isinstance(pack, tuple) else (pack,)
                else:
                    shape.append(extent_of(extent, sizes, numbers))
            except KeyError:
                return None
            except ZeroDivisionError:
                shape.append(0)  # of a step of 0, which the code refuses
        return tuple(shape)

    def _empty(self, tensor: Tensor, sizes: Mapping[str, Size], numbers: Mapping[str, Any]) -> Array:
        """Memory for a result, full of what nobody would take for one."""
        shape = self._shape(tensor, sizes, numbers)
        assert shape is not None, f"the sizes of {tensor.name} are not saved"
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
        if not p.type.pointer:
            number: Any = np.asarray(value)[()]
            return self._numbers[p.type.of](number)
        array = np.asarray(value, dtype=self._stored[self._program.table[tensor].dtype], order="C")
        assert array is value or p.type.constant, f"{p.name} would be written to a copy"
        alive.append(array)
        return ctypes.c_void_p(array.ctypes.data)

    def _work(self, sizes: Mapping[str, Size], numbers: Mapping[str, Any], shapes: Sequence[tuple[Expr, ...]]) -> int:
        names = {o.name: numbers[o.name] for o in self._primal.options} | dict(sizes)
        names |= {k.removeprefix("*") if k != "..." else "batch": v for k, v in sizes.items()}
        return sum(prod(extent_of(e, names) for e in shape) for shape in shapes)
