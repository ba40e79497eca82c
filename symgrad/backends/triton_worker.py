"""The process that imports printed files for triton: it interprets their kernels, or compiles them.

An access outside of the tensors of a launch is an error, each tensor lies apart from the others, and what a mask leaves
out without saying what else is there is NaN: on a GPU it is anything.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar
from unittest import mock

import numpy as np
import torch
import triton
import triton.language as tl
from triton.backends import backends
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime import interpreter

from .frameworks import TorchArtefact
from .python_names import module_from

APART = 4096  # elements around each tensor of a launch
SMALLEST = 16  # elements in a block of a product, as GPUs multiply them
SMALL, FEW = 4, 64  # elements in a block, so that there are several of few
KINDS = {torch.float64: "*fp64", torch.float32: "*fp32", torch.int64: "*i64", torch.bool: "*i1",
         torch.float16: "*fp16", torch.bfloat16: "*bf16"}  # fmt: skip


class Here(TorchArtefact):
    """A loaded file, as the check calls it."""

    def __init__(self, module: ModuleType, name: str, reals: Sequence[bool], outputs: Sequence[bool]) -> None:
        self.module = module
        table = {f"i{k}": SimpleNamespace(dtype="real" if real else "int") for k, real in enumerate(reals)}
        table |= {f"o{k}": SimpleNamespace(dtype="real" if real else "int") for k, real in enumerate(outputs)}
        inputs = tuple(n for n in table if n.startswith("i"))
        shown = tuple(n for n in table if n.startswith("o"))
        self._primal: Any = SimpleNamespace(name=name, inputs=inputs, outputs=shown, table=table)
        self._beside, self._said = {}, name


class Guarded(interpreter.GridExecutor):  # type: ignore[misc]  # triton has no types
    """A launch, each of whose tensors is a copy with room around it."""

    bounds: ClassVar[tuple[Any, Any]] = (np.zeros(0, np.uint64), np.zeros(0, np.uint64))
    launched: ClassVar[dict[str, tuple[Any, ...]]] = {}
    device: ClassVar[Any] = None  # that which torch was told to launch on

    def _init_args_hst(self, args_dev: Any, kwargs: Any) -> Any:
        if any(value.device != Guarded.device for value in args_dev if torch.is_tensor(value)):
            raise RuntimeError("a kernel is launched on the current device, which need not be that of its tensors")
        self.copies: list[tuple[Any, Any, int]] = []
        args, named = [*map(self._copied, args_dev)], {k: self._copied(v) for k, v in kwargs.items()}
        ends = sorted((t.data_ptr(), t.data_ptr() + reach * t.element_size()) for _, t, reach in self.copies)
        starts, stops = [start for start, _ in ends], [stop for _, stop in ends]
        Guarded.bounds = np.array(starts, np.uint64), np.array(stops, np.uint64)
        passed = {**dict(zip(self.arg_names, args, strict=False)), **named}
        Guarded.launched[self.fn.__name__] = tuple(self._told(n, v) for n, v in passed.items() if n in self.arg_names)
        return args, named

    def _copied(self, value: Any) -> Any:
        if not torch.is_tensor(value):
            return value
        reach = 1 + sum((n - 1) * stride for n, stride in zip(value.shape, value.stride(), strict=True))
        reach = reach if value.numel() else 0
        wide = value.new_full((reach + 2 * APART,), float("nan") if value.is_floating_point() else 1)
        wide[APART : APART + reach].copy_(value.as_strided((reach,), (1,)))
        own = wide.as_strided(value.shape, value.stride(), APART)  # it lies in memory as it did
        self.copies.append((value, own, reach))
        return own

    def _told(self, name: str, value: Any) -> tuple[str, str, Any]:
        if name in self.constexprs or value is None:
            return name, "constexpr", str(value) if isinstance(value, tl.dtype) else value
        if torch.is_tensor(value):
            return name, KINDS[value.dtype], None
        return (name, "constexpr", 1) if value == 1 else (name, "i64", None)  # triton compiles another for 1

    def _restore_args_dev(self, *args: Any) -> None:
        for value, own, _ in self.copies:
            if not torch.equal(_bytes(value), _bytes(own)):
                value.copy_(own)  # torch counts what is written to


@contextlib.contextmanager
def chosen(value: Any) -> Iterator[None]:
    """What stands for torch.cuda.device_of, which does nothing for tensors on the CPU."""
    Guarded.device = value.device
    try:
        yield
    finally:
        Guarded.device = None


def _bytes(value: Any) -> Any:
    return torch.ravel(value).clone(memory_format=torch.contiguous_format).view(torch.uint8)


def _inside(pointers: Any, mask: Any, size: int, said: str) -> None:
    places = np.asarray(pointers)[np.broadcast_to(np.asarray(mask, bool), np.shape(pointers))].astype(np.uint64)
    starts, ends = Guarded.bounds
    at = np.searchsorted(starts, places, side="right") - 1
    if places.size and ((at < 0).any() or (places + np.uint64(size) > ends[at]).any()):
        raise IndexError(f"a kernel {said} outside of its tensors")


def _condition(mask: Any) -> Any:
    """A mask; the interpreter has integers where one condition for all elements is part of it."""
    return interpreter.TensorHandle(np.asarray(mask.data, bool), tl.int1)


def _widened(operand: Any) -> Any:
    """An operand of a product; the interpreter has the bits of a bfloat16 as an integer, and would multiply these."""
    if operand.dtype.scalar != tl.bfloat16:
        return operand
    data = interpreter._convert_float(operand.data, tl.bfloat16, tl.float32, None).view(np.float32)
    return interpreter.TensorHandle(data, tl.float32)


def _guard() -> None:
    """Make the interpreter look at every access."""
    builder = interpreter.InterpreterBuilder
    load, store, multiply = builder.create_masked_load, builder.create_masked_store, builder.create_dot

    def loads(self: Any, pointers: Any, mask: Any, other: Any, *rest: Any) -> Any:
        kind, mask = pointers.get_element_ty(), _condition(mask)
        size = max(kind.primitive_bitwidth // 8, 1)
        _inside(pointers.data, mask.data, size, "reads")
        if other is None and np.size(pointers.data) > 1 and not np.all(mask.data):  # of one, it takes 0 for nothing
            number = interpreter._get_np_dtype(kind)
            unset = (
                np.nan if np.issubdtype(number, np.floating) else np.iinfo(number).max if number != np.bool_ else True
            )
            other = interpreter.TensorHandle(np.full(np.shape(pointers.data), unset, number), kind)
        return load(self, pointers, mask, other, *rest)

    def stores(self: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        size, mask = max(pointers.get_element_ty().primitive_bitwidth // 8, 1), _condition(mask)
        _inside(pointers.data, mask.data, size, "writes")
        return store(self, pointers, value, mask, *rest)

    def dot(self: Any, a: Any, b: Any, *rest: Any) -> Any:
        return multiply(self, _widened(a), _widened(b), *rest)

    builder.create_masked_load, builder.create_masked_store, builder.create_dot = loads, stores, dot
    interpreter.GridExecutor = Guarded
    interpreter._patch_lang, interpreter._get_np_dtype = _Patched(), _Numbers()
    mock.patch.object(torch.cuda, "device_of", chosen).start()


class _Patched:
    """What makes the functions of triton.language interpret: once, and not at every launch and every call of a device
    function, as this process has no other kernels."""

    def __init__(self) -> None:
        self._patch = interpreter._patch_lang
        self._seen: set[tuple[bool, bool]] = set()

    def __call__(self, function: Any) -> Any:
        names = [*map(id, function.__globals__.values())]
        seen = id(tl) in names, id(tl.core) in names
        if seen not in self._seen:
            self._patch(function)
            self._seen.add(seen)
        return interpreter._LangPatchScope()  # which has nothing to restore


class _Numbers:
    """The NumPy type of one of triton, which makes a table of all of them at each call."""

    def __init__(self) -> None:
        self._type_of = interpreter._get_np_dtype
        self._known: dict[str, Any] = {}

    def __call__(self, kind: Any) -> Any:
        name = kind.scalar.name
        if name not in self._known:
            self._known[name] = self._type_of(kind)
        return self._known[name]


class Worker:
    """What is kept from one question to the next."""

    def __init__(self) -> None:
        self.kept: dict[int, Any] = {}
        self.count = 0
        self.calls = 0

    def _keep(self, value: Any) -> int:
        self.count += 1
        self.kept[self.count] = value
        return self.count

    def load(self, path: str, text: str, name: str, reals: Any, outputs: Any) -> int:
        """Import a file."""
        # torch knows operators by name, and theirs is that of the module: another one for each that is loaded
        module = module_from(f"{path.removesuffix('.py')}_{self.count}.py", text)
        return self._keep(Here(module, name, reals, outputs))

    def forward(self, own: int, inputs: Any, options: Any) -> tuple[Any, int]:
        """The outputs, and the number of what is saved."""
        arrays = [self._laid_out(a, k) for k, a in enumerate(inputs)]
        before = [None if a is None else a.tobytes() for a in arrays]
        self._take(self.kept[own].module, all(a is None or a.size <= FEW for a in arrays))
        found, saved = self.kept[own].forward(*arrays, **options)
        if before != [None if a is None else a.tobytes() for a in arrays]:
            raise RuntimeError("forward writes to an input")
        return found, self._keep((own, saved))

    def _laid_out(self, value: Any, number: int) -> Any:
        """An array as it lies in memory; a contiguous one in turn so, with rows apart, transposed, and as heads beside
        each other, each unlike the one before it."""
        array = _decoded(value)
        if array is None or array.ndim < 2 or not array.flags.c_contiguous:
            return array
        ways: list[Callable[[Any], Any]] = [_apart, _transposed, np.asarray, *[_beside] * (array.ndim > 2)]
        return ways[(self.calls + number) % len(ways)](array)

    def _take(self, module: ModuleType, few: bool) -> None:
        """Blocks of a few elements, and rows that are long in every other call. Of few elements, blocks are larger than
        they are taken in two calls of four: something is masked whatever the sizes are."""
        self.calls += 1
        own, most = vars(module), SMALL if few else 16 * FEW
        taken = own.setdefault("_taken", {name: own[name] for name in ("_block", "_tile") if name in own})
        if "_tiles" in own:
            tile = FEW if not few else SMALL * SMALL if self.calls % 4 > 1 else SMALL // 2
            own["_tiles"] = lambda *_: (tile, tile, tile, 1, 1)
        if "_streams" in own:
            own["_streams"] = partial(_streamed, self.calls % 4 > 1)
        if "_chunk" in own:
            own["_chunk"] = _chunked if self.calls % 4 > 1 else lambda *_: 2
        larger = {name: partial(_larger, function) for name, function in taken.items()}
        own.update(larger if few and self.calls % 4 > 1 else taken)
        own.update(_BLOCK=most, _LANES=most, _TILE=1 if few else most, _SHORT=0 if self.calls % 2 else 16 * FEW)

    def backward(self, number: int, seeds: Any, count: int, needs: Any) -> Any:
        """The gradients."""
        own, saved = self.kept[number]
        given = [self._laid_out(a, k) for k, a in enumerate(seeds)]
        return self.kept[own].backward(saved, tuple(given) if count > 1 else given[0], needs)

    def call(self, own: int, module: str, function: str, given: Any) -> Any:
        """What a function of a module gives."""
        return getattr(importlib.import_module(module), function)(self.kept[own], *given)

    def launched(self, own: int) -> Any:
        """What kernels were launched with."""
        names = {n for n, f in vars(self.kept[own].module).items() if n.startswith("_") and hasattr(f, "arg_names")}
        return {n: given for n, given in Guarded.launched.items() if n in names}

    def compile(self, path: str, text: str, launched: Any, targets: Sequence[str]) -> list[tuple[str, str]]:
        """The kernels that do not compile, and why."""
        self.count += 1
        module = module_from(f"{path.removesuffix('.py')}_{self.count}.py", text)
        found = []
        for name, given in launched.items():
            kinds = {n: kind for n, kind, _ in given}
            constants = {n: _constant(n, value) for n, kind, value in given if kind == "constexpr"}
            for said, target in _targets(targets):
                try:
                    triton.compile(ASTSource(getattr(module, name), kinds, constants), target=target)
                except Exception as error:
                    found.append((name, f"does not compile for {said}: {type(error).__name__}: {error}"))
        return found


def _targets(names: Sequence[str]) -> Iterator[tuple[str, GPUTarget]]:
    """Those of some architectures, sm_90 or gfx942, that this triton was built for."""
    for name in names:
        target = GPUTarget("cuda", int(name[3:]), 32) if name.startswith("sm_") else GPUTarget("hip", name, 64)
        if any(b.compiler.supports_target(target) for b in backends.values()):
            yield name, target


def _streamed(larger: bool, rows: int, columns: int, *full: Any) -> tuple[int, ...]:
    """The blocks of a plane: of few rows and columns, whatever else arrays have, there are several. A block of what is
    held in full has more elements than there are."""
    tile = FEW if rows * columns > FEW else SMALL * SMALL if larger else SMALL // 2
    return tile, tile, *(int(triton.next_power_of_2(extent + 1)) for extent in full[:-1]), 1, 1


def _chunked(rows: int, *_: int) -> int:
    """Two chunks of rows, of which the second one is shorter."""
    return max(2 * rows // 3, 1)


def _larger(function: Callable[[int], int], extent: int) -> int:
    return SMALL * function(extent)


def _constant(name: str, value: Any) -> Any:
    """What a kernel is compiled for: no product has tiles of fewer elements."""
    if name.startswith("BLOCK"):
        return max(value, SMALLEST)
    return {"fp64": tl.float64, "fp32": tl.float32}.get(value, value) if isinstance(value, str) else value


def _decoded(value: Any) -> Any:
    """An array as it lies in memory."""
    if value is None:
        return None
    array, shape, strides = value
    if strides == array.strides or not array.size:
        return array
    size = array.itemsize
    reach = [(n - 1) * stride // size for n, stride in zip(shape, strides, strict=True)]
    first = -sum(r for r in reach if r < 0)
    memory = np.zeros(first + sum(r for r in reach if r > 0) + 1, array.dtype)
    view = np.lib.stride_tricks.as_strided(memory[first:], shape, strides)
    view[...] = array
    return view


def _apart(array: Any) -> Any:
    """The array with something between its rows."""
    beside = np.full((*array.shape[:-1], 1), np.nan if array.dtype.kind == "f" else 1, array.dtype)
    return np.concatenate((array, beside), -1)[..., :-1]


def _transposed(array: Any) -> Any:
    """The array with its columns one after the other."""
    return np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2)


def _beside(array: Any) -> Any:
    """The array with the rows of its last matrices beside each other."""
    return np.ascontiguousarray(array.swapaxes(-2, -3)).swapaxes(-2, -3)


def main() -> None:
    """Answer until there is nobody who asks."""
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    np.seterr(all="ignore")  # as a GPU does
    worker = Worker()
    if triton.knobs.runtime.interpret:
        _guard()
    while True:
        try:
            dropped, what, given = pickle.load(questions)
        except EOFError:
            return
        for number in dropped:
            worker.kept.pop(number, None)
        try:
            said: tuple[bool, Any] = True, getattr(worker, what)(*given)
        except Exception as error:
            said = False, _plain(error)
        pickle.dump(said, answers)
        answers.flush()


def _plain(error: Exception) -> Exception:
    """An error that another process understands."""
    name = type(error).__name__
    kind = getattr(builtins, name, None)
    return kind(str(error)) if isinstance(kind, type) else RuntimeError(f"{name}: {error}")


if __name__ == "__main__":
    main()
