"""What is derived of a function and asked for by name (`functions=`, `sg.derived`): one row each.

    gradient            of one scalar output, one for each input
    value_and_gradient  the output, and these
    jacobian            the outputs, and their derivatives: of numbers one matrix `jacobian`, rows outputs and columns
                        inputs; of arrays `<output>_by_<input>` for each two, of shape output x input, a pack in front
    hessian             the output, its gradient, and the derivatives of that; symmetric, each half is computed once
    gauss_newton        the residuals, `jacobian` as one matrix of all components, `jtj` = J^T J and `jtr` = J^T r; of
                        arrays, the residuals being one and the unknown another, each product of terms is a term
    jvp                 the outputs, and their tangents for a tangent of each input
    hvp                 of one scalar output, the Hessian times a direction for each input

How each is made of J^T v stands in `DERIVATIONS` of `symgrad.derivatives`, and how the check compares it with the
original in `COMPARED` of `symgrad.verify.origin`, which shares nothing with that.
"""

from __future__ import annotations

from collections.abc import Mapping

from .records import dataclass

SPARSE_END = ":sparse"


@dataclass(frozen=True, slots=True)
class Kind:
    """What is derived of a function.

    name     what it is asked for by, and called in a file
    results  what it gives, in order: "values", the outputs of the function; "inputs", one for each input; "group", the
             rest as one; "blocks", the rest for each output and each input; "each", the rest, none with another. The
             last takes what is left
    second   whether there are second derivatives in it, of one scalar output; by a perturbation there are none
    cells    whether there is a formula for each component of the outputs, where that is to be had
    sparse   whether its blocks are printed as one sparse matrix, too
    """

    name: str
    results: tuple[str, ...]
    second: bool = False
    cells: bool = False
    sparse: bool = False

    @property
    def values(self) -> bool:
        """Whether the outputs of the function come first."""
        return self.results[0] == "values"


FORWARD = Kind("forward", ("values",))
ROWS = (
    Kind("gradient", ("inputs",)),
    Kind("value_and_gradient", ("values", "inputs")),
    Kind("jacobian", ("values", "blocks"), cells=True, sparse=True),
    Kind("hessian", ("values", "inputs", "blocks"), second=True, cells=True, sparse=True),
    Kind("gauss_newton", ("values", "each"), cells=True),
    Kind("jvp", ("values", "group")),
    Kind("hvp", ("inputs",), second=True),
)
KINDS: Mapping[str, Kind] = {row.name: row for row in (FORWARD, *ROWS)}
DERIVED = tuple(row.name for row in ROWS)
SPARSE = tuple(row.name + SPARSE_END for row in ROWS if row.sparse)  # as one matrix, without what is always 0


def is_sparse(what: str) -> bool:
    """Whether a name asks for a sparse matrix: `jacobian:sparse`."""
    return what.endswith(SPARSE_END)


def kind_of(what: str) -> Kind:
    """The row of a name, also of one that asks for a sparse matrix."""
    return KINDS[what.removesuffix(SPARSE_END)]
