"""What is asked of printed Pallas beside what JAX asks of every function: its kernels lower for TPUs and GPUs, half
precision is float32 rounded once, a map computes the same, and the gradient of a gradient is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..ir import Function
from .cases import Case
from .jax_calls import ROWS, Fault, JaxCalls
from .triton_calls import HALVES, ROUNDED

PLATFORMS = {"tpu": "tpu", "gpu": "cuda"}  # in the words of the file, and of jax.export


class PallasCalls(JaxCalls):
    """A printed function of Pallas, and one call of it."""

    def asked(self) -> list[Callable[[], Iterator[Fault]]]:
        return [*(ask for ask in super().asked() if ask != self._twice), self._same, self._halves, self._lowered]

    def _as(self, dtype: Any) -> dict[str, Any]:
        given = {n: self.jax.numpy.asarray(a) for n, a in self.arrays.items()}
        return {n: a.astype(dtype) if n in self.reals else a for n, a in given.items()}

    def _results(self, arrays: Mapping[str, Any]) -> list[Any]:
        results, grads = self.pulled(arrays)
        return [*results, *(g for n, g in zip(arrays, grads, strict=True) if n in self.reals)]

    def _same(self) -> Iterator[Fault]:
        """jax.vmap of the kernels"""
        alone = self._results(self.arrays)
        moved = {n: np.stack([a] * ROWS) if n in self.reals else a for n, a in self.arrays.items()}
        axes = [0 if n in self.reals else None for n in moved]
        mapped = self.jax.vmap(lambda *some: self._results(dict(zip(moved, some, strict=True))), in_axes=axes)
        for a, b in zip(mapped(*moved.values()), alone, strict=True):
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
                if b.size and not np.abs(own - other).max() <= ROUNDED * unit * (1 + np.abs(other).max()):
                    yield self.function.name, f"is another, of {kind}"

    def _lowered(self) -> Iterator[Fault]:
        """lowering of kernels"""
        module = self.artefact.module
        here, sizes = module._platform, self.artefact.sizes
        self.artefact.within(**self.artefact.printed)
        try:
            with self.jax.enable_x64(False):
                for platform, lowered in PLATFORMS.items():
                    module._platform = lambda platform=platform: platform
                    for short in (module._SHORT, 0) if hasattr(module, "_SHORT") else (0,):
                        self.artefact.within(_SHORT=short)
                        given = self._as("float32")
                        try:
                            traced = self.jax.jit(lambda *a: self._results(dict(zip(given, a, strict=True))))
                            traced.trace(*given.values()).lower(lowering_platforms=(lowered,))
                        except Exception as error:
                            said = str(error).splitlines()[0] if str(error) else ""
                            yield self.function.name, f"lowered for a {platform.upper()}, {type(error).__name__}: {said}"
                            break
        finally:
            module._platform = here
            self.artefact.within(**sizes)


def pallas_faults(function: Function, artefact: Any, case: Case, empty: Case | None, seed: int) -> Iterator[Fault]:
    """What is wrong with a printed function of Pallas at a case where all of its results are numbers."""
    yield from PallasCalls(function, artefact, case, seed).faults()
