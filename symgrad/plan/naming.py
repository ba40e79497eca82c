"""Words for values that their author has not named."""

from __future__ import annotations

from ..expr import Apply, Const, Expr, Index, Ref, component_name
from ..ops import OPS

NAMELESS = "part"  # a stretch of a long formula
LONGEST = 32  # characters of a name
_DIGITS = dict(enumerate("zero one two three four five six seven eight nine".split()))


def word_for(node: Expr) -> str:
    """A name in words for the value of `node`: exp_x, x_minus_mean, one_plus_tanh_y."""
    return phrase(node) or _first_word(node)


def phrase(node: Expr) -> str:
    """`node` read aloud; empty where that is too long for a name."""
    name = _phrase(node)
    return _DIGITS.get(int(name[0]), "") + name[1:] if name and name[0].isdigit() else name


def _phrase(node: Expr) -> str:
    if isinstance(node, Ref):
        word = node.name.split("@")[0].split("#")[0].split("~")[0]
        return "" if word == NAMELESS or not word.isidentifier() else component_name(node, word)
    if isinstance(node, Index):
        return node.name if node.name.isidentifier() else ""
    if isinstance(node, Const):
        return str(node.value) if node.value.denominator == 1 and 0 <= node.value < 10 else ""
    assert isinstance(node, Apply)
    if node.op == "pow" and not isinstance(node.args[1], Const):
        base = _phrase(node.args[0])
        return f"power_of_{base}" if base and len(base) + 9 <= LONGEST else ""
    parts = [_phrase(a) for a in node.args]
    if not all(parts) or len("".join(parts)) + 8 > LONGEST:
        return ""
    if node.op == "pow":
        return f"{parts[0]}_squared" if parts[1] == "2" else ""
    if between := OPS[node.op].between:
        squared = node.op == "mul" and parts[0] == parts[1]
        return f"{parts[0]}_squared" if squared else f"{parts[0]}_{between}_{parts[1]}"
    if node.op == "neg":
        return f"minus_{parts[0]}"
    return "_".join([node.word, *parts]) if len(parts) < 2 else ""


def _first_word(node: Expr) -> str:
    """What a long expression is called: by its function if it is a call."""
    if not isinstance(node, Apply) or OPS[node.op].noun or OPS[node.op].result == "bool":
        return NAMELESS
    return f"{node.word}_value"
