"""The plan as data: what forward and backward compute, in which order, and what passes between them.

A Program has no language in it. The equations of its steps are final: every name is the name that is printed, and each
step reads only what stands before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ..expr import Expr, Ref
from ..ir import Derivative, Equation, Tensor, show_equations


@dataclass(frozen=True, slots=True)
class Step:
    """One tensor computed: its equations, in order.

    serves  backward: the gradients (tensor names) that need this step; forward: empty
    when    conditions on optional inputs under which the step is needed at all, the same for all its equations
    """

    target: str
    equations: tuple[Equation, ...]
    serves: tuple[str, ...] = ()
    when: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class Procedure:
    """Forward or backward: the tensors it reads (inputs, saved, seeds), its steps, and what it returns."""

    reads: tuple[str, ...]
    steps: tuple[Step, ...]
    returns: tuple[str, ...]


@dataclass(frozen=True)
class Program:
    """What is printed.

    tensors          every tensor of both procedures, temporaries included
    saved            the tensors that forward hands to backward
    saved_sizes      sizes that backward works with and that no saved tensor tells
    saved_options    options that backward reads
    saved_presence   optional inputs whose presence backward needs, and that are not saved themselves
    indexed          (integer element, extent): subscripts taken from data, which must be in range(extent)
    """

    derivative: Derivative
    tensors: tuple[Tensor, ...]
    forward: Procedure
    backward: Procedure
    saved: tuple[str, ...]
    saved_sizes: tuple[str, ...] = ()
    saved_options: tuple[str, ...] = ()
    saved_presence: tuple[str, ...] = ()
    indexed: tuple[tuple[Ref, Expr], ...] = ()

    @cached_property
    def table(self) -> Mapping[str, Tensor]:
        """The tensors by name."""
        return {t.name: t for t in self.tensors}

    def __str__(self) -> str:
        lines = [f"forward({', '.join(self.forward.reads)})"]
        lines += _show_steps(self.forward)
        lines += [f"    saved {', '.join((*self.saved, *self.saved_sizes, *self.saved_options))}"]
        lines += [f"backward({', '.join(self.backward.reads)})", *_show_steps(self.backward)]
        return "\n".join(lines)


def _show_steps(procedure: Procedure) -> list[str]:
    lines = []
    for step in procedure.steps:
        serves = f"    for {', '.join(step.serves)}" if step.serves else ""
        lines += [f"    {line}{serves}" for line in show_equations(step.equations)]
    return [*lines, f"    return {', '.join(procedure.returns)}"]
