"""The inputs with which an explanation is worked out: what the user gives, and simple numbers for the rest."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any

from ..errors import TargetError
from ..expr import Apply, refs
from ..ir import Dtype, Function, bind, extent_of, show_shape
from ..later import Later, mp, np

_sampling: Any = Later("symgrad.verify.sampling")
_sizes: Any = Later("symgrad.verify.sizes")
_draws: Any = Later("symgrad.verify.draws")
_symmetric: Any = Later("symgrad.verify.symmetric")

ONE, TWO, SEVERAL = ((3,),), ((2, 3),), ((2,),)  # small sizes of one, two and several axes: such a J can be read
LARGER = ((2, 3, 4), (3, 4, 5, 6, 7), (1, 2, 3))  # where these do not fit
TRIED = 400  # assignments of sizes
NICE = (1.0, 2.0, 3.0, -1.0, 0.5, -2.0, 1.5, 4.0)  # what inputs are made of, one after the other
SHORT = 6  # elements of an array that are counted up
COSTLY = 30_000  # operations of one evaluation, from which on the oracle is not asked
WAYS = ((0.0, 1.0), (0.25, 1.0), (0.0, 0.125))  # to shift and scale these; layers upon layers need the small ones
BITS = 160  # of what the oracle computes here
REPEATED = 60  # letters of a value that a message repeats
KINDS = {Dtype.REAL: "float64", Dtype.INT: "int64", Dtype.BOOL: "bool"}

Array = Any
At = Mapping[str, Any]


def read_point(text: str) -> dict[str, Any]:
    """`x=2,y=[1,2,3]`: numbers and lists by name, null for what is absent. Raises TargetError for anything else."""
    decoder, found, here = json.JSONDecoder(), dict[str, Any](), 0
    while here < len(text):
        name, equals, _ = text[here:].partition("=")
        start = here + len(name) + 1
        start += len(text[start:]) - len(text[start:].lstrip())
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value, end = None, here
        rest = text[end:].lstrip()
        if not equals or not name.strip().isidentifier() or end == here or rest[:1] not in ("", ","):
            behind = f" behind {text[:here]!r}" if here else ""
            raise TargetError(
                f"the point {text!r} cannot be read{behind}. It is a list of names with numbers, as in "
                f"x=2,y=-0.5 or x=[1,2,3],w=[[1,0],[0,1]]."
            )
        found[name.strip()] = value
        here = len(text) - len(rest) + 1
    return found


def options_at(function: Function, at: At) -> dict[str, Any]:
    """The options at a point."""
    found = {}
    for o in function.options:
        value = at.get(o.name, o.default)
        whole = o.dtype != Dtype.INT or isinstance(value, int)
        if o.name in at and not (whole and isinstance(value, int | float)):
            raise TargetError(
                f"{function.name}: {o.name} is a {'whole ' * (not whole)}number, and not {_brief(value)}."
            )
        found[o.name] = value if isinstance(value, int) else float(value)
    return found


def array_at(name: str, value: Any, like: Dtype, of: str) -> Array:
    """What is given for a tensor of the function `of`, as an array of its kind."""
    try:
        array = None if value is None else np.asarray(value, dtype=KINDS[like])
    except (ValueError, TypeError, OverflowError):
        array = None
    if array is None:
        raise TargetError(f"{of}: {name} is a number or a list of numbers, and not {_brief(value)}.")
    return array


def _given(function: Function, name: str, value: Any) -> Array:
    """What is given for an input; None for an absent one."""
    tensor = function.table[name]
    if value is None and tensor.optional:
        return None
    array = array_at(name, value, tensor.dtype, function.name)
    if array.ndim != len(tensor.shape) and not {r.name for r in refs(*tensor.shape)} & {*function.packs}:
        what = f"has the shape {show_shape(tensor)}" if tensor.shape else "is one number"
        raise TargetError(f"{function.name}: {name} {what}, and {_brief(value)} has {array.ndim} axes.")
    wrong = [v for v in array.ravel().tolist() if not tensor.interval.holds(v)]
    if wrong:
        raise TargetError(f"{function.name}: {name} = {wrong[0]}, declared for {tensor.interval.show(name)}.")
    return array


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= REPEATED else f"{text[:REPEATED]}..."


def inputs_at(declaration: Any, at: At, options: Mapping[str, Any]) -> tuple[dict[str, Array], Any]:
    """Inputs with a finite value, and no kink if that can be had; and the oracle's values there, None where these would
    take long."""
    function = declaration.function
    given = {n: _given(function, n, at[n]) for n in function.inputs if n in at}
    first = None
    for inputs in _candidates(declaration, given, options):
        if _sizes.cost(function, bind(function, inputs), options) > COSTLY:
            return inputs, None
        with mp.workprec(BITS):
            try:
                trace = declaration.trace(inputs, options)
            except (IndexError, ValueError):
                continue
            finite = all(mp.isfinite(v) for n in function.outputs for v in trace.arrays[n].ravel())
        if finite and not trace.kinked:
            return inputs, trace
        first = first or ((inputs, trace) if finite else None)
    if first is None:
        where = ", ".join(f"{n} = {a.tolist()}" for n, a in given.items() if a is not None)
        said = f"at {where}" if where else "at any point that was tried"
        raise TargetError(f"{function.name} has no finite value {said}. Say where it has one: --at x=2.")
    return first


def _candidates(declaration: Any, given: Mapping[str, Array], options: Mapping[str, Any]) -> Iterator[dict[str, Array]]:
    """Inputs of simple numbers, then those that the check would take."""
    function, rng = declaration.function, np.random.default_rng(0)
    sizes = _sizes_for(function, given, options)
    costly = sizes is not None and _sizes.cost(function, sizes, options) > COSTLY
    for shift, scale in WAYS[-1:] if costly else WAYS if sizes is not None else ():
        drawn = _draws.inputs_at(function, sizes, options, rng, _simple(function, shift, scale))
        if drawn is not None:
            yield {**drawn, **given}
    if not given:
        for case in _sampling.sample(declaration).cases[:3]:
            inputs = {n: a for n, a in case.inputs.items() if a is not None}
            if case.count == 1 and not case.packed:
                yield {n: np.round(a, 2) if a.dtype.kind == "f" else a for n, a in inputs.items()}
                yield inputs


def _simple(function: Function, shift: float, scale: float) -> Callable[[str, tuple[int, ...]], Array]:
    """What gives each input its numbers: 2, 3, ... to single ones, 1, 2, 3, ... to the elements of a short array."""
    order = itertools.count()

    def numbers(name: str, shape: tuple[int, ...]) -> Array:
        first, count = next(order), prod(shape)
        if count <= SHORT:
            found = [first + (1.0 if shape else 2.0) + k for k in range(count)]
        else:
            found = [NICE[(first + k) % len(NICE)] for k in range(count)]
        return _symmetric.as_read(function, name, np.reshape((np.array(found) + shift) * scale, shape))

    return numbers


def _sizes_for(function: Function, given: Mapping[str, Array], options: Mapping[str, Any]) -> Any:
    """Small sizes that the given inputs leave, at which nothing is read outside; None if none were found."""
    bound = bind(function, given)
    left = [d.name for d in function.dims if d.name not in bound]
    packs = set(function.packs)
    tried = 0
    few = {0: ONE, 1: ONE, 2: TWO}.get(len(left), SEVERAL)
    for pool in (*few, *LARGER):
        each = itertools.permutations(pool, len(left)) if len(pool) >= len(left) else None
        for values in itertools.product(pool, repeat=len(left)) if each is None else each:
            sizes = {**bound, **{n: (v,) if n in packs else v for n, v in zip(left, values, strict=True)}}
            tried += 1
            if tried > TRIED:
                return None
            if _sizes.fitting(function, sizes, options) and _several(function, sizes, options):
                return sizes
    return _sizes.choose(function, options, np.random.default_rng(0)) if not bound else None


def _several(function: Function, sizes: Any, options: Mapping[str, Any]) -> bool:
    """Whether the axes of the outputs whose length follows from others have more than one element."""
    followed = [e for n in function.outputs for e in function.table[n].shape if isinstance(e, Apply)]
    return all(extent_of(e, sizes, options) > 1 for e in followed)
