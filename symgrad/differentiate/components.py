"""The Jacobian of a function of scalars, or of vectors of literal size: one expression for each pair of components."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    const,
    factors,
    folded,
    fraction,
    index,
    is_exact,
    operator,
    pending,
    postorder,
    ref,
    refs,
    renewed,
    size,
    substitute,
    terms_of,
    total,
    transformer,
    without_number,
    without_sign,
)
from ..expr.names import Names
from ..ir import Derivative, Equation, Function, Tensor, names_of
from ..ops import OPS
from ..records import replace
from .recognised import Recognised

MOST = 64  # along one axis; longer ones have no formula for each component
LONG = 400  # operations; a Jacobian of more is not written at the head of a file


Row = tuple[Ref, list[tuple[Ref, Expr]]]  # a component of an output, and its derivative by each one of the inputs


def entries(derivative: Derivative, expand: bool = False) -> list[list[Expr]] | None:
    """The Jacobian of a function of scalars (or of vectors of literal size), one row per component of the outputs.

    None for a function of tensors. A value that forward names stands by its name, unless `expand` writes everything
    in the inputs.
    """
    joint, primal = derivative.function, derivative.primal
    if not of_components(derivative) or derivative.kind != "vjp":
        return None
    if not expand and any(total > LONG for total in accumulate(size(e.body) for e in joint.statements)):
        return None
    rows = cells(derivative, set() if expand else set(primal.writers))
    return [[_number_first(_of_one_point(cell, primal)) for _, cell in row] for _, row in rows]


def _number_first(cell: Expr) -> Expr:
    """2*y for y*2, which is what a factor in front of several cotangents leaves where one of them is 1."""
    bare, negative = without_sign(cell)
    above, below = factors(bare)
    if not any(map(is_exact, above[1:])):
        return cell
    number, *others = without_number(above, below)
    return fraction([const(-number if negative else number), *others[0]], others[1])


def of_components(derivative: Derivative) -> bool:
    """Whether each component of each tensor has an equation of its own."""
    return _of_components(derivative.function, derivative.primal)


def _of_components(joint: Function, primal: Function) -> bool:
    scalar = all(e.reduce == "none" and not e.when and not e.reduced for e in joint.statements)
    literal = all(_components(t, primal) is not None for t in joint.tensors)
    return scalar and literal and all(_at_one_place(e, primal) for e in joint.statements)


def cells(derivative: Derivative, opaque: set[str], multiples: bool = False) -> list[Row]:
    """The derivative of each component of the outputs by each one of the inputs; what is opaque stands by its name.

    Of J^T v with v a unit vector, which gives a row; of J v, which gives a column.

    multiples  what is a number times such a value is read by its name, too
    """
    joint, primal = derivative.function, derivative.primal

    def elements(pairs: Iterable[tuple[str, str]]) -> list[tuple[Ref, Ref]]:
        return [(ref(n, *x), ref(own, *x)) for n, own in pairs for x in _components(primal.table[n], primal) or ()]

    units, results = elements(derivative.seeds), elements(derivative.gradients)
    writers = Counter((e.target, e.subscripts) for e in primal.statements)
    named = (e for e in primal.statements if e.target in opaque and e.where is None)
    recognised = Recognised([e for e in named if writers[e.target, e.subscripts] == 1] if multiples else [])
    product = _Product([r for _, r in results], [r for _, r in units], joint, opaque, recognised)
    found = [product.of(seed) for _, seed in units]
    above, below = [element for element, _ in units], [element for element, _ in results]
    if derivative.kind == "jvp":
        above, below, found = below, above, [list(row) for row in zip(*found, strict=True)]
    return [(output, list(zip(below, row, strict=True))) for output, row in zip(above, found, strict=True)]


def in_values(function: Function) -> Function:
    """The function with an equation for each value that several others are computed from: J v then goes through them
    one by one, where it would go back through the whole of each output."""
    readers = Counter(a for node in postorder(*(e.body for e in function.statements)) for a in node.args)
    readers.update(e.body for e in function.statements)
    names, tensors, statements = Names(names_of(function)), list(function.tensors), list[Equation]()
    known: dict[Expr, Expr] = {}
    for e in function.statements:
        for node in pending([e.body], known):
            new = known[node] = renewed(node, known) if node.args else node
            if e.where is None and readers[node] > 1 and isinstance(node, Apply) and OPS[node.op].result != "bool":
                tensor, equation, known[node] = e.part(names.new("value"), new)
                tensors.append(tensor)
                statements.append(equation)
        statements.append(e.with_body(known[e.body]))
    return replace(function, tensors=tuple(tensors), statements=tuple(statements))


def by_components(function: Function) -> Function:
    """The function with an equation for each component of each tensor, where some of them have one already and others
    are computed with these: `sg.stack([x / z, y / z]) - seen` is two equations. The same function where that is not to
    be had."""
    chosen = {t for t, es in function.writers.items() if any(_at_one_place(e, function) for e in es if e.subscripts)}
    found = set[str]()
    while found != chosen:
        found = set(chosen)
        for e in function.statements:
            near = {e.target, *(r.name for r in e.reads if r.name in function.writers)}
            chosen |= near if near & chosen else set()
    statements = [one for e in function.statements for one in (_one_by_one(e, function) if e.target in found else [e])]
    written = replace(function, statements=tuple(statements))
    return written if found and _of_components(written, written) else function


def _at_one_place(e: Equation, function: Function) -> bool:
    return all(isinstance(s, Const) or _is_pack(s, function) for s in e.subscripts)


def _one_by_one(e: Equation, function: Function) -> list[Equation]:
    """An equation for each component, a sum being that of its terms; the equation itself, where it is none of these."""
    points: list[dict[Expr, Expr]] = [{}]
    for i, extent in e.box:
        if not _is_pack(i, function):
            if not isinstance(extent, Const) or extent.value > MOST:
                return [e]
            points = [{**point, i: const(k)} for point in points for k in range(int(extent.value))]
    if e.reduce not in ("none", "sum") or e.reduced and e.where is not None:
        return [e]
    found: dict[tuple[Expr, ...], list[Equation]] = {}
    for one in map(e.at, points):
        found.setdefault(one.subscripts, []).append(one)
    return [replace(a[0], reduce="none", body=total(one.body for one in a)) for a in found.values()]


def of_units(node: Expr) -> Expr:
    """What cotangents of 1 and 0 leave: `0 / x` of gradients over a common denominator, `x * -1`."""
    if operator(node) == "div" and node.args[0] is ZERO:
        return ZERO
    return -node.args[0] if operator(node) == "mul" and node.args[1] == const(-1) else node


def _of_one_point(cell: Expr, primal: Function) -> Expr:
    """`p[..., 0]` as `p[0]`: a formula for one point of a pack."""
    points = {r: ref(r.name, *(s for s in r.subscripts if not _is_pack(s, primal))) for r in refs(cell)}
    return substitute(cell, points)


def _components(tensor: Tensor, primal: Function) -> list[tuple[Expr, ...]] | None:
    """The subscripts of every component; None if a size is not literal."""
    found: list[tuple[Expr, ...]] = [()]
    for extent in tensor.shape:
        if isinstance(extent, Ref) and extent.name in primal.packs:
            found = [(*at, index(extent.name)) for at in found]
        elif isinstance(extent, Const) and extent.value <= MOST:
            found = [(*at, const(k)) for at in found for k in range(int(extent.value))]
        else:
            return None
    return found


def _is_pack(s: Expr, primal: Function) -> bool:
    return isinstance(s, Index) and s.name in primal.packs


class _Product:
    """A product with the Jacobian, element by element: by the equations, and so on down to the inputs, the seeds and
    what is opaque. It is linear in the seeds: of one that is 1 beside others that are 0, what does not read it is 0.
    """

    def __init__(
        self, results: Sequence[Ref], seeds: Sequence[Ref], joint: Function, opaque: set[str], recognised: Recognised
    ) -> None:
        self._results, self._recognised = results, recognised
        self._terms: dict[Expr, list[tuple[Expr, int]]] = {}  # with their signs
        self._readers: dict[Expr, list[tuple[Expr, int]]] = {seed: [] for seed in seeds}  # of what reads a seed
        self._still: dict[Expr, Expr] = {}  # what reads none
        unwritten = set(joint.outputs) - opaque - set(joint.inputs)  # a gradient that nothing contributes to is 0

        def bodies(r: Expr) -> list[Expr]:
            writers = joint.writers.get(r.name, ()) if isinstance(r, Ref) and r.name not in opaque else ()
            found = [e for e in writers if e.subscripts == r.args]
            return [e.body if e.where is None else apply("select", e.where, e.body, ZERO) for e in found]

        done: set[Expr] = {*seeds}
        known: dict[Expr, Expr] = {}
        for node in pending(results, done, lambda r: refs(*bodies(r))):
            assert isinstance(node, Ref)
            done.add(node)
            terms = [term for body in bodies(node) for term in terms_of(body)]
            moving = [(r, k) for k, (term, _) in enumerate(terms) for r in refs(term) if r in self._readers]
            for r, k in moving:
                self._readers[r].append((node, k))
            if moving:
                self._readers[node], self._terms[node] = [], terms
            elif node.name in joint.writers and node.name not in opaque:
                self._still[node] = self._value(terms, known)
            else:
                self._still[node] = ZERO if node.name in unwritten else node
        self._order = {node: number for number, node in enumerate(self._readers)}

    def of(self, seed: Ref) -> list[Expr]:
        """The elements of the product with the unit vector of a seed."""
        reached: dict[Expr, set[int]] = {}  # which of their terms
        rest: list[Expr] = [seed]
        while rest:
            for node, k in self._readers[rest.pop()]:
                if node not in reached:
                    reached[node] = set()
                    rest.append(node)
                reached[node].add(k)
        values: dict[Expr, Expr] = {seed: ONE}
        for node in sorted(reached, key=self._order.__getitem__):
            values[node] = self._value([self._terms[node][k] for k in sorted(reached[node])], values)
        put = transformer(of_units)
        return [put(values[r]) if r in values else self._still.get(r, ZERO) for r in self._results]

    def _value(self, terms: Sequence[tuple[Expr, int]], done: dict[Expr, Expr]) -> Expr:
        """The sum of terms, by what they are computed from; what they share is `done` once."""

        def put(node: Expr) -> Expr:
            return self._still.get(node, ZERO) if isinstance(node, Ref) else renewed(node, done)

        found: Expr = ZERO
        for term, sign in terms:
            part = folded(term, done, put)
            found = found + part if sign > 0 else found - part
        return self._recognised(found)
