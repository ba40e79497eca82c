"""Backward in operations of torch, beside kernels that torch cannot differentiate: what is printed for the target
`torch`, for gradients of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ..ir import Tensor
from ..source import python as py
from ..source.python import Assign, Def, Given, Name, Word, bare, call
from .python_statements import counted, named, returned, sized
from .torch import TorchFile

IN_TORCH = Word("_backward_in_torch")
STATES = Word("_states_in_torch")


class Again(TorchFile):
    """Backward as one function of inputs, outputs and cotangents; the program saves nothing else."""

    flags = Word("needs_input_grad")
    asks_alone = True  # an operator has gradients of its other arguments, too

    @cached_property
    def body(self) -> list[py.Statement]:
        states = Assign(bare(named(self.hidden)), call(STATES, *self.arguments()))
        return [*([states] if self.hidden else []), *self._body_at(4)]

    def states(self) -> list[Def]:
        """What computes again that forward has saved of loops, as a function of the inputs."""
        if not self.hidden:
            return []
        body = [*self._computed(self.hidden), py.Return(bare(named(self.hidden)))]
        about = ("Return what forward saves of its loops, in operations of torch.",)
        return [Def(STATES, tuple(self.given([*self.primal.inputs, *self.options])), body, about)]

    def asked(self) -> list[str]:
        """The optional inputs of which it asks whether they are given."""
        return self._flags()

    def function(
        self, given: Sequence[Name | Word], told: Sequence[str], tensors: Sequence[Tensor], anew: bool
    ) -> Def:
        """What takes the arguments of the operator.

        anew     whether some of them are computed by forward, and here again
        told     the sizes among them
        tensors  those that are always there, and tell the others
        """
        gradients = named([g for _, g in self.program.derivative.gradients])
        body = sized([d for d in self.sizes_used() if d not in told], tensors)
        body += [*counted(self.backward.counts), py.Unset(tuple(gradients)), *self.body, returned(gradients)]
        about = ["Return the same gradients in operations of torch, which differentiates them."]
        about += ["", "What kernels have saved is computed again: gradients go through it, too."] if anew else []
        return Def(IN_TORCH, tuple(map(Given, given)), body, tuple(about))
