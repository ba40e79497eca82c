"""A value is computed where something needs it, and read where it is computed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from formulas import FORMULAS
from guards import GUARDED
from readers import of_stages, outside_at_stages, unmet

import symgrad as sg
from symgrad.expr import show
from symgrad.ir import on_demand, show_equation

CHAIN = "f(x[n]): y[i] = log(x[i]); z[i] = y[i]*x[i]; out[i] = where(x[i] > 0, z[i], 0)"
TEXTS = {**{name: text for name, (text, *_) in GUARDED.items()}, **{text: text for text, *_ in FORMULAS}}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.in_turn
def test_who_reads_a_value_is_where_it_is_computed(text):
    broken = {stage: found for stage, found in of_stages(sg.parse(text)) if found}
    assert not broken


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.in_turn
def test_what_is_read_is_inside(text):
    left = {stage: found for stage, found in outside_at_stages(sg.parse(text)) if found}
    assert not left


def test_what_is_computed_from_a_value_with_a_domain_has_it_too():
    lines = [show_equation(e) for e in on_demand(sg.parse(CHAIN)).statements]
    assert lines[:2] == ["y[i] = log(x[i])  where x[i] > 0", "z[i] = y[i] * x[i]  where x[i] > 0"]


def test_a_reader_outside_is_told():
    function = on_demand(sg.parse(CHAIN))
    y, z, out = function.statements
    ((reader, element, condition),) = unmet(replace(function, statements=(y, replace(z, where=None), out)), {"y"})
    assert (reader.target, show(element), show(condition)) == ("z", "y[i]", "x[i] > 0")
