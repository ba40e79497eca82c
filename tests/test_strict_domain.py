"""`strict_domain`: numbers outside of the domain are refused, by the name of the input, and the check asks for it."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

import symgrad as sg
from symgrad.cli import main
from symgrad.errors import TargetError
from symgrad.pipeline import printed, verified

both = pytest.mark.parametrize("to", ["numpy", "c"])

POINTS = "f(x, a) = x**a for a > 0, 0 <= x <= 1"
ARRAYS = "f(x[n,k], a, t[m]: int)[i] = a*sum[j](log(x[i,j])) + x[t[0],0] for 0 < x < 2, a <= -1.5, t > 0"
OPTIONAL = "f(x[n], b[n]?, c?)[i] = given(b, b[i]*x[i], x[i]) + given(c, c, 0) for b < 3, c >= 0.5"
X, T = np.full((2, 3), 1.5), np.array([1, 1])

REFUSED = {
    "a number": (POINTS, [-0.5, 1.0], "f: x = -0.5, declared for 0 <= x <= 1"),
    "the other input": (POINTS, [0.5, 0.0], "f: a = 0.0, declared for a > 0"),
    "no number": (POINTS, [0.5, np.nan], "f: a = nan, declared for a > 0"),
    "infinity": (POINTS, [np.inf, 1.0], "f: x = inf, declared for 0 <= x <= 1"),
    "one of several points": (POINTS, [[0.5, 1.5, 2.5], [1.0, 1.0, 1.0]], "f: x = 1.5, declared for 0 <= x <= 1"),
    "one of a matrix": (ARRAYS, [X - [[0, 0, 0], [0, 0, 1.5]], -2.0, T], "f: x = 0.0, declared for 0 < x < 2"),
    "a scalar beside arrays": (ARRAYS, [X, -1.0, T], "f: a = -1.0, declared for a <= -1.5"),
    "an integer": (ARRAYS, [X, -2.0, T - 1], "f: t = 0, declared for t > 0"),
    "an input that may be absent": (OPTIONAL, [X[0], X[0] + 2, None], "f: b = 3.5, declared for b < 3"),
    "a scalar that may be absent": (OPTIONAL, [X[0], None, 0.0], "f: c = 0.0, declared for c >= 0.5"),
}
TAKEN = {
    "points at bounds": (POINTS, [[0.0, 1.0, 0.5], [1e-300, 1.0, 3.0]]),
    "arrays": (ARRAYS, [X, -1.5, T]),
    "absent": (OPTIONAL, [X[0], None, None]),
    "given": (OPTIONAL, [X[0], X[0], 0.5]),
    "nothing": (POINTS, [[], []]),
}


def arrays(inputs):
    return [
        v if v is None else np.asarray(v) if np.asarray(v).dtype.kind == "i" else np.asarray(v, float) for v in inputs
    ]


@both
@pytest.mark.parametrize(("text", "inputs", "said"), REFUSED.values(), ids=list(REFUSED))
def test_a_number_outside_of_the_domain_is_refused(text, inputs, said, to):
    code = sg.load(sg.parse(text), to, check=False, strict_domain=True)
    with pytest.raises(ValueError, match="declared for") as refused:
        code.forward(*arrays(inputs))
    assert str(refused.value) == said


@both
@pytest.mark.parametrize(("text", "inputs"), TAKEN.values(), ids=list(TAKEN))
def test_a_number_of_the_domain_is_taken(text, inputs, to):
    function, inputs = sg.parse(text), arrays(inputs)
    strict, plain = (sg.load(function, to, check=False, strict_domain=s) for s in (True, False))
    with np.errstate(all="ignore"):
        (one, saved), (other, kept) = strict.forward(*inputs), plain.forward(*inputs)
        np.testing.assert_array_equal(one, other)
        given = np.ones(np.shape(one))
        for a, b in zip(strict.backward(saved, given), plain.backward(kept, given), strict=True):
            np.testing.assert_array_equal(a, b) if b is not None else None


@both
def test_without_it_nothing_is_refused(to):
    out, _ = sg.load(sg.parse(POINTS), to, check=False).forward(np.array(2.0), np.array(2.0))
    assert out == 4


C = "g(x, y) = sin(x)*y, x*y for x > 0"


def test_c_returns_3_and_says_so_in_its_header():
    files = sg.generate(sg.parse(C), "c", strict_domain=True, check=False)
    assert files["g.h"].count("Return 3, with nothing written, unless x > 0.") == 2
    assert "int g_forward(double x, double y, double *out0, double *out1);" in files["g.h"]
    assert "int g_forward_batch(" in files["g.h"]
    assert "    if (!(x > 0.0)) {\n        return 3;\n    }\n" in files["g.c"]
    assert "void g_forward(double x" in sg.generate(sg.parse(C), "c", check=False)["g.h"]


FORMULAS = {"points": POINTS, "arrays": ARRAYS, "optional": OPTIONAL, "several outputs": C}
CHECKED = [
    *((text, {"to": "numpy"}) for text in FORMULAS),
    *((text, {"to": "c", **way}) for text in FORMULAS for way in ({}, {"dtype": "float"}, {"openmp": True})),
    *((text, {"to": "c", "accumulate": True}) for text in ("points", "arrays")),
    *(
        (text, {"to": to, "functions": "forward,jacobian"})
        for text in ("points", "several outputs")
        for to in ("c", "numpy")
    ),
]


@pytest.mark.parametrize(
    ("text", "options"), CHECKED, ids=[f"{t}: {' '.join(map(str, o.values()))}" for t, o in CHECKED]
)
@pytest.mark.in_turn
def test_the_check_asks_for_it(text, options):
    report = sg.check(sg.parse(FORMULAS[text]), strict_domain=True, **options)
    assert report.ok, str(report)


FORGOTTEN = {
    "numpy": ("f_numpy.py", "    a = _in_domain(a, a > 0, ", "    (lambda *_: None)(a, a > 0, ", "float64"),
    "c": ("f.c", "if (!(a > 0.0)) {\n        return 3;", "if (!(a > 0.0)) {\n        return 0;", "as if all were well"),
}


@pytest.mark.parametrize("to", FORGOTTEN)
def test_the_check_sees_what_is_not_refused(to):
    function = sg.parse(POINTS)
    path, before, after, _ = FORGOTTEN[to]
    result = printed(function, to, {"strict_domain": True})
    assert before in result.files[path]
    files = {**result.files, path: result.files[path].replace(before, after)}
    report = verified(function, type(result)(result.program, files, result.backend, result.folder),
                      result.backend.load(result.program, files))  # fmt: skip
    assert not report.ok
    assert any(f.stage.startswith("text") for f in report.failures)


def test_it_needs_a_domain():
    with pytest.raises(TargetError, match="f: strict_domain refuses numbers outside of a domain, and none is declared"):
        sg.generate(sg.parse("f(x) = x**2"), "numpy", strict_domain=True, check=False)


def test_of_several_functions_those_with_a_domain_have_it(tmp_path):
    file = tmp_path / "both.py"
    file.write_text("import symgrad as sg\nf = sg.parse('f(x) = log(x) for x > 0')\ng = sg.parse('g(x) = x**2')\n")
    for more in ([], ["--file", "both"]):
        asked = ["generate", str(file), "--to", "c", "--strict-domain", "--out", str(tmp_path / "out"), *more]
        result = CliRunner().invoke(main, asked)
        assert result.exit_code == 0, result.output
    text = (tmp_path / "out" / "both" / "both.h").read_text()
    assert "int f_forward(double x, double *out);" in text
    assert "void g_forward(double x, double *out);" in text


@pytest.mark.parametrize("command", ["generate", "check", "show"])
def test_the_command_needs_one_too(command):
    result = CliRunner().invoke(main, [command, "f(x) = x**2", "--strict-domain"])
    assert result.exit_code == 2
    assert "f: strict_domain refuses numbers outside of a domain, and none is declared" in result.output


def test_languages_without_it_say_so():
    with pytest.raises(TargetError, match="strict_domain is an option of numpy"):
        sg.generate(sg.parse("f(x) = x**2 for x > 0"), "scipy", strict_domain=True, check=False)


def test_the_command_has_it():
    result = CliRunner().invoke(main, ["show", "f(x) = log(x) for x > 0", "--to", "numpy", "--strict-domain"])
    assert result.exit_code == 0, result.output
    assert 'symgrad generate "f(x) = log(x) for x > 0" --to numpy --strict-domain' in result.output
    assert '_in_domain(x, x > 0, "f: x", "x > 0")' in result.output
