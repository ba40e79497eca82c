"""Words for values that their author has not named."""

from __future__ import annotations

from collections.abc import Mapping

from ..expr import ONE, Apply, Const, Expr, Index, Ref, component_name, const
from ..ops import OPS

NAMELESS = "part"  # a stretch of a long formula
LONGEST = 32  # characters of a name
POWERS: Mapping[Expr, str] = {const(2): "squared", const(3): "cubed"}
FRACTIONS: Mapping[Expr, str] = {const(0.5): "half", const(0.25): "quarter"}
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
        whole = node.value.denominator == 1 and 0 <= node.value < 10
        return FRACTIONS.get(node) or (str(node.value) if whole else "")
    assert isinstance(node, Apply)
    if node.op == "select":
        return _guarded(node)
    parts = [_phrase(a) for a in node.args]
    if node.op == "pow" and parts[0]:
        power = POWERS.get(node.args[1], f"to_{parts[1]}" if parts[1] else "")
        name = f"{parts[0]}_{power}" if power else f"power_of_{parts[0]}"
        return name if len(name) <= LONGEST else ""
    if not all(parts) or len("".join(parts)) + 8 > LONGEST:
        return ""
    if node.op == "mul" and node.args[0] in FRACTIONS:
        return f"{parts[0]}_{parts[1]}"
    if between := OPS[node.op].between:
        squared = node.op == "mul" and parts[0] == parts[1]
        return f"{parts[0]}_squared" if squared else f"{parts[0]}_{between}_{parts[1]}"
    if node.op == "neg":
        return f"minus_{parts[0]}"
    return "_".join([node.word, *parts]) if len(parts) < 2 else ""


def _guarded(node: Apply) -> str:
    """where(x == 0, 1, x) is a safe x, where(c, x, 0) a masked one."""
    _, then, otherwise = node.args
    value, instead = (otherwise, then) if isinstance(then, Const) else (then, otherwise)
    name = _phrase(value) if isinstance(instead, Const) and not isinstance(value, Const) else ""
    return f"{'safe' if instead is ONE else 'masked'}_{name}" if name and len(name) + 7 <= LONGEST else ""


def _first_word(node: Expr) -> str:
    """What a long expression is called: by its function if it is a call."""
    if not isinstance(node, Apply) or OPS[node.op].noun or OPS[node.op].result == "bool":
        return NAMELESS
    return f"{node.word}_value"
