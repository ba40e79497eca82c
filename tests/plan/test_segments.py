"""Checkpoints: forward saves a state every few steps of a recurrence, backward computes the others again."""

import math
import re

import numpy as np
import pytest

import symgrad as sg
from symgrad import library
from symgrad.errors import SymgradError, TargetError

PENDULUM = """swing(force[T], angle0, velocity0; dt=0.01): velocity[0] = velocity0; angle[0] = angle0
    velocity[t+1] = velocity[t] + dt*(force[t] - 9.81*sin(angle[t])); angle[t+1] = angle[t] + dt*velocity[t+1]
    out = angle[T]"""
SPRINGS = """springs(force[T], seen, x0, x1): x[0] = x0; x[1] = x1
    x[t+2] = 2*x[t+1] - x[t] - 0.1*sin(x[t+1]) + force[t]
    out = sum[t](where(t > 0, (x[t] - seen)**2, 0)) + x[T]"""
READ_OUT = """read_out(x[T], decay, start): h[0] = start; h[t+1] = tanh(decay*h[t] + x[t]); out[t] = h[t+1]*x[t]"""
ELMAN = """elman(x[T,b,d], w[m,d], u[m,m], start[b,m]): h[0,r,i] = start[r,i]
    h[t+1,r,i] = tanh(sum[l](x[t,r,l]*w[i,l]) + sum[j](h[t,r,j]*u[i,j]))
    out = sum[r,i](h[T,r,i]**2)"""
HEAT = """heat(start[n], power[T], nu): u[0,i] = start[i]
    u[t+1,i] = u[t,i] + nu*(where(i > 0, u[t,i-1], 0) + where(i < n-1, u[t,i+1], 0) - 2*u[t,i]) + power[t]*u[t,i]**2
    out = sum[i](u[T,i]**2)"""
SINES = """sines(x[T], w): h[0] = 1; g[t] = h[t]*x[t]; h[t+1] = h[t]**2 + x[t]
    out = h[T]*w - sum[t](sin(g[t])*h[t])"""  # the gradient of w asks for no step
DECAY = "decay(x[T], s): h[0] = s; h[t+1] = 0.9*h[t] + x[t]; out = h[T]**2"  # nor does any here
SAVED = {text.partition("(")[0]: sg.parse(text) for text in (PENDULUM, SPRINGS, READ_OUT, ELMAN, SINES, DECAY)}
SAVED |= {f.name: f for f in (library.hmm_log_likelihood, library.ctc_loss, library.polyval)}
EACH = [  # of all formulas; the others of a recurrence of two scalars and of one with rows
    ("c", {"checkpoint": 3}),
    ("c", {"checkpoint": "sqrt", "dtype": "float", "save": "minimal"}),
    ("numpy", {"checkpoint": "sqrt"}),
]
WAYS = [
    *EACH,
    ("c", {"checkpoint": 1, "accumulate": True}),
    ("c", {"checkpoint": 2, "dtype": "float", "openmp": True}),
    ("c", {"checkpoint": 50, "save": "minimal"}),
    ("numpy", {"checkpoint": 2, "save": "all"}),
    ("numpy", {"checkpoint": 3}),
    ("c", {"checkpoint": "sqrt"}),
]
TRIED = [(name, *way) for name in SAVED for way in (WAYS if name in ("springs", "elman") else EACH)]


@pytest.mark.parametrize(("name", "to", "options"), TRIED, ids=str)
@pytest.mark.in_turn
def test_the_gradients_are_those_of_the_formula(name, to, options):
    report = sg.check(SAVED[name], to=to, **options)
    assert report.ok, report
    assert any("checkpoints" in text for text in sg.generate(SAVED[name], to=to, **options, check=False).values())


@pytest.mark.parametrize("options", [{}, {"checkpoint": 2}], ids=str)
def test_a_gradient_that_is_the_same_everywhere_can_be_written_to(options):
    loaded = sg.load(sg.parse("f(x[T], s): h[0] = s; h[t+1] = h[t] + x[t]; out = h[T]**2"), check=False, **options)
    _, saved = loaded.forward(np.ones(4), np.float64(1))
    grad_x, _ = loaded.backward(saved, 1.0)
    grad_x += [0, 1, 2, 3]
    assert grad_x.tolist() == [10, 11, 12, 13]


@pytest.mark.parametrize("to", ["c", "numpy"])
@pytest.mark.parametrize("every", [1, 3, 4, "sqrt"])
@pytest.mark.in_turn
def test_any_number_of_steps_is_cut_into_segments(to, every):
    rng = np.random.default_rng(0)
    plain, cut = (sg.load(SAVED["elman"], to=to, check=False, **o) for o in ({}, {"checkpoint": every}))
    for steps in range(10):
        given = [rng.normal(size=shape) for shape in ((steps, 2, 3), (4, 3), (4, 4), (2, 4))]
        (out, saved), (expected, all_saved) = cut.forward(*given), plain.forward(*given)
        np.testing.assert_allclose(out, expected, rtol=1e-14)
        for needed in ([True] * 4, [False, False, True, False]):
            found, all_found = cut.backward(saved, 0.7, needed), plain.backward(all_saved, 0.7, needed)
            for own, other in zip(found, all_found, strict=True):
                assert (own is None) == (other is None)
                if own is not None:
                    np.testing.assert_allclose(own, other, rtol=1e-12, atol=1e-14)


def room(text: str, macro: str, **sizes: int) -> int:
    """The doubles of a workspace, as the header says it."""
    body = re.search(rf"#define \w+_{macro}_WORK\([^)]*\)((?:.*\\\n)*.*)", text)[1]
    body = body.replace("\\\n", "").replace("/", "//").replace("(size_t)", "int").replace("(double)", "")
    return eval(body, {"intsqrt": math.isqrt}, sizes)


@pytest.mark.long
@pytest.mark.parametrize("every", [317, "sqrt"])
def test_a_hundred_thousand_steps_of_heat_in_little_memory(every):
    n, steps = 64, 100_000
    heat = sg.parse(HEAT)
    rng = np.random.default_rng(0)
    given = rng.normal(size=n), 1e-3 * rng.normal(size=steps), 0.2
    plain, cut = (sg.load(heat, to="c", check=False, **o) for o in ({}, {"checkpoint": every}))
    (out, saved), (expected, all_saved) = cut.forward(*given), plain.forward(*given)
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    for own, other in zip(cut.backward(saved, 1.0), plain.backward(all_saved, 1.0), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-12 * np.abs(other).max())

    header = sg.generate(heat, to="c", checkpoint=every, check=False)["heat.h"]
    kept = sum(np.size(a) for a in saved if np.ndim(a) == 2)
    every = math.isqrt(steps + 1) if every == "sqrt" else every
    assert kept == (steps // every + 2) * n
    work = room(header, "FORWARD", n=n, T=steps) + room(header, "BACKWARD", n=n, T=steps)
    assert work + kept < 6 * (every + 2) * n + 4 * n  # where one state after the other is steps * n


REFUSED = [
    (library.soft_edit_distance, "no checkpoints of total: it advances along several axes"),
    (sg.parse("f(x[T]): h[0] = 1; h[t+1] = h[t]*sin(x[t]); out = max[t](h[t+1]**2)"), r"out is no sum over its steps"),
    (sg.parse("f(x[T]): h[0] = 1; h[t+1] = h[t]*sin(x[t]); out = h[2]**2"), r"reads h\[2\] outside of the loop"),
    (sg.parse("f(x[T]): h[0] = 1; h[t+1] = h[t]*sin(x[t]); out[t] = h[t]*h[T]"), r"out\[t\] reads h\[T\]"),
]


@pytest.mark.parametrize(("function", "said"), REFUSED, ids=["axes", "max", "place", "end"])
def test_a_recurrence_without_checkpoints_says_why(function, said):
    with pytest.raises(SymgradError, match=said):
        sg.generate(function, to="c", checkpoint=4, check=False)


@pytest.mark.parametrize("every", [0, -1, 1.5, "half", True])
def test_what_is_no_number_of_steps_is_refused(every):
    with pytest.raises(TargetError, match="a number of steps, at least 1"):
        sg.generate(sg.parse(READ_OUT), to="c", checkpoint=every, check=False)


def test_other_languages_name_those_that_have_checkpoints():
    with pytest.raises(TargetError, match="checkpoint is an option of numpy and c"):
        sg.generate(sg.parse(READ_OUT), to="torch", checkpoint=4, check=False)


@pytest.mark.parametrize("function", [library.lstm, library.softmax], ids=["returned", "none"])
def test_states_that_are_returned_anyway_stay_as_they_are(function):
    files = [sg.generate(function, to="c", **o, check=False) for o in ({}, {"checkpoint": 4})]
    codes = [{path: text.partition("*/")[2] for path, text in f.items()} for f in files]
    assert codes[0] == codes[1]
