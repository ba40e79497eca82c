"""When is what a formula reads evaluated: in a branch of a `where` only, or behind `and` and `or`."""

from __future__ import annotations

import pytest

import symgrad as sg
from symgrad.expr import show
from symgrad.ir import evaluated, parts_of, read_under, reads_of, unconditional


def conditions(text):
    """{element: the cases in which it is read} of a formula of one statement."""
    (e,) = sg.parse(text).statements
    cases = evaluated(parts_of(e))
    return {show(r): [" ".join(map(show, case)) for case in cases[r]] for r in e.reads if r.subscripts}


CASES = [
    ("where(x[i] > 0, y[i], z[i])", {"x[i]": [""], "y[i]": ["x[i] > 0"], "z[i]": ["not x[i] > 0"]}),
    ("where(x[i] > 0, y[i], 1) + y[i]", {"x[i]": [""], "y[i]": [""]}),
    ("where(x[i] > 0, y[i], where(z[i] > 0, y[i], 2))", {"y[i]": ["x[i] > 0", "not x[i] > 0 z[i] > 0"]}),
    ("where(x[i] > 0, y[i], 2*y[i])", {"y[i]": [""]}),
    ("where(x[i] > 0, y[i], where(z[i] > 0, 2, y[i]))", {"y[i]": ["x[i] > 0", "not x[i] > 0 not z[i] > 0"]}),
    ("where(z[i] > 0, where(x[i] > 0, y[i], 2*y[i]), 1)", {"y[i]": ["z[i] > 0"]}),
    ("where((i >= 1) & (x[i] > 0), y[i], 1)", {"x[i]": ["i >= 1"], "y[i]": ["i >= 1 x[i] > 0"]}),
    ("where((i == 0) | (x[i] > 0), 1, y[i])", {"x[i]": ["not i == 0"], "y[i]": ["not (i == 0 or x[i] > 0)"]}),
    ("where(~(x[i] > 0), y[i], z[i])", {"y[i]": ["not x[i] > 0"], "z[i]": ["x[i] > 0"]}),
    ("where((x[i] > 0) & (z[i] > 0), 1, y[i]) + where(x[i] > 0, y[i], 2)", {"y[i]": [""]}),
]


@pytest.mark.parametrize(("body", "expected"), CASES, ids=[body for body, _ in CASES])
def test_when_an_element_is_read(body, expected):
    found = conditions(f"f(x[n], y[n], z[n])[i:n] = {body}")
    assert {r: found[r] for r in expected} == expected


@pytest.mark.parametrize(
    ("body", "elements"),
    [
        ("where(x[i] > 0, y[i], z[i]) * w[i]", "x[i] w[i]"),
        ("where((x[i] > 0) & (y[i] > 0), z[i], 1)", "x[i]"),
        ("y[i] + where(x[i] > 0, y[i]*z[i], 1)", "y[i] x[i]"),
    ],
)
def test_what_is_read_whichever_branch_is_selected(body, elements):
    (e,) = sg.parse(f"f(x[n], y[n], z[n], w[n])[i:n] = {body}").statements
    certain = unconditional(e.body)
    assert {show(r) for r in e.reads if r in certain and r.subscripts} == set(elements.split())


def test_of_many_cases_their_common_conditions_are_kept():
    deep = "2"
    for k in range(12):
        deep = f"where(y[i] > {k}, x[i], {deep})"
    assert conditions(f"f(x[n], y[n])[i:n] = where(y[i] != 0, {deep}, 1)")["x[i]"] == ["y[i] != 0"]


def test_a_domain_for_each_case():
    (e,) = sg.parse("f(x[n])[i:n] = where(i != 3, x[i], 1) + where(i < 2, x[i+1], 0)").statements
    domains = [(show(r), str(d)) for r, d in reads_of(e) if r.subscripts]
    assert domains == [
        ("x[i]", "{i : i >= 0 & i + 1 <= n & 4 <= i}"),
        ("x[i]", "{i : i >= 0 & i + 1 <= n & i <= 2}"),
        ("x[i + 1]", "{i : i >= 0 & i + 1 <= n & i <= 1}"),
    ]


def test_slopes_do_not_go_through_conditions():
    (e,) = sg.parse("f(x[n], y[n])[i:n] = where(x[i] > 0, y[i], 1) * (x[i] > 2)").statements
    assert [show(r) for r in read_under(e)] == ["x[i]", "y[i]"]
    assert [show(r) for r in read_under(e, slopes=True)] == ["y[i]"]
