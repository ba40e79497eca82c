"""What a framework does with a function beside calling it: transforms, other types, other devices.

Asked once, of printed torch and JAX, where the check of values and gradients has found nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..ir import Function, bind
from ..records import replace
from .adjoint import KINDS, Artefact, draws_at
from .cases import Case
from .jax_calls import jax_faults
from .pallas_calls import pallas_faults
from .torch_calls import torch_c_faults, torch_faults
from .triton_calls import triton_faults

PACK = (2, 3)  # points: what takes its axes for one is seen
FAULTS: Mapping[str, Callable[[Function, Any, Case, Case | None, int], Iterator[tuple[str, str]]]] = {
    "torch": torch_faults,
    "torch_c": torch_c_faults,
    "jax": jax_faults,
    "triton": triton_faults,
    "pallas": pallas_faults,
}


def transformed(
    function: Function, artefact: Artefact, to: str, case: Case, empty: Case | None, seed: int
) -> Iterator[tuple[str, str]]:
    """What is wrong: (place, in words).

    case   a correct call, with every input
    empty  one with a size of 0, if there is any
    """
    if to in FAULTS:
        yield from FAULTS[to](function, artefact, case, empty, seed)


def example(
    function: Function, cases: Sequence[Case], seed: int, artefact: Artefact, compiled: bool = False
) -> Case | None:
    """A call with every input of which all results are numbers; at the sizes of the first case.

    compiled  with its pack and integers too: the code is compiled for them
    """
    if not cases:
        return None
    first = cases[0]
    sizes = bind(function, first.inputs) | ({} if compiled else dict.fromkeys(function.packs, PACK))
    whole = [n for n in function.inputs if function.table[n].dtype != "real"] if compiled else []
    with np.errstate(all="ignore"):
        for case in draws_at(function, np.random.default_rng([seed, 17]), sizes, first.options, KINDS):
            inputs = {**case.inputs, **{n: first.inputs[n] for n in whole}}
            out, _ = artefact.forward(*inputs.values(), **case.options)
            results = out if len(function.outputs) > 1 else (out,)
            if all(np.isfinite(r).all() for r in results):
                return replace(case, inputs=inputs)
    return None
