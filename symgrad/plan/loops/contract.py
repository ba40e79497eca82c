"""Sums of products of two elements, which a function can compute as it multiplies matrices.

Such a sum is three loops, over rows, columns and terms, in a `Contraction`. A language that has a function for it calls
that with the places and strides of the three elements; another one prints the loops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial

from ...domain import GE, Affine, Facts
from ...domain.atoms import Atom
from ...expr import ZERO, Apply, Const, Expr, Index, Ref, factors, indices, product, ref, refs, signed_total, terms_of
from ...expr.polynomials import Polynomial, polynomial
from ...ir import Dtype, Equation, Tensor
from ...records import dataclass, replace
from ..program import Item, Step
from .data import Block, Contraction, Local, Loop, Node, Store, with_inner
from .targets import windows

FEWEST = 4  # rows, columns or terms; of fewer, the function would pack more than it computes
SMALL = 512  # turns of the three loops, up to which these are as fast as the function


@dataclass(frozen=True, slots=True)
class Product:
    """One product of matrices: element[row, column] += sum over term of left[row, term] * right[term, column] * scale.

    The indices may stand anywhere in the subscripts, beside others.
    """

    row: Index
    column: Index
    term: Index
    left: Ref
    right: Ref
    scale: Expr

    @property
    def indices(self) -> tuple[Index, Index, Index]:
        """Outermost first."""
        return self.row, self.column, self.term


def product_of(e: Equation, table: Mapping[str, Tensor], facts: Facts) -> Product | None:
    """How `e` multiplies matrices, for each value of its other indices; None if it does not, or they are too small."""
    above, below = factors(e.body)
    if e.reduce != "sum" or table[e.target].dtype is not Dtype.REAL:
        return None
    short, extents, domain = windows(e), dict(e.box), e.domain(facts)
    for term, _ in reversed(e.reduced):
        both = [f for f in above if term in indices(f)]
        if term in short or len(both) != 2 or any(term in indices(f) for f in below):
            continue
        left, right = both
        if not (isinstance(left, Ref) and isinstance(right, Ref)):
            continue
        if any(table[r.name].dtype is not Dtype.REAL or r.name == e.target for r in (left, right)):
            continue
        rest = [f for f in above if f is not left and f is not right]
        fixed = {*indices(*rest, *below)}
        found = [
            [i for i, _ in e.shown if i in indices(one) and i not in {*indices(other), *fixed, *short}]
            for one, other in ((left, right), (right, left))
        ]
        if not all(found):
            continue
        row, column = found[0][-1], found[1][-1]
        if row in indices(e.subscripts[-1]):  # the last axis in memory counts columns
            row, column, left, right = column, row, right, left
        walks = ((left, row, term), (right, term, column), (e.subscripts, row, column))
        if not all(_walks(i, r.subscripts if isinstance(r, Ref) else r, facts) for r, *some in walks for i in some):
            continue
        if not all(_limits(a, {row, column, term}, domain.facts) for a in domain.atoms):
            continue
        sizes = [extents[i] for i in (row, column, term)]
        turns = product(sizes)
        few = any(isinstance(n, Const) and n.value < FEWEST for n in sizes)
        if not few and not (isinstance(turns, Const) and turns.value <= SMALL):
            scale = product(rest) / product(below) if below else product(rest)
            return Product(row, column, term, left, right, scale)
    return None


def summed_in_place(
    steps: Sequence[Item], temporaries: Set[str], table: Mapping[str, Tensor], facts: Facts
) -> list[Item]:
    """The steps with a sum of products of matrices as one step, which adds them up where they go."""
    reads = Counter(r.name for step in steps for e in step.equations for r in e.reads)
    alone = {
        step.target: step.equations[0]
        for step in steps
        if isinstance(step, Step) and step.target in temporaries and reads[step.target] == 1 and _fills(step, table)
    }
    products = {name for name, e in alone.items() if product_of(e, table, facts) is not None}
    if not products:
        return list(steps)
    where = {step.target: (step.serves, step.when) for step in steps if isinstance(step, Step)}
    joined: dict[str, Step] = {}
    gone: set[str] = set()
    for step in steps:
        if not isinstance(step, Step) or not _fills(step, table) or step.equations[0].reduce != "none":
            continue
        (e,) = step.equations
        rest: list[tuple[Expr, int]] = []
        parts: list[Equation] = []
        terms = terms_of(e.body)
        meant = Counter(r.name for term, _ in terms for r in refs(term))  # a term that reads it keeps it in memory
        for term, sign in terms:
            above, below = factors(term)
            read = [f for f in above if isinstance(f, Ref) and f.subscripts == e.subscripts and f.name in products]
            scale = [f for f in above if f not in read]
            name = read[0].name if len(read) == 1 and not indices(*scale, *below) else ""
            name = name if meant[name] == 1 else ""
            if name and where[name] == (step.serves, step.when) and _alike(name, step.target, table):
                factor = product(scale) * sign / product(below) if below else product(scale) * sign
                parts.append(replace(alone[name], target=step.target, body=factor * alone[name].body))
                gone.add(name)
            else:
                rest.append((term, sign))
        if parts:
            first = (replace(e, body=signed_total(rest)),) if rest else ()
            joined[step.target] = replace(step, equations=(*first, *parts))
    return [joined.get(s.targets[0], s) for s in steps if s.targets[0] not in gone]


def _fills(step: Step, table: Mapping[str, Tensor]) -> bool:
    """Whether one equation, on no condition, says what every element is."""
    (e, *others) = step.equations or (None,)
    plain = step.how == "fill" and e is not None and not others and not e.when and e.where is None
    return plain and e is not None and e.matrix is None and e.fills(table[step.target])


def _alike(a: str, b: str, table: Mapping[str, Tensor]) -> bool:
    one, other = table[a].shape, table[b].shape
    return len(one) == len(other) and all(m.key is n.key for m, n in zip(one, other, strict=True))


def _walks(i: Index, subscripts: tuple[Expr, ...], facts: Facts) -> bool:
    """Whether a turn of `i` is a step forward through an array, as long whatever the other indices are."""
    for s in subscripts:
        form = polynomial(s)
        if i not in indices(s):
            continue
        step = None if form is None or any(i in indices(a) for a in form.symbols - {i}) else form.split(i)[0]
        if step is None or indices(step.expression()) or refs(step.expression()) and not facts.nonnegative(step):
            return False
        if step.number is not None and step.number < 0:
            return False
    return True


def _limits(atom: Atom, inside: Set[Index], facts: Facts) -> bool:
    """Whether a condition limits at most one of the loops, and asks nothing else in them."""
    mine = [i for i in inside if i in atom.uses]
    if not mine:
        return True
    if not isinstance(atom, Affine) or atom.relation != GE or len(mine) > 1:
        return False
    step, _ = atom.form.split(mine[0])
    return mine[0] in atom.form.symbols and bool(facts.sign(step))


def contracted(block: Block, found: Product, name: str) -> Block:
    """`block` with the three loops as a `Contraction`. A scale that is computed is so before, under a `name`."""
    done: list[Node] = []
    for node in block:
        if isinstance(node, Loop) and node.index is found.row:
            done += _nest(node, found, name)
        else:
            done.append(with_inner(node, partial(contracted, found=found, name=name)))
    return tuple(done)


def _nest(rows: Loop, found: Product, name: str) -> Block:
    """The loops over rows, columns and terms; before them, what limits them."""
    loops: list[Loop] = []
    before: list[Node] = []
    body: Block = (rows,)
    for i in found.indices:
        *limits, node = body
        if not (isinstance(node, Loop) and node.index is i and all(isinstance(n, Local) and n.count for n in limits)):
            return (rows,)
        before += limits
        loops.append(node)
        body = node.body
    own = {*found.indices}
    limited = [n.value for n in before if isinstance(n, Local)]
    limited += [e for n in loops for e in (n.lower, n.extent)]
    if len(body) != 1 or not isinstance(store := body[0], Store) or own & {*indices(*limited)}:
        return (rows,)
    scale = found.scale
    if isinstance(scale, Apply):
        before.append(Local(name, scale))
        scale = ref(name)
    body = (replace(store, value=product([found.left, found.right, scale])),)
    for node in reversed(loops):
        body = (replace(node, body=body),)
    return (*before, Contraction(body))


@dataclass(frozen=True, slots=True)
class Parts:
    """What a `Contraction` says: three loops and the three elements, and what each product is multiplied by.

    outer  a fourth loop, over groups of terms
    """

    outer: Loop | None
    rows: Loop
    columns: Loop
    terms: Loop
    element: Ref
    left: Ref
    right: Ref
    scale: Expr

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Outermost first."""
        outer = () if self.outer is None else (self.outer,)
        return (*outer, self.rows, self.columns, self.terms)


def begin(subscript: Expr, loops: Iterable[Loop]) -> Polynomial | None:
    """The first place of a subscript that the loops walk along; None if they do not."""
    first: dict[Expr, Expr] = {loop.index: loop.lower for loop in loops if loop.index in indices(subscript)}
    form = polynomial(subscript) if first else None
    return None if form is None else form.at(first)


def stride(element: Ref, i: Index, shape: Sequence[Expr]) -> Expr:
    """How far in memory a turn of `i` moves from one element to the next."""
    found: Expr = ZERO
    for axis, s in enumerate(element.subscripts):
        form = polynomial(s) if i in indices(s) else None
        if form is not None:
            found = found + form.split(i)[0].expression() * product(shape[axis + 1 :])
    return found


def is_matrix(element: Ref, row: Index, column: Index, shape: Sequence[Expr]) -> bool:
    """Whether two indices walk over rows of an array, in any order, as libraries have matrices: one along its last axis
    from each element to the next, the other along another axis."""
    axes = [[axis for axis, s in enumerate(element.subscripts) if i in indices(s)] for i in (row, column)]
    if not all(len(some) == 1 for some in axes) or axes[0] == axes[1] or [len(shape) - 1] not in axes:
        return False
    forms = [(i, polynomial(element.subscripts[some[0]]), some[0]) for i, some in zip((row, column), axes, strict=True)]
    steps = [(form.split(i)[0].number, axis) for i, form, axis in forms if form is not None]
    return all(step == 1 if axis == len(shape) - 1 else step is not None and step > 0 for step, axis in steps)


def parts_of(node: Contraction) -> Parts | None:
    """The parts of a contraction; None where it has become something else since, such as several nests."""
    loops: list[Loop] = []
    body = node.body
    while len(body) == 1 and isinstance(body[0], Loop):
        loops.append(body[0])
        body = body[0].body
    if len(loops) not in (3, 4) or len(body) != 1 or not isinstance(store := body[0], Store) or store.how != "+=":
        return None
    above, below = factors(store.value)
    *outer, rows, columns, terms = loops
    both = [f for f in above if isinstance(f, Ref) and terms.index in indices(f)]
    rest = product([f for f in above if f not in both])
    if below or len(both) != 2 or {n.index for n in loops} & {*indices(rest)}:
        return None
    left, right = both if rows.index in indices(both[0]) else reversed(both)
    return Parts(outer[0] if outer else None, rows, columns, terms, store.element, left, right, rest)


def widened(block: Block, facts: Facts) -> Block:
    """`block` with the loops directly around products of matrices in them, where they go on with the terms elsewhere in
    memory: a short row of them, such as a line of an image, takes less time than to add its sums to the elements."""
    done: list[Node] = []
    for node in block:
        node = with_inner(node, partial(widened, facts=facts))
        if isinstance(node, Loop) and node.body and isinstance(inner := node.body[-1], Contraction):
            *before, _ = node.body
            parts = parts_of(inner)
            fixed = all(isinstance(n, Local) and n.count and node.index not in indices(n.value) for n in before)
            if parts is not None and fixed and _continues(node, parts, facts):
                done += before
                node = Contraction((replace(node, body=inner.body),))
        done.append(node)
    return tuple(done)


def _continues(loop: Loop, parts: Parts, facts: Facts) -> bool:
    """Whether a loop walks along both operands, and not along the elements."""
    limits = [e for n in parts.loops for e in (n.lower, n.extent)]
    if parts.outer is not None or loop.reverse or not isinstance(parts.scale, Const) or loop.index in indices(*limits):
        return False
    both = (parts.left.subscripts, parts.right.subscripts)
    walks = all(loop.index in indices(*s) and _walks(loop.index, s, facts) for s in both)
    return walks and loop.index not in indices(*parts.element.subscripts)
