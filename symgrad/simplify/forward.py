"""Rewrites on forward, before it is differentiated: stable forms, and what is computed once.

The table of accuracy rewrites stands in table.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from ..differentiate import sloped
from ..expr import (
    ONE,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    factors,
    index,
    indices,
    postorder,
    preorder,
    ref,
    refs,
    size,
    substitute,
    transform,
)
from ..expr.names import Names, fresh_letters
from ..ir import (
    Equation,
    Function,
    Role,
    Signs,
    Tensor,
    alive,
    names_of,
    on_demand,
    range_of,
    recording,
    rewritten,
    spans,
)
from ..ops import OPS
from ..ops.matrices import MATRICES, sizes
from ..ops.row import unguarded
from ..precision import better, fewest
from ..precision.search import operations
from ..records import replace
from .domain import in_domain, told_of
from .exponentials import by_exponentials
from .formulas import with_plain_formulas
from .inlined import Inlined
from .normalised import with_normalised
from .singular import filled_quotients, with_filled
from .softmax import softmax
from .summed import summed_first
from .table import SCALED, STABLE, Identity, stable_form
from .tails import by_tails
from .ties import with_powers_beside_ties

SEARCHED = "fewest bits lost"
MORE = 1  # operations that a form of what is written in steps may take: q*log1p(-p) for q*log(q)
LARGE = 2_000  # operations; a longer straight line keeps its text, but for what is 0/0


def stable(function: Function) -> Function:
    """Return an equal function in stable form, each value computed once.

    Equal reductions are one. The table of identities; exp(u) / sum exp(u) as exp(u - logsumexp u), log sum exp(u) as
    logsumexp u; a hoisted reduction that is only copied takes the name of the copy; what does not depend on all the
    indices of its equation, and calls a function, gets an equation of its own; so do the other
    results of a factorisation.
    """
    return both_stable(function)[0]


def both_stable(function: Function) -> tuple[Function, Function | None]:
    """The same; and without the forms that a search found for what loses digits, beside those of the table, if it did.
    Who records is told of the first alone."""
    if sum(size(e.body) for e in function.statements) > LARGE:
        filled = with_filled(function) if function.stabilize else function
        return rewritten("removable singularities", function, filled), None
    without: Function | None = None
    for name, rewrite in _rewrites(function):
        if without is not None:
            with recording(False):
                without = rewritten(name, without, rewrite(without))
        before, function = function, rewritten(name, function, rewrite(function))
        if name == SEARCHED and any(name in e.rewrites for e in function.statements):
            without = before
    return function, without


def _rewrites(function: Function) -> Iterator[tuple[str, Callable[[Function], Function]]]:
    """What `stable` does, in order."""
    yield "without conditions that always hold", _unconditional
    if function.stabilize:
        yield "in its domain", in_domain
        yield "powers beside equalities", with_powers_beside_ties
        yield "in common exponentials", _each(partial(transform, replace=by_exponentials, only={"exp"}))
        yield "stable form", _in_form(STABLE)
        yield "stable form in its domain", in_domain
    yield "constants in place", _constants
    if function.stabilize:
        yield "in tails", _each_node(by_tails)
        yield "softmax", softmax
    yield "summed first", summed_first
    yield "equal reductions once", equal_once
    if function.stabilize:
        yield "removable singularities", with_filled
        yield "formulas of operators", lambda f: replace(f, statements=tuple(with_plain_formulas(f.statements)))
        yield "scaled form", _in_form(SCALED)
        yield SEARCHED, _with_fewest_lost
        yield "searched form in its domain", in_domain
        yield "roots", _with_roots
    yield "copies under one name", _rename_copies
    yield "hoisted", _hoist
    yield "normalised", with_normalised
    yield "without dead equations", without_dead
    yield "other results of a factorisation", _with_siblings
    yield "on demand", lambda f: on_demand(f, sloped(f))


def _each(change: Callable[[Expr], Expr]) -> Callable[[Function], Function]:
    """What changes each body."""
    return lambda f: replace(f, statements=tuple(e.with_body(change(e.body)) for e in f.statements))


def _each_node(rewrite: Callable[[Expr], Expr]) -> Callable[[Function], Function]:
    return _each(partial(transform, replace=rewrite))


def _in_form(table: Sequence[Identity]) -> Callable[[Function], Function]:
    return lambda f: _each(partial(stable_form, table=table, interval=Signs(f)))(f)


def _unconditional(function: Function) -> Function:
    """The function without conditions that hold wherever they are evaluated."""
    statements = []
    for e in function.statements:
        body = e.domain(function.facts).decided(e.body)
        where = None if e.where is None else replace(e, where=None).domain(function.facts).decided(e.where)
        statements.append(replace(e.with_body(body), where=None if where is ONE else where))
    return replace(function, statements=tuple(statements))


def _constants(function: Function) -> Function:
    """A local that is one number everywhere is that number where it is read; and so is one that is a number where a
    condition holds, where it is read under that: own in where(c, own*x, 0), if it is where(c, 1, 0)."""
    numbers = {name: e.body for name, e in function.elementwise.items() if isinstance(e.body, Const)}
    chosen = {name: e for name, e in function.elementwise.items() if _is_number_somewhere(e.body)}

    def under(condition: Expr, branch: int, node: Expr) -> Expr:
        if not isinstance(node, Ref) or node.name not in chosen:
            return node
        own = chosen[node.name]
        body = substitute(own.body, dict(zip(own.subscripts, node.subscripts, strict=True)))
        found = body.args[1 + branch] if isinstance(body, Apply) and body.args[0] is condition else node
        return found if isinstance(found, Const) else node

    def rewrite(node: Expr) -> Expr:
        if isinstance(node, Ref):
            return numbers.get(node.name, node)
        if not (chosen and isinstance(node, Apply) and node.op == "select"):
            return node
        condition, *branches = node.args
        known = [transform(b, partial(under, condition, k)) for k, b in enumerate(branches)]
        return apply("select", condition, *known)

    return _each_node(rewrite)(function) if numbers or chosen else function


def _is_number_somewhere(body: Expr) -> bool:
    return isinstance(body, Apply) and body.op == "select" and any(isinstance(b, Const) for b in body.args[1:])


# equal reductions, copies, invariants, dead equations


def equal_once(function: Function) -> Function:
    """Reductions that are equal but for the names of indices are one; who reads a later one reads the first."""
    first: dict[object, str] = {}
    same: dict[str, str] = {}

    def renamed(node: Expr) -> Expr:
        return ref(same[node.name], *node.subscripts) if isinstance(node, Ref) and node.name in same else node

    statements: list[Equation] = []
    for e in function.statements:
        if same:
            e = e.mapped(partial(transform, replace=renamed))
        tensor = function.table[e.target]
        if e.reduce != "none" or e.reduced:
            if tensor.role == Role.LOCAL and len(function.writers[e.target]) == 1 and e.plain and e.fills(tensor):
                found = first.setdefault(_canonical(e), e.target)
                if found != e.target and not tensor.named:
                    same[e.target] = found
                    continue
        statements.append(e)
    return replace(function, statements=tuple(statements)) if same else function


def _canonical(e: Equation) -> object:
    """What two reductions have in common that are equal but for the names of their indices."""
    box = (*((i, dict(e.box)[i]) for i in indices(*e.subscripts)), *e.reduced)
    names: dict[Expr, Expr] = {i: index(f"#{place}") for place, (i, _) in enumerate(box)}
    where = None if e.where is None else substitute(e.where, names).key
    extents = tuple(substitute(extent, names).key for _, extent in box)
    return e.reduce, len(e.reduced), substitute(e.body, names).key, extents, where, e.when


def _rename_copies(function: Function) -> Function:
    """`total[i] = sum ...; out[i] = total[i]`: the reduction is written to `out` at once, and so is a mean."""
    readers: dict[str, int] = {}
    for e in function.statements:
        for r in e.reads:
            readers[r.name] = readers.get(r.name, 0) + 1
    statements = list(function.statements)
    renamed: dict[str, Equation] = {}
    gone: set[str] = set()
    for place, e in enumerate(statements):
        source, below = e.body.args if isinstance(e.body, Apply) and e.body.op == "div" else (e.body, ONE)
        if not (isinstance(source, Ref) and e.reduce == "none" and e.where is None and not e.when and e.plain):
            continue
        tensor = function.table.get(source.name)
        writers = function.writers.get(source.name, ())
        turned = set(source.subscripts) == set(e.subscripts) and len(source.subscripts) == len(e.subscripts)
        alone = len(writers) == 1 and readers[source.name] == 1 and tensor is not None
        if not (turned and alone and tensor is not None and tensor.role == Role.LOCAL and not tensor.named):
            continue
        inner = renamed.get(source.name, writers[0])  # a copy of a copy
        several = len(function.writers[e.target]) > 1 and inner.reduce not in ("none", "sum")
        if below is not ONE and not _is_mean(inner, below):
            continue
        if below is ONE and tensor.dtype != function.table[e.target].dtype:  # an argmax is an integer
            continue
        if several or inner.when or not inner.fills(tensor) or not spans(source.subscripts, tensor.shape, dict(e.box)):
            continue
        if inner.matrix is not None and source.subscripts != e.subscripts:
            continue  # the order of the indices tells the axes of its result
        clash = {i for i, _ in inner.reduced} & set(indices(*e.subscripts))
        if clash:
            continue
        moved = inner.at(dict(zip(inner.subscripts, source.subscripts, strict=True)))
        box = (*(pair for i in e.subscripts for pair in moved.box if pair[0] is i), *moved.reduced)
        statements[place] = replace(
            moved, target=e.target, subscripts=e.subscripts, body=moved.body / below, box=box, rewrites=()
        )
        renamed[e.target] = statements[place]
        gone.add(source.name)
    return replace(function, statements=tuple(e for e in statements if e.target not in gone))


def _is_mean(total: Equation, below: Expr) -> bool:
    """Whether a sum divided by `below` is a mean."""
    divisors, others = factors(below)
    extents = [extent for _, extent in total.reduced]
    return total.reduce == "sum" and not others and Counter(divisors) == Counter(extents)


def _hoist(function: Function) -> Function:
    """An invariant that calls a function gets an equation of its own: sqrt(var[j] + eps) in a box (i, j)."""
    tensors = list(function.tensors)
    names = Names(names_of(function))
    known: dict[tuple[Expr, tuple[Expr, ...]], Ref] = {}
    statements: list[Equation] = []
    for e in function.statements:
        extents = dict(e.box)
        mine: dict[Expr, Expr] = {}
        whole = e.matrix is None and not e.when and e.where is None
        if whole and not any(OPS[n.op].lazy for n in _applies(e.body)):
            for node in _maximal_invariants(e.body, set(extents)):
                if function.facts.integer(node):
                    continue  # a name is one of a real number
                same = range_of(node, extents)
                if same not in known:
                    tensor, equation, known[same] = e.part(names.new(_invariant_name(node)), node)
                    tensors.append(tensor)
                    statements.append(equation)
                mine[node] = known[same]
        statements.append(e.with_body(substitute(e.body, mine)) if mine else e)
    return replace(function, tensors=tuple(tensors), statements=tuple(statements))


def _with_fewest_lost(function: Function) -> Function:
    """Formulas that still cancel or leave the range, in the best form that a search finds; steps before them are
    written out for it. What is computed from one input may not have any values together, and is left as it is.

    What somebody wrote in steps keeps them, unless the other form is about as short: log(1 + e) with e = exp(x).
    """
    scaled = frozenset([*(d.name for d in function.dims), *(o.name for o in function.options)])
    inlined, sources = Inlined(function), _Sources(function, scaled)
    statements = []
    for e in function.statements:
        form = e.body if e.matrix is not None else _with_fewest(function, e, inlined, sources, scaled)
        if form is not e.body:
            guarded = e.guarded or unguarded(form) is not form and unguarded(e.body) is e.body
            e = replace(e, body=form, guarded=guarded)
            inlined.becomes(e)
        statements.append(e)
    return replace(function, statements=tuple(statements))


def _with_fewest(function: Function, e: Equation, inlined: Inlined, sources: _Sources, scaled: frozenset[str]) -> Expr:
    """The best form of an equation with more and more steps before it written out: of the fewest steps with which it
    loses no more."""
    levels = inlined.levels(e.body, inlined.is_step(e))
    last, deepest = None, 0
    forms: dict[Expr, Expr] = {}  # with all steps written out, and in the words of the equation
    for depth, body in reversed([*enumerate(levels)]):
        if not sources.apart(e, body):
            continue
        last, deepest = (body, depth) if last is None else (last, deepest)
        given = told_of(function, body)
        found = better(body, scaled, given=given)
        words = {} if found is None else inlined.called(levels[: depth + 1])
        found = better(body, scaled, words, given=given) if words else found
        spoken = None if found is None else substitute(found, words)
        fits = spoken is not None and (not words or operations(spoken) <= inlined.steps(e, refs(spoken)) + MORE)
        best = found if found is not None and fits else body
        form = filled_quotients(function, best, scaled, body)  # some are quotients only now
        if form is not body:
            forms[inlined.further(form, deepest - depth)] = substitute(form, words)
        if found is None:
            break
    if last is None or not forms:
        return e.body
    return forms[fewest([*reversed(forms)], last, scaled, given=told_of(function, last))]


class _Sources:
    """The inputs that tensors are computed from."""

    def __init__(self, function: Function, scaled: Collection[str]) -> None:
        self.scaled = scaled
        self.found = {name: frozenset([name]) for name in function.inputs}
        for e in function.statements:
            read = (self.found.get(r.name, frozenset()) for r in e.reads)
            self.found[e.target] = self.found.get(e.target, frozenset()).union(*read)

    def apart(self, e: Equation, body: Expr) -> bool:
        """Whether what the equation reads, with that body, is computed from different inputs: each may have any value,
        whatever the others have."""
        names = {r.name for r in e.with_body(body).reads if r.name not in self.scaled}
        sources = [name for n in names for name in self.found[n]]
        return e.target not in names and len(sources) == len({*sources})


def _with_roots(function: Function) -> Function:
    """The root of a sum that is read several times gets an equation of its own: gradients speak of it, too."""
    tensors, statements, names = list(function.tensors), list[Equation](), Names(names_of(function))
    for e in function.statements:
        found: dict[Expr, Expr] = {}
        if e.matrix is None and not e.when and e.where is None:
            for node in _applies(e.body):
                if node.op == "root_of_sum" and sum(node in n.args for n in _applies(e.body)) > 1:
                    tensor, equation, root = e.part(names.new(f"root_{refs(node)[0].name}"), substitute(node, found))
                    tensors.append(tensor)
                    statements.append(equation)
                    found[node] = root
        statements.append(e.with_body(substitute(e.body, found)) if found else e)
    return replace(function, tensors=tuple(tensors), statements=tuple(statements))


def _applies(body: Expr) -> list[Apply]:
    return [n for n in postorder(body) if isinstance(n, Apply)]


def _maximal_invariants(body: Expr, box: set[Index]) -> list[Expr]:
    """The largest parts that call a function, read a tensor, and miss an index of the box."""

    def invariant(node: Expr) -> bool:
        calls = isinstance(node, Apply) and not OPS[node.op].arithmetic
        return calls and box > {*indices(node)} and any(r.subscripts for r in refs(node))

    met = preorder([body] if box else [], lambda n: n.args if isinstance(n, Apply) and not invariant(n) else ())
    return [node for node in met if invariant(node)]


def _invariant_name(node: Expr) -> str:
    names = [r.name for r in refs(node) if r.subscripts]
    assert isinstance(node, Apply)
    return f"{node.word}_{names[0]}"


def _with_siblings(function: Function) -> Function:
    """The other results of a call that its gradient speaks of, from where the call is: eigenvectors of eigenvalues.

    What no gradient reads in the end is dropped.
    """
    tensors, statements = list(function.tensors), list(function.statements)
    names = Names(names_of(function))
    for e in function.statements:
        for kind in e.matrix.siblings if e.matrix is not None else ():
            if any(other.reduce == kind and other.argument == e.argument for other in statements if other.matrix):
                continue
            row = MATRICES[kind]
            mine = {i.name for i, _ in e.box}
            letters = map(index, (x for x in fresh_letters(names) if x not in mine))
            extents = sizes(row, [n for _, n in e.reduced])
            shown = (*e.batch, *zip(letters, (extents[x] for x in row.result.split()), strict=False))
            name = names.new(row.word)
            tensors.append(Tensor(name, tuple(n for _, n in shown)))
            places = tuple(i for i, _ in shown)
            here = statements.index(e) + 1
            statements.insert(here, Equation(name, places, kind, e.body, (*shown, *e.reduced), None, e.when))
    return replace(function, tensors=tuple(tensors), statements=tuple(statements))


def without_dead(function: Function) -> Function:
    """The function without equations that its outputs do not depend on, and without tensors that nobody reads."""
    statements = alive(function.statements, function.outputs)
    kept = {e.target for e in statements} | set(function.inputs) | set(function.outputs)
    return replace(function, statements=statements, tensors=tuple(t for t in function.tensors if t.name in kept))
