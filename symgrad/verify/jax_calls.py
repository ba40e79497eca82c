"""What JAX asks of a function beside its values and gradients: gradients of gradients, vmap, traced integers, options
that are static, and several dtypes.

JAX transforms a function faithfully or not at all: what is asked is traced, by shapes alone, and compiled only once,
for gradients of gradients, where a graph that is cut gives another number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..ir import Function
from ..ops.primitive import primitives
from .adjoint import second_order_error, slopes
from .cases import Case
from .symmetric import directions, symmetric_inputs
from .text import differentiable, flat, has_backward

ROWS = 2  # of what is mapped
QUICKLY = {"xla_backend_optimization_level": 0}  # what is called once is not worth the time

Fault = tuple[str, str]  # the place, and what is wrong there
Shapes = Mapping[str, Any]


class JaxCalls:
    """A printed function of JAX, and one call of it."""

    def __init__(self, function: Function, artefact: Any, case: Case, seed: int) -> None:
        import jax

        self.jax, self.function, self.artefact, self.case = jax, function, artefact, case
        self.rng = np.random.default_rng([seed, 19])
        self.named = getattr(artefact.module, getattr(artefact, "called", function.name))
        self.names = [n for n in function.inputs if case.inputs.get(n) is not None]
        self.reals = [n for n in differentiable(function) if n in self.names]
        self.integers = [n for n in self.names if n not in self.reals]
        self.arrays = {n: np.asarray(case.inputs[n]) for n in self.names}
        self.outputs = [k for k, n in enumerate(function.outputs) if function.table[n].dtype == "real"]

    def faults(self) -> Iterator[Fault]:
        """What is wrong, of everything that is asked."""
        for ask in self.asked():
            try:
                with self.jax.enable_x64(True):
                    found = [*ask()]
            except Exception as error:  # whatever printed code raises is a finding
                said = str(error).splitlines()[0] if str(error) else ""
                found = [(self.function.name, f"{ask.__doc__} raises {type(error).__name__}: {said}")]
            yield from found

    def asked(self) -> list[Callable[[], Iterator[Fault]]]:
        """What is asked, one after the other."""
        both = [self._traced, self._twice] if has_backward(self.function) else []
        return [self._mapped, self._static, self._promotes, self._lists, *both]

    def called(self, arrays: Mapping[str, Any]) -> list[Any]:
        """The results, of inputs by name."""
        return flat((self.named(*(arrays.get(n) for n in self.function.inputs), **self.case.options),))

    def real(self, arrays: Mapping[str, Any]) -> tuple[Any, ...]:
        """The results that are real numbers."""
        results = self.called(arrays)
        return tuple(results[k] for k in self.outputs)

    def pulled(self, arrays: Mapping[str, Any]) -> tuple[tuple[Any, ...], list[Any]]:
        """The real results, and a gradient of each input for a grad_output of ones; of integers, as JAX has it; of what
        is derived, the values alone."""
        if not has_backward(self.function):
            return self.real(arrays), [self.jax.numpy.asarray(a) for a in arrays.values()]
        results, pull = self.jax.vjp(lambda *some: self.real(dict(zip(arrays, some, strict=True))), *arrays.values())
        return results, list(pull(tuple(self.jax.numpy.ones_like(r) for r in results)))

    def _pulled(self, *arrays: Any) -> Any:
        return self.pulled(dict(zip(self.arrays, arrays, strict=True)))

    def shaped(self, call: Callable[..., Any], arrays: Mapping[str, Any]) -> Any:
        """The shapes and dtypes of what `call` makes of arrays by name, without computing it."""
        return self.jax.eval_shape(lambda *some: call(dict(zip(arrays, some, strict=True))), *arrays.values())

    # what is asked

    def _traced(self) -> Iterator[Fault]:
        """jax.vjp by all inputs, integers included,"""
        _, grads = self.shaped(self.pulled, self.arrays)
        for name, grad in zip(self.arrays, grads, strict=True):
            dtype = self.arrays[name].dtype if name in self.reals else self.jax.dtypes.float0
            if (grad.shape, grad.dtype) != (self.arrays[name].shape, dtype):
                yield f"grad_{name}", f"is {grad.shape} of {grad.dtype}, where all inputs are traced, not of {dtype}"

    def _mapped(self) -> Iterator[Fault]:
        """jax.vmap of the function and its gradients"""
        alone = self.jax.tree.leaves(self.shaped(self.pulled, self.arrays))
        for some in dict.fromkeys([tuple(self.reals[:1]), tuple(self.names), tuple(self.integers)]):
            if not some:
                continue
            stacked = [np.stack([a] * ROWS) if n in some else a for n, a in self.arrays.items()]
            mapped = self.jax.vmap(self._pulled, in_axes=[0 if n in some else None for n in self.arrays])
            found = self.jax.tree.leaves(self.jax.eval_shape(mapped, *stacked))
            for a, b in zip(found, alone, strict=True):
                if a.shape != (ROWS, *b.shape):
                    yield self.function.name, f"has a result of shape {a.shape} under jax.vmap of {b.shape}"

    def _static(self) -> Iterator[Fault]:
        """jax.jit with the options in static_argnames"""
        if self.case.options:
            given = [self.arrays.get(n) for n in self.function.inputs]
            self.jax.jit(self.named, static_argnames=tuple(self.case.options)).trace(*given, **self.case.options)
        yield from ()

    def _lists(self) -> Iterator[Fault]:
        """a call with lists of numbers"""
        given = {n: a.tolist() if a.size else a for n, a in self.arrays.items()}
        found = self.jax.eval_shape(lambda: self.called(given))
        wanted = self.shaped(self.called, self.arrays)
        for name, a, b in zip(self.function.outputs, found, wanted, strict=True):
            if a.shape != b.shape:
                yield name, f"is {a.shape} where the inputs are lists of numbers, not {b.shape}"

    def _promotes(self) -> Iterator[Fault]:
        """a call with inputs of two dtypes"""
        for name in dict.fromkeys((*self.reals[:1], *self.reals[-1:])) if len(self.reals) > 1 else ():
            mixed = {n: a.astype("float32") if n == name else a for n, a in self.arrays.items()}
            results, grads = self.shaped(self.pulled, mixed)
            for k, result in zip(self.outputs, results, strict=True):
                if result.dtype != np.float64:
                    yield self.function.outputs[k], f"is {result.dtype} where {name} alone is float32"
            for n, grad in zip(mixed, grads, strict=True):
                if n in self.reals and grad.dtype != mixed[n].dtype:
                    yield f"grad_{n}", f"is {grad.dtype} for an input of {mixed[n].dtype}"

    def _twice(self) -> Iterator[Fault]:
        """a gradient of the gradient"""
        users = primitives(*(e.body for e in self.function.statements))  # of which no second derivative may be declared
        if users or not self.reals or symmetric_inputs(self.function):
            return
        steps = directions(self.function, self.reals, self.case.inputs, self.rng)
        fixed = {n: self.arrays[n] for n in self.integers}
        shapes = [np.shape(r) for r in self.shaped(self.real, self.arrays)]
        seeds = [np.asarray(self.rng.standard_normal(s)) for s in shapes]
        turns = [np.asarray(self.rng.standard_normal(s)) for s in shapes]
        weights = [np.asarray(self.rng.standard_normal(self.arrays[n].shape)) for n in self.reals]

        def total(reals: Sequence[Any], seeds: Sequence[Any]) -> Any:
            def call(*some: Any) -> tuple[Any, ...]:
                return self.real({**fixed, **dict(zip(self.reals, some, strict=True))})

            grads = self.jax.vjp(call, *reals)[1](tuple(seeds))
            return sum((g * w).sum() for g, w in zip(grads, weights, strict=True))

        def moved(h: float) -> float:
            given = {n: a + h * steps[n] if n in steps else a for n, a in self.arrays.items()}
            _, saved = self.artefact.forward(*(given.get(n) for n in self.function.inputs), **self.case.options)
            own = [s + h * u for s, u in zip(seeds, turns, strict=True)]
            whole: list[Any] = [None] * len(self.function.outputs)
            for k, seed in zip(self.outputs, own, strict=True):
                whole[k] = seed
            grads = self.artefact.backward(saved, tuple(whole) if len(whole) > 1 else whole[0])
            found = dict(zip(self.function.inputs, grads, strict=True))
            return sum(float(np.sum(found[n] * w)) for n, w in zip(self.reals, weights, strict=True))

        reals = [self.arrays[n] for n in self.reals]
        second = self.jax.jit(self.jax.grad(total, argnums=(0, 1)), compiler_options=QUICKLY)(reals, seeds)
        ahead = [*(steps[n] for n in self.reals), *turns]
        terms = [float(np.sum(np.asarray(g) * u)) for g, u in zip([*second[0], *second[1]], ahead, strict=True)]
        yield from second_order_error(slopes(moved), terms)


def jax_faults(function: Function, artefact: Any, case: Case, empty: Case | None, seed: int) -> Iterator[Fault]:
    """What is wrong with a printed function of JAX at a case where all of its results are numbers."""
    yield from JaxCalls(function, artefact, case, seed).faults()
