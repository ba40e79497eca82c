"""What was printed for torch and JAX, called with NumPy arrays: the same two calls as the printed NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..ir import Dtype, Function


class _Framework:
    """`forward` and `backward` on NumPy arrays; every other name is that of the printed module, for its own tensors."""

    threads = True  # the framework has threads of its own: a process that has used it must not be copied

    def __init__(self, primal: Function, module: ModuleType) -> None:
        self.module = module
        self._primal = primal

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

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
        if grad_output is None and np.ndim(outputs[0]):
            raise ValueError(f"{self._primal.name}: grad can be implicitly created only for scalar outputs")
        return [grad_output]


class TorchArtefact(_Framework):
    """Printed torch."""

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
        return (arrays if isinstance(result, tuple) else arrays[0]), (tensors, outputs)

    def backward(
        self, saved: Any, grad_output: Any = None, needs_input_grad: Sequence[bool] | None = None
    ) -> tuple[Any, ...]:
        import torch

        tensors, outputs = saved
        seeds = self._seeds(grad_output, outputs)
        needs = needs_input_grad or (True,) * len(tensors)
        wanted = [k for k, t in enumerate(tensors) if t is not None and t.requires_grad and needs[k]]
        given = [None if s is None else _tensor(s) for s in seeds]
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


def _tensor(value: Any) -> Any:
    import torch

    array = np.asarray(value)
    if array.flags.writeable and all(s >= 0 for s in array.strides):
        return torch.from_numpy(array)
    flat = np.array(array[tuple(slice(0, 1) if s == 0 else slice(None) for s in array.strides)])
    return torch.from_numpy(flat).expand(array.shape)


class JaxArtefact(_Framework):
    """Printed JAX, in 64 bits."""

    def forward(self, *inputs: Any, **options: Any) -> tuple[Any, Any]:
        import jax

        with jax.enable_x64(True):
            arrays = [None if x is None else jax.numpy.asarray(np.asarray(x)) for x in inputs]
            arrays += [None] * (len(self._primal.inputs) - len(arrays))
            moving = [k for k, n in enumerate(self._primal.inputs) if self._is_real(n) and arrays[k] is not None]

            def function(*values: Any) -> Any:
                filled = list(arrays)
                for k, value in zip(moving, values, strict=True):
                    filled[k] = value
                return self._function(*filled, **options)

            result, pull = jax.vjp(function, *(arrays[k] for k in moving))
        outputs = list(result) if isinstance(result, tuple) else [result]
        shown = tuple(np.array(o) for o in outputs)
        return (shown if isinstance(result, tuple) else shown[0]), (arrays, outputs, moving, pull)

    def backward(
        self, saved: Any, grad_output: Any = None, needs_input_grad: Sequence[bool] | None = None
    ) -> tuple[Any, ...]:
        import jax

        arrays, outputs, moving, pull = saved
        seeds = self._seeds(grad_output, outputs)
        missing = 0.0 if len(outputs) > 1 else 1.0
        needs = needs_input_grad or (True,) * len(arrays)
        found: list[Any] = [None] * len(arrays)
        with jax.enable_x64(True):
            given = [
                jax.numpy.full(o.shape, missing, o.dtype) if s is None else jax.numpy.asarray(np.asarray(s))
                for s, o in zip(seeds, outputs, strict=True)
            ]
            gradients = pull(tuple(given) if len(outputs) > 1 else given[0])
            for k, gradient in zip(moving, gradients, strict=True):
                found[k] = np.array(gradient) if needs[k] else None
        return tuple(found)
