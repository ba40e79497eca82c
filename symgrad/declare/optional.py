"""Optional inputs: an absent one disappears from the sum or the product it stands in.

A term that is an optional input alone becomes a contribution of its own, which counts when the input is given. A factor
that is optional gives two variants of the equation, one with it and one without.
"""

from __future__ import annotations

from collections.abc import Collection

from ..errors import DeclarationError
from ..expr import Apply, Const, Expr, Ref, postorder, refs, show, substitute, terms_of, total, transform
from ..ir import When


def variants(body: Expr, optional: Collection[str], additive: bool, function: str) -> list[tuple[Expr, When]]:
    """The variants of `body`, each with the (input, given) pairs under which it counts.

    additive  whether contributions to the target add up, so that a term may stand alone
    function  the name of the function, for messages
    Raises DeclarationError where it is not clear what counts without an input.
    """
    names = list(dict.fromkeys(r.name for r in refs(body) if r.name in optional))
    if not names:
        return [(body, ())]
    if additive:
        terms = [t if sign > 0 else -t for t, sign in terms_of(body)]
        alone = [t for t in terms if name_alone(t) in optional]
        if alone:
            rest = [t for t in terms if t not in alone]
            parts = variants(total(rest), optional, additive, function) if rest else []
            return [*parts, *((t, ((name_alone(t), True),)) for t in alone)]
    name = names[0]
    others = [n for n in optional if n != name]
    present = _settled(body, name, True)
    absent = _without(_settled(body, name, False), name, function)
    return [
        *((b, ((name, True), *w)) for b, w in variants(present, others, additive, function)),
        *((b, ((name, False), *w)) for b, w in variants(absent, others, additive, function)),
    ]


def name_alone(term: Expr) -> str:
    """The name of a term that is one element, or minus one; else nothing."""
    term = term.args[0] if isinstance(term, Apply) and term.op == "neg" else term
    return term.name if isinstance(term, Ref) else ""


def _settled(body: Expr, name: str, present: bool) -> Expr:
    """Every `given(name, then, otherwise)` decided."""

    def settled(node: Expr) -> Expr:
        if not isinstance(node, Apply) or node.op != "given":
            return node
        mask, then, otherwise = node.args
        assert isinstance(mask, Ref)
        return node if mask.name != name else then if present else otherwise

    return transform(body, settled, {"given"})


def _without(body: Expr, name: str, function: str) -> Expr:
    """`body` where the optional `name` has left the sum or product it stands in."""
    mine = {r for r in refs(body) if r.name == name}
    gone: dict[Expr, Expr] = {}
    for node in postorder(body):
        if not isinstance(node, Apply) or not any(a in mine for a in node.args):
            continue
        kept = _other_operand(node, mine)
        if kept is None:
            raise DeclarationError(
                f"{function}: {name} is optional, and stands in {show(node)}; only from a sum or a product can an "
                f"absent input disappear. Say what counts without it: sg.given({name}, then, otherwise)."
            )
        gone[node] = kept
    left = substitute(body, gone)
    if any(r.name == name for r in refs(left)):
        raise DeclarationError(
            f"{function}: {show(body)} is nothing without {name}, which is optional. "
            f"Say what counts then: sg.given({name}, then, otherwise)."
        )
    return left


def _other_operand(node: Apply, mine: Collection[Expr]) -> Expr | None:
    """What is left of `node` without the optional operand; None if that is not clear."""
    if len(node.args) != 2:
        return None
    a, b = node.args
    if a in mine and b in mine:
        return None
    kept = b if a in mine else a
    if node.op == "add" or (node.op == "mul" and not isinstance(kept, Const)):
        return kept
    return a if node.op in ("sub", "div") and b in mine else None
