"""What torch and GPUs do with a printed file for triton, beside calling it: its operators are registered as they must
be, half precision is float32 rounded once, gradients have the gradients that differences tell, and kernels compile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

from ..ir import Function
from ..records import replace
from .cases import Case
from .torch_calls import Tensor, TorchCalls

TARGETS = ("sm_80", "sm_90", "gfx942")  # architectures of GPUs: A100, H100, MI300
HERE = "symgrad.verify.triton_calls"
HALVES = {"float16": 2.0**-10, "bfloat16": 2.0**-7}  # a unit in the last place
ROUNDED = 1  # units: the interpreter cuts bfloat16; and products are of rounded operands, as backward is of an output
Fault = tuple[str, str]  # the place, and what is wrong there


def triton_faults(function: Function, artefact: Any, case: Case, empty: Case | None, seed: int) -> Iterator[Fault]:
    """What is wrong at a case where all of its results are numbers."""
    yield from _asked("operators", function, artefact, case, seed)
    yield from second_order_faults(function, artefact, case, empty, seed)
    yield from artefact.compiled(TARGETS)


def second_order_faults(
    function: Function, artefact: Any, case: Case, empty: Case | None, seed: int
) -> Iterator[Fault]:
    """What is wrong with gradients of gradients, against differences of what kernels give."""
    yield from _asked("second_order", function, artefact, case, seed)


def _asked(what: str, function: Function, artefact: Any, case: Case, seed: int) -> Iterator[Fault]:
    sent = replace(function, python=None, symbols=(), derived=None)  # to another process
    yield from artefact.asked(HERE, "faults", sent, case, seed, what)


def faults(artefact: Any, function: Function, case: Case, seed: int, what: str) -> list[Fault]:
    """What a method of `TritonCalls` finds, asked where kernels are interpreted."""
    return [*getattr(TritonCalls(function, artefact, case, seed), what)()]


class TritonCalls(TorchCalls):
    """A printed function of triton, and one call of it."""

    def operators(self) -> Iterator[Fault]:
        """What is wrong with the operators, and with half precision."""
        asked = [self._unused, self._layouts, self._integers, self._promotes, self._autocast, self._halves]
        yield from self._faults([self._registered, *asked, self._compiled])

    def _registered(self) -> Iterator[Fault]:
        """an operator"""
        module, backward = self.artefact.module, self.artefact.module._backward
        given = {n: t.detach().requires_grad_() if n in self.reals else t for n, t in self.tensors.items()}
        passed: list[Any] = []

        def watched(*some: Any) -> Any:
            passed.extend(some)
            return backward(*some)

        with mock.patch.object(module, "_backward", watched):
            self.gradients(self.tensors)
        real = [hasattr(v, "is_floating_point") and v.is_floating_point() for v in passed]
        passed = [v.detach().clone().requires_grad_() if r else v for v, r in zip(passed, real, strict=True)]
        own = [*(given.get(n) for n in self.function.inputs), *self.options.values()]
        for operator, some, said in ((module._forward, own, ""), (backward, passed, "backward of ")):
            try:
                self.torch.library.opcheck(operator, tuple(some))
            except Exception as error:
                what = f"is no operator as torch asks for: {type(error).__name__}: {error}"
                yield f"{said}{self.function.name}", what

    def _as(self, dtype: Any) -> dict[str, Tensor]:
        return {n: t.to(dtype) if n in self.reals else t for n, t in self.tensors.items()}

    def _both(self, tensors: Mapping[str, Tensor]) -> list[Tensor]:
        results, grads = self.gradients(tensors)
        return [*results, *grads]

    def _autocast(self) -> Iterator[Fault]:
        """a call under torch.autocast: all is computed in float32, which elementwise functions may leave in the type of
        inputs, and products of matrices are those of rounded inputs; it"""
        torch = self.torch
        single, half = self._as(torch.float32), self._as(torch.bfloat16)
        rounded = {n: t.float() if n in self.reals else t for n, t in half.items()}
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found, of_rounded, low = (self._both(some) for some in (single, rounded, half))
        wide = found[0].dtype == torch.float32
        same = [torch.equal(a, b.to(a.dtype)) for a, b in zip(found, self._both(single if wide else half), strict=True)]
        same += [torch.equal(low[0], of_rounded[0])] if low[0].dtype == torch.float32 else []
        if not all(same) or low[-1].dtype != torch.bfloat16:
            yield self.function.name, "is another under torch.autocast"

    def _halves(self) -> Iterator[Fault]:
        """a call in half precision"""
        for kind, unit in HALVES.items():
            half = self._as(getattr(self.torch, kind))
            single = {n: t.float() if n in self.reals else t for n, t in half.items()}  # of what is rounded already
            yield from self._near(self._both(half), self._both(single), getattr(self.torch, kind), unit, "")

    def _compiled(self) -> Iterator[Fault]:
        """a call that torch compiles"""
        plain, single = self.named, self._as(self.torch.float32)
        wanted = self._both(single)
        try:
            self.named = self.torch.compile(plain, fullgraph=True, backend="aot_eager")
            yield from self._near(self._both(single), wanted, self.torch.float32, 0.0, "compiled, ")
        finally:
            self.named = plain
            self.torch._dynamo.reset()

    def _near(
        self, found: Sequence[Tensor], wanted: Sequence[Tensor], dtype: Any, unit: float, said: str
    ) -> Iterator[Fault]:
        """What differs from what is wanted, rounded once to the type."""
        for name, a, b in zip([*self._results, *self._gradients], found, wanted, strict=True):
            near = b.to(dtype).double()
            most = ROUNDED * unit * (1 + near.abs().max()) if b.numel() else 0
            if a.dtype != dtype or b.numel() and not (a.double() - near).abs().max() <= most:
                yield name, f"is another, {said}of {dtype}"
