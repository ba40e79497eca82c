"""What was printed for torch and JAX, called with NumPy arrays: the same two calls as the printed NumPy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any

from ..ir import Dtype, Function
from ..later import Later, np
from ..plan import Program
from .loaded import Loaded, of_program

sparse: Any = Later("scipy.sparse")

FEW = 64  # elements that Pallas takes in blocks of one or of few, in a check


class _Framework(Loaded, ABC):
    """`forward`, `backward` and the functions beside them on NumPy arrays; every other name is that of the printed
    module, for its own tensors."""

    language: str
    threads = True  # the framework has threads of its own: a process that has used it must not be copied

    def __init__(self, program: Program, module: ModuleType) -> None:
        self.module = module
        self._primal = program.derivative.primal
        self._beside = {b.name: b.program.derivative.primal for b in program.beside}
        self._said = of_program(program, self.language)

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("_beside", {}):
            return partial(self._called, name)
        return getattr(self.module, name)

    @abstractmethod
    def _called(self, name: str, *inputs: Any, **options: Any) -> Any:
        """What a function beside forward and backward returns."""

    @property
    def _function(self) -> Any:
        return getattr(self.module, self._primal.name)

    def _is_real(self, name: str) -> bool:
        return self._primal.table[name].dtype == Dtype.REAL

    def _seeds(self, grad_output: Any, outputs: Sequence[Any]) -> list[Any]:
        """One gradient for each output; a scalar's may be left out."""
        if len(outputs) > 1:
            if grad_output is None or len(grad_output) != len(outputs):
                raise ValueError(f"{self._primal.name}: pass a tuple of {len(outputs)} gradients")
            return list(grad_output)
        if grad_output is None and np.ndim(outputs[0]) and self._is_real(self._primal.outputs[0]):
            raise ValueError(f"{self._primal.name}: grad can be implicitly created only for scalar outputs")
        return [grad_output]


class TorchValues(_Framework):
    """Printed torch, without forward and backward."""

    language = "torch"
    flushes = True  # its sigmoid(-728) is 0, and so is its log1p of the smallest number
    powers = True  # it has no cbrt

    def tensor(self, value: Any) -> Any:
        """An array as a tensor."""
        return None if value is None else _tensor(value)

    def _called(self, name: str, *inputs: Any, **options: Any) -> Any:
        import torch

        given = [x if x is None or torch.is_tensor(x) else _tensor(x) for x in inputs]
        return _each(getattr(self.module, name)(*given, **options), _of_torch)


class TorchArtefact(TorchValues):
    """Printed torch."""

    contracts = True  # its products of matrices are rounded by where in memory their operands lie, too

    def forward(self, *inputs: Any, **options: Any) -> tuple[Any, Any]:
        import torch

        tensors = []
        for name, value in zip(self._primal.inputs, inputs, strict=False):
            tensor = value if value is None or torch.is_tensor(value) else _tensor(value)
            if tensor is not None and self._is_real(name) and tensor.is_floating_point():
                tensor = tensor.detach().requires_grad_()
            tensors.append(tensor)
        result = self._function(*tensors, **options)
        outputs = list(result) if isinstance(result, tuple) else [result]
        arrays = tuple(o.detach().numpy() for o in outputs)
        return (arrays if isinstance(result, tuple) else arrays[0]), (tensors, outputs, options)

    def backward(
        self, saved: Any, grad_output: Any = None, needs_input_grad: Sequence[bool] | None = None
    ) -> tuple[Any, ...]:
        import torch

        tensors, outputs, options = saved
        seeds = self._seeds(grad_output, outputs)
        needs = needs_input_grad or (True,) * len(tensors)
        wanted = [k for k, t in enumerate(tensors) if t is not None and t.requires_grad and needs[k]]
        given = [None if s is None else _tensor(s) for s in seeds]
        if wanted and len(wanted) < sum(t is not None and t.requires_grad for t in tensors):
            # what is not needed is an input that requires no gradient, and the code is told when it is called
            tensors = [t if t is None or k in wanted else t.detach() for k, t in enumerate(tensors)]
            result = self._function(*tensors, **options)
            outputs = list(result) if isinstance(result, tuple) else [result]
        found: list[Any] = [None] * len(tensors)
        if wanted:
            pairs = [(g, o) for g, o in zip(given, outputs, strict=True) if o.requires_grad]
            given = [torch.zeros_like(o) if g is None and (o.ndim or len(outputs) > 1) else g for g, o in pairs]
            gradients = torch.autograd.grad(
                [o for _, o in pairs], [tensors[k] for k in wanted], given, retain_graph=True, allow_unused=True
            )
            for k, gradient in zip(wanted, gradients, strict=True):
                gradient = torch.zeros_like(tensors[k]) if gradient is None else gradient
                found[k] = gradient.numpy()
        return tuple(found)


def _each(result: Any, change: Callable[[Any], Any]) -> Any:
    """What a function returns, changed in its tuples."""
    return tuple(_each(r, change) for r in result) if isinstance(result, tuple) else change(result)


def _of_torch(tensor: Any) -> Any:
    """An array of NumPy's, or a csr_array of SciPy's."""
    import torch

    tensor = tensor.detach()
    if tensor.layout != torch.sparse_csr:
        return tensor.numpy()
    parts = tensor.values(), tensor.col_indices(), tensor.crow_indices()
    return _in_rows([p.numpy() for p in parts], tensor.shape)


def _of_jax(value: Any) -> Any:
    """The same of what JAX returns; the entries of its BCOO are in order."""
    if not hasattr(value, "indices"):
        return np.array(value)
    rows, columns = np.array(value.indices).T
    starts = np.searchsorted(rows, np.arange(value.shape[0] + 1))
    return _in_rows([np.array(value.data), columns, starts], value.shape)


def _in_rows(parts: Sequence[Any], shape: Sequence[int]) -> Any:
    return sparse.csr_array(tuple(parts), shape=tuple(shape))


def _tensor(value: Any) -> Any:
    import torch

    array = _native(value)
    if array.flags.writeable and all(s >= 0 for s in array.strides):
        return torch.from_numpy(array)
    flat = np.array(array[tuple(slice(0, 1) if s == 0 else slice(None) for s in array.strides)])
    return torch.from_numpy(flat).expand(array.shape)


def _numbers(value: Any, name: str) -> Any:
    import jax

    if isinstance(value, jax.core.Tracer):
        raise TypeError(
            f"{name}: what symgrad.load gives takes and returns NumPy arrays; no jax.jit, vmap or grad traces it. "
            f"They trace the functions of the printed file, which is its .module."
        )
    return _native(value)


def _native(value: Any) -> Any:
    """An array with its bytes in the order of the machine, which the frameworks ask for."""
    array = np.asarray(value)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


class JaxValues(_Framework):
    """Printed JAX, in 64 bits, under jax.jit: operation by operation, JAX compiles each of them for each shape."""

    language = "jax"
    flushes = True  # subnormal numbers are 0 to XLA on a CPU
    powers = True  # XLA has two compilers of a fused loop: a cube root is a power to one
    reciprocals = True  # a division by what is the same in a row, and by two numbers, one after the other
    traces = True  # real numbers, of which none is looked at

    def tensor(self, value: Any) -> Any:
        """An array as the module takes it."""
        return value

    def __init__(self, program: Program, module: ModuleType) -> None:
        super().__init__(program, module)
        self._compiled: dict[Any, Any] = {}
        self._seeded: dict[Any, Any] = {}  # gradients of ones, by what is compiled

    def _called(self, name: str, *inputs: Any, **options: Any) -> Any:
        import jax

        arrays, moving, fixed, seen = self._prepared(self._beside[name], inputs, options)

        def function(*values: Any) -> Any:
            given = dict(fixed) | dict(zip(moving, values, strict=True))
            return getattr(self.module, name)(*map(given.get, range(len(arrays))), **options)

        with jax.enable_x64(True):
            call = self._compiled.setdefault((name, seen), jax.jit(function))
            return _each(call(*(arrays[k] for k in moving)), _of_jax)

    def _prepared(self, primal: Function, inputs: Sequence[Any], options: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arrays, the places of those that are traced, the others, and what is compiled by itself."""
        arrays = [None if x is None else _numbers(x, primal.name) for x in inputs]
        arrays += [None] * (len(primal.inputs) - len(arrays))
        missing = [n for n, a in zip(primal.inputs, arrays, strict=True) if a is None and not primal.table[n].optional]
        if missing:
            raise TypeError(f"{primal.name}: {missing[0]} is missing")
        real = [primal.table[n].dtype == Dtype.REAL for n in primal.inputs]
        moving = [k for k, a in enumerate(arrays) if real[k] and a is not None]
        # integers are not traced: that they are in range is asked of numbers
        fixed = {k: a for k, a in enumerate(arrays) if a is not None and k not in moving}
        seen = (tuple(moving), *((k, a.dtype, a.shape, a.tobytes()) for k, a in fixed.items()), *options.items())
        return arrays, moving, fixed, seen


class JaxArtefact(JaxValues):
    """The same, with forward and backward."""

    def forward(self, *inputs: Any, **options: Any) -> tuple[Any, Any]:
        import jax

        arrays, moving, fixed, seen = self._prepared(self._primal, inputs, options)

        def function(*values: Any) -> Any:
            given = dict(fixed) | dict(zip(moving, values, strict=True))
            return self._function(*map(given.get, range(len(arrays))), **options)

        def both(values: Any, seeds: Any) -> Any:
            result, pull = jax.vjp(function, *values)
            return result, pull(seeds)

        with jax.enable_x64(True):
            values = [arrays[k] for k in moving]
            call = self._compiled.setdefault(seen, jax.jit(both))
            shapes = seen, tuple((v.shape, v.dtype) for v in values)
            if shapes not in self._seeded:  # a trace takes as long as a call
                self._seeded[shapes] = jax.tree.map(_ones, jax.eval_shape(function, *values))
            result, _ = call(values, self._seeded[shapes])
        outputs = list(result) if isinstance(result, tuple) else [result]
        shown = tuple(np.array(o) for o in outputs)
        saved = arrays, outputs, moving, lambda seeds: call(values, seeds)[1]
        return (shown if isinstance(result, tuple) else shown[0]), saved

    def backward(
        self, saved: Any, grad_output: Any = None, needs_input_grad: Sequence[bool] | None = None
    ) -> tuple[Any, ...]:
        import jax

        arrays, outputs, moving, pull = saved
        seeds = self._seeds(grad_output, outputs)
        needs = needs_input_grad or (True,) * len(arrays)
        found: list[Any] = [None] * len(arrays)
        given = [
            _native(s) if s is not None else np.zeros_like(ones) if len(outputs) > 1 else ones
            for s, ones in zip(seeds, map(_ones, outputs), strict=True)
        ]
        with jax.enable_x64(True):
            gradients = pull(tuple(given) if len(outputs) > 1 else given[0])
        for k, gradient in zip(moving, gradients, strict=True):
            found[k] = np.array(gradient) if needs[k] else None
        return tuple(found)


class PallasArtefact(JaxArtefact):
    """Printed Pallas, whose kernels are interpreted: in blocks of few elements, so that few are several blocks: of one
    element in two calls of four, of some that are masked in the others; and with rows that are long in every other."""

    language = "pallas"
    operations = 300  # in a call at real sizes: of an interpreted kernel each takes some time

    def __init__(self, program: Program, module: ModuleType) -> None:
        super().__init__(program, module)
        self._calls = 0
        self.printed = {n: value for n, value in vars(module).items() if n in ("_BLOCK", "_WIDTH", "_TILE", "_SHORT")}

    def _prepared(self, primal: Function, inputs: Sequence[Any], options: Mapping[str, Any]) -> tuple[Any, ...]:
        *found, seen = super()._prepared(primal, inputs, options)
        self._calls += 1
        few, single, long = all(a is None or a.size <= FEW for a in found[0]), self._calls % 4 < 2, self._calls % 2
        most = (1 if single else 2) if few else 64
        self.within(_BLOCK=(2 if few else 1) * most**2, _WIDTH=most, _TILE=most, _SHORT=0 if long else 2**14)
        return *found, (*seen, single, long)

    def within(self, **sizes: int) -> None:
        """Set how many elements a program has."""
        vars(self.module).update(sizes)

    @property
    def sizes(self) -> Mapping[str, int]:
        """How many it has."""
        return {n: getattr(self.module, n) for n in self.printed}


def _ones(result: Any) -> Any:
    """A gradient of a result, such as JAX takes for one of its dtype."""
    import jax

    real = jax.numpy.issubdtype(result.dtype, jax.numpy.floating)
    return np.ones(result.shape, result.dtype if real else jax.dtypes.float0)
