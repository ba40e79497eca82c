"""Values that are equal but for a sign, or the order of operands, in one form: where `a*s - b*c` is computed, `b*c -
a*s` is its negative, and `-a*(s*t)` that of `a*(s*t)`. Each is rounded as it was."""

from __future__ import annotations

from .nodes import COMMUTATIVE, Apply, Const, Expr, apply, const, without_sign
from .traversal import folded, with_args

Signed = tuple[Expr, bool]  # a value, and whether its negative is meant


class OneForm:
    """Expressions, one after the other, in which what has been met before has the form that it had there."""

    def __init__(self) -> None:
        self._done: dict[Expr, Signed] = {}
        self._met: dict[object, Signed] = {}  # by what is computed of what, signs aside

    def __call__(self, root: Expr) -> Expr:
        value, negative = folded(root, self._done, self._form)
        return -value if negative else value

    def _form(self, node: Expr) -> Signed:
        if isinstance(node, Const):
            return (const(-node.value), True) if node.text is None and node.value < 0 else (node, False)
        if not isinstance(node, Apply):
            return node, False
        if node.op == "neg":
            value, negative = self._done[node.args[0]]
            return value, not negative
        if node.op in ("add", "sub"):
            first, second = (self._done[a] for a in node.args)
            return self._sum(first, second, node.op == "sub")
        parts = [self._done[a] for a in node.args]
        if node.op in ("mul", "div"):
            args, negative = [value for value, _ in parts], parts[0][1] != parts[1][1]
        else:
            args, negative = [-value if minus else value for value, minus in parts], False
        keys = [a.key for a in args]
        met = (node.op, *(sorted(keys, key=id) if node.op in COMMUTATIVE else keys))
        value, other = self._met.setdefault(met, without_sign(with_args(node, args)))
        return value, negative != other

    def _sum(self, first: Signed, second: Signed, minus: bool) -> Signed:
        (a, below), (b, subtracted) = first, (second[0], second[1] != minus)
        if a.key is b.key:  # twice the same, or 0
            value, negative = without_sign(apply("sub" if below != subtracted else "add", a, b))
            return value, negative != below
        pair = sorted([(a, below), (b, subtracted)], key=lambda part: id(part[0].key))
        turned = pair[0][1]  # the sign of the first of them is told apart, and is plus inside
        met = ("add", pair[0][0].key, pair[1][0].key, pair[1][1] != turned)
        if met not in self._met:
            if below and subtracted:
                value, negative = apply("add", a, b), True
            elif below:
                value, negative = apply("sub", b, a), False
            else:
                value, negative = apply("sub" if subtracted else "add", a, b), False
            value, other = without_sign(value)
            self._met[met] = value, (negative != other) != turned
        value, negative = self._met[met]
        return value, negative != turned
