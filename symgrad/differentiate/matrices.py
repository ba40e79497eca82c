"""The gradients of functions of matrices, as equations: one rule each, of which any may be differentiated again.

With A the operand, Y the result and G its cotangent, a rule adds the equations that it needs and returns the cotangent
of each operand at its own indices (and what that is summed over). Sources: M. Giles, "An extended collection of matrix
derivative results" (2008); I. Murray, "Differentiation of the Cholesky decomposition" (2016); J. Townsend,
"Differentiating the singular value decomposition" (2016); G. Golub, V. Pereyra, "The differentiation of
pseudo-inverses" (1973); R. Mathias, "A chain rule for matrix functions" (1996), for the block matrix of expm; M. Seeger
et al., "Auto-differentiating linear algebra" (2017), for QR.

The gradient of a symmetric argument is symmetric: that of f((A + A^T)/2). Where eigenvalues or singular values
coincide, the vectors have no derivative, and their rule divides by 0; that of the values uses one choice of vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import islice

from ..expr import ONE, TWO, ZERO, Expr, Index, apply, index, indices, ref, select, substitute
from ..expr.names import fresh_letters
from ..ir import Box, Equation, names_of
from ..ops.matrices import MATRICES, sizes
from ..records import dataclass
from .joint import Joint


@dataclass(frozen=True, slots=True)
class Part:
    """A matrix, a vector or a number by its elements: at the indices of the batch, and those given."""

    at: Callable[..., Expr]
    sizes: tuple[Expr, ...]

    @property
    def T(self) -> Part:
        return Part(lambda i, j: self.at(j, i), (self.sizes[1], self.sizes[0]))


@dataclass(frozen=True, slots=True)
class Term:
    """A cotangent at the axes of an operand, summed over the indices of `over`."""

    body: Expr
    over: Box = ()


Terms = tuple[list[Term], ...]  # for each operand, what adds up to its cotangent


class Rule:
    """What a rule is written in: the operands, the result, its cotangent, and equations for what comes between."""

    def __init__(self, joint: Joint, e: Equation) -> None:
        row = e.matrix
        assert row is not None
        self.joint, self.e, self.row = joint, e, row
        self.result = e.result
        self.batch = e.batch
        self.axes = tuple(i for i, _ in e.reduced)
        self.extents = tuple(extent for _, extent in e.reduced)
        self.Y = self._element(e.target)
        self.G = self._element(joint.cotangent.get(e.target, e.target))
        self.operands = tuple(self._operand(k) for k in range(len(row.operands)))
        taken = names_of(joint.function) | {i.name for i, _ in self.batch}
        self.letters = [*map(index, islice(fresh_letters(taken), 18))]

    @property
    def A(self) -> Part:
        return self.operands[0]

    def _element(self, name: str) -> Part:
        axes = tuple(i for i, _ in self.result)

        def at(*places: Expr) -> Expr:
            moved = dict(zip(axes, places, strict=True))
            return ref(name, *(substitute(s, moved) for s in self.e.subscripts))

        return Part(at, tuple(extent for _, extent in self.result))

    def _operand(self, which: int) -> Part:
        mine = tuple(self.axes[k] for k in self.row.operands[which])
        body = self.e.operands[which]
        sizes = tuple(self.extents[k] for k in self.row.operands[which])
        return Part(lambda *places: substitute(body, dict(zip(mine, places, strict=True))), sizes)

    def of(self, name: str, box: Box) -> Part:
        """The matrix that another tensor is, which has an axis for each index of the box: those of the operand last."""
        *batch, rows, columns = box
        return Part(lambda i, j: ref(name, *(x for x, _ in batch), i, j), (rows[1], columns[1]))

    # equations

    def free(self, *used: Expr) -> Index:
        """An index that stands for nothing in `used`."""
        mine = {*indices(*used), *self.axes}
        return next(i for i in self.letters if i not in mine)

    def local(
        self,
        wish: str,
        sizes: tuple[Expr, ...],
        body: Callable[..., Expr],
        over: tuple[Expr, ...] = (),
        summed: Collection[Index] = (),
    ) -> Part:
        """A new tensor with these elements; summed over further indices with the extents `over`, and those of the batch
        that are `summed`."""
        at = tuple(self.letters[: len(sizes)])
        further = tuple(self.letters[len(sizes) : len(sizes) + len(over)])
        elements = body(*at, *further)
        mentioned = set(indices(elements))
        batch = tuple(pair for pair in self.batch if pair[0] in mentioned and pair[0] not in summed)
        box = (*batch, *zip(at, sizes, strict=True))
        places = (*(i for i, _ in batch), *at)
        name = self.joint.local(wish, box)
        rest = tuple(pair for pair in self.batch if pair[0] in summed)
        whole = (*box, *rest, *zip(further, over, strict=True))
        kind = "sum" if len(whole) > len(box) else "none"
        self.joint.statements.append(Equation(name, places, kind, elements, whole, None, self.e.when))
        return Part(lambda *to: ref(name, *(i for i, _ in batch), *to), sizes)

    def product(self, wish: str, a: Part, b: Part) -> Part:
        """The product of two matrices."""
        (rows, inner), (_, columns) = a.sizes, b.sizes
        return self.local(wish, (rows, columns), lambda i, j, s: a.at(i, s) * b.at(s, j), (inner,))

    def term(self, a: Part, b: Part, sign: int = 1) -> Term:
        """The product of two matrices at the axes of the operand."""
        k, l = self.axes
        s = self.free()
        body = a.at(k, s) * b.at(s, l)
        return Term(body if sign > 0 else -body, ((s, a.sizes[1]),))

    def call(self, kind: str, wish: str, a: Part, b: Callable[..., Expr] | None = None, columns: Box = ()) -> Part:
        """A function of the matrix `a`; for a solution the right-hand side `b` at a row, with a batch of its own
        `columns` whose axes stand behind that of the solution."""
        row = MATRICES[kind]
        used = {i for i, _ in columns}
        letters = [i for i in self.letters if i not in used]
        at, axes = tuple(letters[: row.rank]), tuple(letters[row.rank : row.rank + 2])
        extents = sizes(row, a.sizes)
        body = a.at(*axes)
        if b is not None:
            body = apply("pair", body, b(axes[0]))
        mentioned = set(indices(body))
        batch = tuple(pair for pair in self.batch if pair[0] in mentioned and pair[0] not in used)
        found = tuple(extents[letter] for letter in row.result.split())
        shown = (*batch, *zip(at, found, strict=True), *columns)
        name = self.joint.local(wish, shown)
        box = (*shown, *zip(axes, a.sizes, strict=True))
        places = tuple(i for i, _ in shown)
        self.joint.statements.append(Equation(name, places, kind, body, box, None, self.e.when))
        behind = tuple(i for i, _ in columns)

        def element(*to: Expr) -> Expr:
            own, rest = to[: row.rank], to[row.rank :] or behind
            return ref(name, *(i for i, _ in batch), *own, *rest)

        return Part(element, (*found, *(extent for _, extent in columns)))

    def solved(self, kind: str, wish: str, a: Part, b: Part) -> Part:
        """The matrix X of a X = b, column by column."""
        column = self.letters[2]
        return self.call(kind, wish, a, lambda i: b.at(i, column), ((column, b.sizes[1]),))

    def _as_here(self, other: Equation) -> Part:
        """The result of another equation at the indices of this one's batch."""
        axes = tuple(i for i, _ in other.result)
        mine: dict[Index, Expr] = {i: j for (i, _), (j, _) in zip(other.batch, self.batch, strict=True)}

        def at(*to: Expr) -> Expr:
            moved = mine | dict(zip(axes, to, strict=True))
            return ref(other.target, *(substitute(s, moved) for s in other.subscripts))

        return Part(at, tuple(extent for _, extent in other.result))

    def sibling(self, kind: str) -> Part:
        """Another result of the same call."""
        for other in self.joint.function.statements:
            if other.reduce == kind and other.argument == self.e.argument:
                return self._as_here(other)
        return self.call(kind, MATRICES[kind].word, self.A)


# the rules


def _inv(r: Rule) -> Terms:
    """-Y^T G Y^T"""
    return ([r.term(r.product("left", r.Y.T, r.G), r.Y.T, -1)],)


def _solve(r: Rule, kind: str = "solve", triangle: str = "") -> Terms:
    """B: A^-T G =: W; A: -W X^T, within the triangle that is read ("ge": the lower one)."""
    k, l = r.axes
    (i, extent) = r.result[0]
    fresh = [x for x in r.letters if x not in {j for j, _ in r.batch}]
    shown = tuple((fresh[0] if j is i else j, n) for j, n in r.e.shown)
    body = apply("pair", r.A.at(fresh[2], fresh[1]), r.G.at(fresh[1]))
    name = r.joint.local("grad_right", shown)
    places = tuple(j for j, _ in shown)
    box = (*shown, (fresh[1], extent), (fresh[2], extent))
    r.joint.statements.append(Equation(name, places, kind, body, box, None, r.e.when))

    def W(at: Expr) -> Expr:
        return ref(name, *(at if j is fresh[0] else j for j in places))

    if not triangle:
        return [Term(-(W(k) * r.Y.at(l)))], [Term(W(k))]
    columns = set(indices(*r.e.subscripts)) - set(indices(r.A.at(k, l)))
    outer = r.local("outer", (extent, extent), lambda p, q: W(p) * r.Y.at(q), summed=columns)
    return [Term(select(apply(triangle, k, l), -outer.at(k, l), ZERO))], [Term(W(k))]


def _det(r: Rule) -> Terms:
    """G det A^-T"""
    k, l = r.axes
    return ([Term(r.G.at() * r.Y.at() * r.call("inv", "inverse", r.A.T).at(k, l))],)


def _logdet(r: Rule) -> Terms:
    """G A^-T"""
    k, l = r.axes
    return ([Term(r.G.at() * r.call("inv", "inverse", r.A.T).at(k, l))],)


def _cholesky(r: Rule) -> Terms:
    """L^-T P L^-1, where P is symmetric with the lower triangle of L^T G / 2"""
    k, l = r.axes
    n = r.A.sizes[0]
    product = r.product("product", r.Y.T, r.G)
    half = r.local("symmetric", (n, n), lambda i, j: _symmetric(product, i, j) / TWO)
    left = r.solved("solve_upper", "left", r.Y.T, half)
    return ([Term(r.solved("solve_upper", "both", r.Y.T, left.T).at(k, l))],)


def _symmetric(lower: Part, i: Expr, j: Expr) -> Expr:
    """The symmetric matrix with this lower triangle."""
    above = select(apply("lt", i, j), lower.at(j, i), ZERO)
    return select(apply("ge", i, j), lower.at(i, j), ZERO) + above


def _qr(r: Rule, own: Callable[[Part, Part], Part], through: bool) -> Terms:
    """(G_Q + Q S) R^-T, where S is symmetric with the lower triangle of R G_R^T - G_Q^T Q"""
    k, l = r.axes
    q, upper = r.sibling("qr_q"), r.sibling("qr_r")
    n = upper.sizes[0]
    inner = own(q, upper)
    symmetric = r.local("symmetric", (n, n), lambda i, j: _symmetric(inner, i, j))
    moved = r.product("moved", q, symmetric)
    if through:
        before = moved
        moved = r.local("inside", q.sizes, lambda i, j: r.G.at(i, j) + before.at(i, j))
    return ([Term(r.solved("solve_upper", "solved", upper, moved.T).at(l, k))],)


def _qr_q(r: Rule) -> Terms:
    def inner(q: Part, upper: Part) -> Part:
        n = upper.sizes[0]
        return r.local("inner", (n, n), lambda i, j, s: -(r.G.at(s, i) * q.at(s, j)), (q.sizes[0],))

    return _qr(r, inner, True)


def _qr_r(r: Rule) -> Terms:
    return _qr(r, lambda q, upper: r.product("inner", upper, r.G.T), False)


def _eigh_values(r: Rule) -> Terms:
    """V diag(G) V^T"""
    k, l = r.axes
    v, s = r.sibling("eigh_vectors"), r.free()
    return ([Term(v.at(k, s) * r.G.at(s) * v.at(l, s), ((s, v.sizes[1]),))],)


def _identity(i: Expr, j: Expr) -> Expr:
    """1 in the diagonal, where a difference is 0 and stands below another that is 0 too."""
    return select(apply("eq", i, j), ONE, ZERO)


def _eigh_vectors(r: Rule) -> Terms:
    """V F V^T, where F is the skew part of V^T G over the differences of the eigenvalues"""
    w, v = r.sibling("eigh_values"), r.Y
    inner = r.product("inner", v.T, r.G)
    ratio = r.local(
        "ratio",
        inner.sizes,
        lambda i, j: (inner.at(i, j) - inner.at(j, i)) / (TWO * (w.at(j) - w.at(i) + _identity(i, j))),
    )
    return ([r.term(r.product("left", v, ratio), v.T)],)


def _gaps(inner: Part, s: Part, i: Expr, j: Expr) -> Expr:
    """The skew part of a matrix over the differences of the squares of the singular values."""
    gap = (s.at(j) - s.at(i)) * (s.at(j) + s.at(i)) + _identity(i, j)
    return (inner.at(i, j) - inner.at(j, i)) / gap


def _svd_values(r: Rule) -> Terms:
    """U diag(G) V^T"""
    k, l = r.axes
    u, vh, s = r.sibling("svd_u"), r.sibling("svd_vh"), r.free()
    return ([Term(u.at(k, s) * r.G.at(s) * vh.at(s, l), ((s, u.sizes[1]),))],)


def _svd_u(r: Rule) -> Terms:
    """(U (F S - U^T G S^-1) + G S^-1) V^T, where F is the skew part of U^T G over the gaps"""
    u, s, vh = r.Y, r.sibling("svd_values"), r.sibling("svd_vh")
    inner = r.product("inner", u.T, r.G)

    def within(i: Expr, j: Expr) -> Expr:
        return s.at(j) * _gaps(inner, s, i, j) - inner.at(i, j) / s.at(j)

    moved = r.product("moved", u, r.local("ratio", inner.sizes, within))
    whole = r.local("whole", u.sizes, lambda i, j: moved.at(i, j) + r.G.at(i, j) / s.at(j))
    return ([r.term(whole, vh)],)


def _svd_vh(r: Rule) -> Terms:
    """U ((S F - S^-1 G V) V^T + S^-1 G), where F is the skew part of V^T G^T over the gaps"""
    u, s, vh = r.sibling("svd_u"), r.sibling("svd_values"), r.Y
    inner = r.product("inner", vh, r.G.T)

    def within(i: Expr, j: Expr) -> Expr:
        return s.at(i) * _gaps(inner, s, i, j) - inner.at(j, i) / s.at(i)

    moved = r.product("moved", r.local("ratio", inner.sizes, within), vh)
    whole = r.local("whole", vh.sizes, lambda i, j: moved.at(i, j) + r.G.at(i, j) / s.at(i))
    return ([r.term(u, whole)],)


def _pinv(r: Rule) -> Terms:
    """-Y^T G Y^T + (1 - A Y) G^T Y Y^T + Y^T Y G^T (1 - Y A)"""
    k, l = r.axes
    a, y, g = r.A, r.Y, r.G
    first = r.term(r.product("left", y.T, g), y.T, -1)
    rows = r.product("rows", r.product("inner", g.T, y), y.T)
    columns = r.product("columns", y.T, r.product("outer", y, g.T))
    return (
        [
            first,
            Term(rows.at(k, l)),
            r.term(a, r.product("projected", y, rows), -1),
            Term(columns.at(k, l)),
            r.term(r.product("projection", columns, y), a, -1),
        ],
    )


def _expm(r: Rule) -> Terms:
    """That of A^T in the direction of G"""
    k, l = r.axes
    return ([Term(_along(r, r.A.T, r.G).at(k, l))],)


def _along(r: Rule, a: Part, direction: Part) -> Part:
    """The derivative of expm: the upper right block of expm [a direction; 0 a], which is linear in the direction

    The algorithm scales by the norm of the whole matrix, and a large direction would cost a its digits: it is divided
    by a power of 2, whose derivative is 0.
    """
    n = r.A.sizes[0]
    total = r.local("total", (), lambda i, j: apply("abs", direction.at(i, j)), (n, n))
    scale = r.local("scale", (), lambda: apply("exp2", apply("floor", apply("log2", 1 + total.at())))).at()
    i, j = r.letters[:2]
    box = (*r.batch, (i, n), (j, n))
    batch = tuple(x for x, _ in r.batch)
    block = r.joint.local("block", (*r.batch, (i, n + n), (j, n + n)))
    upper = direction.at(i, j) / scale
    for body, row, column in ((a.at(i, j), i, j), (upper, i, j + n), (a.at(i, j), i + n, j + n)):
        r.joint.statements.append(Equation(block, (*batch, row, column), "none", body, box, None, r.e.when))
    whole = r.call("expm", "exponential", Part(lambda p, q: ref(block, *batch, p, q), (n + n, n + n)))
    return Part(lambda p, q: whole.at(p, q + n) * scale, (n, n))


def _solve_lower(r: Rule) -> Terms:
    return _solve(r, "solve_upper", "ge")


def _solve_upper(r: Rule) -> Terms:
    return _solve(r, "solve_lower", "le")


RULES: Mapping[str, Callable[[Rule], Terms]] = {
    "inv": _inv,
    "solve": _solve,
    "solve_lower": _solve_lower,
    "solve_upper": _solve_upper,
    "det": _det,
    "slogdet_log": _logdet,
    "slogdet_sign": lambda r: ([],),  # constant wherever it is differentiable
    "cholesky": _cholesky,
    "qr_q": _qr_q,
    "qr_r": _qr_r,
    "eigh_values": _eigh_values,
    "eigh_vectors": _eigh_vectors,
    "svd_u": _svd_u,
    "svd_values": _svd_values,
    "svd_vh": _svd_vh,
    "pinv": _pinv,
    "expm": _expm,
}

TANGENTS: Mapping[str, Callable[[Rule, Part], Part]] = {  # the tangent of the result, from that of A
    "expm": lambda r, moved: _along(r, r.A, moved),
}


def cotangents(joint: Joint, e: Equation) -> list[tuple[int, Expr, Term]]:
    """Each operand of `e` (its number, itself) with what adds to its cotangent; the equations for that are added."""
    terms = RULES[e.reduce](Rule(joint, e))
    return [(k, operand, t) for k, (operand, mine) in enumerate(zip(e.operands, terms, strict=True)) for t in mine]
