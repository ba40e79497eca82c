"""Products of the Jacobian and the Hessian with a vector, as functions that are declared: as those of derived.py.

    jvp  of the inputs, and a tangent for each: the outputs, and their tangents
    hvp  of one scalar output, of the inputs, and a direction for each: the Hessian times the direction
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UnsupportedError
from ..ir import Derivative, Dtype, Function, alive, as_declared
from ..records import replace


def pushed_of(found: Derivative) -> Function:
    """J v of a function, from the equations of J v."""
    table = found.function.table
    tangents = tuple(tangent for output, tangent in found.gradients if table[output].dtype == Dtype.REAL)
    if not tangents:
        raise UnsupportedError(f"{found.primal.name} has no output of real numbers: there is no tangent of any.")
    return _declared(found, "jvp", "product of the Jacobian of", (*found.primal.outputs, *tangents))


def curved_of(found: Derivative, of: Function) -> Function:
    """The Hessian of `of` times a direction, from J^T v of its gradient."""
    return _declared(found, "hvp", "product of the Hessian of", tuple(name for _, name in found.gradients), of)


def _declared(
    found: Derivative, kind: str, said: str, outputs: Sequence[str], of: Function | None = None
) -> Function:
    """The function of the inputs and the seeds."""
    joint, of = found.function, of or found.primal
    kept = alive(joint.statements, outputs)
    inputs = (*found.primal.inputs, *(seed for _, seed in found.seeds))
    there = {*inputs, *outputs, *(e.target for e in kept)}
    tensors = tuple(t for t in joint.tensors if t.name in there)
    name = f"{of.name}_{kind}"
    return replace(
        as_declared(replace(joint, tensors=tensors, statements=kept, inputs=inputs, outputs=tuple(outputs))),
        name=name,
        formula=f"{name}: {said} {of.formula or of.name} with a vector",
        source="",
        python=None,
        derived=None,
    )
