"""What is derived of a function, as a function again: it is printed, checked and differentiated as any other. What
there is stands in `symgrad.kinds`.

Of numbers, and of arrays of literal size, each cell is an equation: that of J^T v, or of J v, with v a unit vector. Of
other arrays each term is one, that stores at the places where it is not 0 (terms.py). All are written in what forward
names: the printed code shares their parts with each other, and with the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..errors import TargetError, UnsupportedError
from ..expr import ONE, ZERO, Apply, Expr, Index, Ref, const, index, outermost, postorder, ref, total, transform
from ..expr.names import fresh
from ..expr.signs import OneForm
from ..ir import Box, Derivative, Dtype, Equation, Function, Role, Tensor, names_of, ordered, with_outputs
from ..kinds import is_sparse, kind_of
from ..records import replace
from .components import Row, cells, of_components
from .sparse import Entries, Result
from .terms import Chain, Term, without_asking

Places = Sequence[tuple[tuple[Expr, ...], Expr]]  # what stands where
Others = Callable[[], Iterable[Derivative]]
Ordered = Sequence[Mapping[str, tuple[Expr, ...] | None] | None]  # for each output: see `plan.Sparse`

# products of J^T J that are written line by line, the upper triangle once: in half the time of loops (6 x 6 in 38 ns
# for 58, where these are vectors), which are as fast at 9 x 9, and then a seventh of the code
LINES = 256


def gradient_of(derivative: Derivative, inputs: Sequence[str] = (), value: bool = False) -> Function:
    """The gradient of one scalar output, with or without its value.

    Of a formula of numbers, which arrays of points are given to, it is the gradient at each point.
    """
    primal, joint = derivative.primal, derivative.function
    gradients = {name: dict(derivative.gradients)[name] for name in chosen(derivative, inputs)}
    points = primal.table[primal.outputs[0]].shape  # that each element of an input has to itself
    of_each = all(isinstance(e, Ref) and e.name in primal.packs for e in points)
    of_each &= all(primal.table[name].shape[: len(points)] == points for name in gradients)
    if len(derivative.seeds) != 1 or not of_each:
        raise TargetError(
            f"{primal.name}: a gradient, and so a Hessian, is that of one scalar output; a jacobian has any."
        )
    ((_, seed),) = derivative.seeds
    taken = names_of(joint)
    names = {gradients[n]: fresh(f"gradient_{n}", taken) for n in gradients}  # its own gradients will be grad_x
    written = {e.target for e in joint.statements}
    absent = [primal.table[name] for name, g in gradients.items() if g not in written]
    boxes = [(t, primal.box_of(t.shape)) for t in absent]
    zeros = [Equation(gradients[t.name], tuple(i for i, _ in box), "none", ZERO, box) for t, box in boxes]

    def put(node: Expr) -> Expr:
        if not isinstance(node, Ref):
            return node
        return ONE if node.name == seed else ref(names.get(node.name, node.name), *node.subscripts)

    bodies = [e.with_body(transform(e.body, put)) for e in (*joint.statements, *zeros)]
    statements = [replace(e, target=names.get(e.target, e.target)) for e in bodies]
    tensors = [replace(t, name=names.get(t.name, t.name)) for t in joint.tensors]
    outputs = (*(primal.outputs if value else ()), *names.values())
    return _again(derivative, "value_and_gradient" if value else "gradient", tensors, statements, outputs)


def jacobian_of(derivative: Derivative, others: Others, inputs: Sequence[str] = ()) -> Function:
    """The outputs, and their derivatives by these inputs, or all.

    others  gives other equations of J^T v, or of J v: cells are made of those with the fewest operations
    """
    found = _of(derivative, others, inputs)
    return found.function("jacobian", derivative.primal.outputs, found.blocks())


def gauss_newton_of(
    derivative: Derivative, others: Others, inputs: Sequence[str] = (), lines: bool = False
) -> Function:
    """The residuals r, J, J^T J and J^T r.

    lines  for a language of loops: a small J^T J is an equation for each cell, else it is one product of matrices
    """
    found = _of(derivative, others, inputs)
    return found.function("gauss_newton", derivative.primal.outputs, found.normal_equations(lines))


def sparse_of(
    derivative: Derivative, others: Others, inputs: Sequence[str] = (), outputs: Sequence[str] = (), rows: bool = False
) -> tuple[Function, Ordered]:
    """The outputs, and the entries of the derivatives of these, or of all, in threes: rows, columns, values.

    rows  whether they shall stand row by row; where they do, the values of each output in the order of their columns
    """
    found = _of(derivative, others, inputs, outputs, tight=True)
    results, ordered = found.entries(rows)
    return found.function("jacobian_sparse", derivative.primal.outputs, results), ordered


def hessian_of(
    primal: Function, derivative: Derivative, others: Others, inputs: Sequence[str] = ()
) -> Function:
    """The value, the gradient and its derivatives; `derivative` is that of `value_and_gradient` of `primal`, and so are
    the others."""
    outputs = derivative.primal.outputs
    found = _of(derivative, others, inputs, outputs[1:])
    return found.function("hessian", outputs, found.blocks("hessian"), primal)


def arranged(what: str, values: Sequence[str], outputs: Sequence[str], count: int) -> Any:
    """The outputs of what is derived of a function with the outputs `values`, by `count` inputs, as they are returned.

    Values first, those of one kind together, blocks nested with outputs outside and inputs inside; one is not wrapped.
    """

    def one(parts: Sequence[Any]) -> Any:
        return parts[0] if len(parts) == 1 else tuple(parts)

    parts, rest, found = kind_of(what).results, list(outputs), list[Any]()
    for part in parts:
        if part == "each":
            found += rest
        elif part == "blocks" and is_sparse(what):
            assert not rest, "the matrix comes behind, and is no output"
        elif part == "blocks":
            columns = min(count, len(rest))  # of numbers there is one matrix
            found.append(one([one(rest[k : k + columns]) for k in range(0, len(rest), columns)]))
        else:
            own = {"values": len(values), "inputs": count}.get(part, len(rest))
            found.append(one(rest[:own]))
            rest = rest[own:]
    return found[0] if len(parts) == 1 else tuple(found)


def _of(
    derivative: Derivative, others: Others, inputs: Sequence[str], outputs: Sequence[str] = (), tight: bool = False
) -> _Cells | _Blocks:
    """The derivatives of these outputs, or of all: by formulas for each component where there are such, at each point
    of the packs that all have; where other terms stand only if that is known, or as `tight` as can be told."""
    primal = derivative.primal
    names = (*(outputs or (o for o, _ in derivative.seeds)), *chosen(derivative, inputs))
    shapes = [primal.table[name].shape for name in names]
    leading = {tuple(e for e in shape if isinstance(e, Ref) and e.name in primal.packs) for shape in shapes}
    if of_components(derivative) and len(leading) == 1:
        return _Cells(derivative, others, inputs, outputs)
    return _Blocks(derivative, inputs, outputs, tight)


def chosen(derivative: Derivative, inputs: Sequence[str]) -> tuple[str, ...]:
    """The inputs with respect to which: those that are named, or all of real numbers."""
    there = [name for name, _ in derivative.gradients]
    if not there:
        raise TargetError(f"{derivative.primal.name} has no input of real numbers: there is nothing to derive by.")
    unknown = [name for name in inputs if name not in there]
    if unknown:
        name = derivative.primal.name
        raise TargetError(f"{name}: there is no gradient for {unknown[0]}; choose from {', '.join(there)}.")
    return tuple(inputs or there)


def _again(
    derivative: Derivative,
    kind: str,
    tensors: Iterable[Tensor],
    statements: Sequence[Equation],
    outputs: Sequence[str],
    of: Function | None = None,
) -> Function:
    """A function of the same inputs with these outputs; `of` is what it is called after, if that is another one."""
    primal = derivative.primal
    of = of or primal
    name = f"{of.name}_{kind}"
    whole = replace(
        derivative.function,
        name=name,
        tensors=tuple(tensors),
        statements=tuple(statements),
        inputs=primal.inputs,
        outputs=primal.outputs,
        formula=f"{name}: {kind.replace('_', ' ')} of {of.formula or of.name}",
        source="",
        python=None,
        derived=None,
    )
    return with_outputs(whole, outputs)


def slopes_of(found: Function, function: Function, inputs: Sequence[str], kind: str) -> Function:
    """What was found as the `jacobian` of a function, or its `hessian`, without the values: of a Hessian what is above
    the diagonal, and on it."""
    rest, count = found.outputs[len(function.outputs) :], len(inputs)
    if kind == "hessian":
        rest = rest[count:]
        rest = tuple(rest[i * count + j] for i in range(count) for j in range(i, count)) if len(rest) > 1 else rest
    return with_outputs(found, rest)


class _Cells:
    """The derivatives of each component of some outputs by each component of some inputs."""

    def __init__(
        self, derivative: Derivative, others: Others, inputs: Sequence[str], outputs: Sequence[str] = ()
    ) -> None:
        self.derivative, self.primal = derivative, derivative.primal
        self.inputs = chosen(derivative, inputs)
        self.outputs = [o for o, _ in derivative.seeds if o in (outputs or self.primal.outputs)]
        self.rows = min(map(self._rows, (derivative, *others())), key=self._operations)
        self.pack = tuple(s for s in self.rows[0][0].subscripts if isinstance(s, Index))
        self.taken = names_of(derivative.function)
        self.locals: list[Result] = []

    def _rows(self, derivative: Derivative) -> list[Row]:
        found = cells(derivative, set(self.primal.writers), multiples=True)
        columns: dict[str, list[int]] = {name: [] for name in self.inputs}
        for k, (column, _) in enumerate(found[0][1]):  # the same in each row
            if column.name in columns:
                columns[column.name].append(k)
        order = [k for some in columns.values() for k in some]
        return [(row, [own[k] for k in order]) for row, own in found if row.name in self.outputs]

    def _operations(self, rows: Sequence[Row]) -> int:
        """How many operations values and cells take together."""
        form = OneForm()
        bodies = [form(e.body) for e in self.primal.statements]
        bodies += [form(cell) for _, row in rows for _, cell in row if cell is not ZERO]
        return sum(isinstance(node, Apply) and node.op != "neg" for node in postorder(*bodies))

    def function(
        self, kind: str, outputs: Sequence[str], results: Sequence[Result], of: Function | None = None
    ) -> Function:
        joint, forward = self.derivative.function, set(self.primal.writers)
        tensors = [*joint.tensors, *(t for t, _ in (*self.locals, *results))]
        statements = [e for e in joint.statements if e.target in forward]
        statements += [e for _, equations in (*self.locals, *results) for e in equations]
        form, known = OneForm(), dict[Expr, Expr]()  # a value of forward is read by its name
        for k, e in enumerate(statements):
            body = form(e.body)
            statements[k] = e.with_body(outermost(body, lambda node: known.get(node.key)))
            everywhere = e.plain and e.where is None and len(self.primal.writers.get(e.target, ())) == 1
            if e.target in forward and isinstance(body, Apply) and everywhere:
                known.setdefault(body.key, ref(e.target, *e.subscripts))
        return _again(self.derivative, kind, tensors, statements, (*outputs, *(t.name for t, _ in results)), of)

    def blocks(self, word: str = "jacobian") -> list[Result]:
        """One matrix of numbers, or an array for each output and input."""
        if all(len(r.subscripts) == len(self.pack) for r in (*self.components(), *(row for row, _ in self.rows))):
            return [self._matrix(word)]
        found = []
        for output in self.outputs:
            for name in self.inputs:
                cells = [(row, column, cell) for row, some in self.rows for column, cell in some]
                own = [c for c in cells if c[0].name == output and c[1].name == name]
                places = [((*self._at(row), *self._at(column)), cell) for row, column, cell in own]
                above = output.removeprefix("gradient_") if word == "hessian" else output
                found.append(self._result(f"{above}_by_{name}", self._shape(output) + self._shape(name), places))
        return found

    def normal_equations(self, lines: bool) -> list[Result]:
        """The matrix of all components, and what a step of Gauss and Newton is solved from."""
        n = len(self.components())
        pairs = [(i, j) for i in range(n) for j in range(i, n)]
        columns = self._columns(n)
        lines &= sum(len(columns[i].keys() & columns[j].keys()) for i, j in pairs) <= LINES
        if lines:
            self.rows = [
                (output, [(column, self._named(f"jacobian_{i}_{j}", cell)) for j, (column, cell) in enumerate(row)])
                for i, (output, row) in enumerate(self.rows)
            ]
            columns = self._columns(n)
        matrix, equations = self._matrix("jacobian")
        if not lines:
            columns = [{i: ref(matrix.name, *self.pack, const(i), const(j)) for i in c} for j, c in enumerate(columns)]
        inner = [total(a * self.rows[i][0] for i, a in column.items()) for column in columns]
        jtr = self._result("jtr", (const(n),), [((const(j),), cell) for j, cell in enumerate(inner)])
        if lines:
            found = [total(a * columns[j][k] for k, a in columns[i].items() if k in columns[j]) for i, j in pairs]
            named = [a if i == j else self._named(f"jtj_{i}_{j}", a) for (i, j), a in zip(pairs, found, strict=True)]
            upper = [((const(i), const(j)), a) for (i, j), a in zip(pairs, named, strict=True)]
            return [(matrix, equations), self._symmetric("jtj", n, upper), jtr]
        jtj = self._result("jtj", (const(n), const(n)), [])[0]
        (i, j, k), (height, width) = map(index, "ijk"), matrix.shape[-2:]
        box = (*self._box(), (i, width), (j, width), (k, height))
        left, right = (ref(matrix.name, *self.pack, k, column) for column in (i, j))
        whole = Equation(jtj.name, (*self.pack, i, j), "sum", left * right, box)
        return [(matrix, equations), (jtj, [whole]), jtr]

    def entries(self, rows: bool) -> tuple[list[Result], Ordered]:
        """Those of one point that are other than 0, by numbers for rows and columns."""
        at = [(i, j, cell) for i, (_, row) in enumerate(self.rows) for j, (_, cell) in enumerate(row)]
        return Entries(self.primal, self.outputs, self.inputs, self.taken).of_cells(at), ()

    def _columns(self, n: int) -> list[dict[int, Expr]]:
        """The derivatives by each component that are not 0, by the number of the row."""
        return [{i: row[j][1] for i, (_, row) in enumerate(self.rows) if row[j][1] is not ZERO} for j in range(n)]

    def _named(self, wish: str, cell: Expr) -> Expr:
        """A number by a name of its own, if it is more than a name, or the negative of one."""
        inner = cell.args[0] if isinstance(cell, Apply) and cell.op == "neg" else cell
        if not isinstance(inner, Apply):
            return cell
        name, box = fresh(wish, self.taken), self._box()
        tensor = Tensor(name, tuple(extent for _, extent in box))
        self.locals.append((tensor, [Equation(name, self.pack, "none", cell, box)]))
        return ref(name, *self.pack)

    def components(self) -> list[Ref]:
        """Those of the inputs, in order."""
        return [column for column, _ in self.rows[0][1]]

    def _matrix(self, word: str) -> Result:
        at = [((const(i), const(j)), cell) for i, (_, row) in enumerate(self.rows) for j, (_, cell) in enumerate(row)]
        if word == "hessian":
            upper = [((i, j), cell) for (i, j), cell in at if i.value <= j.value]
            return self._symmetric(word, len(self.rows), upper)
        return self._result(word, (const(len(self.rows)), const(len(self.components()))), at)

    def _symmetric(self, word: str, n: int, upper: Places) -> Result:
        """A matrix that is its own transpose, to the last bit."""
        cells = dict(upper)
        pairs = [(const(i), const(j)) for i in range(n) for j in range(n)]
        return self._result(word, (const(n), const(n)), [(at, cells[at if at in cells else at[::-1]]) for at in pairs])

    def _shape(self, name: str) -> tuple[Expr, ...]:
        return self.primal.table[name].shape[len(self.pack) :]

    def _at(self, component: Ref) -> tuple[Expr, ...]:
        return component.subscripts[len(self.pack) :]

    def _box(self) -> Box:
        return tuple((s, ref(s.name)) for s in self.pack)

    def _result(self, word: str, shape: Sequence[Expr], at: Places) -> Result:
        name = fresh(word, self.taken)
        box = self._box()
        tensor = Tensor(name, (*(extent for _, extent in box), *shape), Dtype.REAL, Role.OUTPUT)
        some = [(place, cell) for place, cell in at if cell is not ZERO] or at[:1]  # where none stands, it is 0
        return tensor, [Equation(name, (*self.pack, *place), "none", cell, box) for place, cell in some]


class _Blocks:
    """The derivatives of some outputs by some inputs as arrays of output x input, of any size."""

    def __init__(
        self, derivative: Derivative, inputs: Sequence[str], outputs: Sequence[str] = (), tight: bool = False
    ) -> None:
        self.derivative, self.primal = derivative, derivative.primal
        self.inputs = chosen(derivative, inputs)
        self.taken = names_of(derivative.function)
        seeds = [(o, seed) for o, seed in derivative.seeds if o in (outputs or self.primal.outputs)]
        self.chains = {o: Chain(derivative, o, seed, self.taken, tight) for o, seed in seeds}

    def blocks(self, word: str = "jacobian") -> list[Result]:
        """An array for each output and input; where no term writes it is 0."""
        found: list[Result] = []
        for output, chain in self.chains.items():
            above = output.removeprefix("gradient_") if word == "hessian" else output
            for name in self.inputs:
                gradient = dict(self.derivative.gradients)[name]
                shape, terms = chain.by(gradient, self.primal.table[name].shape)
                found.append(self._result(f"{above}_by_{name}", shape, terms))
        return found

    def entries(self, rows: bool) -> tuple[list[Result], Ordered]:
        """Those of each term."""
        made = Entries(self.primal, [*self.chains], self.inputs, self.taken)
        gradients, facts = dict(self.derivative.gradients), self.derivative.function.facts
        found, ordered = list[Result](), list[Mapping[str, tuple[Expr, ...] | None] | None]()
        for output, chain in self.chains.items():
            terms = {name: chain.found.get(gradients[name], ()) for name in self.inputs}
            some, counts = made.of_output(output, terms, facts, chain.box if rows else None)
            found += some
            names = [tensor.name for tensor, _ in some[2::3]]
            ordered.append(None if counts is None else dict(zip(names, counts, strict=True)))
        return found or made.nothing(), ordered

    def normal_equations(self, lines: bool) -> list[Result]:
        """Of one array by another: J, J^T J and J^T r, the products of terms being terms again."""
        if len(self.chains) * len(self.inputs) != 1:
            raise UnsupportedError(
                f"{self.primal.name}: J^T J is written for numbers, for arrays of literal size, or for one array of "
                f"residuals by one input; here are {', '.join(self.chains)} by {', '.join(self.inputs)}. Name one "
                f"input (wrt), or put the unknowns in one array."
            )
        ((chain, name),) = [(chain, name) for chain in self.chains.values() for name in self.inputs]
        shape = self.primal.table[name].shape
        words = [fresh(word, self.taken) for word in ("jacobian", "jtj", "jtr")]
        found = chain.squares(dict(self.derivative.gradients)[name], words[0])
        return [
            self._result(word, chain.joined(rows, shape), [(chain.joined(t.above, t.below), t) for t in terms])
            for word, rows, terms in zip(words, (chain.shape, shape, ()), found, strict=True)
        ]

    def _result(self, word: str, shape: tuple[Expr, ...], terms: Sequence[tuple[tuple[Expr, ...], Term]]) -> Result:
        target = fresh(word, self.taken)
        equations = [term.equation(target, places) for places, term in terms]
        box = self.primal.box_of(shape)
        equations = equations or [Equation(target, tuple(i for i, _ in box), "none", ZERO, box)]
        return Tensor(target, shape, Dtype.REAL, Role.OUTPUT), equations

    def function(
        self, kind: str, outputs: Sequence[str], results: Sequence[Result], of: Function | None = None
    ) -> Function:
        joint, chains = self.derivative.function, self.chains.values()
        tensors = [*joint.tensors, *(t for chain in chains for t in chain.tensors), *(t for t, _ in results)]
        moved = {name for chain in chains for name in chain.moved}
        statements = [without_asking(e, moved) for e in joint.statements if e.target not in moved]
        statements += [e for chain in chains for e in chain.statements]
        statements += [e for _, equations in results for e in equations]
        outputs = (*outputs, *(t.name for t, _ in results))
        return _again(self.derivative, kind, tensors, ordered(statements), outputs, of)
