"""Each row of the rules is an identity: both sides are one number, in balls, wherever both are real numbers."""

import math
import random

import flint
import pytest

from symgrad.precision.measure import ball, known
from symgrad.precision.rules import NAMES, TIDY, rules
from symgrad.precision.terms import GROUP, built, expression, parts_of

ROWS = [rule for some in rules().values() for rule in some]
POINTS, ENOUGH = 400, 20
EXPONENTS = (2, 3, 0.5, 1 / 3, -1.5)


def written(side):
    """A side as an expression, without the words that only rules have."""
    done = {}
    for node in parts_of(side):
        args = [done[a] for a in node.parts]
        done[node] = args[0] if node.op in (TIDY, GROUP) else built(node.op, args) if args else node
    return expression(done[side])


def points(names, conditions):
    draw = random.Random(7)
    for _ in range(POINTS):
        at = {name: draw.choice((1, 1, -1)) * math.exp(draw.uniform(-3, 2)) for name in names}
        at |= {name.args[0]: draw.choice(EXPONENTS) for word, (name, *_) in conditions if word == "fraction"}
        yield {name: flint.arb(value) for name, value in at.items()}


@pytest.mark.parametrize("rule", ROWS, ids=lambda rule: rule.text)
def test_both_sides_are_one_number(rule):
    before, after = written(rule.before), written(rule.after)
    assert known(before) and known(after)
    met = 0
    with flint.ctx.workprec(300):
        for at in points([n.args[0] for n in NAMES], rule.conditions):
            values = [ball(side, at) for side in (before, after)]
            if None not in values:
                met += 1
                assert values[0].overlaps(values[1]), {str(k): str(v) for k, v in at.items()}
    assert met >= ENOUGH


def test_a_wrong_row_is_found(monkeypatch):
    rule = next(r for r in ROWS if r.text == "1 - cos(a)**2 -> sin(a)**2")
    before, after = written(rule.before), written(rule.after) * 1.0000000001
    with flint.ctx.workprec(300):
        at = {n.args[0]: flint.arb(0.7) for n in NAMES}
        assert not ball(before, at).overlaps(ball(after, at))
