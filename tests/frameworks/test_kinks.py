"""The table of kinks is what torch and JAX have there, and what is printed for them."""

from __future__ import annotations

import numpy as np
import pytest
from kinks import ACTIVATIONS, FORMULAS

import symgrad as sg
from symgrad.library import activations

JAX = {"hardsigmoid": "hard_sigmoid", "hardswish": "hard_swish"}  # what it calls them
OTHERWISE = ("hardtanh", "leaky_relu", "softsign")  # where it has another slope, or another second derivative
OF_JAX = [row for row in ACTIVATIONS if row[0] not in OTHERWISE and "shrink" not in row[0] and row[0] != "threshold"]


def same(found, wanted):
    pairs = [(f, w) for f, w in zip(found, wanted, strict=True) if w is not None]
    assert [f for f, _ in pairs] == pytest.approx([w for _, w in pairs], rel=1e-15, nan_ok=True)


@pytest.mark.parametrize("row", ACTIVATIONS, ids=str)
def test_torch_has_what_the_table_says(row, torch):
    name, x, *wanted = row
    own = getattr(torch.nn.functional, name)
    x = torch.tensor(float(x), dtype=torch.float64, requires_grad=True)
    out = own(x, 0.0, 0.0) if name == "threshold" else own(x)
    (slope,) = torch.autograd.grad(out, x, create_graph=name != "hardsigmoid")  # torch has no second derivative of it
    (second,) = torch.autograd.grad(slope, x) if slope.requires_grad else (torch.zeros(()),)
    same([out.item(), slope.item(), second.item()], wanted)


@pytest.mark.parametrize("row", OF_JAX, ids=str)
def test_jax_has_what_the_table_says(row, jax):
    name, x, *wanted = row
    own = getattr(jax.nn, JAX.get(name, name))
    same([float(f(float(x))) for f in (own, jax.grad(own), jax.grad(jax.grad(own)))], wanted)


@pytest.mark.parametrize("row", ACTIVATIONS, ids=str)
@pytest.mark.parametrize("to", ["torch", "jax"])
def test_what_is_printed_of_activations(row, to):
    name, x, value, slope, _ = row
    printed_at(getattr(activations, name), to, (x,), value, (slope,))


@pytest.mark.parametrize("row", FORMULAS, ids=str)
@pytest.mark.parametrize("to", ["torch", "jax"])
def test_what_is_printed_of_formulas(row, to):
    text, point, value, slopes = row
    printed_at(sg.parse(f"f({', '.join('xy'[: len(point)])}) = {text}"), to, point, value, slopes)


def printed_at(declaration, to, point, value, slopes):
    printed = sg.load(declaration, to=to, check=False)
    out, saved = printed.forward(*(np.array([float(x)]) for x in point))
    found = printed.backward(saved, np.ones(1))
    same([out.item(), *(s.item() for s in found)], (value, *slopes))
