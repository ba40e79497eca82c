"""What a domain says of the index programs that people write: limits, what must hold, and what is empty."""

from __future__ import annotations

from functools import partial, reduce

import pytest

from symgrad.domain import Domain, Facts, Opaque, alternatives
from symgrad.expr import Expr, apply, as_expr, conjunction, conjuncts, index, ref

i, j, k, r = map(index, "ijkr")
n, m, h, p, s, stride, padding, dilation, w = map(ref, "n m h p s stride padding dilation w".split())
FACTS = Facts.of(
    ["n", "m", "h", "p", "s"],
    ["stride", "padding", "dilation", "w", "t", "start"],
    [apply("ge", stride, 1), apply("ge", padding, 0)],
)


def lt(a, b):
    return apply("lt", a, b)


def le(a, b):
    return apply("le", a, b)


def between(a, b, c):
    """a <= b < c."""
    return conjunction([le(a, b), lt(b, c)])


def over(box, *where):
    return Domain.of(tuple((i, as_expr(e)) for i, e in box.items()), conjunction(where) if where else None, FACTS)


WINDOWS = apply("floordiv", h + 2 * padding - dilation * (p - 1) - 1, stride) + 1
ROW = stride * i + dilation * r - padding
CONV = over({i: WINDOWS, r: p}, between(0, ROW, h))
POOL = over({i: apply("floordiv", h + 2 * padding - p, stride) + 1, r: p}, between(0, stride * i + r - padding, h))
ROWS = over({i: n, k: m}, between(ref("start", i), k, ref("start", i + 1)))
DATA = apply("gt", ref("x", i), 0)


@pytest.mark.parametrize(
    ("domain", "index", "outer", "low", "high"),
    [
        (POOL, r, [i], ["0", "padding - stride * i"], ["p", "h + padding - stride * i"]),
        (
            POOL,
            i,
            [r],
            ["0", "(padding + stride - r - 1) // stride"],
            ["(h + 2 * padding - p) // stride + 1", "(h + padding - r - 1) // stride + 1"],
        ),
        (POOL, i, [], ["0"], ["(h + 2 * padding - p) // stride + 1"]),
        (CONV, r, [i], ["0"], ["p"]),  # the sign of the dilation is not known
        (over({i: n, j: n}, le(j, i)), j, [i], ["0"], ["i + 1"]),
        (over({i: n, j: n}, le(j, i)), i, [j], ["j"], ["n"]),
        (over({i: n, j: i + 1}), j, [i], ["0"], ["i + 1"]),
        (over({i: n, j: i + 1}), i, [j], ["j"], ["n"]),
        (over({i: n}, le(1, i), lt(i, n - 1)), i, [], ["1"], ["n - 1"]),
        (over({i: n}, apply("eq", i, 3)), i, [], ["3"], ["n", "4"]),
        (over({i: n}, DATA), i, [], ["0"], ["n"]),
        (
            over({i: n, k: m}, between(ref("start", i), k, ref("start", i + 1))),
            k,
            [i],
            ["0", "start[i]"],
            ["m", "start[i + 1]"],
        ),
        (over({i: n}, lt(apply("floordiv", i, 2), m)), i, [], ["0"], ["n", "2 * m"]),
        (over({i: n}, lt(apply("maximum", i, 3), m)), i, [], ["0"], ["n", "m"]),
        (over({i: n}, le(apply("abs", i - k), 2)), i, [k], ["0", "k - 2"], ["n", "k + 3"]),
    ],
    ids="pool pool-swapped pool-outer conv causal causal-swapped triangle triangle-swapped stencil one-place data rows"
    " floor maximum band".split(),
)
def test_limits(domain, index, outer, low, high):
    lower, upper = domain.bounds(index, outer)
    assert [[str(b.limit) for b in side] for side in (lower, upper)] == [low, high]


@pytest.mark.parametrize(
    ("domain", "subscript", "ends"),
    [
        (over({i: n}), i, ["0", "n - 1"]),
        (over({i: n}, le(1, i)), n - 1 - i, ["0", "n - 2"]),
        (over({i: n, k: i + 1}), i - k, ["0", "n - 1"]),
        (over({i: apply("floordiv", h + 2 * padding - p, stride) + 1, r: p}), stride * i + r - padding,
         ["-padding", "h + padding - 1"]),
        (over({i: n}), ref("x", i), None),
    ],
)  # fmt: skip
def test_range(domain, subscript, ends):
    found = domain.range(subscript)
    assert (found and [str(end) for end in found]) == ends


@pytest.mark.parametrize(
    ("domain", "subscript", "size", "needs"),
    [
        (CONV, ROW, h, []),
        (POOL, stride * i + r - padding, h, []),
        (over({i: n}), i, n, []),
        (over({i: n}), i + 1, n, [["never"]]),
        (over({i: n}, lt(i + 1, n)), i + 1, n, []),
        (over({i: n}), n - 1 - i, n, []),
        (over({i: n}), as_expr(5), m, [["6 <= m"]]),
        (over({i: n}, le(1, i)), as_expr(5), m, [["6 <= m", "n <= 1"]]),
        (over({i: n}, DATA), i, m, [["n <= m"]]),
        (over({i: n}), stride * i, m, [["n * stride + 1 <= m + stride"]]),
        (over({i: n}), apply("floordiv", i, 2), m, [["n <= 2 * m"]]),
        (over({i: n}), apply("mod", i, 3), m, [["3 <= m"]]),
        (over({i: 8}), i, n, [["8 <= n"]]),
        (over({i: n}), ref("t", i), m, [["t[i] >= 0"], ["t[i] + 1 <= m"]]),
        (over({i: n}, between(0, ref("t", i), m)), ref("t", i), m, []),
        (over({i: 0}), i + 5, n, []),
    ],
    ids="conv pool plain shifted shifted-guarded flip fixed fixed-guarded data strided halved rest number gather"
    " gather-guarded empty".split(),
)
def test_needs(domain, subscript, size, needs):
    found = domain.needs(subscript, size, over({i: n}))
    assert [[str(c) for c in need.conditions] or ["never"] for need in found] == needs


@pytest.mark.parametrize(
    ("domain", "empty"),
    [
        (over({i: n}), False),
        (over({i: 0}), True),
        (over({i: n}, lt(i, 0)), True),
        (over({i: n}, le(n, i)), True),
        (over({i: n, j: n}, le(j, i), lt(i, j)), True),
        (over({i: n}, DATA, apply("not", DATA)), True),
        (over({i: n}, DATA), False),
        (over({i: n}, apply("eq", i, 3), apply("ne", i, 3)), True),
        (over({i: n}, apply("eq", 2 * i, 5)), True),
        (over({i: n}, lt(apply("mod", i, 3), 0)), True),
        (over({i: n}, lt(i, stride * i - stride * i)), True),
        (over({i: n, k: m}, between(ref("t", i), k, ref("t", i))), True),
        (over({i: n}, le(apply("floordiv", i, s), -1)), False),  # s may be 0
        (over({i: n}, le(apply("floordiv", i, stride), -1)), True),
    ],
)
def test_empty(domain, empty):
    assert domain.empty() == empty


@pytest.mark.parametrize(
    ("condition", "ways"),
    [
        (lt(i, n), ["i + 1 <= n"]),
        (apply("or", lt(i, 3), DATA), ["i <= 2", "3 <= i and x[i] > 0"]),
        (apply("not", conjunction([lt(i, 3), DATA])), ["3 <= i", "i <= 2 and not x[i] > 0"]),
        (apply("ne", i, k), ["k + 1 <= i", "i + 1 <= k"]),
        (apply("ne", ref("t", i), 3), ["t[i] != 3"]),
        (apply("lt", ref("x", i), ref("y", i)), ["x[i] < y[i]"]),
    ],
    ids=str,
)
def test_alternatives(condition, ways):
    found = alternatives(condition, FACTS)
    assert [" and ".join(map(str, atoms)) for atoms in found] == ways


def test_alternatives_of_a_maximum():
    """Which of the two comes first depends on which was made first."""
    found = alternatives(le(n, apply("maximum", i, k)), FACTS)
    one, other = ["n <= i", "i + 1 <= n and n <= k"], ["n <= k", "k + 1 <= n and n <= i"]
    assert [" and ".join(map(str, atoms)) for atoms in found] in (one, other)


def test_a_subscript_that_is_no_polynomial_has_no_needs():
    assert over({i: n, j: n}).needs(i * j, n) is None


def test_a_reader_entails_the_domain_of_what_it_reads():
    """`y[i] = x[i-1] where i >= 1`, read as y[j+1] and as y[j]."""
    writer, reader = over({i: n}, le(1, i)), over({j: n - 1})
    asked = [a.at({i: j + 1}) for a in writer.atoms]
    assert reader.entails(*asked)
    assert not reader.entails(*(a.at({i: j}) for a in writer.atoms))


def test_an_opaque_condition_is_entailed_by_itself_alone():
    domain = over({i: n}, DATA)
    assert domain.entails(Opaque(DATA))
    assert not domain.entails(Opaque(DATA, False))
    assert domain.fails(apply("not", DATA)) and not over({i: n}).holds(DATA)


def test_a_projection_says_whether_it_is_exact():
    inner, exact = over({i: n, j: n}, le(i, 2 * j), le(3 * j, i)).project([j])
    assert not exact and inner.indices == (i,)
    shadow, exact = over({i: n, j: m}, le(i, j)).project([j])
    assert exact and [str(a) for a in shadow.atoms] == ["i >= 0", "i + 1 <= n", "i + 1 <= m", "1 <= m"]


def test_conditions_that_are_no_limits_stand_as_far_outside_as_they_can():
    domain = over({i: n, j: m}, DATA, apply("gt", ref("x", j), 0), apply("gt", w, 0))
    assert [str(a) for a in domain.conditions(None, [])] == ["1 <= w"]
    assert [str(a) for a in domain.conditions(i, [])] == ["x[i] > 0"]
    assert [str(a) for a in domain.conditions(j, [i])] == ["x[j] > 0"]


def test_a_long_conjunction_is_read_in_a_loop():
    body: Expr = conjunction(lt(i, n + number) for number in range(300))
    assert len(conjuncts(body)) == 300
    assert over({i: n}).holds(body)


def test_of_conditions_in_conditions_few_alternatives_are_asked_for():
    """Of a part at a time there are 2**40 ways to stand at one of 40 places or not."""
    part = reduce(partial(apply, "or"), (conjunction([apply("eq", i, 3 * k), lt(j, k)]) for k in range(40)))
    assert len(over({i: n, j: n}, part).opaque) == 1
    assert len(alternatives(part, FACTS).first(3)) == 3 and alternatives(part, FACTS).only is None
