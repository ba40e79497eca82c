"""What a value is called that its author has not named: a name says what it holds."""

from __future__ import annotations

import pytest

import symgrad as sg
from symgrad.ops.naming import phrase, short

NAMES = [
    ("sigmoid(x)", "sigmoid_x", "sigmoid_x"),
    ("sigmoid(-x)", "sigmoid_neg_x", "sigmoid_neg_x"),
    ("exp(-abs(x))", "exp_neg_abs_x", "exp_neg_abs_x"),
    ("exp(abs(x))", "exp_abs_x", "exp_abs_x"),
    ("exp(x - y)", "exp_x", "exp_x_minus_y"),
    ("exp(-(x - y)**2)", "exp_x", "exp_neg_x_minus_y_squared"),  # a sign in front of more than a name is no name's
    ("maximum(-x, y)", "maximum_x_y", ""),
]


@pytest.mark.parametrize(("formula", "called", "aloud"), NAMES, ids=[row[0] for row in NAMES])
def test_names_say_what_they_hold(formula, called, aloud):
    body = sg.parse(f"f(x, y, z) = {formula}").statements[0].body
    assert (short(body), phrase(body)) == (called, aloud)
