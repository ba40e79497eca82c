"""The points at which a function is checked: sizes, inputs, options and grad_output, always the same for one seed.

A function of a pack alone (`x[...]`, `p[..., 2]`) is checked at many points in one call; any other at a few small
sizes. Points where the declaration itself has no real, finite value are dropped and counted.
"""

from __future__ import annotations

from ..records import dataclass
from .cases import Case, Sampler
from .draws import is_pointwise
from .pointwise import Pointwise
from .reference import Declaration
from .tensors import Tensors


@dataclass(frozen=True, slots=True)
class Sample:
    """The cases of a check, and the number of points that were dropped because the function has no value there."""

    cases: tuple[Case, ...]
    discarded: int


def sample(declaration: Declaration, full: bool = False, seed: int = 0) -> Sample:
    """Return the points at which `declaration` is checked."""
    kind = Pointwise if is_pointwise(declaration.function) else Tensors
    sampler: Sampler = kind(declaration, full, seed)
    kept = [c for c in sampler.cases() if c is not None]
    return Sample(tuple(kept), sampler.discarded)
