"""What a session of Python and a notebook show of each object: no dump of fields, no address; mathematics in LaTeX."""

from __future__ import annotations

import linecache
import re

import pytest

import symgrad as sg
from symgrad.verify.accuracy import Losses
from symgrad.verify.report import Finding, Report

TEXT = "f(x[n], a; b=2.0) = b*sum[i](a*x[i]**2)"
CELL = """
@sg.function
def linear(x: sg.Tensor["n k"], weight: sg.Tensor["m k"], bias: sg.Tensor["m"] = None):
    return x @ weight.T + bias

@sg.function
def scaled(x, *, power):
    return x**power
"""


def of_a_cell(name, file):
    """What a cell declares; IPython keeps the text of cells where `inspect` finds it."""
    linecache.cache[file] = (len(CELL), None, CELL.splitlines(True), file)
    known = {"sg": sg}
    exec(compile(CELL, file, "exec"), known)
    return known[name]


LINEAR = of_a_cell("linear", "/tmp/ipykernel_7/123.py")
FORWARD = (
    "forward(x, a, *, b=2.0) -> out, saved\nbackward(saved, grad_output=None, needs_input_grad=None) -> grad_x, grad_a"
)
SHOWN = {  # an object; how its text begins, and the richer one
    "a declaration": (
        lambda: LINEAR, "linear(x[n,k], weight[m,k], bias[m]?) -> out:\n", "latex", r"\mathrm{out}_{i,j}",
    ),
    "a function": (
        lambda: sg.parse(TEXT),
        "f(x[n], a; b=2.0) -> out:\n    sum_x = sum[i](a * x[i]**2)\n",
        "latex",
        r"\sum_{i}",
    ),
    "a Jacobian": (lambda: sg.jacobian(TEXT), "Jacobian of f\n    d out / d x[i] = ", "latex", r"\frac{\partial"),
    "a matrix": (lambda: sg.jacobian("f(x) = x**2"), "Matrix([[2*x]])", "latex", "2 x"),
    "a Hessian": (lambda: sg.hessian("f(x) = x**2"), "Matrix([[2]])", "latex", "2"),
    "J^T v": (lambda: sg.vjp(TEXT), "f: J^T v, with v = grad_output\n", "latex", r"\mathrm{grad\_x}"),
    "J v": (lambda: sg.jvp(TEXT), "f: J v, with v = tangent_x, tangent_a\n", "latex", "tangent"),
    "a gradient": (lambda: sg.gradient(TEXT, "x"), "f_gradient(x[n], a; b=2.0) -> gradient_x:\n", "latex", "gradient"),
    "derived": (lambda: sg.derived(TEXT, "jacobian"), "f_jacobian(", "latex", "by"),
    "files": (
        lambda: sg.generate(TEXT, "c", check=False),
        f"f.c\n\n/*\n * {TEXT}\n",
        "markdown",
        f"**f.c**\n\n````c\n/*\n * {TEXT}\n",
    ),
    "a check": (
        lambda: sg.check(TEXT),
        "f   numpy   agrees with the formula and J^T v   ",
        "markdown",
        "\u2713 **f**, numpy: agrees with the formula",
    ),
    "accuracy": (
        lambda: sg.accuracy("f(x) = x"),
        "Bits lost in float64, on average and at most\n    out      as written   0.00    0.0\n",
        "markdown",
        "| `out` | as written | 0.00 | 0.0 |",
    ),
    "no accuracy": (
        lambda: Losses(()),
        "Bits lost in float64, on average and at most\n    nothing is real here",
        "markdown",
        "bits lost",
    ),
    "an explanation": (
        lambda: sg.explain(sg.parse(TEXT), only="function"),
        "`f`: why its gradient is multiplied",
        "markdown",
        "# `f`: why",
    ),
    "numpy": (
        lambda: sg.load(TEXT, check=False),
        f"# f, printed for NumPy and loaded\n# {TEXT}\nforward(x, a, *, b=2.0)\nbackward(",
        "markdown",
        "````python\n# f, printed for NumPy",
    ),
    "c": (
        lambda: sg.load(TEXT, "c", check=False, functions=("forward", "backward", "gradient")),
        f"# f, printed for C and loaded\n# {TEXT}\n{FORWARD}\ngradient(x, a, *, b=2.0) -> gradient_x, gradient_a",
        "markdown",
        FORWARD,
    ),
    "scipy": (
        lambda: sg.load(TEXT, "scipy:x", check=False),
        "# f, printed for SciPy and loaded",
        "markdown",
        "fun_and_grad(",
    ),
    "an annotation": (lambda: sg.Tensor["n k", "> 0"] | None, 'sg.Tensor["n k", "> 0"] | None', "", ""),
    "a group": (lambda: sg.SE3, "sg.SE3", "", ""),
}


@pytest.mark.parametrize("name", SHOWN)
def test_each_object_says_what_it_is(name):
    make, text, kind, richer = SHOWN[name]
    found = make()
    assert repr(found).startswith(text)
    assert not re.search(r"0x[0-9a-f]{6}|Function\(name=|Dtype\.", repr(found))
    if kind:
        assert richer in getattr(found, f"_repr_{kind}_")()


def test_a_check_that_fails_says_where():
    report = Report("f", "numpy", points=3, failures=(Finding("float64", "grad_x", "wrong"),))
    assert repr(report) == str(report)
    assert report._repr_markdown_().startswith(
        "\u2717 **f**, numpy: DISAGREES   1 failure at 3 points\n\n````text\ngrad_x"
    )


def test_what_has_no_equations_yet_has_a_name():
    declared = of_a_cell("scaled", "<ipython-input-1-abc>")
    assert repr(declared) == "<symgrad function scaled>" and declared._repr_latex_() is None


AGAIN = {  # what is printed in a notebook, and what prints it again
    "a cell": (lambda: LINEAR, {}, 'sg.generate(linear, to="numpy")'),
    "a session": (lambda: of_a_cell("linear", "<stdin>"), {}, 'sg.generate(linear, to="numpy")'),
    "with options": (
        lambda: of_a_cell("linear", "<ipython-input-1-abc>"),
        {"save": "all", "functions": "forward, backward, jacobian"},
        'sg.generate(linear, to="numpy", save="all", functions="forward, backward, jacobian")',
    ),
    "derived": (lambda: sg.gradient("f(x) = x**2"), {}, 'sg.generate(f_gradient, to="numpy")'),
    "as it stands": (lambda: LINEAR, {"stabilize": False}, 'sg.generate(linear, to="numpy", stabilize=False)'),
    "a formula": (lambda: "f(x) = x**2", {}, 'symgrad generate "f(x) = x**2" --to numpy'),
}


@pytest.mark.parametrize("name", AGAIN)
def test_files_say_how_to_print_them_again(name):
    make, options, said = AGAIN[name]
    (text,) = sg.generate(make(), check=False, **options).values()
    head = re.sub(r"\s+", " ", text[: text.index("Shapes")])
    assert f"Print it again: {said}" in head
    assert "ipykernel" not in text and "<" not in head


def test_a_failure_in_a_notebook_names_no_command():
    assert sg.check(LINEAR).command == ""
    assert sg.check("f(x) = x").command == "symgrad check 'f(x) = x' --to numpy"
