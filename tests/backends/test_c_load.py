"""What `sg.load(to="c")` gives: called without copies, from several threads, at points, and closed in the end."""

from __future__ import annotations

import gc
import math
import re
import threading
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from mathematics import COMPILER

import symgrad as sg
from symgrad import library, pipeline
from symgrad.backends.c_compile import python_calls

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

NUMBERS = (
    "f(x, y) = exp(x)*y",
    "f(x, y; a=2.0) = tanh(a*x)*y",
    "f(x, y) = x*y, x + y",
    "f(x, y) = sin(x), exp(y)*sin(x), x",
    "f(x, y) = 2*x - 3*y",
)


@cache
def loaded(text, check=False):
    return sg.load(sg.parse(text), to="c", check=check)


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_go_the_short_way_and_give_what_arrays_give(text):
    f = loaded(text)
    assert (f._point is not None) == (python_calls() is not None)
    out, saved = f.forward(0.7, np.float64(-1.3))
    outs, of_arrays = f.forward(np.array(0.7), np.array(-1.3))
    outputs = out if isinstance(out, tuple) else (out,)
    g = tuple(np.linspace(0.5, 1.5, len(outputs)).tolist())
    g = g if len(outputs) > 1 else g[0]
    found, expected = f.backward(saved, g), f.backward(of_arrays, g)
    assert [type(v) for v in (*outputs, *found)] == [np.float64] * (len(outputs) + 2)
    np.testing.assert_allclose((*outputs, *found), (*(outs if len(outputs) > 1 else (outs,)), *expected), rtol=1e-15)
    assert f.backward(saved, g, (False, True))[0] is None


@pytest.mark.parametrize(
    "inputs", [(1, 2.0), (1.0,), (1.0, 2.0, 3.0), ("1", 2.0), (1.0, None), (np.zeros(2), np.zeros(3))]
)
def test_what_is_refused_is_refused_at_a_point(inputs):
    with pytest.raises((TypeError, ValueError)):
        loaded(NUMBERS[0]).forward(*inputs)


@pytest.mark.parametrize(
    ("grad_output", "needs"), [((1.0, 2.0), None), (np.ones(2), None), (1.0, (True,)), (1.0, (True, True, True))]
)
def test_what_backward_refuses_it_refuses_at_a_point(grad_output, needs):
    f = loaded(NUMBERS[0])
    _, saved = f.forward(1.0, 2.0)
    with pytest.raises((TypeError, ValueError)):
        f.backward(saved, grad_output, needs)


def test_numbers_may_be_followed_by_arrays():
    f = loaded(NUMBERS[1])
    x = np.linspace(-1, 1, 5)
    assert f.forward(x, x)[0].shape == (5,)
    assert f.forward(0.5, 2.0, a=3.0)[0] == pytest.approx(2 * np.tanh(1.5))
    assert f.forward(0.5, 2.0)[0] == pytest.approx(2 * np.tanh(1.0))


def off_by_one_byte(a):
    memory = np.zeros(a.nbytes + 1, np.uint8)
    memory[1:] = a.view(np.uint8).ravel()
    return memory[1:].view(a.dtype).reshape(a.shape)


def read_only(a):
    b = a.copy()
    b.flags.writeable = False
    return b


LAYOUTS = {
    "as C has it": lambda a: a,
    "read only": read_only,
    "other bytes first": lambda a: a.astype(">f8"),
    "not aligned": off_by_one_byte,
    "columns first": np.asfortranarray,
    "backwards": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "every other one": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "float32": lambda a: a.astype(np.float32),
    "lists": lambda a: a.tolist(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_in_memory(layout):
    x, weight = np.arange(12.0).reshape(3, 4), np.arange(8.0).reshape(2, 4)
    f = linear()
    out, saved = f.forward(LAYOUTS[layout](x), LAYOUTS[layout](weight))
    np.testing.assert_array_equal(out, x @ weight.T)
    g = np.arange(6.0).reshape(3, 2)
    grad_x, grad_weight, _ = f.backward(saved, LAYOUTS[layout](g))
    np.testing.assert_array_equal(grad_x, g @ weight)
    np.testing.assert_array_equal(grad_weight, g.T @ x)


@cache
def linear():
    return sg.load(library.linear, to="c", check=False)


@pytest.mark.parametrize("n", [3, 1000, 200_000])
def test_temporaries_begin_at_a_line_of_the_cache(n, monkeypatch):
    f = loaded("f(x[n])[i] = x[i] - max[j](exp(x[j])*x[n-1-j])")
    backward, places = f._backward, []
    call, ((k, _),) = backward._call, backward._work
    monkeypatch.setattr(backward, "_call", lambda *given: places.append(given[k] % 64) or call(*given))
    out, saved = f.forward(np.linspace(-1, 1, n))
    f.backward(saved, np.ones_like(out))
    assert places == [0]


def test_contiguous_arrays_are_not_copied():
    x, weight = np.ones((3, 4)), np.ones((2, 4))
    _, saved = linear().forward(x, weight)
    assert sum(any(a is given for a in saved) for given in (x, weight)) == 2


def test_results_are_not_shared_between_calls():
    x, weight = np.ones((3, 4)), np.ones((2, 4))
    (out, saved), (again, _) = (linear().forward(x, weight) for _ in range(2))
    grads, others = (linear().backward(saved, out) for _ in range(2))
    assert not np.shares_memory(out, again)
    assert not np.shares_memory(grads[0], others[0])


def test_booleans_are_booleans_and_not_copied():
    f = loaded("f(x[n], keep[n]: bool)[i] = where(keep[i], x[i], 0)")
    keep = np.array([True, False, True])
    out, saved = f.forward(np.arange(3.0), keep)
    np.testing.assert_array_equal(out, [0, 0, 2])
    np.testing.assert_array_equal(f.backward(saved, np.ones(3))[0], [1, 0, 1])
    assert any(a is not None and np.shares_memory(a, keep) for a in saved if isinstance(a, np.ndarray))


def test_memory_is_filled_for_the_check_alone():
    f = loaded(NUMBERS[0])
    assert f._wish.memory is np.empty
    assert np.isnan(f.filled._wish.memory((3,), np.dtype(float))).all()
    assert f._wish.memory is np.empty


def test_the_check_sees_what_is_not_written():
    printed = pipeline.printed(sg.parse("f(x[n])[i] = 2*x[i]"), "c")
    files = {n: t.replace("grad_x[i] = 2.0", "if (i > 0) grad_x[i] = 2.0") for n, t in printed.files.items()}
    assert files != printed.files
    backend = printed.backend
    for load in (backend.load, backend.tuned):
        artefact = load(printed.program, files)
        with np.errstate(all="ignore"):
            _, saved = artefact.filled.forward(np.ones(3))
            assert np.isnan(artefact.filled.backward(saved, np.ones(3))[0][0])


def test_other_threads_run_meanwhile():
    f = loaded("f(x[n], y[n]) = sum[i](sum[j](sin(x[i] + y[j])))")
    x, turns, done = np.linspace(0, 1, 6000), [0], threading.Event()

    def work():
        f.forward(x, x)
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    while not done.is_set():
        turns[0] += 1
        done.wait(0.001)
    worker.join()
    assert turns[0] > 3


def test_threads_do_not_disturb_each_other():
    f, wrong = loaded(NUMBERS[0]), []

    def work(k):
        for m in range(2000):
            out, saved = f.forward(float(k), float(m))
            found = f.backward(saved, 1.0)
            if (out, *found) != (math.exp(k) * m, math.exp(k) * m, math.exp(k)):
                wrong.append((k, m))

    workers = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc")
@pytest.mark.parametrize("text", [NUMBERS[0], "f(x[n])[i] = x[i]**2"])
def test_the_library_is_closed_with_its_object(text):
    gc.disable()  # nothing waits for it: there are no circles
    try:
        f = sg.load(sg.parse(text), to="c", check=False)
        place = f._backward._library.functions._name
        f.backward(f.forward(*[np.ones(2)] * len(f._primal.inputs))[1], np.ones(2))
        assert place in Path("/proc/self/maps").read_text()
        del f
        assert place not in Path("/proc/self/maps").read_text()
        assert not Path(place).exists()
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ["gelu", "layer_norm", "huber_loss", "quaternion_to_matrix"])
def test_what_is_loaded_has_been_checked_with_its_own_flags(name):
    assert sg.load(getattr(library, name), to="c").forward is not None


def test_without_the_headers_of_python(monkeypatch):
    monkeypatch.setattr("symgrad.backends.c.c_compile.python_calls", lambda: None)
    f = sg.load(sg.parse(NUMBERS[0]), to="c", check=False)
    out, saved = f.forward(0.5, 2.0)
    assert isinstance(out, np.float64)
    np.testing.assert_allclose((out, *f.backward(saved)), (2 * np.exp(0.5), 2 * np.exp(0.5), np.exp(0.5)), rtol=1e-15)
    with pytest.raises(TypeError, match="expected floating point"):
        f.forward(1, 2.0)


MISTAKES = {  # of a call: what its message says
    "an input is missing": (lambda c, x, w: c.forward(x), "linear: takes 2 to 3 inputs, x, weight, bias, and 1"),
    "an input too many": (lambda c, x, w: c.forward(x, w, w, w), "linear: takes 2 to 3 inputs, x, weight, bias, and 4"),
    "needs_input_grad": (
        lambda c, x, w: c.backward(c.forward(x, w)[1], x @ w.T, (True,)),
        "linear: needs_input_grad has 1 places for 3 inputs",
    ),
    "saved": (lambda c, x, w: c.backward((1,), x @ w.T), "linear: saved is not what forward gave: it has 1 values"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_call_names_the_function(name):
    call, said = MISTAKES[name]
    with pytest.raises((TypeError, ValueError), match=re.escape(said)):
        call(sg.load(library.linear, to="c", check=False), np.ones((2, 3)), np.ones((4, 3)))


@pytest.mark.parametrize("text", ["f(y[m], g): h[j] = g*y[j]/(1 + y[j]**2); out = max[l](3 + h[l])"])
def test_a_largest_element_is_found_again_with_fused_operations(text):
    code = sg.load(sg.parse(text), to="c", check=False)
    drawn = np.random.default_rng(0)
    for _ in range(300):
        _, saved = code.forward(drawn.normal(size=3), drawn.normal(size=()))
        assert code.backward(saved)[1] != 0
