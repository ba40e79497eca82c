"""An equation knows which rewrites made it, also where it is a note of the printed code."""

from __future__ import annotations

from dataclasses import replace

import pytest

import symgrad as sg
from symgrad.derivatives import derive
from symgrad.ir import recorded
from symgrad.pipeline import printed
from symgrad.simplify import stable

SOFTMAX = "f(x[n])[i] = exp(x[i])/sum[k](exp(x[k]))"


def made(statements, target):
    return next(e.rewrites for e in statements if e.target == target)


def test_what_is_declared_was_made_by_none():
    function = sg.parse(SOFTMAX)
    assert {e.rewrites for e in function.statements} == {()}
    linear = sg.parse("f(x[n,k], w[k])[i] = sum[j](x[i,j]*w[j])")
    assert stable(linear).statements[0].rewrites == ()


@pytest.mark.parametrize(
    ("text", "target", "rewrites"),
    [
        (SOFTMAX, "out", ("softmax",)),
        (SOFTMAX, "grad_x", ("differentiated", "cheapest form")),
        ("f(x) = log(1 + exp(x))", "out", ("stable form",)),
        ("f(x[n]): y[i] = log(x[i]); out[i] = where(x[i] > 0, y[i] + y[i]**2, 0)", "y", ("on demand",)),
    ],
)
def test_the_names_of_the_rewrites_are_kept_in_order(text, target, rewrites):
    assert made(derive(sg.parse(text)).function.statements, target) == rewrites


def test_what_a_new_equation_replaces_is_not_forgotten():
    (e,) = sg.parse("f(x) = x").statements
    (first,) = recorded("one", [e], [replace(e, body=e.body * 2)])
    (same,) = recorded("two", [first], [first])
    (second,) = recorded("three", [first], [replace(e, body=e.body * 3)])
    assert (same.rewrites, second.rewrites) == (("one",), ("one", "three"))


def test_it_is_the_same_equation_without_them():
    (e,) = sg.parse("f(x) = x").statements
    (other,) = recorded("any", (), [e])
    assert other == e and hash(other) == hash(e) and repr(other) == repr(e)


@pytest.mark.parametrize("to", ["numpy", "c"])
def test_the_plan_knows_them(to):
    program = printed(sg.parse(SOFTMAX), to).program
    assert made(program.forward.equations, "out") == ("softmax", "lowered")
    assert "differentiated" in made(program.backward.equations, "grad_x")
