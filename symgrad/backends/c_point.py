"""A function of numbers, called at one point: arrays are slow where there is nothing but numbers.

Beside the printed files stands one that hands them over: two functions that are given all numbers in one array and
write all results to another, which `templates/python_calls.c` calls.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..expr import Const
from ..later import np
from ..plan import Program
from ..source.tree import REAL, Parameter
from .c_compile import Library, python_calls
from .c_signature import Printed
from .options import Options

ROLES = frozenset("option input saved cotangent output gradient".split())  # of parameters that may be numbers
WHICH = ("forward", "backward")


def beside(program: Program, printed: Sequence[Printed], options: Options, header: str) -> dict[str, str]:
    """The file that hands numbers over; none where anything else goes in or comes out. The functions are declared in
    `header`."""
    functions = {f.function.role: f for f in printed}
    primal, gradients = program.derivative.primal, dict(program.derivative.gradients)
    if not program.pair or program.within:  # which may be refused
        return {}
    written = options.single or options.accumulate or "forward_batch" not in functions
    if written or primal.optional or set(gradients) != set(primal.inputs):
        return {}
    lines = [f'#include "{header}"']
    for which, (given, found) in zip(WHICH, _orders(program), strict=True):
        place = {n: f"given[{k}]" for k, n in enumerate(given)} | {n: f"&found[{k}]" for k, n in enumerate(found)}
        parameters = functions[which].parameters
        if not all(_is_number(p, program) for p in parameters):
            return {}
        head = f"void symgrad_{which}(const double *given, double *found)"
        words = ", ".join(place[tensor_of(p, program)] for p in parameters)
        lines += [f"{head};", head, "{", f"    {functions[which].name}({words});", "}"]
    return {"symgrad_point.c": "\n".join([*lines, ""])}


def _orders(program: Program) -> tuple[tuple[list[str], list[str]], ...]:
    """What forward, and then backward, is given and what it finds, in order."""
    primal, derivative = program.derivative.primal, program.derivative
    known, gradients = (*primal.inputs, *program.forward.returns), dict(derivative.gradients)
    seeds = [seed for _, seed in derivative.seeds]
    return (
        (
            [*(o.name for o in primal.options), *primal.inputs],
            [*program.forward.returns, *(n for n in program.saved if n not in known)],
        ),
        ([*program.saved, *program.saved_options, *seeds], [gradients[n] for n in primal.inputs]),
    )


def _is_number(p: Parameter, program: Program) -> bool:
    shape = () if p.role == "option" else program.table[tensor_of(p, program)].shape
    return p.role in ROLES and p.type.of == REAL and not any(isinstance(e, Const) for e in shape)


def tensor_of(p: Parameter, program: Program) -> str:
    """What a parameter holds, by a name that nothing else has."""
    of = {"gradient": program.derivative.gradients, "cotangent": program.derivative.seeds}
    return dict(of.get(p.role, ())).get(p.tensor, p.tensor)


class Point:
    """`forward` and `backward` of a function of numbers, as an `Artefact` has them; None where they are asked for
    something else: other numbers than floats, options, some of the gradients."""

    def __init__(self, program: Program, library: Library) -> None:
        primal = program.derivative.primal
        (_, found), (_, gradients) = _orders(program)
        options = {o.name: float(o.default) for o in primal.options}
        self._inputs, self._outputs, self._saved = len(primal.inputs), len(program.forward.returns), len(program.saved)
        known = [*primal.inputs, *found]
        self._kept = [known.index(n) for n in program.saved]
        self._sizes = ((),) * len(program.saved_sizes)
        self._after = (*self._sizes, *(options[n] for n in program.saved_options))
        self._forward, self._backward = (
            partial(python_calls().numbers, _address(library, f"symgrad_{which}"), len(names), np.float64)
            for which, names in zip(WHICH, (found, gradients), strict=True)
        )
        self._forward = partial(self._forward, *options.values())

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]] | None:
        """The outputs, and what backward needs."""
        found = self._forward(*inputs) if len(inputs) == self._inputs else None
        if found is None:
            return None
        known = inputs + found
        saved = (*[known[k] for k in self._kept], *self._after)
        return (found[0] if self._outputs == 1 else found[: self._outputs]), saved

    def backward(self, saved: Sequence[Any], grad_output: Any) -> tuple[Any, ...] | None:
        """All gradients."""
        tensors = self._saved
        after = tensors + len(self._sizes)
        if len(saved) != tensors + len(self._after) or tuple(saved[tensors:after]) != self._sizes:
            return None
        if self._outputs == 1:
            cotangents = (1.0 if grad_output is None else grad_output,)
        elif isinstance(grad_output, tuple) and len(grad_output) == self._outputs:
            cotangents = grad_output
        else:
            return None
        found: tuple[Any, ...] | None = self._backward(*saved[:tensors], *saved[after:], *cotangents)
        return found


def _address(library: Library, name: str) -> int:
    address: int | None = ctypes.cast(getattr(library.functions, name), ctypes.c_void_p).value
    assert address is not None
    return address
