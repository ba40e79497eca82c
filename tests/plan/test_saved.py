"""What forward saves, as `--save` asks: no more than it must, what is cheaper to keep, or all that backward reads."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import symgrad as sg
from symgrad import library
from symgrad.backends import SAVES
from symgrad.derivatives import as_function, derive
from symgrad.errors import TargetError
from symgrad.pipeline import printed
from symgrad.plan import plan

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
STYLES = {"numpy": "arrays", "c": "loops"}
FORMULAS = {  # what `minimal`, `balanced` and `all` save beside inputs and outputs
    "a function of a function": ("f(x[n])[i] = exp(sin(x[i]))*x[i]", "", "", "exp_x"),
    "its own slope": ("f(x[n])[i] = tanh(x[i])", "", "", ""),
    "softmax": (library.softmax, "", "", ""),
    "products": (library.linear, "", "", ""),
    "gelu": (library.gelu, "", "", "tanh_inner"),
    "mlp": (library.mlp, "", "hidden", "hidden"),
    "attention": (library.attention, "", "weights", "weights"),
    "layer_norm": (library.layer_norm, "", "mean_x rstd", "rstd xhat"),
    "cross_entropy": (
        library.cross_entropy,
        "",
        "sum_loss sum_own max_logits sum_exp_logits",
        "counts own scores sum_loss sum_own max_logits sum_exp_logits",
    ),
    "a maximum": ("f(x[n], w[n]): m = max[i](x[i]*w[i]); out = m**2", "", "m", "m"),
    "an argmax": ("f(x[n], w[n]): k = argmax[i](x[i]*w[i]); out = x[k]**2", "", "k", "k"),
    "an optional input": (
        "f(x[n], b[n]?): y[i] = exp(x[i]) + given(b, b[i], 2); out = sum[i](y[i])**2", "", "sum_y", "sum_y"
    ),
    "a loop": ("f(x[n], c): h[0] = c; h[t+1] = tanh(h[t]*x[t]); out = sum[t: n](h[t]**2)", "h", "h", "h"),
    "beside a loop": (
        "f(x[n], w[n], c): u[i] = sum[j](w[j])*x[i]; h[0] = c; h[t+1] = sin(h[t]*u[t]); out = h[n]",
        "h", "sum_w h", "sum_w u h",
    ),
    "lstm": (library.lstm, "", "candidate enter keep leave", "candidate enter keep leave tanh_cell"),
    "whole matrices": ("f(A[n,n], b[n]): L = cholesky(A); y = solve(L, b); out = sum[i](y[i]**2)", *["L y"] * 3),
    "sorted": ("f(x[n], w[n]): y[i] = x[i]*w[i]; s = sort(y); out = sum[i](i*s[i]**2)", "order", "order", "order s"),
}  # fmt: skip
EACH = [(name, save) for name in FORMULAS for save in SAVES]


def function(name):
    declared = FORMULAS[name][0]
    return as_function(sg.parse(declared) if isinstance(declared, str) else declared)


def between(program):
    """What is saved, but for inputs and outputs."""
    primal = program.derivative.primal
    return [name for name in program.saved if name not in (*primal.inputs, *primal.outputs)]


@pytest.mark.parametrize("to", STYLES)
@pytest.mark.parametrize(("name", "save"), EACH)
def test_saves_what_was_asked_for(name, save, to):
    program = plan(derive(function(name)), to, STYLES[to], None, SAVES[save])
    assert " ".join(between(program)) == FORMULAS[name][1 + list(SAVES).index(save)]


@pytest.mark.parametrize("save", ["minimal", "all"])
@pytest.mark.parametrize("to", ["numpy", pytest.param("c", marks=needs_cc)])
@pytest.mark.parametrize("name", [n for n in FORMULAS if n != "whole matrices"])
@pytest.mark.in_turn
def test_the_check_agrees(name, to, save):
    report = sg.check(function(name), to=to, save=save)
    assert report.ok and report.points > 1, str(report)


@pytest.mark.parametrize("to", ["numpy", pytest.param("c", marks=needs_cc)])
@pytest.mark.parametrize("name", ["mlp", "attention", "layer_norm", "cross_entropy", "beside a loop"])
@pytest.mark.in_turn
def test_gradients_are_those_of_balanced(name, to):
    rng = np.random.default_rng(4)
    shapes = {
        "mlp": [(3, 4), (6, 4), (6,), (2, 6), (2,)],
        "attention": [(4, 3), (5, 3), (5, 2)],
        "layer_norm": [(3, 5), (5,), (5,)],
        "cross_entropy": [(3, 4)],
        "beside a loop": [(4,), (4,), ()],
    }[name]
    inputs = [rng.standard_normal(shape) for shape in shapes] + [np.array([0, 3, 1])] * (name == "cross_entropy")
    found = {}
    for save in SAVES:
        code = sg.load(function(name), to=to, check=False, save=save)
        out, saved = code.forward(*inputs)
        found[save] = code.backward(saved, np.ones_like(out))
    for save in ("minimal", "all"):
        for gradient, expected in zip(found[save], found["balanced"], strict=True):
            assert (gradient is None) == (expected is None)
            if gradient is not None:
                np.testing.assert_allclose(gradient, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "shapes", "kept"),  # bytes of `minimal`, `balanced` and `all`, beside inputs and outputs
    [
        ("attention", [(512, 8), (512, 8), (512, 8)], (0, 8 * 512**2, 8 * 512**2)),
        ("layer_norm", [(64, 1024), (1024,), (1024,)], (0, 8 * 2 * 64, 8 * (64 + 64 * 1024))),
        ("mlp", [(64, 4), (1024, 4), (1024,), (2, 1024), (2,)], (0, 8 * 64 * 1024, 8 * 64 * 1024)),
    ],
)
def test_what_is_saved_takes_so_many_bytes(name, shapes, kept):
    for save, expected in zip(SAVES, kept, strict=True):
        inputs = [np.ones(shape) for shape in shapes]
        out, saved = sg.load(function(name), check=False, save=save).forward(*inputs)
        free = {id(x) for x in (*inputs, out)}
        assert sum(x.nbytes for x in saved if isinstance(x, np.ndarray) and id(x) not in free) == expected


def test_a_long_line_in_c_reads_no_output_that_it_has_anyway():
    """Backward may be called without forward: it has all but the last operations of the outputs."""
    steps = "".join(
        f"a{k + 1} = a{k} + 0.1*b{k}*(1 + a{k}*a{k}); b{k + 1} = b{k} - 0.1*a{k}*(1 + b{k}*a{k}); " for k in range(9)
    )
    text = f"f(a0, b0) -> u, v: {steps}u = a9/sqrt(a9**2 + b9**2); v = b9/sqrt(a9**2 + b9**2)"
    derivative = derive(as_function(sg.parse(text)))
    assert {"u", "v"} <= {*plan(derivative, "numpy", "arrays").saved}
    assert plan(derivative, "c", "loops").saved == ("a0", "b0")


def test_scipy_saves_no_more_for_its_products():
    text = "loss(w[d], x[n,d]): z[i] = sum[j](x[i,j]*w[j]); out = mean[i](softplus(z[i])**2)"
    for save, saves_z in (("minimal", False), ("balanced", True)):
        assert sg.check(sg.parse(text), to="scipy", save=save).ok
        assert ("z" in between(printed(sg.parse(text), "scipy", {"save": save}).program)) == saves_z


@pytest.mark.parametrize("to", ["numpy", "c", "torch", "jax", "torch_c"])
def test_every_file_says_how_to_print_it_again(to):
    files = sg.generate(library.layer_norm, to=to, save="minimal", check=False)
    assert all(f"--to {'c' if path.endswith(('.c', '.h')) else to} --save minimal\n" in t for path, t in files.items())
    assert sg.generate(library.layer_norm, to=to, save="balanced", check=False) == sg.generate(
        library.layer_norm, to=to, check=False
    )


REFUSED = [
    ({"save": "none"}, "'none' does not say what forward saves. Choose from minimal, balanced, all."),
    ({"to": "jax", "functions": "forward,backward,jvp", "save": "minimal"}, "chooses itself what it saves. Leave out"),
]


@pytest.mark.parametrize(("asked", "said"), REFUSED)
def test_what_is_no_answer_is_refused(asked, said):
    with pytest.raises(TargetError, match=said):
        sg.generate(sg.parse("f(x) = x**2"), **asked, check=False)
