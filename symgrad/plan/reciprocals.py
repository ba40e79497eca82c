"""A root that divides several quotients divides once: they are products by its reciprocal.

    a / sqrt_s, b / sqrt_s, c / (2 * sqrt_s)    becomes    a * inverse, b * inverse, c * (inverse / 2)

The price is a rounding more, and 1/d must be in the range of the format, with all its digits, wherever x/d is: of a d
that may be any number it is not, 1/d is infinite for 1e-309 and has lost digits for 1e308. It is for a root, whose
exponent is at most half of the largest there is; at 0, inf and NaN both forms are one.

A quotient by a root of what it divides, as x/sqrt(x**2 + y**2 + z**2), stays one: where y and z are 0 it is exactly 1,
as acos(x/r) asks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..expr import ONE, Const, Expr, Ref, factors, operator, operators, outermost, preorder, product, value_of
from ..expr.names import Names, is_pack
from ..ir import Equation, Tensor, unconditional
from ..ops.naming import wishes

MANY = 3  # quotients; two take hardly longer than a quotient and two products, and compilers ask for as many
ROOTS = frozenset(("sqrt", "cbrt"))
POWERS = {2**k for k in range(25)}  # by which the inverse of a root is divided exactly, in float32 too


def inverted_once(
    equations: Sequence[Equation], around: Iterable[Equation], tensors: dict[str, Tensor], names: Names
) -> list[Equation]:
    """The equations of numbers with one division by each root that divides several of their quotients.

    around  the equations of forward and backward, which tell what is a root
    """
    roots = _Roots(around)
    numbers = [e for e in equations if _is_number(e) and "div" in operators(e.body)]
    if not numbers or not roots.any:
        return list(equations)
    divide = Counter(map(roots.of, unconditional(*(e.body for e in numbers))))
    several = {root for root, count in divide.items() if root is not None and count >= MANY}
    inverses: dict[Expr, Expr] = {}
    done: dict[Expr, Expr] = {}
    result: list[Equation] = []

    def inverse(root: Expr, e: Equation) -> Expr:
        if root not in inverses:
            name = names.new(*wishes(ONE / root))
            tensors[name], equation, inverses[root] = e.part(name, ONE / root)
            result.append(equation)
        return inverses[root]

    def inverted(e: Equation) -> Equation:
        def put(node: Expr) -> Expr | None:
            root = roots.of(node)
            if root is None or root not in several:
                return None
            above, by = node.args
            rest = [f for f in factors(by)[0] if f is not root]
            found = inverse(root, e) / product(rest) if rest else inverse(root, e)
            return found if above is ONE else outermost(above, put, done=done) * found

        return e.with_body(outermost(e.body, put, done=done))

    for e in equations:
        result.append(inverted(e) if several and _is_number(e) else e)
    return result


def _is_number(e: Equation) -> bool:
    """Whether an equation is of one number, at a point or at each of many; an entry of a Jacobian is one."""
    at = tuple(s for s in e.subscripts if not isinstance(s, Const))
    everywhere = not e.when and e.where is None and e.matrix is None
    return everywhere and at == tuple(i for i, _ in e.box) and all(map(is_pack, at))


class _Roots:
    """Tells which quotients divide by a root, where equations give it its name."""

    def __init__(self, equations: Iterable[Equation]) -> None:
        self._bodies = {e.target: e.body for e in equations if _is_number(e) and e.plain}
        self._within: dict[Expr, set[Expr]] = {}
        self.any = any(not ROOTS.isdisjoint(operators(body)) for body in self._bodies.values())

    def of(self, node: Expr) -> Expr | None:
        """The root by which a quotient divides, beside powers of 2; None where it divides by anything else, or what it
        divides is a part of the root."""
        if operator(node) != "div":
            return None
        above, below = factors(node.args[1])
        found = [f for f in above if not (isinstance(f, Const) and value_of(f) in POWERS)]
        if below or len(found) != 1 or operator(self._body(found[0])) not in ROOTS:
            return None
        parts = (f for f in factors(node.args[0])[0] if not isinstance(f, Const))
        return None if any(f in self._parts(found[0]) for f in parts) else found[0]

    def _body(self, node: Expr) -> Expr:
        return self._bodies.get(node.name, node) if isinstance(node, Ref) else node

    def _parts(self, root: Expr) -> set[Expr]:
        """All that a root is computed from."""
        if root not in self._within:
            self._within[root] = {*preorder([root], lambda n: n.args if (b := self._body(n)) is n else (b,))}
        return self._within[root]
