"""What was printed wrong once, in torch and JAX; what was so in every language half in one, half in the other."""

from __future__ import annotations

import itertools

import pytest
from mathematics import inputs_with_axes
from mended import BESIDE, MENDED, PACKS, SAVED

import symgrad as sg


@pytest.mark.parametrize(("name", "to"), [*zip(MENDED, itertools.cycle(["torch", "jax"]))])
@pytest.mark.in_turn
def test_agrees_with_the_formula(name, to):
    report = sg.check(sg.parse(MENDED[name]), to=to)
    assert report.ok, report


FIRST = {  # what a recurrence begins with has fewer axes than a row
    "no axis": "f(x[n]) -> out: r[i:n] = where(i > 0, sin(r[i-1]) + x[i-1], 0); out[i] = r[i]**2",
    "a number for a row": "f(x[n,m], y): r[i,k] = where(i > 0, sin(r[i-1,k])*x[i,k], 1.5); out[i,k] = r[i,k]**2*y",
    "an input for a row": "f(x[n,m], y): r[i,k] = where(i > 0, sin(r[i-1,k])*x[i,k], y); out[i,k] = r[i,k]**2",
    "a running sum": "f(x[n,m])[i:n,k:m] = sum[j](where((j < i) & (j > 0), exp(x[j,k]), 0))",
}


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("name", FIRST)
@pytest.mark.in_turn
def test_recurrences_begin_with_what_has_fewer_axes(name, to):
    report = sg.check(sg.parse(FIRST[name]), to=to)
    assert report.ok, report


MATRICES = {  # what C calls LAPACKE for
    "a matrix that overflows": (
        "f(x[n], s): k[i,j:n] = exp(-(x[i] - x[j])**2/2) + where(i == j, exp(2*s), 0); l = cholesky(k); "
        "out = sum[i](log(l[i,i]))"
    ),
}


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("name", MATRICES)
def test_agrees_with_the_formula_of_matrices(name, to):
    report = sg.check(sg.parse(MATRICES[name]), to=to)
    assert report.ok, report


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("save", ["minimal", "all"])
@pytest.mark.parametrize("name", SAVED)
@pytest.mark.in_turn
def test_agrees_whatever_is_saved(name, save, to):
    report = sg.check(sg.parse(SAVED[name]), to=to, save=save)
    assert report.ok, report


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.in_turn
def test_agrees_beside_others(name, to):
    text, functions, wrt = BESIDE[name]
    report = sg.check(sg.parse(text), to=to, functions=functions, wrt=wrt)
    assert report.ok, report


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("name", PACKS)
@pytest.mark.in_turn
def test_agrees_for_leading_axes(name, to):
    report = sg.check(sg.parse(PACKS[name]), to=to)
    assert report.ok, report


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")  # torch's forward mode imports it
@pytest.mark.parametrize("axes", [(), (1, 3), (2, 3)])
@pytest.mark.parametrize("name", PACKS)
def test_tangents_are_those_of_gradients(name, axes):
    torch = pytest.importorskip("torch")
    call = sg.load(sg.parse(PACKS[name]), to="torch", functions="forward,backward,jvp", check=False).module.f
    inputs = [None if x is None else torch.as_tensor(x) for x in inputs_with_axes(PACKS[name], axes)]
    moved = [k for k, x in enumerate(inputs) if x is not None and x.is_floating_point()]

    def results(*some):
        found = call(*[some[moved.index(k)] if k in moved else x for k, x in enumerate(inputs)])
        return found if isinstance(found, tuple) else (found,)

    given = tuple(inputs[k] for k in moved)
    tangents = tuple(torch.cos(x + 1) for x in given)
    found, ahead = torch.func.jvp(results, given, tangents)
    weights = tuple(torch.sin(r + 1) for r in found)
    back = torch.func.vjp(results, *given)[1](weights)
    across = sum((a * w).sum() for a, w in zip(ahead, weights, strict=True))
    torch.testing.assert_close(across, sum((g * t).sum() for g, t in zip(back, tangents, strict=True)))
