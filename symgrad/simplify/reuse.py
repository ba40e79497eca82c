"""What is computed before is read, and not computed again: copies of gradients, values of forward, shared gradients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial, reduce
from operator import itemgetter

from ..differentiate.chain import combined
from ..expr import (
    Apply,
    Expr,
    Ref,
    folded,
    is_short,
    preorder,
    ref,
    renewed,
    size,
    substitute,
    transformer,
)
from ..expr.names import Names
from ..ir import (
    Box,
    Derivative,
    Equation,
    Function,
    Role,
    Tensor,
    When,
    by_target,
    disjoint_writes,
    names_of,
    recurrent,
    unconstrained_indices,
    writes_once,
)
from ..ops import calls
from ..records import replace
from .match import Finder, outline
from .opposites import signs


def entangled(equations: Sequence[Equation], operations: int) -> set[str]:
    """The targets of equations that share what they compute, or read each other, and have more `operations` together,
    shared ones counted once: in another form, a part of one would be computed twice."""
    home: dict[str, str] = {}  # towards the target that all of a component have in common
    first: dict[Expr, str] = {}  # the target for which an operation is computed
    own = dict.fromkeys(e.target for e in equations)

    def common(target: str) -> str:
        while (above := home.get(target, target)) != target:
            home[target] = target = home.get(above, above)
        return target

    for e in equations:
        for node in preorder(e.expressions, lambda n: () if n in first else n.args):
            other = first.setdefault(node, e.target) if isinstance(node, Apply) else getattr(node, "name", "")
            if other != e.target and other in own and common(other) != common(e.target):
                home[common(e.target)] = common(other)
    sizes: dict[str, int] = {}
    for target, count in Counter(first.values()).items():
        sizes[common(target)] = sizes.get(common(target), 0) + count
    return {target for target in own if sizes.get(common(target), 0) > operations}


def added_up(gradient: Sequence[Equation], table: Mapping[str, Tensor]) -> list[Equation]:
    """Contributions to one gradient, element by element, in one equation."""
    loops = recurrent(gradient)
    plain = {
        target: [e.at(dict(zip(e.subscripts, equations[0].subscripts, strict=True))) for e in equations]
        for target, equations in by_target(gradient).items()
        if len(equations) > 1 and target not in loops and all(_adds(e, table[target]) for e in equations)
    }
    left = {target: len(equations) for target, equations in plain.items()}
    result: list[Equation] = []
    for e in gradient:
        if e.target in plain:
            left[e.target] -= 1
            if left[e.target]:
                continue
            e = plain[e.target][0].with_body(reduce(partial(combined, "add"), (o.body for o in plain[e.target])))
        result.append(e)
    return result


def _adds(e: Equation, target: Tensor) -> bool:
    return e.reduce == "none" and e.where is None and not e.when and e.fills(target)


def without_copies(gradient: Sequence[Equation], derivative: Derivative) -> list[Equation]:
    """References to a gradient that is a copy of another are references to that other."""
    outputs, table = set(derivative.function.outputs), derivative.function.table
    writers = by_target(gradient)
    whens: dict[str, list[When]] = {}  # under which conditions each is read
    for e in gradient:
        for r in e.reads:
            whens.setdefault(r.name, []).append(e.when)
    copies: dict[str, Equation] = {}
    result: list[Equation] = []
    through = transformer(partial(_through, copies=copies))
    for e in gradient:
        e = e.with_body(through(e.body)) if copies else e
        alone = len(writers[e.target]) == 1 and e.target not in outputs and isinstance(e.body, Ref)
        there = all({*e.when} <= {*when} for when in whens.get(e.target, ()))
        if alone and there and e.reduce == "none" and e.where is None and e.fills(table[e.target]):
            copies[e.target] = e
            through = transformer(partial(_through, copies=copies))
        result.append(e)
    return result


def _through(node: Expr, copies: Mapping[str, Equation]) -> Expr:
    if isinstance(node, Ref) and node.name in copies:
        e = copies[node.name]
        return substitute(e.body, dict(zip(e.subscripts, node.subscripts, strict=True)))
    return node


def with_reuse(
    forward: Sequence[Equation], gradient: Sequence[Equation], joint: Function, final: bool = False
) -> list[Equation]:
    """What equals something computed before becomes a reference to it, up to the names of indices.

    Products of gradients are left to the normal form, which may find a better one, unless the equations are `final`.
    """
    reuse = _Reuse()
    for e in forward:
        if _worth_reuse(e, joint, [other for other in joint.writers[e.target] if other is not e]):
            reuse.add(_finder(e, joint))
    result: list[Equation] = []
    writers = by_target(gradient)
    ahead = {target: len(equations) for target, equations in writers.items()}
    waiting: dict[str, list[Finder]] = {}
    loops = recurrent(gradient)
    for before in gradient:
        e = before.with_body(reuse(before.body, before.box))
        result.append(e)
        local = joint.table[e.target].role == Role.LOCAL
        few = is_short(e.body, 1) if final else not calls(e.body)
        left = local and e.target not in loops and few
        if local and not left and _worth_reuse(e, joint, [other for other in writers[e.target] if other is not before]):
            waiting.setdefault(e.target, []).append(_finder(e, joint))
        ahead[e.target] -= 1
        if e.target in loops or not ahead[e.target]:  # who writes the rest of it may read what would read it here
            for finder in waiting.pop(e.target, ()):
                reuse.add(finder)
    return result


class _Reuse:
    """Replaces what finders find in bodies, one after the other; there may be more of them after each."""

    def __init__(self) -> None:
        self._finders: dict[object, list[tuple[int, Finder]]] = {}  # by the outline of what they find
        self._outlines: dict[Expr, object] = {}
        self._done: dict[Box, dict[Expr, Expr]] = {}  # with the finders that there are
        self._whole: dict[object, list[Expr]] = {}  # the bodies, by the outlines of what came of them
        self._inside: set[object] = set()  # the outlines of their parts

    def add(self, finder: Finder) -> None:
        found = outline(finder.pattern, self._outlines)
        self._finders.setdefault(found, []).append((len(self._outlines), finder))
        if found is None or found in self._inside:
            self._done.clear()
        for body in self._whole.get(found, ()):
            for done in self._done.values():
                done.pop(body, None)

    def __call__(self, body: Expr, box: Box) -> Expr:
        if not self._finders:
            return body
        done = self._done.setdefault(box, {})

        def rule(node: Expr) -> Expr:
            if isinstance(node, Ref):  # a subscript stays an expression of indices, which tells loops and bounds
                return self._look(node, box)
            new = renewed(node, done) if node.args else node
            self._inside.update([outline(a, self._outlines) for a in new.args])
            return self._look(new, box)

        found = folded(body, done, rule)
        self._whole.setdefault(outline(found, self._outlines), []).append(body)
        return found

    def _look(self, node: Expr, box: Box) -> Expr:
        mine, others = (self._finders.get(key, []) for key in (outline(node, self._outlines), None))
        for _, finder in sorted([*mine, *others], key=itemgetter(0)) if others else mine:
            found = finder.at(node, box)
            if found is not None:
                return found
        return node


def _finder(e: Equation, joint: Function) -> Finder:
    element = ref(e.target, *e.subscripts)
    outside = unconstrained_indices(e.body, e.box, joint.table)
    return Finder(e.body, [i for i, _ in e.box], lambda found: substitute(element, found), outside)


def _worth_reuse(e: Equation, joint: Function, others: Sequence[Equation]) -> bool:
    """Whether reading the result is better than computing it again: it calls a function, reads what would have to be
    saved instead, is long, or is a local that its author named."""
    tensor = joint.table[e.target]
    if e.reduce != "none" or not writes_once(e, joint.facts) or e.where is not None or e.when or not size(e.body):
        return False
    if not disjoint_writes(e, others, joint.facts):
        return False
    local = tensor.role == Role.LOCAL and bool(tensor.shape)
    inner = any(r.name in joint.table and joint.table[r.name].role == Role.LOCAL for r in e.reads)
    return calls(e.body) or local or inner or not is_short(e.body, 2)


def cases_once(statements: Iterable[Equation]) -> list[Equation]:
    """Where an equation says the same whether an optional input is given or absent, one for both."""
    found: list[Equation] = []
    places: dict[str, list[int]] = {}  # of those with conditions
    for e in statements:
        for k in places.get(e.target, ()) if e.when else ():
            asked = {*found[k].when} ^ {*e.when}
            if len(asked) == 2 and len({name for name, _ in asked}) == 1 and replace(e, when=found[k].when) == found[k]:
                found[k] = replace(e, when=tuple(w for w in e.when if w not in asked))
                break
        else:
            if e.when:
                places.setdefault(e.target, []).append(len(found))
            found.append(e)
    return found


MANY = 4  # operations that one more local spares at least: a product of three may stand there twice


def gradients_once(function: Function, gradients: Collection[str]) -> Function:
    """Gradients that are equal but for their sign, as of x - y, are computed once, by a name of their own."""
    table, statements = function.table, list(function.statements)
    same: dict[object, list[tuple[int, int]]] = {}
    signed = signs()
    for k, e in enumerate(statements):
        alone = e.target in gradients and len(function.writers[e.target]) == 1
        if alone and e.reduce == "none" and e.plain and e.fills(table[e.target]):
            found = signed(e.body)
            same.setdefault((e.subscripts, e.box, e.where, e.when, found.mark), []).append((k, found.sign))
    tensors, names = list(function.tensors), Names(names_of(function))
    before: dict[int, Equation] = {}
    for alike in same.values():
        first, (shortest, sign) = alike[0][0], min(alike, key=lambda row: size(statements[row[0]].body))
        e = statements[shortest]
        if size(e.body) * (len(alike) - 1) < MANY:
            continue
        word = "sum" if all(s == sign for _, s in alike) else "difference"
        name = names.new(f"grad_{word}")
        tensors.append(replace(table[e.target], name=name, role=Role.LOCAL))
        before[first] = replace(e, target=name)
        for k, s in alike:
            value = ref(name, *e.subscripts)
            statements[k] = statements[k].with_body(value if s == sign else -value)
    if not before:
        return function
    placed = [s for k, e in enumerate(statements) for s in ((before[k], e) if k in before else (e,))]
    return replace(function, tensors=tuple(tensors), statements=tuple(placed))
