"""SciPy: the Jacobian or the Hessian as one matrix, of arrays of output x input that are computed as for `numpy`."""

from __future__ import annotations

from collections.abc import Sequence

from ..expr import Expr, product
from ..expr.sizes import tidy
from ..ir import Tensor
from ..plan import Beside, Program, Sparse
from ..records import replace
from ..source import python as py
from ..source.python import Assign, Attribute, Def, Expression, Name, Return, Word, call
from .numpy import NumPyFile, with_return
from .python_sizes import is_pack, size


class DenseFile(NumPyFile):
    """What computes the matrix, where the unknown has its shapes.

    rows, columns  the tensors that it has these for
    symmetric      whether only the blocks on the diagonal and above are there
    stacked        whether each block is a column as it is
    """

    def __init__(
        self,
        program: Program,
        options: Sequence[str],
        rows: Sequence[Tensor],
        columns: Sequence[Tensor],
        symmetric: bool,
    ) -> None:
        super().__init__(program)
        self._checked = options
        self.rows, self.columns, self.symmetric = rows, columns, symmetric
        names = iter(self.primal.outputs)
        first = self.primal.table[self.primal.outputs[0]]
        self.whole = not any(t.shape for t in (*rows, *columns)) and bool(first.shape)  # of numbers it is one array
        cells = [(i, j) for i in range(len(rows)) for j in range(len(columns)) if not symmetric or i <= j]
        self.names = {} if self.whole else dict(zip(cells, names, strict=True))
        numbers = not any(c.shape for c in columns)
        self.stacked = not symmetric and numbers and len(rows[0].shape) == len(rows) == 1
        blocks = (cell for cell in self.names if not (self.stacked or self._flat(*cell) or self._diagonal(*cell)))
        self.told = [extent for cell in blocks for extent in self._extents(*cell)]

    def checked(self) -> list[str]:
        return list(self._checked)

    def body(self) -> py.Block:
        """The statements of `jac` or `hess`, where the unknown has its shapes."""
        if self.whole:
            return [*self.computed(), Return(Name(self.primal.outputs[0]))]
        if self.stacked:
            return with_return(self.computed(), [*self.names.values()], (), _columns)
        body: list[py.Statement] = self.computed()
        if len(self.names) == 1 and (self._diagonal(0, 0) or not self.symmetric):
            return [*body, Return(self._as_matrix(0, 0))]
        for (i, j), block in self.names.items():
            matrix = self._as_matrix(i, j)
            body += [Assign(Name(block), matrix)] if matrix != Name(block) else []
        result: Expression = Name(self.names[0, 0])
        if len(self.names) > 1:
            rows = [_list([self._block(i, j) for j in range(len(self.columns))]) for i in range(len(self.rows))]
            result = call("np.block", _list(rows))
            if len(rows) == 1:
                result = call("np.concatenate", rows[0], axis=py.integer(1))
        if not self.symmetric:
            return [*body, Return(result)]
        if len(self.names) > 1:
            body.append(Assign(Word("matrix"), result))
            result = Word("matrix")
        return [*body, Return(mean_with_transposed(result))]

    def _as_matrix(self, i: int, j: int) -> Expression:
        """A block in two axes."""
        block = Name(self.names[i, j])
        if self._diagonal(i, j):
            return call("np.diag", call("np.ravel", block))
        return block if self._flat(i, j) else py.method(block, "reshape", *map(size, self._extents(i, j)))

    def _block(self, i: int, j: int) -> Expression:
        if (i, j) in self.names:
            return Name(self.names[i, j])
        above = Name(self.names[j, i])
        return Attribute(above, "T") if self.rows[i].shape or self.columns[j].shape else above

    def _diagonal(self, i: int, j: int) -> bool:
        """Whether a block has one axis for both: a pack that they share."""
        shapes = self.rows[i].shape, self.columns[j].shape
        return shapes[0] == shapes[1] and any(map(is_pack, shapes[0]))

    def _flat(self, i: int, j: int) -> bool:
        """Whether a block is a matrix as it is, or np.block takes it for one of one row, which has no transpose."""
        if any(map(is_pack, (*self.rows[i].shape, *self.columns[j].shape))):
            return False
        ranks = len(self.rows[i].shape), len(self.columns[j].shape)
        return ranks == (1, 1) or (len(self.names) > 1 and (ranks == (0, 0) or ranks == (0, 1) and not self.symmetric))

    def _extents(self, i: int, j: int) -> tuple[Expr, Expr]:
        return tidy(product(self.rows[i].shape)), tidy(product(self.columns[j].shape))


class SparseFile(NumPyFile):
    """What computes the entries of a sparse matrix, and what their places; `options` are those that are checked."""

    def __init__(self, program: Program, word: str, sparse: Sparse, options: Sequence[str]) -> None:
        super().__init__(program, word, (), sparse)
        self._checked = options

    def checked(self) -> list[str]:
        return list(self._checked)

    def printed_for(self, function: str) -> Def:
        """The function of a file whose `jac` or `hess` has these entries."""
        said = f"Return the entries of `{function}` at the places of {self.kind}_pattern."
        if self.matrix is not None and self.matrix.is_pattern:
            said = f"Return where the entries of `{function}` stand: the same places at every point."
        made = self.values()
        return replace(made, about=(said, *self.arguments_doc()))

    def body(self) -> py.Block:
        """The statements of `jac` or `hess`, where the places are known."""
        return with_return(self.computed(), self.primal.outputs, (), self.result)


def sparse_body(beside: Beside, arguments: Sequence[Expression]) -> list[py.Statement]:
    """Those of one whose places are computed."""
    pattern = Word("pattern")
    return [
        Assign(pattern, call(beside.pattern, *arguments)),
        Return(call("_matrix", pattern, call(beside.values, pattern, *arguments))),
    ]


def symmetric(body: py.Block) -> list[py.Statement]:
    """The statements with a last one that makes what they return symmetric to the last bit."""
    *first, last = body
    assert isinstance(last, Return), "it gives a matrix"
    matrix = Word("matrix")
    return [*first, Assign(matrix, last.value), Return(mean_with_transposed(matrix))]


def _list(items: Sequence[Expression]) -> Expression:
    return py.Several(tuple(items), "[")


def _columns(vectors: Sequence[Expression]) -> Expression:
    return call("np.stack", _list(vectors), axis=py.integer(-1))


def mean_with_transposed(matrix: Expression) -> Expression:
    """What is symmetric to the last bit."""
    return py.Operation("div", (py.Operation("add", (matrix, Attribute(matrix, "T"))), py.integer(2)))
