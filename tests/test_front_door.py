"""What is taken for a declaration: text, and a Python function without a decorator."""

import inspect
import re
from typing import Annotated

import pytest
import sympy

import symgrad as sg

TEXT = "f(x, y) = x**2*y"


def f(x, y):
    return x**2 * y


DECLARED = {"text": TEXT, "def": f, "sg.function": sg.function(f), "sg.parse": sg.parse(TEXT)}
ASKED = {
    "jacobian": lambda d: sg.jacobian(d),
    "hessian": lambda d: sg.hessian(d),
    "vjp": lambda d: sg.vjp(d),
    "jvp": lambda d: sg.jvp(d),
    "gradient": lambda d: sg.gradient(d),
    "derived": lambda d: sg.derived(d, "jacobian"),
    "accuracy": lambda d: sg.accuracy(d)[0],
    "check": lambda d: sg.check(d),
    "load": lambda d: sg.load(d).forward(3.0, 2.0)[0],
    "generate": lambda d: sg.generate(d)["f_numpy.py"].partition("\nimport")[2],
}


@pytest.mark.parametrize("asked", ASKED)
def test_each_function_takes_each(asked):
    results = {name: str(ASKED[asked](given)) for name, given in DECLARED.items()}
    assert len(set(results.values())) == 1, results


REFUSED = [
    (3, "3 is no declaration: that is a formula as text"),
    (sympy.Symbol("x") ** 2, "x**2 is no declaration"),
    (lambda x: x**2, "a lambda has no name"),
    ("f(x) = y", "y is not known"),
]


@pytest.mark.parametrize(("given", "said"), REFUSED, ids=[row[1] for row in REFUSED])
def test_what_is_none_is_told(given, said):
    with pytest.raises(sg.SymgradError, match=re.escape(said)):
        sg.vjp(given)


def test_a_formula_alone_has_a_name():
    assert sg.parse("x**2 for x > 0", name="square").source == "square(x) = x**2 for x > 0"
    with pytest.raises(sg.FormulaError, match=r"the function has a name, f\. Write g instead of it"):
        sg.parse(TEXT, name="g")


def test_code_is_checked_unless_told_not_to(monkeypatch):
    wrong = sg.generate(TEXT)["f_numpy.py"].replace("2 * grad", "3 * grad")
    monkeypatch.setattr("symgrad.backends.numpy.NumPy.render_together", lambda *given: {"f_numpy.py": wrong})
    with pytest.raises(sg.CheckError, match="DISAGREES"):
        sg.generate(TEXT)
    assert sg.generate(TEXT, check=False)["f_numpy.py"] == wrong


def test_a_machine_that_cannot_check_prints_unchecked(monkeypatch):
    monkeypatch.setenv("CC", "false")
    with pytest.raises(sg.MachineError, match=r"does not work.*(?s:.)*Or print it unchecked: check=False"):
        sg.generate(TEXT, to="c")
    assert "f.c" in sg.generate(TEXT, to="c", check=False)


class Float:
    """What jaxtyping's `Float[Array, "n k"]` is: a class that knows its sizes."""

    dim_str, dtypes = "n k", ("float32", "float64")


def sized(x: sg.Tensor["n k"], i: sg.Int["n"], b: sg.Tensor["k", "> 0"] = None):
    return x * 2 + i[:, None] + b


def annotated(
    x: Annotated[sg.Array, "n k"], i: Annotated[int, "n"], b: Annotated[sg.Array, "k", "> 0"] | None = None
) -> sg.Array:
    return x * 2 + i[:, None] + b


def jaxtyped(x: Float, i: sg.Int["n"], b: sg.Tensor["k", "> 0"] = None):
    return x * 2 + i[:, None] + b


@pytest.mark.parametrize("python", [annotated, jaxtyped])
def test_annotations_of_type_checkers_say_the_same(python):
    assert str(sg.function(python).function).partition("(")[2] == str(sg.function(sized).function).partition("(")[2]


def test_elementwise_functions_are_told_of():
    assert {"exp", "relu", "arctan2", "parse"} <= {*dir(sg)}
    assert str(inspect.signature(sg.exp)) == "(x, /)" and str(inspect.signature(sg.arctan2)) == "(x, y, /)"
    assert "of every element" in sg.relu.__doc__
