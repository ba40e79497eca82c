"""A sparse matrix in printed C: its pattern, and its values at that, executed one after the other.

What may be told to either is checked as of any function: nothing is read that is not written, and no element beside
what `<name>_nnz` asks room for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..source.tree import Parameter as Argument
from .c_memory import Pointer, block
from .c_text import CText
from .c_types import Parameter
from .rounding import lift
from .rounding.array import UNSET, filled
from .text import Fault, Valued, Values, full_shape

PATTERN, ROOM = "pattern", "room"  # the roles of the functions that `forward` is called after
INDPTR, INDICES, DATA = ":indptr", ":indices", ":data"


class CMatrix(CText):
    """The text of a file of which a sparse matrix is checked; see `CText`."""

    function: Valued

    def shape(self, inputs: Values, options: Mapping[str, Any]) -> tuple[int, int]:
        """How many rows and columns the matrix has."""
        assert self.function.sparse is not None
        sizes = [[prod(full_shape(self.function, n, inputs, options)) for n in some] for some in self.function.sparse]
        return sum(sizes[0]), sum(sizes[1])

    def places(self, inputs: Values, options: Mapping[str, Any]) -> dict[str, int]:
        """How many elements the memory of the matrix has at most."""
        if ROOM in self.heads:
            room = self._run(ROOM, "", inputs, options, self._unknown, refuses=True)
        else:
            lengths = {p.tensor: p.length for p in self.heads[PATTERN].parameters}
            room = lengths[INDICES] or 0
        return {INDPTR: self.shape(inputs, options)[0] + 1, INDICES: room, DATA: room}

    @staticmethod
    def _unknown(own: Parameter, p: Argument) -> Any:
        raise Fault(f"takes {p.name}, and sizes tell how many entries there are")

    def _forwarded(
        self, variant: str, part: Values, options: Mapping[str, Any], absent: Sequence[str] = (), refuses: bool = False
    ) -> tuple[Any, dict[str, Any]]:
        memory = {name: block(size, name[1:]) for name, size in self.places(part, options).items()}
        status = self._run(PATTERN, "", part, options, lambda own, p: memory[p.tensor], refuses)
        if not status:
            size = memory[INDPTR].get(len(memory[INDPTR].cells) - 1)
            memory[INDICES], memory[DATA] = Pointer(memory[INDICES].cells[:size], "indices"), block(size, "data")
        outputs = {n: block(prod(full_shape(self.function, n, part, options)), n) for n in self._plain}

        def given(own: Parameter, p: Argument) -> Any:
            if p.tensor in absent:
                return None
            if p.tensor in outputs:
                return outputs[p.tensor]
            found = memory.get(p.tensor, memory[DATA])
            return found if found is memory[DATA] else found.reading()

        again = self._run("forward", variant, part, options, given, refuses)
        if refuses and not (status and again):
            return 0, {}
        return again, outputs | memory

    @property
    def _plain(self) -> list[str]:
        """The outputs that are arrays."""
        taken = {p.tensor for p in self.heads["forward"].parameters}
        return [n for n in self.function.outputs if n in taken]

    def _outputs(
        self,
        memories: Sequence[Mapping[str, Pointer]],
        inputs: Values,
        options: Mapping[str, Any],
        absent: Sequence[str] = (),
    ) -> dict[str, Any]:
        (memory,) = memories
        alone = any(n not in self._plain for n in absent)  # without the matrix
        for name in (INDPTR, INDICES, *[DATA] * (not alone)):
            unset = [k for k, cell in enumerate(memory[name].cells) if cell is UNSET]
            if unset:
                raise Fault(f"does not write {name[1:]}[{unset[0]}]")
        shapes = {n: full_shape(self.function, n, inputs, options) for n in self._plain}
        known = {n: filled(memory[n].cells, shape) for n, shape in shapes.items() if n not in absent}
        if alone:
            return known
        arrays = [known.get(n, np.zeros(shape)) for n, shape in shapes.items()]
        parts = {name[1:]: memory[name].cells for name in (INDPTR, INDICES, DATA)}
        matrix = SimpleNamespace(
            shape=self.shape(inputs, options),
            indptr=np.array(parts["indptr"], dtype=np.int64),
            indices=np.array(parts["indices"], dtype=np.int64),
            data=filled(parts["data"], (len(parts["data"]),)).view(np.ndarray),
        )
        found = self.function.results((*arrays, matrix), inputs, options)
        lifted = [filled([lift(v) for v in np.ravel(array)], np.shape(array)) for array in found]
        whole = dict(zip(self.function.outputs, lifted, strict=True))
        return {n: array for n, array in whole.items() if n not in absent}
