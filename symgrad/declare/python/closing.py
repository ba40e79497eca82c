"""From a term of index notation to an array: how far do its indices run?

The question is put to a draft that holds only the term; then every reduction inside the term becomes an array of its
own, with the extents that the draft found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from ...errors import ShapeError
from ...expr import ONE, Apply, Expr, Index, indices, postorder, ref, refs, substitute, transform
from ...expr.sizes import largest, tidy
from ...records import dataclass, replace
from ..draft import Draft
from .graph import Done, Node, Pieces, Value, axes_of, is_loop, places_of, reachable, read, resolve, value
from .scope import Scope, extents_of, usable


@dataclass(frozen=True, slots=True)
class Term:
    """A term and where it is written; `nodes` are what both read.

    extents  those that are known: of the axes of the term, and those that the user gave; of all indices once closed
    shape    of the target, where it is known
    """

    body: Expr
    subscripts: tuple[Expr, ...]
    nodes: tuple[Node, ...]
    extents: Mapping[Index, Expr]
    shape: tuple[Expr, ...] | None = None


def closed(
    scope: Scope, root: Node, before: Sequence[Expr], after: Sequence[Expr], known: Mapping[Index, Expr]
) -> Node:
    """The array in which the elements of `root` stand at `before`, the axes of the term itself, and `after`.

    Where a place is no index, the axis is as long as the largest of them says; what no index reaches is 0.
    """
    axes = axes_of(root.shape)
    known = {**extents_of(root.given, scope), **known}
    places = (*before, *axes, *after)
    mine = {i: e for i, e in known.items() if i in indices(*places)}
    term = Term(read(root, axes), places, (root,), dict(zip(axes, root.shape, strict=True)) | mine)
    term = close(scope, term, known)
    if all(isinstance(s, Index) for s in places):
        formals = indices(*places)
        whole = tuple(term.extents.get(i, ONE) for i in formals)
        letters = tuple(i.name if is_loop(i) else None for i in formals)
        return value(whole, _moved(term.body, formals, places_of(whole)), term.nodes, letters)
    front, behind = term.subscripts[: len(before)], term.subscripts[len(places) - len(after) :]
    whole = (*(_length(scope, term, s) for s in front), *root.shape, *(_length(scope, term, s) for s in behind))
    made = Pieces(shape=whole, wish="merged")
    made.write(term.subscripts, term.body, term.extents, term.nodes, adds=False)
    return made


def _length(scope: Scope, term: Term, place: Expr) -> Expr:
    end = largest(place, term.extents)
    if end is None:
        raise ShapeError("nothing tells how far a subscript of tensor[...] ends; use tensor.new.")
    return scope.draft.settled(tidy(end + 1))


def close(scope: Scope, term: Term, known: Mapping[Index, Expr]) -> Term:
    """Find the extents of every index of `term`, and turn the reductions in it into arrays."""
    below = reachable(term.nodes, _is_open)
    opened, arrays = [n for n in below if _is_open(n)], [n for n in below if not _is_open(n)]
    extents, boxes = _measure(scope, term, opened, arrays, known)
    done: Done = {}
    nodes = list(arrays)
    shown = indices(*term.subscripts)
    named = _named(scope, term, opened)
    for node in opened:
        body = resolve(node.body, done)
        done[node.key] = (node.formals, body)
        if not node.over:
            if node.serial not in named:
                continue
            scope.names.setdefault(node.serial, named[node.serial])
        box = boxes.get(node.serial, extents)
        free = sorted(node.free, key=lambda i: shown.index(i) if i in shown else len(shown))  # as the target shows them
        formals = (*axes_of(node.shape), *free)
        whole = (*node.shape, *(box[i] for i in free))
        over = {i: box[i] for i in node.over}
        mark = (node.serial, tuple(e.key for e in (*whole, *over.values())))
        if mark not in scope.closed:
            written = _moved(_settled(body, box, scope), formals, places_of(whole))
            letters = (*(None for _ in node.shape), *(i.name for i in free))
            scope.closed[mark] = value(whole, written, nodes, letters, node.serial, node.kind, over)
        nodes.append(scope.closed[mark])
        done[node.key] = (node.formals, read(scope.closed[mark], formals))
    return replace(
        term,
        body=_settled(resolve(term.body, done), extents, scope),
        subscripts=tuple(_settled(resolve(s, done), extents, scope) for s in term.subscripts),
        nodes=tuple(nodes),
        extents=extents,
    )


def _named(scope: Scope, term: Term, opened: Sequence[Value]) -> dict[int, str]:
    """The terms that are local variables, with their names: each is computed once, as an array of its own.

    Only where all of its indices are those of the target, or a sum of products would be written out; and nowhere where
    a condition may say which elements there are.
    """
    bodies = [term.body, *(n.body for n in opened)]
    if any(isinstance(n, Apply) and n.op == "select" for body in bodies for n in postorder(body)):
        return {}
    shown = set(indices(*term.subscripts))
    locals_ = {x._node.serial: name for name, x in scope.locals.items() if hasattr(x, "_node") and usable(name)}
    return {
        n.serial: locals_[n.serial]
        for n in opened
        if not n.over and isinstance(n.body, Apply) and not n.constant
        and n.serial in locals_ and set(n.free) <= shown
    }  # fmt: skip


def _settled(body: Expr, box: Mapping[Index, Expr], scope: Scope) -> Expr:
    """`body` with the extents of merged indices in place."""
    return substitute(body, {scope.draft.extent(i): e for i, e in box.items()})


def _moved(body: Expr, formals: Sequence[Expr], actuals: Sequence[Expr]) -> Expr:
    return substitute(body, {f: a for f, a in zip(formals, actuals, strict=True) if f is not a})


def _is_open(node: Node) -> TypeGuard[Value]:
    return bool(node.free) or None in node.over.values()


def _of_both(node: Expr) -> Expr:
    """The branches of given(...) in one term: both say how far indices run."""
    return node.args[1] + node.args[2] if isinstance(node, Apply) and node.op == "given" else node


def _measure(
    scope: Scope, term: Term, opened: Sequence[Value], arrays: Sequence[Node], known: Mapping[Index, Expr]
) -> tuple[dict[Index, Expr], dict[int, dict[Index, Expr]]]:
    """The extents of the indices of the term itself, and those of each reduction in it."""
    draft = Draft(scope.draft.name)
    draft.scratch = True
    draft.dims, draft.options = dict(scope.draft.dims), scope.draft.options
    draft.tensors = {name: replace(t, optional=False) for name, t in scope.draft.tensors.items()}
    for r in refs(term.body, *term.subscripts, *(n.body for n in opened)):
        if r.name in scope.draft.targets and r.name not in draft.tensors:  # of a statement of text before
            draft.input(r.name, scope.draft.shape_of(r.name))
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
        body = transform(resolve(node.body, done), _of_both, {"given"})
        if node.over:
            fixed = dict(zip(axes_of(node.shape), node.shape, strict=True))
            fixed |= {i: e for i, e in known.items() if i in node.free or i in node.over}
            fixed |= {i: e for i, e in node.over.items() if e is not None}
            body = reduced = draft.reduce(node.kind, tuple(node.over), body, fixed)
            names[node.serial] = reduced.name
        done[node.key] = (node.formals, body)
    target = draft.name_for("out")
    subscripts = [resolve(s, done) for s in term.subscripts]
    body = transform(resolve(term.body, done), _of_both, {"given"})
    draft.define(target, subscripts, body, term.extents, shape=term.shape, named=False)
    boxes: dict[str, dict[Index, Expr]] = {
        names[n.serial]: {i: e for i, e in n.over.items() if e is not None} for n in opened if n.over
    }
    for equation in draft.finish([target]).statements:
        boxes.setdefault(equation.target, {}).update(equation.box)
    return boxes[target], {serial: boxes[name] for serial, name in names.items()}
