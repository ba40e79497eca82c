"""What torch asks of a function beside its values and gradients: gradients of gradients, results that are not used,
vmap, autocast, several dtypes, layouts, and devices.

Each is asked once, at small sizes, and compared with the same function called plainly, whose values and gradients the
check has compared with the truth.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

import numpy as np

from ..ir import Function
from ..ops.primitive import primitives
from ..records import replace
from .adjoint import TOLERANCE, second_order_error, slopes
from .cases import Case
from .symmetric import directions, symmetric_inputs
from .text import differentiable, flat, has_backward

CLOSE = 1e-9  # relative, of the largest element: the same operations in another order, in float64
SINGLE = 1e-5  # the same in float32, and far below the rounding of a bfloat16
HALF = 0.05  # of the largest element, in half precision: products of products of numbers about 1
TAME = 1e-3  # the same in float32, of what may be asked for in half precision
LEAST = 1e-3  # of numbers about 1, what may be the rounding of nothing
ROWS = 2  # of what is mapped

Tensor = Any
Fault = tuple[str, str]  # the place, and what is wrong there


class TorchCalls:
    """A printed function of torch, and one call of it."""

    def __init__(self, function: Function, artefact: Any, case: Case, seed: int) -> None:
        import torch
        import torch.utils._python_dispatch
        import torch.utils._pytree

        self.torch: Any = torch
        self.function, self.artefact, self.case = function, artefact, case
        self.rng = np.random.default_rng([seed, 19])
        self.options = dict(case.options)
        self.names = [n for n in function.inputs if case.inputs.get(n) is not None]
        self.named = getattr(artefact.module, getattr(artefact, "called", function.name))
        self.reals = [n for n in differentiable(function) if n in self.names]
        self.pulling = self.reals if has_backward(function) else []  # those whose gradients are asked for
        self.integers = [n for n in self.names if n not in self.reals]
        self.tensors = {n: torch.from_numpy(np.array(case.inputs[n])) for n in self.names}
        self.outputs = [k for k, n in enumerate(function.outputs) if function.table[n].dtype == "real"]
        results = self.called(self.tensors)
        self.seeds = [torch.from_numpy(np.array(self.rng.standard_normal(results[k].shape))) for k in self.outputs]

    def faults(self, compiled: bool) -> Iterator[Fault]:
        """What is wrong, of everything that is asked; of compiled C, what it promises."""
        self.own_dtypes = not compiled
        strict = self._looks_at_numbers()
        asked = [self._alone, self._unset, self._layouts, self._integers, self._promotes, self._autocast]
        asked += [] if compiled else [self._half]
        if not self.pulling and self.reals:
            asked += [self._batched, *([] if self._calls_users() else [self._traced, self._devices])]
        elif not compiled and self.outputs:
            asked += [self._mapped]
            if not self._calls_users():
                asked += [self._traced, self._twice, *([] if strict else [self._devices])]
            # torch 2 does not map what saves for forward mode, too, where its backward is not mapped with it
            pushed = any("jvp" in vars(c) for c in vars(self.artefact.module).values() if isinstance(c, type))
            asked += [] if self._calls_users() and pushed else [self._pushed] if pushed else [self._batched]
        yield from self._faults([self._unused, *asked] if self.pulling else asked)

    def half(self) -> Iterator[Fault]:
        """What is wrong in half precision: each branch of the code has types of its own."""
        yield from self._faults([self._half])

    def second_order(self) -> Iterator[Fault]:
        """What is wrong with gradients of gradients."""
        yield from self._faults([self._twice] if self.outputs else [])

    def elsewhere(self) -> Iterator[Fault]:
        """What is wrong on another device."""
        own = self._calls_users() or self._looks_at_numbers()
        yield from self._faults([] if own or not self.outputs else [self._devices])

    def _calls_users(self) -> bool:
        """Whether the user's own code is called, of which nothing is known."""
        return bool(primitives(*(e.body for e in self.function.statements)))

    def _looks_at_numbers(self) -> bool:
        """Whether numbers outside of the domain are refused."""
        return hasattr(self.artefact.module, "_in_domain")

    def _faults(self, asked: Sequence[Callable[[], Iterator[Fault]]]) -> Iterator[Fault]:
        for ask in asked:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of autocast on devices that are not there
                try:
                    found = [*ask()]
                except Exception as error:  # whatever printed code raises is a finding
                    found = [(self.function.name, f"{ask.__doc__} raises {_told(error)}")]
            yield from found

    # calling

    def called(self, tensors: Mapping[str, Tensor]) -> list[Tensor]:
        """The results, of inputs by name."""
        return flat((self.named(*(tensors.get(n) for n in self.function.inputs), **self.options),))

    def gradients(
        self, tensors: Mapping[str, Tensor], seeds: Sequence[Tensor] | None = None
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The real results and the gradients of each real input; zeros for one that torch gives none."""
        moved = {n: t.detach().requires_grad_() if n in self.pulling else t for n, t in tensors.items()}
        results = self.called(moved)
        results = [results[k] for k in self.outputs]
        return results, self.pulled(results, [moved[n] for n in self.pulling], seeds)

    def pulled(
        self, results: Sequence[Tensor], inputs: Sequence[Tensor], seeds: Sequence[Tensor] | None = None, **how: Any
    ) -> list[Tensor]:
        seeds = self.seeds if seeds is None else seeds
        pairs = [(r, s.to(r.dtype)) for r, s in zip(results, seeds, strict=True) if r.requires_grad]
        if not pairs:
            return [self.torch.zeros_like(x) for x in inputs]
        ends, given = zip(*pairs, strict=True)
        found = self.torch.autograd.grad(ends, inputs, given, allow_unused=True, **how)
        return [self.torch.zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]

    def _differing(
        self, found: Sequence[Tensor], wanted: Sequence[Tensor], names: Sequence[str], said: str, close: float = CLOSE
    ) -> Iterator[Fault]:
        for name, a, b in zip(names, found, wanted, strict=True):
            if a.shape != b.shape or a.dtype != b.dtype:
                yield name, f"is {tuple(a.shape)} of {a.dtype} {said}, not {tuple(b.shape)} of {b.dtype}"
            elif not _close(a, b, close):
                yield name, f"is another {said}"

    @property
    def _results(self) -> list[str]:
        return [self.function.outputs[k] for k in self.outputs]

    @property
    def _gradients(self) -> list[str]:
        return [f"grad_{n}" for n in self.pulling]

    # what is asked

    def _unused(self) -> Iterator[Fault]:
        """backward with a result of which nothing is made"""
        nothing = _nothing(self.torch)
        for used in ((), *((k,) for k in range(len(self.outputs)) if len(self.outputs) > 1)):
            moved = {n: t.detach().requires_grad_() if n in self.reals else t for n, t in self.tensors.items()}
            results = [self.called(moved)[k] for k in self.outputs]
            ends = [r if k in used else nothing(r) for k, r in enumerate(results)]
            found = self.pulled(ends, [moved[n] for n in self.reals])
            seeds = [s if k in used else self.torch.zeros_like(s) for k, s in enumerate(self.seeds)]
            wanted = self.gradients(self.tensors, seeds)[1]
            what = " and ".join(n for k, n in enumerate(self._results) if k not in used)
            yield from self._differing(found, wanted, self._gradients, f"where nothing is made of {what}")

    def _alone(self) -> Iterator[Fault]:
        """a call of which no gradient is asked"""
        wanted = self.gradients(self.tensors)[0]
        with self.torch.no_grad():
            results = self.called(self.tensors)
        found = [results[k] for k in self.outputs]
        yield from self._differing(found, [w.detach() for w in wanted], self._results, "under torch.no_grad()")
        for name, result in zip(self._results, wanted, strict=True):
            if self.pulling and not result.requires_grad:
                yield name, "requires no gradient, though the inputs do"

    def _unset(self) -> Iterator[Fault]:
        """a call where memory that is not set has no numbers"""
        wanted = self.gradients(self.tensors)
        with _unset(self.torch):
            found = self.gradients(self.tensors)
        names = [*self._results, *self._gradients]
        yield from self._differing([*found[0], *found[1]], [*wanted[0], *wanted[1]], names, "in memory that is not set")

    def _layouts(self) -> Iterator[Fault]:
        """a call with transposed arrays, and a grad_output with strides of 0"""
        ones = [self.torch.ones((), dtype=s.dtype).expand(s.shape) for s in self.seeds]
        turned = {n: t.mT.contiguous().mT if t.ndim > 1 else t for n, t in self.tensors.items()}
        wanted = self.gradients(self.tensors, [s.contiguous() for s in ones])
        for tensors, seeds in ((turned, ones), (turned, [_turned(s) for s in ones])):
            found = self.gradients(tensors, seeds)
            names = [*self._results, *self._gradients]
            yield from self._differing([*found[0], *found[1]], [*wanted[0], *wanted[1]], names, "of transposed arrays")

    def _integers(self) -> Iterator[Fault]:
        """a call with integers of another type"""
        whole = {n: self.tensors[n] for n in self.integers if self.tensors[n].dtype != self.torch.bool}
        wanted = self.gradients(self.tensors) if whole else ([], [])
        for kind in (self.torch.int32, self.torch.int8, self.torch.uint8) if whole else ():
            if any((t.to(kind) != t).any() for t in whole.values()):
                continue
            found = self.gradients({**self.tensors, **{n: t.to(kind) for n, t in whole.items()}})
            names = [*self._results, *self._gradients]
            both = [*found[0], *found[1]], [*wanted[0], *wanted[1]]
            yield from self._differing(*both, names, f"with integers of {kind}")

    def _promotes(self) -> Iterator[Fault]:
        """a call with inputs of two dtypes"""
        torch = self.torch
        ends = dict.fromkeys((*self.reals[:1], *self.reals[-1:])) if len(self.reals) > 1 else ()
        for some in [*([n] for n in ends), *([m for m in self.reals if m != n] for n in ends)]:
            mixed = {n: t.float() if n in some else t for n, t in self.tensors.items()}
            same = {n: t.double() if n in some else t for n, t in mixed.items()}
            results, found = self.gradients(mixed)
            others, wanted = self.gradients(same)
            wanted = [g.to(mixed[n].dtype) for n, g in zip(self.pulling, wanted, strict=True)]
            names, said = [*self._results, *self._gradients], f"where {' and '.join(some)} alone is {torch.float32}"
            close = [CLOSE] * len(others) + [SINGLE if n in some else CLOSE for n in self.pulling]
            for a, b, what, near in zip([*results, *found], [*others, *wanted], names, close, strict=True):
                yield from self._differing([a], [b], [what], said, near)

    def _autocast(self) -> Iterator[Fault]:
        """a call under torch.autocast"""
        torch = self.torch
        single = {n: t.float() if n in self.reals else t for n, t in self.tensors.items()}
        wanted = self.gradients(single)
        names = [*self._results, *self._gradients]
        watch = _casting(torch)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            results, grads = self.gradients(single)
        both = [*wanted[0], *wanted[1]]
        close = [SINGLE] * len(both)
        if self.own_dtypes and any(r.dtype == torch.bfloat16 for r in results):  # the type that products have there
            results = [r.float() if r.dtype == torch.bfloat16 else r for r in results]
            rounded = {n: t.bfloat16().float() if n in self.reals else t for n, t in single.items()}
            shifted = [t for some in self.gradients(rounded) for t in some]
            close = [HALF + 2 * _distance(a, b) for a, b in zip(shifted, both, strict=True)]
        elif self.own_dtypes:  # no operator of a library of one's own is on the lists of autocast
            with torch.autocast("cpu", dtype=torch.bfloat16), watch:
                self.called(single)
        for said in watch.said:
            yield self.function.name, f"calls {said} under torch.autocast, which has another type on other devices"
        for a, b, what, near in zip([*results, *grads], both, names, close, strict=True):
            yield from self._differing([a], [b], [what], "under torch.autocast", near)
        # backward alone, which computes again what forward has saved where it is to be differentiated itself
        moved = {n: t.detach().requires_grad_() if n in self.pulling else t for n, t in single.items()}
        results = self.called(moved)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            ends, inputs = [results[k] for k in self.outputs], [moved[n] for n in self.pulling]
            found = self.pulled(ends, inputs, create_graph=self.own_dtypes)
        yield from self._differing(found, wanted[1], self._gradients, "in a backward under torch.autocast", SINGLE)

    def _half(self) -> Iterator[Fault]:
        """a call in half precision"""
        torch = self.torch
        half = {n: t.half() if n in self.reals else t for n, t in self.tensors.items()}
        exact, single = (
            {n: t.to(kind) if n in self.reals else t for n, t in half.items()} for kind in (torch.double, torch.float)
        )
        try:
            values, grads = self.gradients(exact)
        except (ValueError, ArithmeticError):  # rounded, they are outside of the domain
            return
        wanted = [*values, *grads]
        least, most = torch.finfo(torch.half).tiny, torch.finfo(torch.half).max
        largest = [float(t.abs().max()) for t in wanted if t.numel()]
        if not all(least < number < most for number in largest if number):  # 0 is that of what is not read
            return
        found = [t for some in self.gradients(single) for t in some]
        if not all(_close(a, b, TAME) for a, b in zip(found, wanted, strict=True)):
            return
        found = [t for some in self.gradients(half) for t in some]
        names = [*self._results, *self._gradients]
        yield from self._differing(found, [t.half() for t in wanted], names, "in half precision", HALF)

    def _batched(self) -> Iterator[Fault]:
        """torch.vmap of the function and its gradients"""
        torch = self.torch
        sets = [tuple(self.reals), tuple(self.names), (*self.reals[:1],), (*self.reals[-1:],), tuple(self.integers)]
        for some in [s for s in dict.fromkeys(sets) if s]:
            stacked = {n: torch.stack(self._rows(n)) for n in some}
            stacked = {n: t.requires_grad_(n in self.pulling) for n, t in stacked.items()}
            alone = {n: t.detach().requires_grad_(n in self.pulling) for n, t in self.tensors.items()}

            def call(*mapped: Tensor, some: Sequence[str] = some, rest: Any = alone) -> tuple[Tensor, ...]:
                results = self.called({**rest, **dict(zip(some, mapped, strict=True))})
                return tuple(results[k] for k in self.outputs)

            results = torch.func.vmap(call)(*stacked.values())
            inputs = [stacked.get(n, alone.get(n)) for n in self.pulling]
            found = self.pulled(results, inputs, [torch.stack([s] * ROWS) for s in self.seeds])
            each = [self.gradients({**self.tensors, **{n: t[r] for n, t in stacked.items()}}) for r in range(ROWS)]
            if any(torch.equal(first, rows[0]) for first, *rows in zip(*(values for values, _ in each), strict=True)):
                continue  # torch counts a result that is the same in each row once too often
            wanted = [torch.stack(rows) for rows in zip(*(values for values, _ in each), strict=True)]
            for name, rows in zip(self.pulling, zip(*(grads for _, grads in each), strict=True), strict=True):
                wanted.append(torch.stack(rows) if name in stacked else sum(rows))
            said = f"under torch.vmap over {' and '.join(some)}"
            yield from self._differing([*results, *found], wanted, [*self._results, *self._gradients], said)

    def _mapped(self) -> Iterator[Fault]:
        """torch.func.vmap of the gradients that torch.func.vjp gives"""
        torch = self.torch
        sets = [(*self.reals[:1],), (*self.reals[-1:],), tuple(self.reals), tuple(self.names), tuple(self.integers)]
        for some in [s for s in dict.fromkeys(sets) if s]:
            stacked = {n: torch.stack(self._rows(n)) for n in some}

            def pulled(*mapped: Tensor, some: Sequence[str] = some) -> tuple[Tensor, ...]:
                tensors = {**self.tensors, **dict(zip(some, mapped, strict=True))}

                def call(*reals: Tensor) -> tuple[Tensor, ...]:
                    results = self.called({**tensors, **dict(zip(self.reals, reals, strict=True))})
                    return tuple(results[k] for k in self.outputs)

                results, pull = torch.func.vjp(call, *(tensors[n] for n in self.reals))
                return (*results, *pull(tuple(self.seeds)))

            found = torch.func.vmap(pulled)(*stacked.values())
            said = f"of torch.func.vjp under vmap over {' and '.join(some)}"
            for row in range(ROWS):
                values, grads = self.gradients({**self.tensors, **{n: t[row] for n, t in stacked.items()}})
                one = [f[row] for f in found]
                yield from self._differing(one, [*values, *grads], [*self._results, *self._gradients], said)

    def _rows(self, name: str) -> list[Tensor]:
        """An input, and another beside it where the function has a value, too."""
        tensor = self.tensors[name]
        if name in self.reals:
            return [tensor, tensor * 1.01]
        return [tensor, tensor.flip(0) if tensor.ndim else tensor]

    def _devices(self) -> Iterator[Fault]:
        """a call with tensors of the device meta"""
        watch = _devices(self.torch)
        wanted = self.gradients(self.tensors)
        empty = {n: t.to("meta") for n, t in self.tensors.items()}
        with watch:
            found = self.gradients(empty, [s.to("meta") for s in self.seeds])
        for name, a, b in zip(
            [*self._results, *self._gradients], [*found[0], *found[1]], [*wanted[0], *wanted[1]], strict=True
        ):
            if (a.device.type, a.shape, a.dtype) != ("meta", b.shape, b.dtype):
                yield name, f"is on {a.device.type}, {tuple(a.shape)} of {a.dtype}, from inputs of the device meta"
        for said in watch.said:
            yield self.function.name, f"{said}, where the inputs are on another device"

    def _traced(self) -> Iterator[Fault]:
        """a call while torch compiles"""
        if not self.integers:
            return
        watch = _devices(self.torch)
        with mock.patch.object(self.torch.compiler, "is_compiling", lambda: True), watch:
            self.gradients(self.tensors)
        for said in watch.said:
            yield self.function.name, f"{said}, while torch compiles"

    def _pushed(self) -> Iterator[Fault]:
        """torch.func.jvp"""
        torch = self.torch
        steps = directions(self.function, self.reals, self.case.inputs, self.rng)
        ahead = [torch.from_numpy(np.array(steps[n])) for n in self.reals]

        def call(*reals: Tensor) -> tuple[Tensor, ...]:
            results = self.called({**self.tensors, **dict(zip(self.reals, reals, strict=True))})
            return tuple(results[k] for k in self.outputs)

        tangents = torch.func.jvp(call, tuple(self.tensors[n] for n in self.reals), tuple(ahead))[1]
        grads = self.gradients(self.tensors)[1]
        left, right = (
            torch.cat([(a * b).reshape(-1) for a, b in zip(first, second, strict=True)])
            for first, second in ((tangents, self.seeds), (grads, ahead))
        )
        if not abs(left.sum() - right.sum()) <= TOLERANCE * (left.abs().sum() + right.abs().sum() + 1):
            yield "jvp", f"v J t is {left.sum():.3g}, and t J^T v is {right.sum():.3g}"

    def _twice(self) -> Iterator[Fault]:
        """backward of backward"""
        torch, names = self.torch, self.reals
        steps, symmetric = directions(self.function, names, self.case.inputs, self.rng), symmetric_inputs(self.function)
        ahead = [torch.from_numpy(np.array(steps[n])) for n in names]
        weights = [torch.from_numpy(np.array(self.rng.standard_normal(s.shape))) for s in (*ahead, *self.seeds)]
        weights, turns = weights[: len(names)], weights[len(names) :]

        def total(reals: Sequence[Tensor], seeds: Sequence[Tensor], again: bool) -> Tensor:
            results = self.called({**self.tensors, **dict(zip(names, reals, strict=True))})
            grads = self.pulled([results[k] for k in self.outputs], reals, seeds, create_graph=again)
            return sum((g * w).sum() for g, w in zip(grads, weights, strict=True))

        def moved(h: float) -> float:
            reals = [(self.tensors[n] + h * u).detach().requires_grad_() for n, u in zip(names, ahead, strict=True)]
            return float(total(reals, [s + h * u for s, u in zip(self.seeds, turns, strict=True)], False))

        reals = [self.tensors[n].detach().requires_grad_() for n in names]
        seeds = [s.detach().requires_grad_() for s in self.seeds]
        value = total(reals, seeds, True)
        by_difference = slopes(moved)
        if not value.requires_grad:
            if abs(by_difference[0]) > TOLERANCE * (abs(value.item()) + 1):
                yield "J^T v", "is differentiated, and torch sees no graph of it"
            return
        second = torch.autograd.grad(value, [*reals, *seeds], allow_unused=True)
        terms = [
            float((g * u).sum()) if g is not None else 0.0 for g, u in zip(second, [*ahead, *turns], strict=True)
        ]
        if not symmetric:
            yield from second_order_error(by_difference, terms)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def _close(a: Tensor, b: Tensor, close: float) -> bool:
    """Whether two tensors agree up to the rounding of their largest elements; what is no number in both is the same."""
    a, b = (np.asarray(t.detach().double()) for t in (a, b))
    size = _size(b)
    return bool(np.allclose(a, b, rtol=close, atol=close * size, equal_nan=True))


def _distance(a: Tensor, b: Tensor) -> float:
    """How far two tensors are from each other, of the largest element; of what is no number, 0."""
    a, b = (np.asarray(t.detach().double()) for t in (a, b))
    away = np.abs(a - b)
    return float(np.max(away, initial=0.0, where=np.isfinite(away))) / _size(b)


def _size(a: Any) -> float:
    return float(np.max(np.abs(a), initial=LEAST, where=np.isfinite(a)))


def _turned(tensor: Tensor) -> Tensor:
    return tensor.mT.contiguous().mT if tensor.ndim > 1 else tensor


def _nothing(torch: Any) -> Callable[[Tensor], Tensor]:
    """What passes a tensor on, and gives its backward no gradient, as a result that is not used."""

    class Nothing(torch.autograd.Function):  # type: ignore[misc]  # as below
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad_output: Tensor) -> None:
            return None

    return Nothing.apply  # type: ignore[no-any-return]


def _devices(torch: Any) -> Any:
    """A mode that says which operator of torch looks at numbers, or takes arrays of two devices."""

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]  # of Any, as torch may be missing
        def __init__(self) -> None:
            super().__init__()
            self.said: list[str] = []

        def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            leaves = torch.utils._pytree.tree_leaves((args, kwargs))
            devices = {t.device.type for t in leaves if isinstance(t, torch.Tensor) and t.ndim}
            if operator is torch.ops.aten._local_scalar_dense.default:
                self._say("the numbers of a tensor are looked at")
            if len(devices) > 1:
                self._say(f"{operator} takes arrays of two devices")
            return operator(*args, **(kwargs or {}))

        def _say(self, said: str) -> None:
            if said not in self.said:
                self.said.append(said)

    return Watch()


def _casting(torch: Any) -> Any:
    """A mode that says which function of torch makes numbers of a tensor where autocast may choose another type."""

    class Watch(torch.overrides.TorchFunctionMode):  # type: ignore[misc]  # as above
        def __init__(self) -> None:
            super().__init__()
            self.said: list[str] = []

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found = function(*args, **(kwargs or {}))
            made = torch.is_tensor(found) and found.is_floating_point() and not any(found is a for a in args)
            if made and torch.is_autocast_enabled("cpu"):
                self.said = [*self.said, getattr(function, "__name__", str(function))][:1]
            return found

    return Watch()


def _unset(torch: Any) -> Any:
    """A mode in which new memory that nothing is written to is NaN."""

    class Unset(torch.overrides.TorchFunctionMode):  # type: ignore[misc]  # as above
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found = function(*args, **(kwargs or {}))
            if getattr(function, "__name__", "") in ("empty", "new_empty", "empty_like") and found.is_floating_point():
                found.fill_(float("nan"))
            return found

    return Unset()


def torch_faults(function: Function, artefact: Any, case: Case, empty: Case | None, seed: int) -> Iterator[Fault]:
    """What is wrong with a printed function of torch at a case where all of its results are numbers, and on another
    device at one with a size of 0."""
    yield from TorchCalls(function, artefact, case, seed).faults(False)
    if function.optional:
        given = {n: value for n, value in case.inputs.items() if n not in function.optional}
        yield from TorchCalls(function, artefact, replace(case, inputs=given), seed).half()
    if empty is not None:
        yield from TorchCalls(function, artefact, empty, seed).elsewhere()


def torch_c_faults(function: Function, artefact: Any, case: Case, empty: Case | None, seed: int) -> Iterator[Fault]:
    """The same of operators of torch that call compiled C: for these there is no gradient of a gradient."""
    yield from TorchCalls(function, artefact, case, seed).faults(True)
