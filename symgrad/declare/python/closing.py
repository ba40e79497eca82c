"""From a term of index notation to an array: how far do its indices run?

The question is put to a draft that holds only the term; then every reduction inside the term becomes an array of its
own, with the extents that the draft found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...expr import ONE, Apply, Expr, Index, Ref, indices, postorder, ref, substitute, transform
from ..draft import Draft
from .graph import (
    Done,
    Given,
    Node,
    Pieces,
    Reduction,
    Value,
    axes_of,
    operands_of,
    places_of,
    read,
    reduction,
    resolve,
    value,
)
from .scope import Scope, extents_of, usable


@dataclass(frozen=True, slots=True)
class Term:
    """A term and where it is written; `nodes` are what both read.

    fixed  the extents that are known: of the axes of the term, and those that the user gave
    shape  of the target, where it is known
    """

    body: Expr
    subscripts: tuple[Expr, ...]
    nodes: tuple[Node, ...]
    fixed: Mapping[Index, Expr]
    shape: tuple[Expr, ...] | None = None


@dataclass(frozen=True, slots=True)
class Closed:
    """The term written with arrays alone, and the extents of all its indices."""

    body: Expr
    subscripts: tuple[Expr, ...]
    nodes: tuple[Node, ...]
    extents: Mapping[Index, Expr]


def closed(scope: Scope, root: Node, order: Sequence[Index], given: Given, front: int = 0) -> Node:
    """The array with the elements `root` whose axes are `order`; the axes of the term itself stand behind the first
    `front` of them."""
    axes = axes_of(root.shape)
    known = extents_of({**root.given, **given}, scope)
    fixed = dict(zip(axes, root.shape, strict=True)) | {i: e for i, e in known.items() if i in order}
    formals = (*order[:front], *axes, *order[front:])
    term = close(scope, Term(read(root, axes), formals, (root,), fixed), known)
    whole = tuple(term.extents.get(i, ONE) for i in formals)
    letters = (*(i.name for i in order[:front]), *(None for _ in axes), *(i.name for i in order[front:]))
    return value(whole, _moved(term.body, formals, places_of(whole)), term.nodes, letters)


def close(scope: Scope, term: Term, known: Mapping[Index, Expr]) -> Closed:
    """Find the extents of every index of `term`, and turn the reductions in it into arrays."""
    opened, arrays = _below(term.nodes)
    extents, boxes = _measure(scope, term, opened, arrays, known)
    done: Done = {}
    nodes = list(arrays)
    shown = indices(*term.subscripts)
    named = _named(scope, term, opened)
    for node in opened:
        if not isinstance(node, Reduction):
            assert isinstance(node, Value)
            body = resolve(node.body, done)
            done[node.key] = (node.formals, body)
            if node.serial in named:
                scope.names.setdefault(node.serial, named[node.serial])
                made = _array(scope, node, body, extents, shown, nodes)
                nodes.append(made)
                done[node.key] = (node.formals, read(made, (*axes_of(node.shape), *_ordered(node.free, shown))))
            continue
        box = boxes[node.serial]
        free = _ordered(node.free, shown)
        formals = (*axes_of(node.shape), *free)  # in the order in which the target shows them
        whole = (*node.shape, *(box[i] for i in free))
        mark = (node.serial, tuple(e.key for e in (*whole, *(box[i] for i in node.over))))
        if mark not in scope.closed:
            scope.closed[mark] = reduction(
                node.kind,
                {i: box[i] for i in node.over},
                whole,
                _moved(_settled(resolve(node.body, done), box, scope), formals, places_of(whole)),
                nodes,
                letters=(*(None for _ in node.shape), *(i.name for i in free)),
                origin=node.serial,
            )
        made = scope.closed[mark]
        nodes.append(made)
        done[node.key] = (node.formals, read(made, formals))
    return Closed(
        _settled(resolve(term.body, done), extents, scope),
        tuple(_settled(resolve(s, done), extents, scope) for s in term.subscripts),
        tuple(nodes),
        extents,
    )


def _named(scope: Scope, term: Term, opened: Sequence[Node]) -> dict[int, str]:
    """The terms that are local variables, with their names: each is computed once, as an array of its own.

    Only where all of its indices are those of the target, or a sum of products would be written out; and nowhere where
    a condition may say which elements there are.
    """
    bodies = [term.body, *(n.body for n in opened if isinstance(n, (Value, Reduction)))]
    if any(isinstance(n, Apply) and n.op == "select" for body in bodies for n in postorder(body)):
        return {}
    shown = set(indices(*term.subscripts))
    locals_ = {x._node.serial: name for name, x in scope.locals.items() if hasattr(x, "_node") and usable(name)}
    return {
        n.serial: locals_[n.serial]
        for n in opened
        if isinstance(n, Value) and isinstance(n.body, Apply) and not n.constant
        and n.serial in locals_ and set(n.free) <= shown
    }  # fmt: skip


def _array(
    scope: Scope, node: Value, body: Expr, extents: Mapping[Index, Expr], shown: Sequence[Index], nodes: Sequence[Node]
) -> Node:
    """The array of a term, with its free indices as its last axes."""
    free = _ordered(node.free, shown)
    whole = (*node.shape, *(extents[i] for i in free))
    mark = (node.serial, tuple(e.key for e in whole))
    if mark not in scope.closed:
        formals = (*axes_of(node.shape), *free)
        scope.closed[mark] = value(
            whole,
            _moved(_settled(body, extents, scope), formals, places_of(whole)),
            nodes,
            (*(None for _ in node.shape), *(i.name for i in free)),
            origin=node.serial,
        )
    return scope.closed[mark]


def _ordered(free: Sequence[Index], shown: Sequence[Index]) -> list[Index]:
    """Free indices in the order in which the target shows them."""
    return sorted(free, key=lambda i: shown.index(i) if i in shown else len(shown))


def _settled(body: Expr, box: Mapping[Index, Expr], scope: Scope) -> Expr:
    """`body` with the extents of merged indices in place."""
    return substitute(body, {scope.draft.extent(i): e for i, e in box.items()})


def _moved(body: Expr, formals: Sequence[Expr], actuals: Sequence[Expr]) -> Expr:
    return substitute(body, {f: a for f, a in zip(formals, actuals, strict=True) if f is not a})


def _is_open(node: Node) -> bool:
    return bool(node.free) or isinstance(node, Reduction) and None in node.over.values()


def _below(roots: Iterable[Node]) -> tuple[list[Node], list[Node]]:
    """The terms of index notation below `roots` in order of creation, and the arrays that they read."""
    found: dict[int, Node] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.serial not in found:
            found[node.serial] = node
            if _is_open(node):
                stack.extend(operands_of(node).values())
    inside = sorted(found.values(), key=lambda n: n.serial)
    return [n for n in inside if _is_open(n)], [n for n in inside if not _is_open(n)]


def _of_both(node: Expr) -> Expr:
    """The branches of given(...) in one term: both say how far indices run."""
    return node.args[1] + node.args[2] if isinstance(node, Apply) and node.op == "given" else node


def _measure(
    scope: Scope, term: Term, opened: Sequence[Node], arrays: Sequence[Node], known: Mapping[Index, Expr]
) -> tuple[dict[Index, Expr], dict[int, dict[Index, Expr]]]:
    """The extents of the indices of the term itself, and those of each reduction in it."""
    draft = Draft(scope.draft.name)
    draft.scratch = True
    draft.dims, draft.options = dict(scope.draft.dims), scope.draft.options
    draft.tensors = {name: replace(t, optional=False) for name, t in scope.draft.tensors.items()}
    done: Done = {}
    for node in arrays:
        wish = scope.describe(node)
        name = draft.name_for(wish if usable(wish) else "value")
        draft.input(name, node.shape)
        if isinstance(node, Pieces):
            draft.unfinished.add(name)
        done[node.key] = (node.formals, ref(name, *places_of(node.shape)))
    names: dict[int, str] = {}
    for node in opened:
        assert isinstance(node, (Value, Reduction))
        body = transform(resolve(node.body, done), _of_both)
        if isinstance(node, Reduction):
            fixed = dict(zip(axes_of(node.shape), node.shape, strict=True))
            fixed |= {i: e for i, e in known.items() if i in node.free or i in node.over}
            fixed |= {i: e for i, e in node.over.items() if e is not None}
            body = draft.reduce(node.kind, tuple(node.over), body, fixed)
            assert isinstance(body, Ref)
            names[node.serial] = body.name
        done[node.key] = (node.formals, body)
    target = draft.name_for("out")
    subscripts = [resolve(s, done) for s in term.subscripts]
    body = transform(resolve(term.body, done), _of_both)
    draft.define(target, subscripts, body, term.fixed, shape=term.shape, named=False)
    boxes: dict[str, dict[Index, Expr]] = {
        names[n.serial]: {i: e for i, e in n.over.items() if e is not None} for n in opened if isinstance(n, Reduction)
    }
    for equation in draft.finish([target]).statements:
        boxes.setdefault(equation.target, {}).update(equation.box)
    return boxes[target], {serial: boxes[name] for serial, name in names.items()}
