"""Functions of the user's: declared, printed, checked, and refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aero
import mpmath
import numpy as np
import pytest
import scipy.optimize
import sympy

import symgrad as sg
from symgrad.errors import SymgradError, UnsupportedError

FOLDER = Path(__file__).parent
PLACES = {"module": "aero"}
slope = sg.primitive("lookup_drag_slope", "mach", value=aero.lookup_drag_slope, derivative=0, **PLACES)
drag = sg.primitive("lookup_drag", "cd(mach)", value=aero.lookup_drag, derivative=slope, **PLACES)
thrust = sg.primitive(
    "thrust", "t(v, h)", value=aero.thrust, derivative=("-2*v*t/(1 + v**2)", "-thrust(v, h)/8"), ulps=32, **PLACES
)
sway = sg.primitive("sway", "a, c", value=aero.sway, derivative=("sin(c)", "a*cos(c)"), ulps=64, **PLACES)
logistic = sg.primitive("logistic", "p(x)", value=aero.logistic, derivative="p*(1 - p)", ulps=64, **PLACES)


@sg.function
def force(v, h, *, rho=1.2):
    """Calls in Python."""
    return thrust(v, h) - rho * v**2 * drag(v / 340)


@sg.function("x[n,k], w[k]")
def layer(x, w):
    """Of every element of an array, and of arrays that broadcast."""
    return logistic(x @ w).sum() + thrust(x, w).mean()


FUNCTIONS: dict[str, Any] = {
    "python": force,
    "text": sg.parse("force(v; rho=1.2) = rho*v**2*lookup_drag(v/340)"),
    "sympy": sg.from_sympy(
        "fall", sympy.symbols("v h"), sympy.Function("thrust")(*sympy.symbols("v h")) - sympy.Symbol("v") ** 2
    ),
    "tensors": layer,
    "slope of itself": sg.parse("odds(x) = logistic(2*x)**2"),
    "guarded": sg.parse("part(v) = where(v > 0, lookup_drag(v)/v, 0)"),
    "far out": sg.parse("swung(v, w) = sway(v, v*w)"),
    "absent": sg.parse("swung(v, w?) = sway(given(w, w, 1), v)"),
    "of numbers": sg.parse("trimmed(v) = v*lookup_drag(0.5) + lookup_drag(0.5)"),
}


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.in_turn
def test_what_calls_a_primitive_agrees_with_its_value(name: str, to: str) -> None:
    report = sg.check(FUNCTIONS[name], to=to)
    assert report.ok, str(report)


def test_places() -> None:
    """Each language calls it by its name, from where it is."""
    c = sg.generate(force, to="c", check=False)["force.c"]
    assert "extern double lookup_drag(double mach);" in c and "extern double thrust(double v, double h);" in c
    assert "= lookup_drag(v / 340.0);" in c and c.count("lookup_drag(v / 340.0)") == 1  # forward saves it
    single = sg.generate(force, to="c", dtype="float", check=False)["force.c"]
    assert "extern float lookup_dragf(float mach);" in single and "lookup_dragf(v / 340.0f)" in single
    python = sg.generate(force, to="numpy", check=False)["force_numpy.py"]
    assert "from aero import lookup_drag, lookup_drag_slope, thrust" in python


def linked(**own: Any) -> Any:
    """The same functions, whose C is in data/aero.c; and what calls them."""
    source = FOLDER / "data" / "aero.c"
    own_slope = sg.primitive(
        "lookup_drag_slope", "mach", value=aero.lookup_drag_slope, derivative=0, sources=source, **PLACES
    )
    own_drag = sg.primitive(
        "lookup_drag", "cd(mach)", value=aero.lookup_drag, derivative=own_slope, sources=source, **PLACES, **own
    )

    @sg.function
    def force(v):
        return v**2 * own_drag(v / 340)

    return force


@pytest.mark.parametrize("options", [{}, {"dtype": "float"}, {"openmp": True}, {"functions": ("jacobian", "hessian")}])
def test_the_users_own_c_is_linked_and_checked(options: dict[str, Any]) -> None:
    report = sg.check(linked(), to="c", **options)
    assert report.ok, str(report)


def test_c_as_a_user_links_it(tmp_path: Path) -> None:
    for path, text in sg.generate(linked(), to="c", check=False).items():
        tmp_path.joinpath(path).write_text(text)
    main = """#include <stdio.h>
    #include "force.h"
    int main(void) {
        double cd, out, slope;
        force_forward(340.0, &cd, &out);
        force_backward(340.0, cd, 1.0, &slope);
        printf("%.17g %.17g %.17g\\n", out, slope, cd);
        return 0;
    }"""
    tmp_path.joinpath("main.c").write_text(main)
    files = ["main.c", "force.c", str(FOLDER / "data" / "aero.c")]
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *flags, *files, "-o", "main", "-lm"], cwd=tmp_path, check=True)
    out, slope_of, cd = map(float, subprocess.run([tmp_path / "main"], capture_output=True, check=True).stdout.split())
    assert cd == pytest.approx(aero.lookup_drag(1.0), rel=1e-14)
    assert out == pytest.approx(340**2 * aero.lookup_drag(1.0), rel=1e-14)
    assert slope_of == pytest.approx(680 * aero.lookup_drag(1.0) + 340 * 0.75, rel=1e-14)


def test_other_c_than_the_value_is_found(tmp_path: Path) -> None:
    tmp_path.joinpath("other.c").write_text("double other(double x) { return 0.5 * x * x + 1e-9; }")
    other = sg.primitive("other", "x", value=lambda x: x * x / 2, derivative="x", sources=tmp_path / "other.c")

    @sg.function
    def f(x):
        return other(x)

    report = sg.check(f, to="c")
    assert not report.ok and "float64" in str(report)


@pytest.mark.parametrize("what", ["jacobian", "hessian", "gauss_newton", "value_and_gradient", "jvp", "hvp"])
@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.in_turn
def test_what_is_derived(what: str, to: str) -> None:
    residuals = sg.parse("residuals(v, h) = thrust(v, h) - 1, logistic(v*h) - 0.5")
    function = residuals if what == "gauss_newton" else force
    report = sg.check(function, to=to, functions=what)
    assert report.ok, str(report)


def test_scipy() -> None:
    """What a solver calls, and what moves it."""
    function = sg.parse("cost(v[n], h) = sum[i]((thrust(v[i], h) - 1)**2)")
    report = sg.check(function, to="scipy:v")
    assert report.ok, str(report)
    given = sg.load(function, to="scipy:v", check=False)
    found = scipy.optimize.minimize(given.fun_and_grad, np.array([0.3, 2.0]), args=(0.5,), jac=True, tol=1e-12)
    assert aero.thrust(found.x, 0.5) == pytest.approx([1, 1], rel=1e-5)


def test_the_derivative_is_asked_wherever_it_is_declared() -> None:
    """Also where no point of the check leads: the last interval of a table."""
    def value(mach: Any) -> Any:
        return aero.lookup_drag_slope(mach) * np.where((mach > 2.0) & (mach < 5.0), 1.001, 1.0)

    other = sg.primitive("other_slope", "mach", value=value, derivative=0, numpy="aero:lookup_drag_slope")
    report = sg.check(wrong(derivative=other, c="lookup_drag")(), to="c")
    assert not report.ok and "wrong_drag: its declared derivative in mach is -0.016" in str(report), str(report)


def test_shown_by_sympy() -> None:
    """Jacobians and Hessians speak of the functions, and can be read again."""
    text = sg.parse("f(v) = v*lookup_drag(v)")
    matrix = sg.jacobian(text)
    assert str(matrix[0]) == "v*lookup_drag_slope(v) + lookup_drag(v)"
    again = sg.from_sympy("again", [sympy.Symbol("v", real=True)], matrix[0], primitives=[drag, slope])
    assert "lookup_drag_slope" in sg.generate(again, to="c", check=False)["again.c"]
    v = sympy.Symbol("v", real=True)
    assert str(sympy.diff(sg.to_sympy(text.statements[0].body), v)) == str(matrix[0])


def wrong(**said: Any) -> Callable[[], Any]:
    """A declaration of `wrong_drag`, which is called in a function that is checked."""

    def made() -> Any:
        given = {"value": aero.lookup_drag, "derivative": slope, "numpy": "aero:lookup_drag"} | said
        own = sg.primitive("wrong_drag", given.pop("signature", "cd(mach)"), **given)
        return sg.parse("f(v) = v * wrong_drag(v)", [own])

    return made


@pytest.mark.parametrize(
    "derivative",
    ["lookup_drag_slope(mach) + 1e-6", "lookup_drag_slope(mach)*(1 + 1e-6)", "-lookup_drag_slope(mach)", "cd", 0],
)
def test_a_wrong_derivative_is_found(derivative: Any) -> None:
    report = sg.check(wrong(derivative=derivative)(), to="numpy")
    assert not report.ok
    assert "wrong_drag: its declared derivative in mach is" in str(report), str(report)


@pytest.mark.parametrize("factor", [1, 1 + 1e-9])
def test_exact(factor: float) -> None:
    """A value to all digits is compared so."""
    own = sg.primitive(
        "angle", "x", value=lambda x: mpmath.atan(factor * x), exact=True, derivative="1/(1 + x**2)",
        numpy="numpy:arctan",
    )  # fmt: skip
    report = sg.check(sg.parse("f(x) = x * angle(x)", [own]), to="numpy")
    assert report.ok == (factor == 1), str(report)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "two derivatives of one argument": (wrong(derivative=("1", "2")), r"has 1 argument \(mach\) and 2 derivatives"),
    "one of two arguments": (wrong(signature="t(v, h)", derivative="v"), r"has 2 arguments \(v, h\) and 1 derivative"),
    "another primitive of two": (wrong(derivative=thrust), "its derivative thrust has v, h. Write it as a formula"),
    "an unknown name": (wrong(derivative="2*match"), "the derivative of wrong_drag.*match is not known"),
    "an unknown function": (wrong(derivative="loopup_drag_slope(mach)"), "Did you mean lookup_drag_slope"),
    "a sum": (wrong(derivative="sum[i:3](mach*i)"), "no formula of mach, cd alone"),
    "no arguments": (wrong(signature="cd()"), "names no arguments"),
    "one name twice": (wrong(signature="a(a)"), "one name for two things"),
    "a place": (wrong(numpy="aero.lookup_drag"), "is no place. Write 'module:function'"),
    "an operator": (lambda: sg.primitive("tanh", "x"), "is a function of symgrad already"),
    "a reduction": (lambda: sg.primitive("logsumexp", "x"), "is a function of symgrad already"),
    "a keyword": (lambda: sg.primitive("lambda", "x"), "is a keyword of Python"),
    "an argument that is a keyword": (wrong(signature="cd(from)"), "wrong_drag: 'from' is a keyword of Python"),
    "a value that is none": (wrong(value=0.3), "the value is float, and no Python function of floats"),
    "a domain": (wrong(domain="mach"), "is no comparison"),
    "an empty domain": (wrong(domain="1 < mach < 0"), "no point was found where its domain holds"),
    "three arguments": (lambda: drag(1.0, 2.0, 3.0), r"takes 1 arguments \(mach\), not 3"),
    "no derivative": (
        lambda: sg.generate(wrong(derivative=None)(), to="numpy", check=False),
        "no derivative is declared for wrong_drag. Say it",
    ),
    "no place": (
        lambda: sg.generate(wrong(numpy="")(), to="numpy", check=False),
        "a primitive without a place in numpy. Say where",
    ),
    "a keyword of C": (lambda: sg.generate(wrong(c="double")(), to="c", check=False), "C cannot call it double"),
    "a function of C": (lambda: sg.generate(wrong(c="floor")(), to="c", check=False), "C cannot call it floor"),
    "no value": (lambda: sg.check(wrong(value=None)(), to="c"), "wrong_drag has no value"),
    "a module that is not there": (
        lambda: sg.load(wrong(numpy="no_such:lookup_drag")()),
        "f: No module named 'no_such'. The places of lookup_drag_slope and wrong_drag say 'module:function'",
    ),
    "a function that is not there": (
        lambda: sg.load(wrong(numpy="aero:no_such")()), "cannot import name 'no_such' from 'aero'"
    ),
    "C that is not there": (
        lambda: sg.load(wrong(sources="no_such.c")(), to="c"), "no_such.c: No such file"
    ),
    "C that lacks it": (
        lambda: sg.load(wrong(c="no_such", sources="data/aero.c")(), to="c"), "f cannot be loaded with .*no_such"
    ),
    "torch_c": (
        lambda: sg.generate(wrong()(), to="torch_c", check=False),
        "a file of torch_c compiles its own C alone",
    ),
    "its own name": (
        lambda: sg.generate(sg.parse("lookup_drag(v) = v*lookup_drag(v)", [drag]), to="c", check=False),
        "is a function that is printed, and a primitive",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    made, said = REFUSED[name]
    with pytest.raises(SymgradError, match=said):
        made()


def test_nothing_is_differentiated_through_what_has_no_derivative() -> None:
    """A condition, and numbers that are no inputs."""
    own = sg.primitive("loud", "x", value=lambda x: float(x > 0.5), numpy="aero:lookup_drag", c="loud")
    f = sg.parse("f(x, w; eps=0.1) = where(loud(x) > 0, x**2, x)*w + loud(0.25) + loud(eps)", [own])
    report = sg.check(f, to="c")
    assert report.ok, str(report)


def test_two_of_one_name_stay_apart() -> None:
    def made(slope: float) -> Any:
        return sg.primitive("line", "x", value=lambda x: slope * x, derivative=slope)

    one, other = made(2.0), made(3.0)
    functions = [sg.parse("f(x) = line(x)", [p]) for p in (one, other)]
    assert [str(sg.jacobian(f)[0]) for f in functions] == ["2", "3"]
    assert all(sg.check(f, to="c").ok for f in functions)
    assert str(sg.jacobian(sg.parse("f(x) = line(x)"))[0]) == "3"  # what a file declares again takes its own place

    @sg.function
    def both(x):
        return one(x) * other(x)

    with pytest.raises(UnsupportedError, match="two primitives are called line"):
        sg.generate(both, to="c", check=False)


def test_two_files_that_declare_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("here", "there"):
        text = "import symgrad as sg\np = sg.primitive('from_two', 'x', value=float, derivative=1)\n"
        tmp_path.joinpath(f"{name}_declares.py").write_text(text)
        __import__(f"{name}_declares")
    with pytest.raises(SymgradError, match=r"from_two is declared in .*here_declares.py and .*there_declares.py"):
        sg.parse("f(x) = from_two(x)")
    assert sg.check(sg.parse("f(x) = from_two(x)", [sys.modules["here_declares"].p]), to="c").ok


def test_a_domain() -> None:
    """Outside of it nothing is asked: in C by a condition, in arrays by an argument inside."""
    asked: list[float] = []

    def value(x: float) -> float:
        asked.append(float(np.min(x, initial=9.0)))
        return np.sqrt(x - 1.0)

    own = sg.primitive("root", "r(x)", value=value, derivative="1/(2*r)", domain="1 < x", numpy="aero:root")
    aero.root = value  # type: ignore[attr-defined]
    f = sg.parse("f(x) = where(x > 2, root(x), x)", [own])
    for to in ("numpy", "c"):
        report = sg.check(f, to=to)
        assert report.ok, str(report)
    assert min(asked) > 1


def test_names_that_a_file_has() -> None:
    """Inputs, imports and builtins of the same name are kept apart."""
    own = sg.primitive("np", "x", value=aero.lookup_drag, derivative=slope, numpy="aero:lookup_drag", c="v_")
    f = sg.parse("f(v, lookup_drag_slope) = np(v)*lookup_drag_slope", [own])
    for to in ("numpy", "c"):
        report = sg.check(f, to=to)
        assert report.ok, str(report)


def test_the_command(tmp_path: Path) -> None:
    """A file that declares a primitive beside its function, which is found there when the print is run."""
    text = """import symgrad as sg
def lift(alpha): return 0.1 * alpha
def lift_slope(alpha): return 0.1 + 0 * alpha
slope = sg.primitive("lift_slope", "alpha", value=lift_slope, derivative=0, module="wing")
primitive = sg.primitive("lift", "cl(alpha)", value=lift, derivative=slope, module="wing")
@sg.function
def force(v, alpha):
    return v**2 * primitive(alpha)
"""
    tmp_path.joinpath("wing.py").write_text(text)
    for command in ("generate", "check"):
        line = [sys.executable, "-m", "symgrad", command, f"{tmp_path}/wing.py:force", "--to", "numpy,c"]
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        done = subprocess.run([*line, *["--out", "out"] * (command == "generate")], cwd=elsewhere, capture_output=True)
        assert not done.returncode, done.stdout + done.stderr
    assert b"C called the Python value of lift and lift_slope" in done.stdout
