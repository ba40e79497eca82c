"""No name of a user's clashes with one of Python's, of an import, or of the printed file."""

import inspect

import pytest
from names import FUNCTIONS, NAMES, ROWS, computes

import symgrad as sg
from symgrad.source.python import Name, Text, Word, call, method, names_in, text, words_in

each = pytest.mark.parametrize("text", ROWS.values(), ids=list(ROWS))


@each
def test_numpy(text):
    report = sg.check(sg.parse(text))
    assert report.ok, report


@each
@pytest.mark.in_turn
def test_scipy(text):
    report = sg.check(sg.parse(text), to="scipy")
    assert report.ok, report


@pytest.mark.parametrize("name", NAMES)
def test_forward_takes_what_was_declared(name):
    f = sg.load(sg.parse(f"f({name}, w; {name}_b=1.0) = {name}*w*{name}_b"), check=False)
    assert list(inspect.signature(f.forward).parameters) == [name, "w", f"{name}_b"]
    assert list(inspect.signature(f.backward).parameters) == ["saved", "grad_output", "needs_input_grad"]
    out, saved = f.forward(**{name: 2.0, "w": 3.0, f"{name}_b": 5.0})
    assert (out, *f.backward(saved)) == (30, 15, 10)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("f(np, x) = np*sin(x)", ["import numpy as np_", "    out = np * np_.sin(x)"]),
        ("f(saved, x) = saved*x", ["    return out, (saved, x)", "    saved_, x = saved"]),
        ("f(x[n,m], max)[i] = logsumexp[k](x[i,k])*max", ["    max_x = x.max(axis=1)"]),
        (
            "f(x[n], range) -> y: y[0] = range; y[t+1] = tanh(y[t])*x[t]",
            ["import builtins", "    for t in builtins.range(n):"],
        ),
        ("f(_real, x) = _real*x", ['    _real = _real_("_real", _real)', "def _real_(name, value):"]),
    ],
    ids=["an import", "the interface", "a method", "a builtin", "a function of the file"],
)
def test_what_is_not_the_users_yields(text, lines):
    (printed,) = sg.generate(sg.parse(text), check=False).values()
    assert [line for line in lines if line not in printed.splitlines()] == []


@pytest.mark.parametrize("to", ["numpy", "scipy"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_may_have_any_name(name, to):
    computes(name, to)



X = Name("x")


@pytest.mark.parametrize(
    ("tree", "names", "words"),
    [
        (method(X, "sum", axis=Name("k")), ["x", "k"], []),
        (call("np.exp", X), ["x"], ["np"]),
        (Text(("of ", X, ", not math.pi")), ["x"], []),
        (call("_real", text("x"), Word("value")), [], ["_real", "value"]),
    ],
    ids=["a method", "a module", "a string", "the file's own"],
)
def test_names_that_a_tree_speaks_of(tree, names, words):
    """No attributes, and of strings only what is computed in them: a size called `sum` is not read by `x.sum()`."""
    assert (names_in(tree), words_in(tree)) == (set(names), set(words))
