"""Rewrites on forward, before it is differentiated: stable forms, and what is computed once.

`STABLE` is the table of accuracy rewrites: each row is an identity over the reals, true wherever the left-hand side is
defined, whose right-hand side neither overflows nor cancels where the left-hand side does.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from ..expr import (
    ONE,
    ZERO,
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
    ref,
    refs,
    size,
    substitute,
    transform,
)
from ..expr.sizes import decided, equal
from ..ir import Equation, Function, Role, Tensor, alive, dtype_of_part, names_of, range_of
from ..matrices import MATRICES, sizes
from .match import match
from .normalised import with_normalised

U, V = ref("?u"), ref("?v")


def _exp(u: Expr) -> Expr:
    return apply("exp", u)


@dataclass(frozen=True, slots=True)
class Identity:
    """`before` = `after` for all real u and v where `before` is defined."""

    name: str
    before: Expr
    after: Expr


STABLE: tuple[Identity, ...] = (
    Identity("sigmoid by exp(u)", _exp(U) / (1 + _exp(U)), apply("sigmoid", U)),
    Identity("sigmoid", 1 / (1 + _exp(-U)), apply("sigmoid", U)),
    Identity("times sigmoid", V / (1 + _exp(-U)), V * apply("sigmoid", U)),
    Identity("softplus", apply("log", 1 + _exp(U)), apply("softplus", U)),
    Identity("softplus by log1p", apply("log1p", _exp(U)), apply("softplus", U)),
    Identity("log sigmoid", apply("log", apply("sigmoid", U)), -apply("softplus", -U)),
    Identity("log of 1 - sigmoid", apply("log", 1 - apply("sigmoid", U)), -apply("softplus", U)),
    Identity("log cosh", apply("log", apply("cosh", U)), apply("log_cosh", U)),
    Identity("logaddexp", apply("log", _exp(U) + _exp(V)), apply("logaddexp", U, V)),
    Identity("tanh", (_exp(U) - _exp(-U)) / (_exp(U) + _exp(-U)), apply("tanh", U)),
    Identity("tanh by exp(2u)", (_exp(2 * U) - 1) / (_exp(2 * U) + 1), apply("tanh", U)),
    Identity("log1p", apply("log", 1 + U), apply("log1p", U)),
    Identity("expm1", _exp(U) - 1, apply("expm1", U)),
)

LARGE = 2_000  # operations; a longer straight line keeps its text


def stable(function: Function) -> Function:
    """Return an equal function in stable form, each value computed once.

    Equal reductions are one. The table of identities; exp(u) / sum exp(u) as exp(u - logsumexp u), log sum exp(u) as
    logsumexp u; a hoisted reduction that is only copied takes the name of the copy; what does not depend on all the
    indices of its equation, and calls a function, gets an equation of its own; so do the other
    results of a factorisation.
    """
    if sum(size(e.body) for e in function.statements) > LARGE:
        return function
    function = replace(function, statements=tuple(_identities(_unconditional(e)) for e in function.statements))
    function = _once(_softmax(_constants(function)))
    function = _rename_copies(function)
    function = with_normalised(_hoist(function))
    return _with_siblings(_without_dead(function))


def _unconditional(e: Equation) -> Equation:
    """`e` without conditions that hold wherever it is evaluated."""
    body = decided(e.body, dict(e.box))
    return e if body is e.body else replace(e, body=body)


def _identities(e: Equation) -> Equation:
    """Row by row, each over the whole body: a later row must not take a part that an earlier one would have found."""
    body = e.body
    for row in STABLE:

        def rewrite(node: Expr, row: Identity = row) -> Expr:
            found = match(row.before, node, frozenset({U, V}))
            return node if found is None else substitute(row.after, found)

        body = transform(body, rewrite)
    return replace(e, body=body)


def _constants(function: Function) -> Function:
    """A local that is one number everywhere is that number where it is read."""
    numbers = {name: e.body for name, e in _elementwise(function).items() if isinstance(e.body, Const)}

    def rewrite(node: Expr) -> Expr:
        return numbers.get(node.name, node) if isinstance(node, Ref) else node

    if not numbers:
        return function
    statements = tuple(replace(e, body=transform(e.body, rewrite)) for e in function.statements)
    return replace(function, statements=statements)


# logsumexp


def _softmax(function: Function) -> Function:
    """exp(u) / S with S = sum exp(u) becomes exp(u - L); log(S) becomes L; with L = logsumexp u.

    Also where the sum is over the places that a mask selects: where(c, exp(u), 0) is exp(u) under a condition.
    """
    added: dict[str, tuple[Tensor, Equation]] = {}
    sums = {
        name: equations[0]
        for name, equations in function.writers.items()
        if len(equations) == 1
        and equations[0].reduce == "sum"
        and equations[0].fills(function.table[name])
    }
    elementwise = _elementwise(function)

    def exponent(node: Expr) -> tuple[Expr | None, Expr]:
        """u and c where `node` is exp(u) under the condition c and 0 elsewhere, also through named values."""
        condition = ONE
        while True:
            if isinstance(node, Ref) and node.name in elementwise:
                e = elementwise[node.name]
                node = substitute(e.body, dict(zip(e.subscripts, node.subscripts, strict=True)))
            elif isinstance(node, Apply) and node.op == "select" and ZERO in node.args[1:]:
                asked, then, otherwise = node.args
                condition = apply("and", condition, asked if otherwise is ZERO else apply("not", asked))
                node = then if otherwise is ZERO else otherwise
            else:
                break
        return (node.args[0] if isinstance(node, Apply) and node.op == "exp" else None), condition

    def logsumexp(total: Ref) -> tuple[Expr, Expr, tuple[Index, ...]] | None:
        """(L, u, reduced indices) for a reference to a sum of exp(u)."""
        e = sums.get(total.name)
        if e is None:
            return None
        u, condition = exponent(e.body)
        if u is None:
            return None
        condition = condition if e.where is None else apply("and", e.where, condition)
        reduced = tuple(i for i, _ in e.reduced)
        moving, shift = _split_invariant(u, set(reduced))
        if e.target not in added:
            taken = {*function.table, *(t.name for t, _ in added.values())}
            name = _fresh(_logsumexp_name(moving), taken)
            added[e.target] = (
                Tensor(name, function.table[e.target].shape),
                replace(e, target=name, reduce="logsumexp", body=moving, where=None if condition is ONE else condition),
            )
        at = dict(zip(e.subscripts, total.subscripts, strict=True))
        return ref(added[e.target][0].name, *total.subscripts) + substitute(shift, at), substitute(u, at), reduced

    def rewrite(node: Expr) -> Expr:
        if not isinstance(node, Apply) or node.op not in ("div", "log"):
            return node
        below = node.args[-1]
        found = logsumexp(below) if isinstance(below, Ref) else None
        if found is None:
            return node
        total, u, reduced = found
        if node.op == "log":
            return total
        above, condition = exponent(node.args[0])
        if above is None or match(u, above, frozenset(reduced)) is None:
            return node
        return apply("select", condition, apply("exp", _cancelled(above, total)), ZERO)

    statements = []
    for e in function.statements:
        statements.append(replace(e, body=transform(e.body, rewrite)))
    result: list[Equation] = []
    for e in statements:
        result.append(e)
        if e.target in added:
            result.append(added[e.target][1])
    used = {r.name for e in statements for r in e.reads}
    tensors = tuple(t for t, _ in added.values() if t.name in used)
    kept = tuple(e for e in result if e.target in function.table or e.target in used)
    return replace(function, tensors=(*function.tensors, *tensors), statements=kept)


def _logsumexp_name(body: Expr) -> str:
    names = list(dict.fromkeys(r.name for r in refs(body) if r.subscripts))
    return f"logsumexp_{names[0]}" if len(names) == 1 else "logsumexp"


def _split_invariant(u: Expr, reduced: set[Index]) -> tuple[Expr, Expr]:
    """u = moving + shift, where the shift does not depend on the reduced indices: lse(u - c) is lse(u) - c."""
    if isinstance(u, Apply) and u.op in ("add", "sub"):
        a, b = u.args
        if not set(indices(b)) & reduced:
            moving, shift = _split_invariant(a, reduced)
            return moving, shift + b if u.op == "add" else shift - b
        if u.op == "add" and not set(indices(a)) & reduced:
            moving, shift = _split_invariant(b, reduced)
            return moving, a + shift
    return u, ZERO


def _cancelled(u: Expr, total: Expr) -> Expr:
    """u - total, where a shift that stands in both has gone."""
    if isinstance(u, Apply) and isinstance(total, Apply) and u.op == "sub" and total.op == "sub":
        if u.args[1].key is total.args[1].key:
            return u.args[0] - total.args[0]
    return u - total


# equal reductions, copies, invariants, dead equations


def _once(function: Function) -> Function:
    """Reductions that are equal but for the names of indices are one; who reads a later one reads the first."""
    first: dict[object, str] = {}
    same: dict[str, str] = {}

    def renamed(node: Expr) -> Expr:
        return ref(same[node.name], *node.subscripts) if isinstance(node, Ref) and node.name in same else node

    statements: list[Equation] = []
    for e in function.statements:
        where = None if e.where is None else transform(e.where, renamed)
        subscripts = tuple(transform(s, renamed) for s in e.subscripts)
        e = replace(e, body=transform(e.body, renamed), subscripts=subscripts, where=where)
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
    return e.reduce, substitute(e.body, names).key, extents, where, e.when


def _elementwise(function: Function) -> dict[str, Equation]:
    """The locals with one equation, at plain subscripts, without reduction or condition."""
    return {
        name: equations[0]
        for name, equations in function.writers.items()
        if len(equations) == 1
        and equations[0].reduce == "none"
        and equations[0].fills(function.table[name])
        and equations[0].where is None
        and not equations[0].when
    }


def _rename_copies(function: Function) -> Function:
    """`total[i] = sum ...; out[i] = total[i]`: the reduction is written to `out` at once, and so is a mean."""
    readers: dict[str, int] = {}
    for e in function.statements:
        for r in e.reads:
            readers[r.name] = readers.get(r.name, 0) + 1
    statements = list(function.statements)
    gone: set[str] = set()
    for place, e in enumerate(statements):
        source, below = e.body.args if isinstance(e.body, Apply) and e.body.op == "div" else (e.body, ONE)
        if not (isinstance(source, Ref) and e.reduce == "none" and e.where is None and not e.when and e.plain):
            continue
        tensor = function.table.get(source.name)
        writers = function.writers.get(source.name, ())
        plain = all(isinstance(s, Index) for s in source.subscripts) and set(source.subscripts) == set(e.subscripts)
        alone = len(writers) == 1 and readers[source.name] == 1 and tensor is not None
        if not (plain and alone and tensor is not None and tensor.role == Role.LOCAL and not tensor.named):
            continue
        inner = writers[0]
        several = len(function.writers[e.target]) > 1 and inner.reduce not in ("none", "sum")
        if below is not ONE and not _is_mean(inner, below):
            continue
        if several or inner.when or not inner.fills(tensor) or not _along(e, source, tensor):
            continue
        if inner.matrix is not None and source.subscripts != e.subscripts:
            continue  # the order of the indices tells the axes of its result
        names = dict(zip(inner.subscripts, source.subscripts, strict=True))
        clash = {i for i, _ in inner.reduced} & set(indices(*e.subscripts))
        if clash:
            continue
        box = tuple((_index(names.get(i, i)), substitute(x, names)) for i, x in inner.box)
        shown = tuple(pair for i in e.subscripts for pair in box if pair[0] is i)
        statements[place] = Equation(
            e.target,
            e.subscripts,
            inner.reduce,
            substitute(inner.body, names) / below,
            (*shown, *(pair for pair in box if pair not in shown)),
            None if inner.where is None else substitute(inner.where, names),
        )
        gone.add(source.name)
    return replace(function, statements=tuple(e for e in statements if e.target not in gone))


def _is_mean(total: Equation, below: Expr) -> bool:
    """Whether a sum divided by `below` is a mean."""
    divisors, others = factors(below)
    extents = [extent for _, extent in total.reduced]
    return total.reduce == "sum" and not others and Counter(divisors) == Counter(extents)


def _along(e: Equation, source: Ref, tensor: Tensor) -> bool:
    """Whether the indices of `source` run along all of its axes in `e`."""
    extents: dict[Expr, Expr] = dict(e.box)
    return all(equal(extents[s], axis) for s, axis in zip(source.subscripts, tensor.shape, strict=True))


def _index(node: Expr) -> Index:
    assert isinstance(node, Index)
    return node


def _hoist(function: Function) -> Function:
    """An invariant that calls a function gets an equation of its own: sqrt(var[j] + eps) in a box (i, j)."""
    tensors = list(function.tensors)
    taken = set(function.table) | {d.name for d in function.dims} | {o.name for o in function.options}
    known: dict[tuple[Expr, tuple[Expr, ...]], Ref] = {}
    statements: list[Equation] = []
    for e in function.statements:
        extents = dict(e.box)
        mine: dict[Expr, Expr] = {}
        whole = e.matrix is None and not e.when and e.where is None
        if whole and not any(n.op == "select" for n in _applies(e.body)):
            for node in _maximal_invariants(e.body, set(extents)):
                at = indices(node)
                same = range_of(node, extents)
                if same not in known:
                    name = _fresh(_invariant_name(node), taken)
                    taken.add(name)
                    tensors.append(Tensor(name, tuple(extents[i] for i in at), dtype_of_part(node)))
                    statements.append(Equation(name, at, "none", node, tuple((i, extents[i]) for i in at)))
                    known[same] = ref(name, *at)
                mine[node] = known[same]
        statements.append(replace(e, body=substitute(e.body, mine)) if mine else e)
    return replace(function, tensors=tuple(tensors), statements=tuple(statements))


def _applies(body: Expr) -> list[Apply]:
    return [n for n in postorder(body) if isinstance(n, Apply)]


_PLAIN = frozenset({"add", "sub", "mul", "div", "neg", "pi"})


def _maximal_invariants(body: Expr, box: set[Index]) -> list[Expr]:
    """The largest parts that call a function, read a tensor, and miss an index of the box."""
    found: list[Expr] = []
    stack = [body]
    seen: set[Expr] = set()
    while stack:
        node = stack.pop()
        if node in seen or not isinstance(node, Apply):
            continue
        seen.add(node)
        calls = node.op not in _PLAIN
        reads = any(r.subscripts for r in refs(node))
        if calls and reads and set(indices(node)) < box:
            found.append(node)
        else:
            stack.extend(reversed(node.args))
    return found


def _invariant_name(node: Expr) -> str:
    names = [r.name for r in refs(node) if r.subscripts]
    assert isinstance(node, Apply)
    return f"{node.op}_{names[0]}"


def _fresh(wish: str, taken: set[str]) -> str:
    name, number = wish, 2
    while name in taken:
        name, number = f"{wish}_{number}", number + 1
    return name


def _with_siblings(function: Function) -> Function:
    """The other results of a call that its gradient speaks of, from where the call is: eigenvectors of eigenvalues.

    What no gradient reads in the end is dropped.
    """
    tensors, statements = list(function.tensors), list(function.statements)
    taken = names_of(function)
    for e in function.statements:
        for kind in e.matrix.siblings if e.matrix is not None else ():
            if any(other.reduce == kind and other.argument == e.argument for other in statements if other.matrix):
                continue
            row = MATRICES[kind]
            mine = {i for i, _ in e.box}
            letters = [i for i in map(index, "ijklpqrstuvw") if i not in mine and i.name not in taken]
            batch = tuple(pair for pair in e.shown if pair not in e.result)
            extents = sizes(row, [n for _, n in e.reduced])
            shown = (*batch, *zip(letters, (extents[x] for x in row.result.split()), strict=False))
            name = _fresh(row.word, taken)
            taken.add(name)
            tensors.append(Tensor(name, tuple(n for _, n in shown)))
            places = tuple(i for i, _ in shown)
            here = statements.index(e) + 1
            statements.insert(here, Equation(name, places, kind, e.body, (*shown, *e.reduced), None, e.when))
    return replace(function, tensors=tuple(tensors), statements=tuple(statements))


def _without_dead(function: Function) -> Function:
    statements = alive(function.statements, function.outputs)
    kept = {e.target for e in statements} | set(function.inputs) | set(function.outputs)
    return replace(function, statements=statements, tensors=tuple(t for t in function.tensors if t.name in kept))
