"""What checks of one function have in common, whatever language it is printed in: the points, and what is true there.

A check in a process of its own tells the caller, for the next one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from ..ir import Function
from ..records import dataclass, replace
from .cases import Case
from .origin import Origin
from .sampling import Sample
from .text import Array, Values
from .truth import Truth

MOST = 256  # functions that are remembered: a point takes some kilobytes


@dataclass(frozen=True, slots=True)
class Fact:
    """What is known of a point: the truth, how sensitive each result is, and what the witnesses disagree about."""

    truth: Truth
    condition: Mapping[str, Array]
    disagreements: tuple[tuple[str, str, Case], ...]


@dataclass
class Known:
    """The sample of a function, None before it is drawn, and the facts of its cases."""

    sample: Sample | None = None
    facts: dict[object, Fact] = field(default_factory=dict)

    def __getstate__(self) -> Any:
        sample = self.sample
        cases = [_packed(c) for c in sample.cases] if sample else ()
        return cases, sample.discarded if sample else None, self.facts

    def __setstate__(self, state: Any) -> None:
        cases, discarded, self.facts = state
        self.sample = None if discarded is None else Sample(tuple(_unpacked(c) for c in cases), discarded)


_FUNCTIONS: OrderedDict[object, Known] = OrderedDict()


def known_of(function: Function, origin: Origin | None, full: bool, seed: int) -> Known:
    """What earlier checks found of a function, to be added to.

    origin  what it is derived of, which is a witness then
    """
    key = (function, tuple(repr(o.default) for o in function.options), origin, full, seed)  # 1 and 1.0 are equal
    found = _FUNCTIONS.setdefault(key, Known())
    _FUNCTIONS.move_to_end(key)
    if len(_FUNCTIONS) > MOST:
        _FUNCTIONS.popitem(last=False)
    return found


def forget() -> None:
    """As if nothing had been checked."""
    _FUNCTIONS.clear()


def same_as(case: Case) -> object:
    """What is equal for cases of which the same is known."""
    arrays = (*sorted(case.inputs.items()), *sorted(case.seeds.items()))
    told = tuple((n, None if a is None else (np.shape(a), np.asarray(a).tobytes())) for n, a in arrays)
    return told, repr(sorted(case.options.items())), case.count, case.packed, case.often


# a broadcast view keeps its strides of 0


@dataclass(frozen=True, slots=True)
class _View:
    base: Array
    shape: tuple[int, ...]


def _packed(case: Case) -> Case:
    def put(array: Any) -> Any:
        if not isinstance(array, np.ndarray) or 0 not in array.strides:
            return array
        return _View(array[tuple(slice(0, 1) if s == 0 else slice(None) for s in array.strides)], array.shape)

    return _mapped(case, put) if case.strided else case


def _unpacked(case: Case) -> Case:
    return _mapped(case, lambda a: np.broadcast_to(a.base, a.shape) if isinstance(a, _View) else a)


def _mapped(case: Case, put: Any) -> Case:
    def over(values: Values) -> Values:
        return {name: put(a) for name, a in values.items()}

    return replace(case, inputs=over(case.inputs), seeds=over(case.seeds))
