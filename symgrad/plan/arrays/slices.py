"""Which functions compute arrays in slices: those with long lines on arrays of one shape, element by element."""

from __future__ import annotations

from ...expr import Apply, Ref, values
from ...ir import Dtype
from ..program import Program, Step

# Operations: so many arrays do not stay in the cache. The calls for a slice take as long as ten or twenty of them.
LARGE = 150


def in_slices(program: Program) -> bool:
    """Whether forward and backward may compute their arrays in slices, and this is worth it."""
    primal, items = program.derivative.primal, (*program.forward.steps, *program.backward.steps)
    given = [program.table[n] for n in (*primal.inputs, *primal.outputs, *program.saved)]
    extents = {e for tensor in given for e in tensor.shape}
    if any(not isinstance(e, Ref) or e.name not in primal.packs for e in extents) or len(extents) != 1:
        return False
    equations = [e for item in items for e in item.equations]
    return (
        all(t.dtype == Dtype.REAL and len(t.shape) == 1 and not t.optional for t in given)
        and not (primal.options or program.saved_sizes)
        and all(isinstance(item, Step) and item.how == "fill" for item in items)
        and all(e.reduce == "none" and e.matrix is None and {x for _, x in e.box} <= extents for e in equations)
        and sum(isinstance(n, Apply) for n in values(*(e.body for e in equations))) > LARGE
    )
