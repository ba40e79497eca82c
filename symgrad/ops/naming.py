"""Words for values that their author has not named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..expr import ONE, Apply, Const, Expr, Index, Ref, component_name, const, factors, folded, is_exact, refs, terms_of
from . import OPS

LONGEST = 32  # characters of a name
MANY = 2**13  # phrases that are kept
POWERS: Mapping[Expr, str] = {const(2): "squared", const(3): "cubed"}
FRACTIONS: Mapping[Expr, str] = {const(0.5): "half", const(0.25): "quarter"}
NOUNS = {"ratio", *(OPS[op].noun for op in ("add", "mul", "pow"))}  # of what is too long to be read aloud
_SPOKEN = dict(enumerate("zero one two three four five six seven eight nine".split()))


def phrase(node: Expr) -> str:
    """`node` read aloud; empty where that is too long for a name."""
    name = _phrase(node)
    return _SPOKEN.get(int(name[0]), "") + name[1:] if name and name[0].isdigit() else name


def product_phrase(node: Expr) -> str:
    """The factors of `node` above the line read aloud, without a word for the product: `x_squared_weight`."""
    parts = [_phrase(f) for f in factors(node)[0]]
    return "_".join(parts) if all(parts) else ""


def scaled_name(above: Sequence[Expr], below: Sequence[Expr]) -> str:
    """What a product is called by its factors, a cotangent first: `grad_times_cos_x`, `grad_over_norm`."""
    cotangents = [f for f in above if isinstance(f, Ref) and f.name.startswith("grad_")]
    words = [_phrase(f).removesuffix("_output") for f in cotangents]
    others = [short(f) for f in above if f not in cotangents and not is_exact(f)]
    if words and others:
        words.append("times")
    words += others
    if under := [short(f) for f in below if not is_exact(f)]:
        words += ["over", *under]
    name = "_".join(words)
    return name if len(name) <= LONGEST else "scaled_grad" if cotangents else "factor"


def wishes(node: Expr) -> tuple[str, ...]:
    """What an expression may be called, the shorter names first."""
    (inner,) = node.args if isinstance(node, Apply) and len(node.args) == 1 else (None,)
    longer = ""
    if isinstance(node, Apply) and inner is not None and not OPS[node.op].noun:
        sign = "neg_" if isinstance(inner, Apply) and terms_of(inner)[0][1] < 0 else ""
        longer = f"{node.word}_{sign}{short(inner)}"
    return short(node), phrase(node), longer


def short(node: Expr) -> str:
    """What a long expression is called by: `exp_x` for exp(x - max_x), `scaled_grad` for a product with a cotangent,
    `x_sum` for a sum that begins with x; arithmetic is read aloud where that is not too long."""
    name = _short(node)
    if len(name) <= LONGEST or not isinstance(node, Apply):
        return name
    return OPS[node.op].noun or f"{node.word}_value"


def _short(node: Expr) -> str:
    while isinstance(node, Apply) and node.op == "neg":
        node = node.args[0]
    data = [word for r in refs(node) if (word := _phrase(r))]
    cotangents = [word for word in data if word.startswith("grad_")]
    led_by = _leader(next((word for word in data if word not in cotangents), ""))
    if not isinstance(node, Apply):
        return led_by or "value"
    row = OPS[node.op]
    if row.result == "bool":
        tie = node.op == "eq" and not any(isinstance(a, Const) for a in node.args)
        return "tie" if tie else f"mask_{led_by}".rstrip("_")
    if node.op == "select":
        return _chosen(node, led_by)
    if not row.noun:
        several = node.op == "maximum" and len("_".join(data)) <= LONGEST // 2
        return "_".join([node.word, *_signs(node), *(data if several else data[:1])])
    if read := phrase(node):
        return read
    if cotangents and node.op in ("mul", "div"):
        return "scaled_grad"
    calls = {t.word for t, _ in terms_of(node) if isinstance(t, Apply) and not OPS[t.op].noun}
    if len(calls) == 1 and all(sign > 0 and isinstance(t, Apply) and t.word in calls for t, sign in terms_of(node)):
        return f"sum_{calls.pop()}"
    noun = "ratio" if factors(node)[1] else "sum" if node.op == "sub" else row.noun
    return f"{'grad' if cotangents else led_by}_{noun}".lstrip("_")


def _signs(node: Apply) -> list[str]:
    """neg and abs in f(-abs(x)), which is not to be taken for f(x)."""
    found, inner = list[str](), node.args[0] if len(node.args) == 1 else None
    while isinstance(inner, Apply) and inner.op in ("neg", "abs"):
        found.append(inner.op)
        (inner,) = inner.args
    return found if isinstance(inner, Ref) else []


def _leader(word: str) -> str:
    """What a sum of sums is led by is what the first one was: x of x_sum_2."""
    parts = word.split("_")
    while len(parts) > 1 and (parts[-1] in NOUNS or parts[-1].isdigit()):
        parts.pop()
    return "_".join(parts)


def _chosen(node: Apply, led_by: str) -> str:
    """The choice of two values: a number in the place of one is a guard, a bound keeps it inside."""
    condition, *branches = node.args
    inner, instead = sorted(branches, key=lambda branch: isinstance(branch, Const))
    if isinstance(instead, Const):
        return f"{'safe' if instead is ONE else 'masked'}_{phrase(inner) or short(inner)}"
    asked = next((b for b in branches if isinstance(b, Ref) and b in refs(condition)), None)
    return f"bounded_{_phrase(asked)}" if asked is not None else f"chosen_{led_by}".rstrip("_")


_known: dict[Expr, str] = {}
_long: set[Expr] = set()  # of those that are known


def _phrase(node: Expr) -> str:
    if len(_known) > MANY:
        _known.clear()
        _long.clear()
    if node not in _known and _is_long(node):
        _known[node] = ""
        _long.add(node)
    return folded(node, _known, _phrase_of)


def _is_long(node: Expr) -> bool:
    """Whether there is more in it than a name has letters for, conditions of a choice included."""
    seen, rest = {node}, [node]
    while rest and len(seen) <= 4 * LONGEST:
        new = {a for a in rest.pop().args if a not in seen}
        if not _long.isdisjoint(new):
            return True
        seen |= new
        rest += new
    return bool(rest)


def _phrase_of(node: Expr) -> str:
    """The phrase of what is computed from nodes whose phrases are known."""
    if isinstance(node, Ref):
        word = node.name.split("@")[0].split("#")[0].split("~")[0]
        named = word.isidentifier() and _leader(word) not in NOUNS  # a sum of `product_2` and others is no phrase
        return component_name(node, word) if named else ""
    if isinstance(node, Index):
        return node.name if node.name.isidentifier() else ""
    if isinstance(node, Const):
        whole = node.value.denominator == 1 and 0 <= node.value < 10
        return FRACTIONS.get(node) or (str(node.value) if whole else "")
    assert isinstance(node, Apply)
    if node.op == "select":
        return _guarded(node)
    if node.op == "given":
        return ""
    parts = [_known[a] for a in node.args]
    if node.op == "pow" and parts[0]:
        power = POWERS.get(node.args[1], f"to_{parts[1]}" if parts[1] else "")
        name = f"{parts[0]}_{power}" if power else f"power_of_{parts[0]}"
        return name if len(name) <= LONGEST else ""
    if between := _of_components(node):
        return between
    if not all(parts) or len("".join(parts)) + 8 > LONGEST:
        return ""
    if node.op == "mul" and node.args[0] in FRACTIONS:
        return f"{parts[0]}_{parts[1]}"
    if between := OPS[node.op].between:
        squared = node.op == "mul" and parts[0] == parts[1]
        return f"{parts[0]}_squared" if squared else f"{parts[0]}_{between}_{parts[1]}"
    if node.op == "neg":
        return f"neg_{parts[0]}"
    return "_".join([node.word, *parts]) if len(parts) < 2 else ""


def _of_components(node: Apply) -> str:
    """`q12_minus_21` for q[1,2] - q[2,1]."""
    a, b = node.args if len(node.args) == 2 else (None, None)
    if not (OPS[node.op].between and isinstance(a, Ref) and isinstance(b, Ref) and a.name == b.name and a.subscripts):
        return ""
    first, second = _known[a], _known[b]
    plain = all(isinstance(s, Const) for s in (*a.subscripts, *b.subscripts))
    return f"{first}_{OPS[node.op].between}_{second.removeprefix(a.name)}" if plain and first and second else ""


def _guarded(node: Apply) -> str:
    """where(x == 0, 1, x) is a safe x, where(c, x, 0) a masked one."""
    _, then, otherwise = node.args
    value, instead = (otherwise, then) if isinstance(then, Const) else (then, otherwise)
    name = _known[value] if isinstance(instead, Const) and not isinstance(value, Const) else ""
    return f"{'safe' if instead is ONE else 'masked'}_{name}" if name and len(name) + 7 <= LONGEST else ""
