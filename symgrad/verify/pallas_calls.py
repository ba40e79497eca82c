"""What is asked of printed Pallas beside what JAX asks of every function: its kernels lower for TPUs and GPUs, half
precision is float32 rounded once, a map computes the same, and the gradient of a gradient is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from ..ir import Function
from .cases import Case
from .jax_calls import QUICKLY, ROWS, Fault, JaxCalls
from .triton_calls import HALVES, ROUNDED

PLATFORMS = {"tpu": "tpu", "gpu": "cuda"}  # in the words of the file, and of jax.export


TPU = "TPU v5e"


class PallasCalls(JaxCalls):
    """A printed function of Pallas, and one call of it."""

    def asked(self) -> list[Callable[[], Iterator[Fault]]]:
        return [*(ask for ask in super().asked() if ask != self._twice), self._same, self._halves, self._lowered]

    def _as(self, dtype: Any) -> dict[str, Any]:
        given = {n: self.jax.numpy.asarray(a) for n, a in self.arrays.items()}
        return {n: a.astype(dtype) if n in self.reals else a for n, a in given.items()}

    def _both(self, *arrays: Any) -> list[Any]:
        """The results and gradients that are real numbers."""
        results, grads = self._pulled(*arrays)
        return [*results, *(g for n, g in zip(self.arrays, grads, strict=True) if n in self.reals)]

    def _results(self, arrays: Mapping[str, Any]) -> list[Any]:
        found: list[Any] = self.jax.jit(self._both, compiler_options=QUICKLY)(*arrays.values())
        return found

    def _same(self) -> Iterator[Fault]:
        """jax.vmap of the kernels"""
        moved = {n: np.stack([a] * ROWS) if n in self.reals else a for n, a in self.arrays.items()}
        mapped = self.jax.vmap(self._both, in_axes=[0 if n in self.reals else None for n in moved])
        found = self.jax.jit(mapped, compiler_options=QUICKLY)(*moved.values())
        for a, b in zip(found, self._results(self.arrays), strict=True):
            if not np.allclose(a, np.stack([b] * ROWS), rtol=1e-12, atol=1e-300, equal_nan=True):
                yield self.function.name, "is another under jax.vmap"

    def _halves(self) -> Iterator[Fault]:
        """half precision"""
        for kind, unit in HALVES.items():
            given = self._as(kind)
            wanted = self._results({n: a.astype("float32") if n in self.reals else a for n, a in given.items()})
            for a, b in zip(self._results(given), wanted, strict=True):
                if a.dtype != kind:
                    yield self.function.name, f"in {kind}, is of {a.dtype}"
                own, other = np.asarray(a, float), np.asarray(b.astype(kind), float)
                size = 1 + np.abs(other[np.isfinite(other)]).max(initial=0)
                if not np.isclose(own, other, rtol=0, atol=ROUNDED * unit * size, equal_nan=True).all():
                    yield self.function.name, f"is another, of {kind}"

    def _lowered(self) -> Iterator[Fault]:
        """lowering of kernels"""
        here, sizes = self.artefact.module._platform, self.artefact.sizes
        try:
            for platform in PLATFORMS:
                self.artefact.module._platform = lambda platform=platform: platform
                with self.jax.enable_x64(False), self._device(platform):
                    yield from self._lowered_for(platform)
        finally:
            self.artefact.module._platform = here
            self.artefact.within(**sizes)

    def _device(self, platform: str) -> Any:
        """What stands for a device that is not there: Mosaic asks which TPU it is."""
        sharding = self.jax.sharding
        if platform != "tpu":
            return nullcontext()
        device = sharding.AbstractDevice(device_kind=TPU, num_cores=1, platform=platform)
        return sharding.use_abstract_mesh(sharding.AbstractMesh((1,), ("x",), abstract_device=device))

    def _lowered_for(self, platform: str) -> Iterator[Fault]:
        given = self._as("float32").values()
        for short in dict.fromkeys((self.artefact.printed.get("_SHORT", 0), 0)):
            self.artefact.within(**{**self.artefact.printed, "_SHORT": short})
            try:
                traced = self.jax.jit(partial(self._both)).trace(*given)  # another function to jit: none is kept
                traced.lower(lowering_platforms=(PLATFORMS[platform],))
            except Exception as error:
                said = f"{type(error).__name__}: {error}".splitlines()[0]
                yield self.function.name, f"lowered for a {platform.upper()}, raises {said}"
                return


def pallas_faults(function: Function, artefact: Any, case: Case, empty: Case | None, seed: int) -> Iterator[Fault]:
    """What is wrong with a printed function of Pallas at a case where all of its results are numbers."""
    yield from PallasCalls(function, artefact, case, seed).faults()
