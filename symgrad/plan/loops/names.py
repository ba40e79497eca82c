"""Names in words for the scalars of a procedure, and how long an expression is in print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...expr import Apply, Const, Expr, Index, Ref
from .data import Block, Local, Loop, Rewriter, blocks, scalar, walk

PLAIN = frozenset({"add", "sub", "mul", "neg", "select", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not"})
_WORDS = {
    "add": "sum", "sub": "difference", "mul": "product", "div": "ratio", "neg": "negative", "select": "choice",
    "pow": "power",
}  # fmt: skip
_JOIN = {"add": "plus", "sub": "minus", "mul": "times", "div": "over"}


def length_of(node: Expr, lengths: Mapping[Expr, int]) -> int:
    """About how many characters `node` takes in print."""
    if isinstance(node, Ref):
        own = len(node.name.split("@")[0])
        return own + (2 if node.subscripts else 0) + sum(lengths.get(s, 4) + 4 for s in node.subscripts)
    if isinstance(node, Index):
        return len(node.name)
    if isinstance(node, Apply):
        own = 3 if node.op in PLAIN or node.op == "div" else 2 + len(node.op)
        return own + sum(lengths[a] for a in node.args)
    return len(str(node))


def word_for(node: Expr) -> str:
    """A name in words for the value of `node`: exp_x, x_minus_mean, ratio."""
    if not isinstance(node, Apply):
        return "value"
    leaves = [_leaf(a) for a in node.args]
    if node.op in _JOIN and all(leaves) and len("".join(leaves)) <= 24:
        return f"{leaves[0]}_{_JOIN[node.op]}_{leaves[1]}" if leaves[0] != leaves[1] else f"{leaves[0]}_squared"
    word = _WORDS.get(node.op, node.op)
    if len(leaves) == 1 and leaves[0] and node.op not in _WORDS and len(leaves[0]) <= 16:
        return f"{word}_{leaves[0]}"
    return word if node.op in _WORDS else f"{word}_value"


def _leaf(node: Expr) -> str:
    if isinstance(node, Ref):
        literal = "".join(str(s) for s in node.subscripts if isinstance(s, Const))
        name = node.name.split("@")[0].split("#")[0]
        return name + literal
    return node.name if isinstance(node, Index) else ""


def name_scalars(block: Block, taken: Iterable[str]) -> Block:
    """Scalars get the names that are printed: words, with a number where the word is taken."""
    fixed = {n.name for n in walk(block) if isinstance(n, Local) and not set("#@") & set(n.name)}
    fixed |= {n.index.name for n in walk(block) if isinstance(n, Loop)}
    chosen: dict[str, str] = {}
    _choose(block, fixed | set(taken), {}, chosen)
    names: dict[Expr, Expr] = {scalar(old): scalar(new) for old, new in chosen.items()}
    return Rewriter(lambda node: names.get(node, node)).block(block)


def _choose(block: Block, visible: set[str], numbers: Mapping[str, int], chosen: dict[str, str]) -> None:
    visible, counters = set(visible), dict(numbers)
    for node in block:
        if isinstance(node, Local) and set("#@") & set(node.name):
            word = node.name.split("#")[0].split("@")[0]
            name, number = word, counters.get(word, 1)
            while name in visible:
                number += 1
                name = f"{word}_{number}"
            counters[word] = number
            visible.add(name)
            chosen[node.name] = name
        for inner in blocks(node):
            _choose(inner, visible, counters, chosen)
