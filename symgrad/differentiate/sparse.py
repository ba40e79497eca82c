"""The derivatives of all real outputs by some inputs as the entries of one matrix, without those that are always 0.

Its rows are the components of the outputs, one after the other as they are declared and each row-major; its columns are
those of the inputs. A term of terms.py is a part of the entries: an array of values, and two of integers that say where
they stand. What adds up at one place stands there several times, as it does in the coordinate format of libraries.

    rows[i] = i,   columns[i] = i + 1,   values[i] = ...    over 0 <= i < n - 1        of y[i] = ... x[i + 1] ...

Conditions on indices make the arrays shorter. Where they ask for data, or for two indices at once, a row behind the
last one says that nothing is stored. Conditions on real numbers are part of the value: which entries there are depends
on subscripts, sizes, options, integers and what is given, unless a real number decides about a place, as argmax does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..domain import Domain, Facts
from ..errors import UnsupportedError
from ..expr import (
    ZERO,
    Expr,
    Ref,
    conjunction,
    const,
    index,
    indices,
    product,
    refs,
    select,
    substitution,
    total,
    value_of,
)
from ..expr.names import fresh
from ..expr.sizes import as_integer, count, tidy
from ..ir import Box, Dtype, Equation, Function, Role, Tensor
from ..records import replace
from .rows import at_one_place, by_rows, in_order
from .terms import Term

Result = tuple[Tensor, list[Equation]]


class Entries:
    """Where the components of some outputs and inputs stand in the matrix, and the arrays that its entries are of."""

    def __init__(self, primal: Function, outputs: Sequence[str], inputs: Sequence[str], taken: set[str]) -> None:
        self.primal, self.taken = primal, taken
        self.sizes = {*(d.name for d in primal.dims), *(o.name for o in primal.options)}
        self.rows, self.columns = self._first(outputs), self._first(inputs)
        self.nowhere = flat_size(primal, outputs)  # the row of what is not stored

    def _first(self, names: Sequence[str]) -> Mapping[str, Expr]:
        """The place of the first component of each."""
        found, start = dict[str, Expr](), ZERO
        for name in names:
            found[name] = start
            start = tidy(start + flat_size(self.primal, [name]))
        return found

    def of_cells(self, cells: Sequence[tuple[int, int, Expr]]) -> list[Result]:
        """Numbers at literal places, those that are 0 among them left out."""
        kept = [cell for cell in cells if cell[2] is not ZERO]
        if not kept:
            return self.nothing()
        arrays = (("rows", [const(r) for r, _, _ in kept]), ("columns", [const(c) for _, c, _ in kept]))
        found = []
        for word, bodies in (*arrays, ("values", [value for _, _, value in kept])):
            tensor = self._tensor(f"jacobian_{word}", (const(len(kept)),), word != "values")
            found.append((tensor, [Equation(tensor.name, (const(k),), "none", b, ()) for k, b in enumerate(bodies)]))
        return found

    def of_output(
        self, output: str, terms: Mapping[str, Sequence[Term]], facts: Facts, axes: Box | None = None
    ) -> tuple[list[Result], list[tuple[Expr, ...] | None] | None]:
        """The arrays of all terms of an output, by input; and if those of a row are in order, how many elements of each
        have a place, as a shape, where sizes tell.

        facts  those of the function that the terms are of
        axes   of the output, where terms shall stand row by row if subscripts tell their order
        """
        names = [*terms]
        given = [(n, self._without_reals(term)) for n, name in enumerate(names) for term in terms[name]]
        found = None
        if axes is not None:
            rows = [(n, row) for n, term in given if (row := by_rows(term, axes, facts)) is not None]
            found = in_order(rows, axes, facts) if len(rows) == len(given) else None
        short = [(n, self._shortened(term, facts)) for n, term in found or given]
        counts = [tuple(n for _, n in term.box) if term.where is None else None for _, term in short]
        for k in range(1, len(found or ())):
            if found and axes and at_one_place(found[k - 1], found[k], len(axes)):
                counts[k - 1 : k + 1] = None, None
        kept = short if found is None else found
        results = [r for n, term in kept for r in self._of_term(output, names[n], term, facts)]
        return results, None if found is None else counts

    def _of_term(self, output: str, name: str, term: Term, facts: Facts) -> list[Result]:
        """Its rows, columns and values."""
        table = self.primal.table
        shown = {*indices(*term.above, *term.below)}
        masked = any(not shown.issuperset(indices(c)) for c in term.conditions)
        box = tuple((i, self._never_negative(n)) for i, n in term.box if masked or i in shown)
        at, shape = tuple(i for i, _ in box), tuple(extent for _, extent in box)
        term = term.inside(at, (*table[output].shape, *table[name].shape), facts)
        term = replace(term, box=tuple(dict((*term.box, *box)).items()))
        row = _place(self.rows[output], term.above, table[output].shape)
        column = _place(self.columns[name], term.below, table[name].shape)
        if term.where is not None:
            row, column = select(term.where, row, self.nowhere), select(term.where, column, ZERO)
        word = f"{output}_by_{name}"
        rows, columns = (self._tensor(f"{word}_{w}", shape, True) for w in ("rows", "columns"))
        values = self._tensor(word, shape, False)
        absent = [(*term.when[:k], (n, not there)) for k, (n, there) in enumerate(term.when)]
        where = [Equation(rows.name, at, "none", row, box, None, term.when)]
        where += [Equation(rows.name, at, "none", self.nowhere, box, None, when) for when in absent]
        return [
            (rows, where),
            (columns, [Equation(columns.name, at, "none", column, box, None, term.when)]),
            (values, [term.equation(values.name, at)]),
        ]

    def _never_negative(self, extent: Expr) -> Expr:
        """An extent as one of an array; what is negative of sizes alone is seen to where it is printed."""
        options = {o.name for o in self.primal.options}
        return count(extent, options) if options & {r.name for r in refs(extent)} else extent

    def nothing(self) -> list[Result]:
        """No entry: arrays of no elements."""
        (i, none), found = (index("i"), ZERO), []
        for word in ("rows", "columns", "values"):
            tensor = self._tensor(f"jacobian_{word}", (none,), word != "values")
            found.append((tensor, [Equation(tensor.name, (i,), "none", ZERO, ((i, none),))]))
        return found

    def _tensor(self, word: str, shape: tuple[Expr, ...], whole: bool) -> Tensor:
        found = fresh(word, self.taken)
        self.taken.add(found)
        return Tensor(found, shape, Dtype.INT if whole else Dtype.REAL, Role.OUTPUT)

    def _without_reals(self, term: Term) -> Term:
        """The term whose conditions on real numbers are part of its value."""
        whole = {*self.sizes, *(t.name for t in self.primal.tensors if t.dtype != Dtype.REAL)}
        real = [c for c in term.conditions if any(r.name not in whole for r in refs(c))]
        rest = [c for c in term.conditions if c not in real]
        value = select(conjunction(real), term.value, ZERO) if real else term.value
        return replace(term, value=value, where=conjunction(rest) if rest else None)

    def _shortened(self, term: Term, facts: Facts) -> Term:
        """The term over fewer points, where conditions limit one index by sizes."""
        for i, extent in term.box:
            own = [c for c in term.conditions if indices(c) == (i,) and self.sizes.issuperset(r.name for r in refs(c))]
            if not own:
                continue
            # i != 0 is 0 < i, or i < 0, which is nowhere
            pieces = Domain.of(((i, extent),), None, facts).pieces(conjunction(own))
            lower, upper = pieces[0].bounds(i, ()) if len(pieces) == 1 else ([], [])
            if len(lower) != 1 or len(upper) != 1:
                continue
            first, end = lower[0].limit, upper[0].limit
            box: Box = tuple((j, tidy(end - first) if j is i else n) for j, n in term.box)
            term = term.mapped(substitution({i: tidy(first + i)}), box)
            inside = Domain.of(box, None, facts)
            kept = [c for c in term.conditions if not inside.holds(c)]
            term = replace(term, where=conjunction(kept) if kept else None)
        return term


def flat_size(function: Function, names: Sequence[str]) -> Expr:
    """How many components some tensors have together."""
    shapes = [function.table[name].shape for name in names]
    if any(isinstance(e, Ref) and e.name in function.packs for shape in shapes for e in shape):
        raise UnsupportedError(
            f"{function.name}: the rows and columns of a sparse matrix are counted, and `...` stands for any number of "
            f"axes. Give them names, x[n,m] instead of x[...]."
        )
    options = [o.name for o in function.options]
    return tidy(total(product(count(e, options) for e in shape) for shape in shapes))


def literal(function: Function, places: Sequence[str], height: Expr) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Where each row begins among the entries, and their columns, if the arrays of both are of numbers, which are in
    order; None if not."""
    high, equations = as_integer(height), [function.writers[name] for name in places]
    if high is None or len(places) != 2 or any(e.box or not e.subscripts for some in equations for e in some):
        return None
    rows, columns = ([int(value_of(e.body)) for e in some] for some in equations)
    return tuple(sum(row < k for row in rows) for k in range(high + 1)), tuple(columns)


def _place(start: Expr, subscripts: Sequence[Expr], shape: Sequence[Expr]) -> Expr:
    """The place of an element, row-major."""
    found: Expr = ZERO
    for s, extent in zip(subscripts, shape, strict=True):
        found = found * extent + s
    return found if start is ZERO else start + found
