"""Functions that are printed beside forward and backward, by name: their numbers, their results, their check."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sympy
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal

import symgrad as sg
from symgrad import derivatives, library, pipeline
from symgrad.cli import main
from symgrad.errors import TargetError, UnsupportedError
from symgrad.kinds import DERIVED, KINDS
from symgrad.pipeline import printed
from symgrad.verify.origin import COMPARED
from symgrad.verify.text import flat

x, y, z = sympy.symbols("x y z", real=True)
SCALAR = "f(x, y) = x**2*y + exp(x*y)"
SEVERAL = "f(x, y) = (x**2*y, sin(x*y)/x, exp(x) + y)"
ROTATION = "f(p[3], s) = (p[0]*cos(p[2]) - s*p[1], s*sin(p[2]))"
QUADRIC = "f(p[2], s) = s*p[0]**2*p[1] + exp(s)"
ARRAYS = "f(x[n], y[n]) = sum[i](x[i]**3*y[i])"
PAIRS = "f(p[2], q[2]) -> out: out[0] = p[0]*q[0]; out[1] = p[1]*q[1]"
TWO = "f(p[2], q[2]) -> a, b: a[0] = p[0]*q[0]; a[1] = p[1]*q[1]; b[0] = sin(p[1]); b[1] = p[0]**3"
MANY = f"f(p[8], q[8]) = {' + '.join(f'p[{k}]**2*q[{k}]' for k in range(8))}"  # components, too many for units
NINE = "f(x[9])[i] = sin(x[i])*sum[j](x[j]**2)"  # of which J^T J is a product of matrices
PRODUCTS = "f(x[n])[i] = x[i]**2"
CHAIN = "f(x[n]) = sum[i:n-1]((x[i+1] - x[i]**2)**2)"
NORMED = "f(x[..., n], w[n])[..., i] = x[..., i]*w[i]/sum[j](x[..., j]**2)"
GATHERED = "f(x[n], t[m]: int)[e] = x[t[e]]**2"
POLAR = "polar(r, t) = (r*cos(t), r*sin(t))"
SOFTMAX = "f(x[..., n])[..., i] = exp(x[..., i])/sum[j](exp(x[..., j]))"
MATHEMATICS = {SCALAR: [x**2 * y + sympy.exp(x * y)], SEVERAL: [x**2 * y, sympy.sin(x * y) / x, sympy.exp(x) + y]}
POINTS = np.random.default_rng(3).uniform(0.3, 1.7, (2, 5))
each_language = pytest.mark.parametrize("to", ["numpy", "c"])


def at_points(matrix):
    at = sympy.lambdify([x, y], matrix, "numpy")
    return np.stack([np.asarray(at(*p), dtype=float) for p in POINTS.T])


def close(found, expected):
    assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@each_language
@pytest.mark.parametrize("text", MATHEMATICS)
def test_values_come_first_and_the_numbers_are_sympys(text, to):
    matrix = sympy.Matrix(MATHEMATICS[text])
    j, value = at_points(matrix.jacobian([x, y])), at_points(matrix)[..., 0]
    f = sg.load(sg.parse(text), to=to, functions=("forward", "backward", "jacobian", "gauss_newton", "jvp"))
    values, jacobian = f.jacobian(*POINTS)
    close(np.stack(np.atleast_2d(values), -1), value)
    close(jacobian, j)
    _, again, jtj, jtr = f.gauss_newton(*POINTS)
    assert_array_equal(again, jacobian)
    close(jtj, j.swapaxes(-1, -2) @ j)
    close(jtr, np.einsum("bij,bi->bj", j, value))
    tangents = np.random.default_rng(5).standard_normal(POINTS.shape)
    values, moved = f.jvp(*POINTS, *tangents)
    close(np.stack(np.atleast_2d(moved), -1), np.einsum("bij,jb->bi", j, tangents))
    out, saved = f.forward(*POINTS)
    close(out, values)
    assert len(f.backward(saved, np.ones(np.shape(out)) if text is SCALAR else out)) == 2


@each_language
def test_second_derivatives(to):
    (value,) = MATHEMATICS[SCALAR]
    functions = "gradient, value_and_gradient, hessian, hvp"
    f = sg.load(sg.parse(SCALAR), to=to, functions=functions)
    assert not hasattr(f, "forward")
    h, g = at_points(sympy.hessian(value, [x, y])), at_points(sympy.Matrix([value]).jacobian([x, y]))[:, 0]
    out, gradients, hessian = f.hessian(*POINTS)
    close(out, at_points(sympy.Matrix([value]))[:, 0, 0])
    close(np.stack(gradients, -1), g)
    close(hessian, h)
    assert_array_equal(hessian, hessian.swapaxes(-1, -2))
    close(np.stack(f.gradient(*POINTS), -1), g)
    close(np.stack(f.value_and_gradient(*POINTS)[1], -1), g)
    close(np.stack(f.hvp(*POINTS, *POINTS[::-1]), -1), np.einsum("bij,jb->bi", h, POINTS[::-1]))


def test_each_name_has_a_derivation_and_a_comparison():
    assert derivatives.DERIVATIONS.keys() == {*DERIVED}, "say in symgrad/derivatives.py how it is made"
    assert COMPARED.keys() == KINDS.keys(), "say in symgrad/verify/origin.py what it is compared with"


@pytest.mark.parametrize("what", DERIVED)
def test_each_name_is_documented_and_has_rows_below(what):
    page = Path(__file__).parent.parent / "docs" / "derivatives.md"
    assert f'"{what}"' in page.read_text(encoding="utf-8"), "the page says what it gives"
    assert f'"{what}"' in (sg.derived.__doc__ or ""), "the text of sg.derived says what it gives"
    assert what in [row[0] for row in RESULTS], "a row of RESULTS says how its results are arranged"
    wrong = [kind for _, kind, _ in DERIVATIONS]
    assert what in wrong, "a row of DERIVATIONS is a derivation that its comparison finds wrong"


RESULTS = [  # what, of which formula, by which inputs, and how it is returned
    ("jacobian", SEVERAL, "", (("out0", "out1", "out2"), "jacobian")),
    ("jacobian", "f(x[2]) -> out: out[0] = x[0]**2; out[1] = x[0]*x[1]", "", ("out", "out_by_x")),
    ("jacobian", PAIRS, "", ("out", ("out_by_p", "out_by_q"))),
    ("jacobian", PAIRS, "q", ("out", "out_by_q")),
    (
        "jacobian",
        TWO,
        "",
        (("a", "b"), (("a_by_p", "a_by_q"), ("b_by_p", "b_by_q"))),
    ),
    ("jacobian", "f(p[2], q) -> a, b: a[0] = p[0]; a[1] = p[1]; b = q*p[0]", "p", (("a", "b"), ("a_by_p", "b_by_p"))),
    ("gradient", SCALAR, "", ("gradient_x", "gradient_y")),
    ("gradient", SCALAR, "y", "gradient_y"),
    ("value_and_gradient", SCALAR, "x", ("out", "gradient_x")),
    ("value_and_gradient", ARRAYS, "", ("out", ("gradient_x", "gradient_y"))),
    ("hessian", SCALAR, "", ("out", ("gradient_x", "gradient_y"), "hessian")),
    ("hessian", QUADRIC, "p", ("out", "gradient_p", "p_by_p")),
    ("hessian", QUADRIC, "", ("out", ("gradient_p", "gradient_s"), (("p_by_p", "p_by_s"), ("s_by_p", "s_by_s")))),
    ("gauss_newton", ROTATION, "", (("out0", "out1"), "jacobian", "jtj", "jtr")),
    ("jvp", SEVERAL, "x", (("out0", "out1", "out2"), ("tangent_out0", "tangent_out1", "tangent_out2"))),
    ("jvp", ARRAYS, "", ("out", "tangent_out")),
    ("hvp", ARRAYS, "", ("product_x", "product_y")),
]


@pytest.mark.parametrize(("what", "text", "wrt", "results"), RESULTS)
def test_how_results_are_arranged(what, text, wrt, results):
    (beside,) = printed(sg.parse(text), "numpy", {"functions": what, "wrt": wrt}).program.beside
    assert beside.results == results


CHECKED = [  # formula, functions, inputs
    (POLAR, "jacobian,gauss_newton,jvp", "t, r"),  # in another order
    (SCALAR, ",".join(DERIVED), "y, x"),
    (ARRAYS, "hessian,hvp,value_and_gradient,jvp,jacobian", "y, x"),
    ("f(gradient_x, x) = gradient_x*x**2", "gradient,hessian,hvp", ""),  # names that gradients would have
    ("f(y, x): gradient_x = y*x; out = gradient_x**2", "hessian,value_and_gradient", ""),
    (SEVERAL, "forward,backward,jacobian,gauss_newton,jvp", ""),
    (SCALAR, ",".join(DERIVED), ""),
    (ROTATION, "forward,jacobian,gauss_newton", "p"),
    (QUADRIC, "hessian,hvp,jvp", ""),
    (ARRAYS, "gradient,value_and_gradient,hvp,jvp", ""),
    (TWO, "jacobian,jvp", ""),
    ("f(x, y) = (relu(x)*y, abs(y))", "jacobian,jvp", ""),
    ("f(x[n,k], t[n]: int; eps=0.1) = sum[i](x[i,t[i]]**2*eps)", "forward,jvp,hvp,value_and_gradient", ""),
    ("f(x[n,k], w[m,k]) -> a, n_large: a[i,j] = sum[l](x[i,l]*w[j,l]); n_large = argmax[i](x[i,0])", "jvp,forward", ""),
    (MANY, "hessian", ""),
    ("f(x[n], t[n]: int) = sum[i](where(t[i] != -9, x[t[i]], 0))", "hvp", ""),  # it reads less than f does
    (CHAIN, "hessian", ""),
    (NORMED, "jacobian", ""),
    (GATHERED, "jacobian", ""),
    ("f(x[n], e[k]: int)[i] = x[e[i]]*2 - x[0]", "jacobian,gauss_newton", "x"),  # numbers at places
    ("f(x[k], e[n]: int)[i] = sum[j](where(e[j] == i, 1, 0))*x[i]", "jacobian", ""),
    ("f(x[n], p[m], e[k,2]: int)[i] = x[e[i,0]] - p[e[i,1]]**2", "forward,backward,jacobian", ""),
]


@each_language
@pytest.mark.parametrize(("text", "functions", "wrt"), CHECKED)
@pytest.mark.in_turn
def test_each_is_checked(text, functions, wrt, to):
    report = sg.check(sg.parse(text), to=to, functions=functions, wrt=wrt)
    assert report.ok, report


MISTAKES = [  # of one line of the printed text
    ("numpy", SEVERAL, "jacobian", "jacobian[..., 0, 0] = 2 * x * y", "jacobian[..., 0, 0] = x * y"),
    ("numpy", SEVERAL, "jacobian", "jacobian[..., 0, 1] = x**2", "jacobian[..., 1, 0] = x**2"),
    ("numpy", SEVERAL, "jacobian", "    jacobian[..., 2, 1] = 1\n", ""),
    ("numpy", SEVERAL, "jacobian", "return (out0, out1, out2), jacobian", "return (out0, out2, out1), jacobian"),
    ("numpy", SEVERAL, "jacobian", "return (out0, out1, out2), jacobian", "return (out0, out1, out2), -jacobian"),
    ("numpy", SEVERAL, "gauss_newton", "jtj = ", "jtj = 2 * "),
    ("numpy", SEVERAL, "gauss_newton", "[..., 1, 0] * out1", "[..., 1, 1] * out1"),
    ("numpy", SEVERAL, "jvp", " * tangent_y\n", " * tangent_x\n"),
    ("numpy", SCALAR, "hessian", "hessian[..., 0, 0] = ", "hessian[..., 0, 0] = 2 * "),
    ("numpy", SCALAR, "hessian", "(gradient_x, gradient_y)", "(gradient_y, gradient_x)"),
    ("numpy", ARRAYS, "hvp", "3 * x**2 * direction_x", "3 * x**2 * direction_y"),
    ("numpy", ARRAYS, "value_and_gradient", "3 * x**2 * y", "3 * x * y"),
    ("numpy", ARRAYS, "forward", "return ", "return 2 * "),
    ("numpy", CHAIN, "hessian", "gradient_x[1:] += ", "gradient_x[1:] = "),  # right for two elements
    ("c", SEVERAL, "jacobian", "jacobian[1] = x * x;", "jacobian[2] = x * x;"),
    ("c", SEVERAL, "jacobian", "    jacobian[5] = 1.0;\n", ""),
    ("c", SEVERAL, "jacobian", "jacobian[b * 3 * 2] = 2.0 * x[b] * y[b];", "jacobian[b * 3 * 2] = x[b] * y[b];"),
    ("c", SEVERAL, "jacobian", "    *out2 = exp_x + y;\n", ""),
    ("c", SEVERAL, "jacobian", "    if (jacobian) {", "    if (out0) {"),
    ("c", SEVERAL, "jacobian", "        jacobian[5] = 1.0;\n    }\n", "    }\n    jacobian[5] = 1.0;\n"),
    ("c", POLAR, "jacobian", "!out0 || !out1 || !jacobian", "!out0 || !out1"),
    ("c", POLAR, "jacobian", "jacobian ? jacobian + 4 * b : NULL", "jacobian + 4 * b"),
    ("c", SOFTMAX, "jacobian", "    out = out ? out : work;\n", ""),
    ("c", SEVERAL, "gauss_newton", "    jtj[2] = jtj_0_1;\n", "    jtj[2] = -jtj_0_1;\n"),
    ("c", SEVERAL, "gauss_newton", "    jtj[2] = jtj_0_1;\n", ""),
    ("c", SCALAR, "hessian", "hessian[3] = ", "hessian[3] = -"),
    ("c", ARRAYS, "hvp", "product_y[i] = ", "product_y[i] = 2.0 * "),
]


@pytest.mark.parametrize(("to", "text", "what", "before", "after"), MISTAKES)
@pytest.mark.in_turn
def test_a_mistake_in_the_text_is_found(to, text, what, before, after):
    function = sg.parse(text)
    result = printed(function, to, {"functions": (what,)})
    path, source = next(iter(result.files.items()))
    assert before in source
    wrong = replace(result, files={**result.files, path: source.replace(before, after)})
    assert not pipeline.verified(function, wrong, wrong.load()).ok


def swapped(function):
    """Two outputs of one shape, one in the place of the other."""
    *rest, a, b = function.outputs
    return replace(function, outputs=(*rest, b, a))


def negative(name, place):
    def changed(function):
        own = [e for e in function.statements if e.target == name]
        new = own[place].with_body(-own[place].body)
        return replace(function, statements=tuple(new if e is own[place] else e for e in function.statements))

    return changed


def missing(name):
    def changed(function):
        *others, _ = (e for e in function.statements if e.target == name)
        return replace(function, statements=tuple(e for e in function.statements if e.target != name or e in others))

    return changed


DERIVATIONS = [  # a derivation that is wrong: its text is as derived, and the original function tells
    (SEVERAL, "jacobian", negative("jacobian", 2)),
    (SEVERAL, "jacobian", missing("jacobian")),
    (SEVERAL, "gauss_newton", negative("jtj", 0)),
    (SEVERAL, "gauss_newton", negative("jtr", 0)),
    (SEVERAL, "gauss_newton", negative("jacobian", 3)),
    (SEVERAL, "jvp", negative("tangent_out1", 0)),
    (SEVERAL, "jvp", swapped),
    (SCALAR, "gradient", swapped),
    (SCALAR, "value_and_gradient", negative("gradient_y", 0)),
    (SCALAR, "hessian", negative("hessian", 3)),
    (SCALAR, "hessian", negative("gradient_x", 0)),
    (SCALAR, "hvp", swapped),
    (ARRAYS, "hvp", negative("product_y", 0)),
    (ARRAYS, "jvp", negative("tangent_out", 0)),
    (TWO, "jacobian", swapped),
    (MANY, "hessian", negative("p_by_q", 0)),
    (CHAIN, "hessian", missing("x_by_x")),
    (CHAIN, "hessian", negative("x_by_x", 0)),
    (NORMED, "jacobian", negative("out_by_x", 1)),
    (NORMED, "jacobian", negative("out_by_w", 0)),
    (GATHERED, "jacobian", negative("out_by_x", 0)),
]


@pytest.mark.parametrize(("text", "what", "wrong"), DERIVATIONS)
@pytest.mark.in_turn
def test_a_mistake_in_the_derivation_is_found(text, what, wrong, monkeypatch):
    right = derivatives.derived

    def derived(function, name, wrt=()):
        return wrong(right(function, name, wrt)) if name == what else right(function, name, wrt)

    monkeypatch.setattr(derivatives, "derived", derived)
    report = sg.check(sg.parse(text), functions=(what,))
    assert any(f.stage == "witnesses" for f in report.failures), report


@pytest.mark.parametrize(("text", "what", "wrong"), DERIVATIONS)
@pytest.mark.in_turn
def test_a_mistake_in_what_is_declared_to_be_derived_is_found(text, what, wrong):
    report = sg.check(wrong(sg.derived(sg.parse(text), what)))
    assert any(f.stage == "witnesses" for f in report.failures), report


PARTIAL = [  # what, of which formula, the inputs, and what may be left out
    ("jacobian", SEVERAL, POINTS, (("out0",), ("jacobian",), ("out0", "out1", "out2"))),
    ("gauss_newton", ROTATION, (np.array([0.3, 0.4, 0.5]), 0.7), (("jacobian",), ("out0", "jtj"), ("jacobian", "jtr"))),
    ("gauss_newton", NINE, (np.arange(9.0),), (("jacobian",), ("out", "jacobian", "jtr"), ("out", "jtj"))),
    ("jacobian", SOFTMAX, (POINTS,), (("out",), ("out_by_x",))),
    ("value_and_gradient", ARRAYS, POINTS, (("out",), ("gradient_x",), ("out", "gradient_y"))),
    ("hessian", QUADRIC, (POINTS[0][:2], 0.3), (("out", "p_by_p"), ("gradient_p", "s_by_p"))),
]


@pytest.mark.parametrize(("what", "text", "inputs", "some"), PARTIAL)
@pytest.mark.in_turn
def test_results_in_c_may_be_left_out(what, text, inputs, some):
    f = sg.load(sg.parse(text), to="c", functions=(what,))
    names = printed(sg.parse(text), "c", {"functions": (what,)}).program.beside[0].program.forward.returns
    everything = dict(zip(names, flat(getattr(f, what)(*inputs)), strict=True))
    for absent in some:
        found = dict(zip(names, flat(getattr(f.without(*absent), what)(*inputs)), strict=True))
        assert {name for name, value in found.items() if value is None} == {*absent}
        for name in found.keys() - {*absent}:
            close(found[name], everything[name])


REFUSED = [
    ({"functions": "jacobian, curl"}, TargetError, "'curl' is no function that is printed. Choose from forward, back"),
    ({"fnctions": "jacobian"}, TargetError, "There is no option fnctions of f. Did you mean functions?"),
    ({"functions": "jacobian", "wrt": 3}, TargetError, "3 is no name, and no names; give them as text"),
    ({"functions": ()}, TargetError, "No function is asked for. Choose from forward, backward, gradient"),
    ({"functions": "backward,jacobian"}, TargetError, "backward is given what forward saves: ask for both"),
    ({"wrt": "x"}, TargetError, "wrt=x says with respect to which inputs there are derivatives, and none of gradient"),
    ({"functions": "jacobian", "wrt": "u"}, TargetError, "f: there is no gradient for u; choose from x, y"),
    ({"functions": "hessian"}, TargetError, "f: a gradient, and so a Hessian, is that of one scalar output"),
    ({"functions": "jacobian", "to": "c", "accumulate": True}, TargetError, "accumulate is about forward and backward"),
    ({"functions": "jacobian", "save": "all"}, TargetError, "not among the functions jacobian. Leave save out"),
    ({"functions": "jvp", "to": "scipy"}, TargetError, "scipy has none such. What its solvers call is said by matrix"),
    ({"functions": "jvp", "to": "torch_c"}, TargetError, "torch_c has none such. It registers forward and back"),
]


@pytest.mark.parametrize("what", DERIVED)
def test_of_integers_nothing_is_derived(what):
    with pytest.raises(TargetError, match="f has no input of real numbers: there is nothing to derive by"):
        sg.derived(sg.parse("f(k[n]: int) = sum[i](k[i])"), what)


def test_columns_stand_in_the_order_of_the_inputs_that_are_named():
    polar = sg.load(sg.parse(POLAR), functions=("jacobian",), wrt="t, r")
    assert np.array_equal(polar.jacobian(2.0, 0.0)[1], [[0, 1], [2, 0]])


@pytest.mark.parametrize(("options", "error", "said"), REFUSED)
def test_what_is_refused(options, error, said):
    with pytest.raises(error) as raised:
        sg.generate(sg.parse(SEVERAL), **options, check=False)
    assert said in str(raised.value)


def test_no_tangent_of_integers():
    with pytest.raises(UnsupportedError, match="f has no output of real numbers: there is no tangent"):
        sg.derived(sg.parse("f(x[n]) = argmax[i](x[i])"), "jvp")


@pytest.mark.parametrize("to", ["numpy", "c", "torch", "jax"])
def test_forward_and_backward_are_the_default(to):
    plain = sg.generate(library.layer_norm, to=to, check=False)
    assert sg.generate(library.layer_norm, to=to, functions="forward, backward", check=False) == plain


def test_the_head_shows_what_is_printed():
    text = next(iter(sg.generate(sg.parse(PRODUCTS), functions="gauss_newton", wrt=None, check=False).values()))
    shown = "    jacobian[i,i] = 2 * x[i]\n    jtj[i,i] = 2 * x[i] * (2 * x[i])\n    jtr[i] = 2 * x[i] * out[i]\n"
    assert f"\nResults of gauss_newton\n{shown}" in text and "grad_" not in text.split('"""')[1]


def test_forward_alone_saves_nothing():
    (source,) = sg.generate(sg.parse(SCALAR), functions="forward", check=False).values()
    assert "    return out\n" in source
    assert "saved" not in source
    assert "def backward" not in source


def test_the_command_prints_them_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ["generate", SCALAR, "--to", "numpy,c", "--functions", "forward, jacobian,hessian", "--wrt", "y"]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    text = (tmp_path / "f" / "f_numpy.py").read_text()
    assert f'symgrad generate "{SCALAR}" --to numpy --functions forward,jacobian,hessian --wrt y' in text
    assert "void f_jacobian_batch(" in (tmp_path / "f" / "f.h").read_text()
    assert CliRunner().invoke(main, [*asked, "--check"]).exit_code == 0
    other = CliRunner().invoke(main, ["generate", SCALAR, "--to", "numpy,c", "--check"])
    assert other.exit_code == 1
    assert "-def jacobian(x, y):" in other.output


def test_private_functions_stand_once():
    (source,) = sg.generate(sg.parse(SCALAR), functions=("forward", "backward", *DERIVED), check=False).values()
    heads = [line for line in source.splitlines() if line.startswith("def ")]
    assert len(heads) == len(set(heads))
    assert heads.count("def _real(name, value):") == 1
    assert "x, y = _inputs(x, y)" in source


@pytest.mark.parametrize("name", ["jacobian", "_inputs", "gauss_newton"])
def test_an_input_may_be_called_as_a_function_is(name):
    report = sg.check(sg.parse(f"f({name}, y) = {name}**2*y"), functions="forward,backward,jacobian,gauss_newton")
    assert report.ok, report
