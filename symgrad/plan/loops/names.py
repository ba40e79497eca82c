"""Names in words for the scalars of a procedure, and how long an expression is in print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...expr import Apply, Const, Expr, Index, Ref
from .data import Block, Local, Loop, Rewriter, blocks, scalar, walk

PLAIN = frozenset({"add", "sub", "mul", "neg", "select", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not"})
NAMELESS = "part"  # a stretch of a long formula
LONGEST = 32  # characters of a name
_JOIN = {"add": "plus", "sub": "minus", "mul": "times", "div": "over"}
_DIGITS = dict(enumerate("zero one two three four five six seven eight nine".split()))


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
    """A name in words for the value of `node`: exp_x, x_minus_mean, one_plus_tanh_y."""
    name = _phrase(node)
    return _DIGITS.get(int(name[0]), "") + name[1:] if name and name[0].isdigit() else name or _first_word(node)


def _phrase(node: Expr) -> str:
    """`node` read aloud; empty where that is too long for a name."""
    if isinstance(node, Ref):
        word = node.name.split("@")[0].split("#")[0].split("~")[0]
        return "" if word == NAMELESS else word + "".join(str(s) for s in node.subscripts if isinstance(s, Const))
    if isinstance(node, Index):
        return node.name
    if isinstance(node, Const):
        return str(node.value) if node.value.denominator == 1 and 0 <= node.value < 10 else ""
    parts = [_phrase(a) for a in node.args]
    assert isinstance(node, Apply)
    if not all(parts) or len("".join(parts)) + 8 > LONGEST:
        return ""
    if node.op in _JOIN:
        squared = node.op == "mul" and parts[0] == parts[1]
        return f"{parts[0]}_squared" if squared else f"{parts[0]}_{_JOIN[node.op]}_{parts[1]}"
    if node.op == "neg":
        return f"minus_{parts[0]}"
    return "_".join([node.op, *parts]) if len(parts) < 2 else ""


def _first_word(node: Expr) -> str:
    """What a long expression is called: by its function if it is a call."""
    if isinstance(node, Apply) and node.op not in PLAIN and node.op not in ("div", "pow"):
        return f"{node.op}_value"
    return NAMELESS


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
            word = node.name.split("#")[0].split("@")[0].replace("~", "")
            name, number = word, counters.get(word, 1)
            while name in visible:
                number += 1
                name = f"{word}_{number}"
            counters[word] = number
            visible.add(name)
            chosen[node.name] = name
        for inner in blocks(node):
            _choose(inner, visible, counters, chosen)
