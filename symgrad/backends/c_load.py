"""What was compiled from C, called from Python."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, Self

from ..expr import show
from ..ir import Dtype, Tensor, bind, extent_of, shape_of
from ..later import Later, np
from ..plan import Beside, Nested, Program
from ..records import dataclass, replace
from ..source.python import Import, Module
from ..source.tree import BOOL, FLAG, INT, INTEGER, REAL, SIZE
from .c_compile import Library
from .c_point import Point, tensor_of
from .c_signature import Printed, of_arrays
from .c_sparse import DATA, INDICES, INDPTR
from .loaded import Loaded, of_program
from .options import DEFAULT, Options
from .python_checks import cotangent_helper, cotangents_helper, inputs_helper, type_helpers
from .python_names import module_from, resolved
from .python_print import module as print_module

sparse: Any = Later("scipy.sparse")
if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]
    Memory = Callable[[tuple[int, ...], np.dtype[Any]], Array]
    Pattern = tuple[tuple[int, ...], Array, Array]
LINE = 64  # bytes of the cache, and of the widest vector: one that begins in its middle takes two lines
Size = int | tuple[int, ...]
Shape = tuple[int, ...]

STORED = {Dtype.REAL: "float64", Dtype.INT: "int64", Dtype.BOOL: "uint8"}
NUMBERS = {
    REAL: ctypes.c_double, SIZE: ctypes.c_size_t, INT: ctypes.c_ssize_t, BOOL: ctypes.c_int, INTEGER: ctypes.c_int64,
    FLAG: ctypes.c_ubyte,
}  # fmt: skip
NO_TENSORS = ("size", "option", "presence", "work")  # roles of parameters


@dataclass(frozen=True)
class Linked:
    """A library, and what is known of its functions.

    calls  the module that `c_compile.python_calls` gives; without it ctypes tells where arrays are
    """

    library: Library
    printed: Sequence[Printed]
    options: Options = DEFAULT
    calls: Any = None

    @property
    def address(self) -> Callable[[Array], int]:
        """What tells where the elements of an array begin."""
        found: Callable[[Array], int] = (lambda array: array.ctypes.data) if self.calls is None else self.calls.address
        return found


@dataclass(frozen=True, slots=True)
class Wish:
    """How a function is called: what gives memory, and the results that are not asked for, which are None then."""

    memory: Memory
    absent: tuple[str, ...] = ()


class _Forward:
    """A function of the library that is given the inputs.

    apart  results that it has other memory for
    """

    def __init__(self, program: Program, linked: Linked, word: str, apart: Sequence[str] = ()) -> None:
        self.program, self.primal = program, program.derivative.primal
        own = {Dtype.REAL: "float32" if linked.options.single else "float64", Dtype.INT: linked.options.index}
        stored = {**STORED, **own}
        self.types = {t.name: np.dtype(stored[t.dtype]) for t in (*self.primal.tensors, *program.tensors)}
        self.defaults = tuple(o.default for o in self.primal.options)
        kept = (n for n in program.saved if n not in self.primal.inputs)
        self._results = [n for n in dict.fromkeys([*program.forward.returns, *kept]) if n not in apart]
        self.checks = _checks(program)
        refuse = self.checks._inputs if self.primal.inputs else None
        self.call = _Compiled(program, linked, word, self.primal.inputs, self._results, refuse)
        self._layout = lru_cache(self.call.layout)

    def __call__(
        self, inputs: Sequence[Any], options: dict[str, Any], wish: Wish
    ) -> tuple[dict[str, Array | None], Layout]:
        """The inputs and results by name, as C has them, and what their shapes tell."""
        values, layout, _ = self.prepared(inputs, options, wish)
        self.call(layout, values, wish.memory)
        return values, layout

    def prepared(
        self, inputs: Sequence[Any], options: dict[str, Any], wish: Wish
    ) -> tuple[dict[str, Array | None], Layout, tuple[Any, ...]]:
        """The same before it is called; and what a layout is made of."""
        primal = self.primal
        numbers = self.defaults
        if options:
            numbers = tuple([np.asarray(options.pop(o.name, o.default)).item() for o in primal.options])
        if options:
            raise TypeError(f"{primal.name}: there is no option {next(iter(options))}")
        least = len(primal.inputs) - sum(primal.table[n].optional for n in primal.inputs)
        if not least <= len(inputs) <= len(primal.inputs):
            many = f"{least} to {len(primal.inputs)}" if least < len(primal.inputs) else f"{least}"
            named = ", ".join(primal.inputs)
            raise TypeError(f"{primal.name}: takes {many} inputs, {named}, and {len(inputs)} are given")
        given = [None if a is None else np.asarray(a) for a in inputs]
        given += [None] * (len(primal.inputs) - len(inputs))
        told = tuple([None if a is None else (a.shape, a.dtype) for a in given]), numbers
        layout = self._layout(*told)
        values = {n: self.stored(n, a) for n, a in zip(primal.inputs, given, strict=True)}
        for name in self._results:
            values[name] = None if name in wish.absent else wish.memory(layout.shapes[name], self.types[name])
        return values, layout, told

    def stored(self, name: str, array: Array | None) -> Array | None:
        """An array as C reads it: a copy only where it is not."""
        if array is None:
            return None
        dtype, flags = self.types[name], array.flags
        if flags.c_contiguous and flags.aligned:
            if array.dtype == dtype:
                return array
            if array.dtype == bool and dtype == np.uint8:
                return array.view(dtype)
        found = np.array(array, dtype=dtype, order="C")
        if dtype.kind == "i" and dtype.itemsize < array.dtype.itemsize and (found != array).any():
            raise OverflowError(f"{self.primal.name}: {name} has {array[found != array].flat[0]}, which is no {dtype}")
        return found


class _Beside:
    """A function beside forward and backward."""

    def __init__(self, beside: Beside, linked: Linked) -> None:
        self._results, self._forward = beside.results, _Forward(beside.program, linked, beside.name)

    def __call__(self, inputs: Sequence[Any], options: dict[str, Any], wish: Wish) -> Any:
        return _arranged(self._results, self._forward(inputs, options, wish)[0])


class _Matrix:
    """The functions of a sparse matrix, called one after the other; it is SciPy's."""

    def __init__(self, beside: Beside, linked: Linked) -> None:
        assert beside.sparse is not None
        self._sparse, self._results, self._integers = beside.sparse, beside.results, np.dtype(linked.options.index)
        self._values = _Forward(beside.program, linked, beside.values, beside.sparse.parts)
        self._real = self._values.types[beside.sparse.parts[0]]
        if (program := beside.sparse.pattern) is not None:
            inputs = program.derivative.primal.inputs
            self._room = _Compiled(program, linked, beside.room, inputs, ())
            self._pattern = _Compiled(program, linked, beside.pattern, inputs, ())

    def pattern(self, inputs: Sequence[Any], options: dict[str, Any], wish: Wish) -> Pattern:
        """The shape, where each row begins among the entries, and their columns."""
        matrix, memory = self._sparse, wish.memory
        values, layout, told = self._values.prepared(inputs, options, Wish(memory))
        shape = tuple([extent_of(e, layout.sizes, layout.options) for e in matrix.shape])
        if matrix.pattern is None:
            indptr, indices = (np.array(some, self._integers) for some in (matrix.indptr, matrix.indices))
            return shape, indptr, indices
        room = self._room.result(self._room.layout(*told), values, memory)
        assert room is not None
        indptr, indices = (memory((count,), self._integers) for count in (shape[0] + 1, room))
        self._pattern(self._pattern.layout(*told), values | {INDPTR: indptr, INDICES: indices}, memory)
        return shape, indptr, indices[: indptr[-1]]

    def values(
        self, pattern: Pattern, inputs: Sequence[Any], options: dict[str, Any], wish: Wish
    ) -> tuple[Any, ...]:
        """The results, and the entries at the places of a pattern."""
        values, layout, _ = self._values.prepared(inputs, options, wish)
        _, indptr, indices = pattern
        data = wish.memory(indices.shape, self._real)
        values |= {INDPTR: indptr, INDICES: indices, **dict.fromkeys((DATA, *self._sparse.parts), data)}
        self._values.call(layout, values, wish.memory)
        return (*_arranged(self._results, values), data)

    def __call__(self, inputs: Sequence[Any], options: dict[str, Any], wish: Wish) -> tuple[Any, ...]:
        """The results, and the matrix as SciPy has it."""
        shape, indptr, indices = pattern = self.pattern(inputs, {**options}, wish)
        *found, data = self.values(pattern, inputs, options, wish)
        return (*found, sparse.csr_array((data, indices, indptr), shape=shape))


class Values(Loaded):
    """The functions beside forward and backward, each by its name: it returns what the printed NumPy returns.

    An argument is copied only where it is not contiguous, or of another type.
    """

    def __init__(self, program: Program, linked: Linked) -> None:
        options = linked.options
        self.single = options.single  # real numbers are float32
        self.integers = np.dtype(options.index)  # those in arrays
        self.accumulates = options.accumulate  # to what is in the gradients' arrays
        self.contracts = True  # a*b + c is rounded once where the compiler likes
        self.remark = ""  # on how it was linked
        self.threads = options.openmp  # which a copy of the process does not have
        self._said = of_program(program, "c")
        self._wish = Wish(np.empty)
        self._beside: dict[str, Callable[..., Any]] = {}
        for b in program.beside:
            if b.sparse is None:
                self._beside[b.name] = _Beside(b, linked)
            else:
                matrix = _Matrix(b, linked)
                self._beside |= {b.name: matrix, b.pattern: matrix.pattern, b.values: matrix.values}

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__.get("_beside", {}).get(name)
        if found is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        first = name.endswith("_values")  # the pattern

        def function(*inputs: Any, **options: Any) -> Any:
            return found(*inputs[:first], inputs[first:], options, self._wish)

        return function

    def without(self, *names: str) -> Self:
        """The same, of which these results of a function beside forward and backward are not asked for: NULL goes for
        them, and None comes back."""
        return self._wishing(replace(self._wish, absent=names))

    @property
    def filled(self) -> Self:
        """The same, with memory for results that is full of what nobody would take for one: what is not written is
        seen."""
        return self._wishing(replace(self._wish, memory=_filled))

    def _wishing(self, wish: Wish) -> Self:
        found = copy.copy(self)
        found._wish = wish
        return found


class Artefact(Values):
    """`forward(*inputs, **options) -> (out, saved)` and `backward(saved, grad_output, needs_input_grad) -> gradients`.

    They mean what the printed NumPy means. Where backward adds to gradients, they are 0 before, or `into`: an array, or
    None, for each input.

    point  what calls a function of numbers
    """

    def __init__(self, program: Program, linked: Linked, point: Point | None = None) -> None:
        super().__init__(program, linked)
        primal, derivative = program.derivative.primal, program.derivative
        self._program, self._primal, self._point = program, primal, point
        self._gradients, self._seeds = dict(derivative.gradients), [seed for _, seed in derivative.seeds]
        found = [*self._gradients.values(), *primal.outputs]
        self._forward = _Forward(program, linked, "forward")
        self._backward = _Compiled(program, linked, "backward", program.saved, found)
        self._of_saved = lru_cache(self._backward.layout)

    def forward(self, *inputs: Any, **options: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return the outputs (a tuple if there are several) and what backward needs."""
        if self._point is not None and not options:
            at_once = self._point.forward(inputs)
            if at_once is not None:
                return at_once
        program, primal = self._program, self._primal
        values, layout = self._forward(inputs, options, self._wish)
        outputs = tuple([_result(values[n]) for n in program.forward.returns])
        saved = [values[n] if n in primal.inputs else _result(values[n]) for n in program.saved]
        saved += [layout.sizes[n] for n in program.saved_sizes]
        saved += [layout.options[n] for n in program.saved_options]
        saved += [values[n] is not None for n in program.saved_presence]
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
        needs = (True,) * len(primal.inputs) if needs_input_grad is None else tuple(needs_input_grad)
        if len(needs) != len(primal.inputs):
            told = f"{len(needs)} places for {len(primal.inputs)} inputs"
            raise ValueError(f"{primal.name}: needs_input_grad has {told}")
        own = (program.saved, program.saved_sizes, program.saved_options, program.saved_presence)
        if len(saved) != sum(map(len, own)):
            raise ValueError(f"{primal.name}: saved is not what forward gave: it has {len(saved)} values")
        if self._point is not None and into is None and all(needs) and len(needs) == len(primal.inputs):
            at_once = self._point.backward(saved, grad_output)
            if at_once is not None:
                return at_once
        tensors = [None if a is None else np.asarray(a) for a in saved[: len(program.saved)]]
        rest = iter(saved[len(program.saved) :])
        sizes = tuple([next(rest) for _ in program.saved_sizes])
        options = {n: next(rest) for n in program.saved_options}
        numbers = tuple([options.get(o.name, o.default) for o in primal.options]) if options else self._forward.defaults
        shapes = tuple([None if a is None else (a.shape, a.dtype) for a in tensors])
        layout = self._of_saved(shapes, numbers, sizes, tuple([next(rest) for _ in program.saved_presence]))
        values = {n: self._forward.stored(n, a) for n, a in zip(program.saved, tensors, strict=True)}
        values |= self._cotangents(grad_output, layout)
        values |= dict.fromkeys(self._gradients.values())
        before = dict(zip(primal.inputs, into or (), strict=into is not None))
        for name, need in zip(primal.inputs, needs, strict=True):
            gradient = self._gradients.get(name)
            if not need or gradient is None or not layout.present.get(name, True):
                continue
            values[gradient] = found = self._wish.memory(layout.shapes[gradient], self._forward.types[gradient])
            if self.accumulates:
                found[...] = 0 if before.get(name) is None else before[name]
        self._backward(layout, values, self._wish.memory)
        return tuple([_result(values.get(self._gradients.get(n, ""))) for n in primal.inputs])

    def _cotangents(self, grad_output: Any, layout: Layout) -> dict[str, Array | None]:
        """The cotangents as arrays; None among several means zero."""
        outputs = self._primal.outputs
        shapes = [layout.shapes[n] for n in outputs]
        if len(outputs) > 1:
            given = self._forward.checks._cotangents(grad_output, shapes, float)
        elif self._program.table[outputs[0]].dtype is Dtype.REAL:
            given = [self._forward.checks._cotangent(grad_output, shapes[0], float)]
        else:
            given = [np.zeros(shapes[0])]  # it does not count
        return {n: self._forward.stored(n, a) for n, a in zip(self._seeds, given, strict=True)}


@dataclass(frozen=True, slots=True)
class Layout:
    """What the shapes of its arguments, and options, tell of a call.

    shapes     of the results; in backward of the outputs, too, as their cotangents have them
    arguments  in the order of the function; None where arrays, and numbers that are one, go
    rooms      how many elements each workspace has, in order
    """

    sizes: Mapping[str, Size]
    options: Mapping[str, Any]
    present: Mapping[str, bool]
    shapes: Mapping[str, Shape]
    arguments: tuple[Any, ...]
    rooms: tuple[int, ...]


class _Compiled:
    """One function of the library. ctypes lets other threads of Python run meanwhile.

    names    the tensors that it is called with, some of which may be absent
    results  those whose shapes are asked for
    refuse   what raises an error where the tensors do not fit
    """

    def __init__(
        self,
        program: Program,
        linked: Linked,
        word: str,
        names: Sequence[str],
        results: Sequence[str],
        refuse: Callable[..., Any] | None = None,
    ) -> None:
        self._program, self._library = program, linked.library
        self._function = function = of_arrays(linked.printed, word)
        self._names, self._results, self._address, self._refuse = names, results, linked.address, refuse
        self._kinds = NUMBERS | ({REAL: ctypes.c_float} if linked.options.single else {})
        self._call = getattr(linked.library.functions, function.name)
        result = function.function.result
        self._call.restype = None if result is None else NUMBERS[result.of]
        kinds = (ctypes.c_void_p if p.type.pointer else self._kinds[p.type.of] for p in function.parameters)
        self._call.argtypes = list(kinds)
        tensors = [(k, p, tensor_of(p, program)) for k, p in enumerate(function.parameters) if p.role not in NO_TENSORS]
        self._arrays = [(k, tensor) for k, p, tensor in tensors if p.type.pointer]
        self._numbers = [(k, tensor) for k, p, tensor in tensors if not p.type.pointer]
        work = [(k, p.type.of) for k, p in enumerate(function.parameters) if p.role == "work"]
        real = np.float32 if linked.options.single else np.float64
        self._work = [(k, np.dtype(linked.options.index if of == INTEGER else real)) for k, of in work]

    def layout(
        self,
        known: tuple[tuple[Shape, np.dtype[Any]] | None, ...],
        numbers: tuple[Any, ...],
        sizes_given: tuple[Size, ...] = (),
        presence_given: tuple[bool, ...] = (),
    ) -> Layout:
        """The layout of a call.

        known    shape and type of each tensor, None for one that is absent
        numbers  the options
        """
        program, primal = self._program, self._program.derivative.primal
        like = [None if k is None else np.broadcast_to(np.zeros((), k[1]), k[0]) for k in known]
        if self._refuse is not None:
            self._refuse(*like)
        arrays = dict(zip(self._names, like, strict=True))
        sizes = bind(primal, arrays, program.tensors) | dict(zip(program.saved_sizes, sizes_given, strict=False))
        options = dict(zip((o.name for o in primal.options), numbers, strict=True))
        present = {n: arrays[n] is not None for n in primal.inputs if n in arrays}
        present |= dict(zip(program.saved_presence, presence_given, strict=False))
        extents = options | sizes | {k.removeprefix("*") if k != "..." else "batch": v for k, v in sizes.items()}
        own = {"size": sizes, "option": options, "presence": present}
        arguments: list[Any] = []
        rooms = []
        for p in self._function.parameters:
            value = own[p.role][p.tensor] if p.role in own else None
            value = prod(value) if isinstance(value, tuple) else value
            arguments.append(None if value is None else self._kinds[p.type.of](value))
            if p.role == "work":
                shapes = self._function.work[p.tensor]
                rooms.append(sum(prod(extent_of(e, extents) for e in shape) for shape in shapes))
        found = {n: _shape(program.table[n], sizes, options) for n in self._results}
        return Layout(sizes, options, present, found, tuple(arguments), tuple(rooms))

    def __call__(
        self, layout: Layout, values: Mapping[str, Array | None], memory: Memory
    ) -> None:
        """Call it with arrays as C reads them; None for one that is absent, or not wanted.

        memory  what gives room for temporaries
        """
        status = self.result(layout, values, memory)
        if status:
            raise self._failure(status, layout, values)

    def result(
        self, layout: Layout, values: Mapping[str, Array | None], memory: Memory
    ) -> int | None:
        """What it returns then."""
        arguments = [*layout.arguments]
        for k, tensor in self._arrays:
            array = values[tensor]
            arguments[k] = None if array is None else self._address(array)
        for k, tensor in self._numbers:
            array = values[tensor]
            arguments[k] = 0 if array is None else array.item()
        rooms = zip(layout.rooms, self._work, strict=True)
        work = [memory((room + LINE // dtype.itemsize,), dtype) for room, (_, dtype) in rooms]
        for array, (k, _) in zip(work, self._work, strict=True):
            place = self._address(array)
            arguments[k] = place + -place % LINE
        found: int | None = self._call(*arguments)
        return found

    def _failure(self, status: int, layout: Layout, values: Mapping[str, Array | None]) -> Exception:
        primal = self._program.derivative.primal
        for name in self._program.within if status == 3 else ():
            array, interval = values.get(name), primal.table[name].interval
            outside = np.zeros(0) if array is None else array[~np.asarray(interval.holds(array))]
            if outside.size:
                return ValueError(f"{primal.name}: {name} = {outside[0]}, declared for {interval.show(name)}")
        if status == 2 and primal.constraints:
            needed = " and ".join(show(c) for c in primal.constraints)
            told = ", ".join(f"{name} = {size}" for name, size in layout.sizes.items())
            return ValueError(f"{primal.name}: needs {needed}, here {told}")
        if status == 1 and (self._program.indexed or not self._function.calls):
            return IndexError(f"{primal.name}: an index is out of range")
        called = ", ".join(self._function.calls)
        return np.linalg.LinAlgError(f"{primal.name}: LAPACK says {status} in one of {called}")


def _shape(tensor: Tensor, sizes: Mapping[str, Size], numbers: Mapping[str, Any]) -> Shape:
    try:
        return shape_of(tensor.shape, sizes, numbers)
    except ZeroDivisionError:  # of a step of 0, which the code refuses
        return (0,) * len(tensor.shape)


def _filled(shape: Shape, dtype: np.dtype[Any]) -> Array:
    return np.full(shape, np.nan if dtype.kind == "f" else 0x7F, dtype)  # which fits every integer type


def _result(array: Array | None) -> Any:
    if array is None:
        return None
    array = array.view(bool) if array.dtype == np.uint8 else array
    return array if array.shape else array[()]


def _arranged(results: Nested, values: Mapping[str, Array | None]) -> Any:
    """What a function returns, in its tuples."""
    if isinstance(results, str):
        return _result(values[results])
    return tuple([_arranged(r, values) for r in results])


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
