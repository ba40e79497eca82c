"""C99: what is printed compiles without a warning, reads well, and computes what the equations say."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mathematics import interpret

import symgrad as sg
from symgrad import generate, library, load, pipeline
from symgrad.backends.c import C
from symgrad.backends.c_compile import compile_library
from symgrad.declare.draft import Draft
from symgrad.derivatives import as_function
from symgrad.differentiate import differentiate
from symgrad.domain.facts import NOTHING
from symgrad.errors import CompilerError
from symgrad.expr import ONE, ZERO, Apply, Ref, apply, index, ref, transformer
from symgrad.formulas import parse
from symgrad.ir import Derivative, Function, Role, Tensor, alive, extent_of
from symgrad.plan import Procedure, Program, Subscript
from symgrad.plan.loops import Local, Loop, Rewriter, Store
from symgrad.plan.loops.merge_equal import merge_equal
from symgrad.plan.steps import steps
from symgrad.verify import check

STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


# Programs without a planner


def procedure(reads, statements, tensors, results, gradients=()):
    """What computes the results: the steps and the loops of recurrences."""
    kept = {name: set[tuple[str, bool]]() for name in results}
    items, turns = steps(statements, gradients, {t.name: t for t in tensors}, NOTHING, kept)
    return Procedure(reads, items, results, turns)


def named(function: Function, names: dict[str, str]) -> Function:
    """The function with tensors renamed: formula text does not take the names that symgrad gives."""

    def put(node):
        return ref(names[node.name], *node.subscripts) if isinstance(node, Ref) and node.name in names else node

    rewrite = Rewriter(transformer(put))
    return replace(
        function,
        tensors=tuple(replace(t, name=names.get(t.name, t.name)) for t in function.tensors),
        statements=tuple(
            replace(rewrite.equation(e), target=names.get(e.target, e.target)) for e in function.statements
        ),
        inputs=tuple(names.get(n, n) for n in function.inputs),
        outputs=tuple(names.get(n, n) for n in function.outputs),
    )


def by_hand(forward: str, backward: str, saved: tuple[str, ...], **more) -> Program:
    """A Program from two formulas; `g` in that of backward is grad_output, `dx` the gradient of x."""
    primal, second = parse(forward), parse(backward)
    (output,) = primal.outputs
    names = {"g": "grad_output", **{n: f"grad_{n[1:]}" for n in second.outputs}}
    second = named(second, names)
    gradients = tuple((n, f"grad_{n}") for n in primal.inputs if f"grad_{n}" in second.outputs)
    tensors: dict[str, Tensor] = {t.name: t for t in primal.tensors}
    for t in second.tensors:
        role = Role.SEED if t.name == "grad_output" else Role.GRADIENT if t.name in second.outputs else t.role
        tensors.setdefault(t.name, replace(t, role=role))
    derivative = Derivative(primal, second, ((output, "grad_output"),), gradients)
    results = tuple(g for _, g in gradients)
    return Program(
        derivative,
        tuple(tensors.values()),
        procedure(primal.inputs, primal.statements, tensors.values(), primal.outputs),
        procedure(second.inputs, second.statements, tensors.values(), results, results),
        saved,
        **more,
    )


def naive(function: Function, saved: tuple[str, ...] = (), **more) -> Program:
    """A Program that recomputes all of forward in backward: slow, and right for every function."""
    derivative = differentiate(function)
    joint = derivative.function
    gradients = tuple(g for _, g in derivative.gradients)
    again = [e for e in alive(joint.statements, gradients) if e.target not in saved]
    needed = {r.name for e in again for r in e.reads}
    known = (*[n for n in function.inputs if n in needed], *saved)
    dims = tuple(d.name for d in function.dims)
    tensors = tuple(
        replace(t, role=Role.LOCAL) if t.role is Role.OUTPUT and t.name not in function.outputs else t
        for t in joint.tensors
    )
    return Program(
        derivative,
        tensors,
        procedure(function.inputs, function.statements, tensors, function.outputs),
        procedure((*known, *(s for _, s in derivative.seeds)), again, tensors, gradients, gradients),
        known,
        saved_sizes=dims,
        saved_options=tuple(o.name for o in function.options),
        saved_presence=function.optional,
        **more,
    )


def printed(program: Program) -> dict[str, str]:
    return C().render(program, [program.derivative.primal.name])


LINEAR = "linear(x[n,k], weight[m,k], bias[m]?): out[i,j] = sum[l](x[i,l] * weight[j,l]); out[i,j] += bias[j]"
LINEAR_BACKWARD = """adjoint(x[n,k], weight[m,k], g[n,m]) -> dx, dweight, dbias:
    dx[i,l] = sum[j](g[i,j] * weight[j,l]); dweight[j,l] = sum[i](g[i,j] * x[i,l]); dbias[j] = sum[i](g[i,j])"""
SOFTMAX = """softmax(x[n,d]): max_x[i] = max[j](x[i,j]); e[i,j] = exp(x[i,j] - max_x[i]); total[i] = sum[j](e[i,j]);
    out[i,j] = e[i,j] / total[i]"""
SOFTMAX_BACKWARD = """adjoint(out[n,d], g[n,d]) -> dx: total[i] = sum[j](g[i,j] * out[i,j]);
    dx[i,j] = out[i,j] * (g[i,j] - total[i])"""
LAYER_NORM = """layer_norm(x[n,d], gain[d], bias[d]; eps=1e-5): mean[i] = sum[j](x[i,j]) / d;
    var[i] = sum[j]((x[i,j] - mean[i])**2) / d; rstd[i] = 1 / sqrt(var[i] + eps);
    xhat[i,j] = (x[i,j] - mean[i]) * rstd[i]; out[i,j] = xhat[i,j] * gain[j] + bias[j]"""
LAYER_NORM_BACKWARD = """adjoint(gain[d], rstd[n], xhat[n,d], g[n,d]) -> dx, dgain, dbias: gn[i,j] = g[i,j] * gain[j];
    sum_gn[i] = sum[j](gn[i,j]); total[i] = sum[j](gn[i,j] * xhat[i,j]);
    dx[i,j] = rstd[i] * (gn[i,j] - sum_gn[i] / d - xhat[i,j] * total[i] / d);
    dgain[j] = sum[i](g[i,j] * xhat[i,j]); dbias[j] = sum[i](g[i,j])"""


def linear() -> Program:
    return by_hand(LINEAR, LINEAR_BACKWARD, ("x", "weight"), saved_presence=("bias",))


def softmax() -> Program:
    return by_hand(SOFTMAX, SOFTMAX_BACKWARD, ("out",))


def layer_norm() -> Program:
    return by_hand(LAYER_NORM, LAYER_NORM_BACKWARD, ("gain", "rstd", "xhat"))


# How it reads


def body(text: str, function: str) -> str:
    """The body of one printed function."""
    return text.split(f"{function}(", 1)[1].split("\n{\n", 1)[1].split("\n}\n", 1)[0]


def test_linear_reads_like_the_style_page():
    text = printed(linear())["linear.c"]
    grad_x = """\
    if (grad_x) {
        /* grad_x[i,l] = sum[j](grad_output[i, j] * weight[j, l]) */
        for (size_t i = 0; i < n * k; ++i) {
            grad_x[i] = 0.0;
        }
        contract(n, k, m, 1.0, grad_output, m, 1, weight, k, 1, grad_x, k, 1);
    }
"""
    assert grad_x in body(text, "linear_backward")
    assert """\
    contract(n, m, k, 1.0, x, k, 1, weight, 1, k, out, m, 1);
""" in body(text, "linear_forward")


def test_softmax_is_one_loop_over_rows_and_needs_no_workspace():
    files = printed(softmax())
    assert "work" not in files["softmax.h"]
    assert (
        body(files["softmax.c"], "softmax_backward")
        == """\
    if (grad_x) {
        for (size_t i = 0; i < n; ++i) {
            /* total[i] = sum[j](grad_output[i, j] * out[i, j]) */
            double total = 0.0;
            #pragma omp simd reduction(+:total)
            for (size_t j = 0; j < d; ++j) {
                total += grad_output[i * d + j] * out[i * d + j];
            }
            /* grad_x[i,j] = out[i, j] * (grad_output[i, j] - total[i]) */
            for (size_t j = 0; j < d; ++j) {
                grad_x[i * d + j] = out[i * d + j] * (grad_output[i * d + j] - total);
            }
        }
    }"""
    )
    forward = body(files["softmax.c"], "softmax_forward")
    assert forward.count("for (size_t i") == 1
    assert "            out[i * d + j] = e;\n            total += e;\n" in forward
    assert "            out[i * d + j] /= total;\n" in forward


def test_layer_norm_is_one_loop_over_rows():
    files = printed(layer_norm())
    forward = body(files["layer_norm.c"], "layer_norm_forward")
    assert forward.count("for (size_t i") == 1
    assert "const double rstd_i = 1.0 / sqrt(var + eps);\n        if (rstd) {\n            rstd[i] = rstd_i;" in forward
    assert "work" not in files["layer_norm.h"]


def test_squares_is_a_function_of_one_point():
    text = printed(naive(parse("squares(x, y) = x**2, x * y, y**2")))["squares.c"]
    assert "void squares_forward(double x, double y, double *restrict out0," in text
    assert body(text, "squares_forward") == "    *out0 = x * x;\n    *out1 = x * y;\n    *out2 = y * y;"
    assert body(text, "squares_forward_batch") == """\
    for (size_t b = 0; b < batch; ++b) {
        out0[b] = x[b] * x[b];
        out1[b] = x[b] * y[b];
        out2[b] = y[b] * y[b];
    }"""


def test_comments_cannot_be_left():
    files = C().render(linear(), ["a */ b", "what??/"])
    assert "a * / b" in files["linear.h"] and "??" not in files["linear.c"]


def test_a_sum_stays_a_vector_beside_what_adds_to_elements_of_any_turn():
    text = "f(s[b], y[b,m], x[n], t[b,m]: int)[i] = sum[e](s[i]*y[i,e]*x[t[i,e]])"
    backward = body(generate(parse(text), to="c", check=False)["f.c"], "f_backward")
    assert backward.count("#pragma omp simd reduction(+:row_sum)") == 1


def test_layer_norm_reads_like_a_hand_written_one():
    files = generate(library.layer_norm, to="c", check=False)
    assert "work" not in files["layer_norm.h"]
    backward = body(files["layer_norm.c"], "layer_norm_backward")
    assert backward.split("\n\n")[2].startswith("""\
    /* sum_grad_xhat[b] = sum[j](grad_xhat[b, j])
     * sum_grad_xhat_xhat[b] = sum[j](grad_xhat[b, j] * xhat[b, j])
     */
    for (size_t b = 0; b < batch; ++b) {
        double sum_grad_xhat = 0.0;
        double sum_grad_xhat_xhat = 0.0;
        #pragma omp simd reduction(+:sum_grad_xhat, sum_grad_xhat_xhat)
        for (size_t j = 0; j < d; ++j) {
            const double grad_xhat = grad_output[b * d + j] * gain[j];
            const double xhat = (x[b * d + j] - mean_x[b]) * rstd[b];
            sum_grad_xhat += grad_xhat;
            sum_grad_xhat_xhat += grad_xhat * xhat;
            if (grad_gain) {
                grad_gain[j] += grad_output[b * d + j] * xhat;
            }
            if (grad_bias) {
                grad_bias[j] += grad_output[b * d + j];
            }
        }
        if (grad_x) {
            const double mean_grad_xhat = sum_grad_xhat / (double)d;
""")


@pytest.mark.parametrize(
    "name", ["layer_norm", "rms_norm", "softmax", "log_softmax", "cross_entropy", "mse_loss", "var"]
)
def test_elementwise_values_need_no_memory(name):
    assert "work" not in generate(getattr(library, name), to="c", check=False)[f"{name}.h"]


def test_what_a_product_reads_many_times_is_stored():
    assert "double *restrict const grad_pre_hidden = work;" in generate(library.mlp, to="c", check=False)["mlp.c"]


def test_arrays_of_equal_rows_stand_together_in_memory():
    text = generate(
        parse(
            "f(x[n,d], w[d,d]): y[i,j] = sum[l](x[i,l]*w[l,j]); m[j] = max[i](y[i,j]); p[i,j] = exp(y[i,j] - m[j]);"
            "out = sum[i](log(sum[j](p[i,j])))"
        ),
        to="c",
        check=False,
        save="minimal",
    )["f.c"]
    rows = re.findall(r"\*restrict const (\w+) = work(.*);", text.split("void f_backward")[1])
    assert rows == [
        ("exp_y_minus_m_minus_max_y", ""),
        ("grad_y", " + n * d"),
        ("m", " + 2 * (n * d)"),
        ("count_m", " + (2 * (n * d) + d)"),
        ("grad_m", " + (2 * (n * d) + 2 * d)"),
        ("exp_y", " + (2 * (n * d) + 3 * d)"),
        ("sum_exp_y", " + (2 * (n * d) + 3 * d + d * n)"),
    ]


def test_a_column_sum_and_its_mean_share_memory():
    text = generate(library.batch_norm, to="c", check=False)["batch_norm.c"]
    assert "            mean_grad_output[j] /= (double)n;\n            mean_grad_output_xhat[j] /= (double)n;\n" in text
    assert "BATCH_NORM_BACKWARD_WORK(d) (2 * (d))" in generate(library.batch_norm, to="c", check=False)["batch_norm.h"]


READ_ONCE = """f(x[n,c], at[n]: int):
    scores[i] = log(sum[j](exp(x[i,j]))); out = mean[i](scores[i] - x[i,at[i]])"""
READ_AGAIN = "f(x[n,m], y[n], at[n]: int): z[i] = y[i] + 3*y[at[i]]; out[j:m] = sum[i](z[i]*x[i,j])"


@pytest.mark.parametrize(
    ("declared", "save", "macro"),
    [
        pytest.param(parse(READ_ONCE), "minimal", "", id="read once"),
        pytest.param(parse(READ_AGAIN), "balanced", "BACKWARD_WORK(n) ((n))", id="read again by what is added"),
    ],
)
def test_a_value_stands_in_the_memory_of_a_sum_that_begins_with_it(declared, save, macro):
    header = generate(declared, to="c", save=save, check=False)[f"{declared.name}.h"]
    assert macro in header if macro else "WORK" not in header
    assert pipeline.check(declared, to="c", save=save).ok


HERE, THERE, N = index("i"), index("j"), ref("n")
ELEMENT, OTHER = ref("p", HERE, ZERO), ref("p", HERE, ONE)


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param(
            (Local("z@1", ELEMENT), Local("z@2", ELEMENT), Store(ref("out", HERE), ref("z@1") * ref("z@2"))),
            (Local("z@1", ELEMENT), Store(ref("out", HERE), ref("z@1") * ref("z@1"))),
            id="an element",
        ),
        pytest.param(
            (Local("u@1", OTHER / ELEMENT), Local("z@2", ELEMENT), Local("u@3", OTHER / ref("z@2"))),
            (Local("u@1", OTHER / ELEMENT), Local("z@2", ELEMENT)),
            id="an element under its name",
        ),
        pytest.param(
            (Local("a@1", ELEMENT), Loop(THERE, N, (Local("a@2", ELEMENT), Store(ref("out", THERE), ref("a@2"))))),
            (Local("a@1", ELEMENT), Loop(THERE, N, (Store(ref("out", THERE), ref("a@1")),))),
            id="in a loop inside",
        ),
        pytest.param(
            (Local("a@1", ELEMENT), Store(ELEMENT, ZERO), Local("a@2", ELEMENT), Store(ref("out"), ref("a@2"))),
            None,
            id="what changes in between",
        ),
        pytest.param(
            (Loop(HERE, N, (Local("a@1", ELEMENT),)), Loop(HERE, N, (Local("a@2", ELEMENT),))),
            None,
            id="in two loops",
        ),
        pytest.param(
            (
                *(Local("m@1", ZERO, changes=True), Loop(HERE, N, (Store(ref("m@1"), ELEMENT, "+="),))),
                *(Local("a@1", ref("m@1") + ONE), Loop(HERE, N, (Local("b@1", ref("m@1") + ONE),))),
            ),
            (
                *(Local("m@1", ZERO, changes=True), Loop(HERE, N, (Store(ref("m@1"), ELEMENT, "+="),))),
                *(Local("a@1", ref("m@1") + ONE), Loop(HERE, N, ())),
            ),
            id="an accumulator that has its value",
        ),
        pytest.param(
            (
                Local("m@1", ZERO, changes=True),
                Local("a@1", ref("m@1") + ONE),
                Loop(HERE, N, (Local("b@1", ref("m@1") + ONE), Store(ref("m@1"), ref("b@1")))),
            ),
            None,
            id="an accumulator that changes in a later turn",
        ),
    ],
)
def test_a_value_has_one_name(before, after):
    assert merge_equal(before) == (before if after is None else after)


def test_a_number_that_several_gradients_need_is_a_constant():
    text = printed(naive(parse("f(x, v): a = -sin(x) - 0.1 * v; y = v + 0.01 * a")))["f.c"]
    assert " = 0.0;" not in body(text, "f_backward")


# What is computed


FUNCTIONS = {
    "squares": "squares(x, y) = x**2, x * y, y**2",
    "linear": "linear(x[n,k], weight[m,k], bias[m]?)[i,j] = sum[l](x[i,l] * weight[j,l]) + bias[j]",
    "gain": "f(x[n,d], gain[d]?, bias[d]?)[i,j] = x[i,j]**2 * gain[j] + bias[j]",
    "softmax": """f(x[n,d]): top[i] = max[j](x[i,j]); e[i,j] = exp(x[i,j]-top[i]); s[i] = sum[j](e[i,j]);
        out[i,j] = e[i,j]/s[i]""",
    "layer_norm": """f(x[n,d], gain[d], bias[d]; eps=1e-5): mean[i] = sum[j](x[i,j])/d;
        var[i] = sum[j]((x[i,j]-mean[i])**2)/d;
        out[i,j] = (x[i,j]-mean[i])/sqrt(var[i]+eps)*gain[j] + bias[j]""",
    "matvec": "f(a[n,m], x[m])[i] = sum[j](a[i,j] * x[j])",
    "conv": "f(x[n,c,h,w], weight[o,c,p,q])[b,f,i,j] = sum[d,r,s](x[b,d,2*i+r,2*j+s] * weight[f,d,r,s])",
    "padded": "f(x[n], k[p])[i:n] = sum[r](where((i + r - 1 >= 0) & (i + r - 1 < n), x[i+r-1] * k[r], 0))",
    "stacked": "f(p[..., 2]): y[..., 0] = p[..., 0]**2; y[..., 1] = p[..., 0] * p[..., 1]; y[..., 2] = sin(p[..., 1])",
    "concat": "f(x[n], y[m]): out[i:n] = x[i]**2; out[n+j] = y[j] * x[0]",
    "causal": "f(x[n,d])[i,j] = sum[k](where(k <= i, x[i,j] * x[k,j], 0))",
    "amax": "f(x[n,m])[i] = max[j](x[i,j]**3)",
    "prod": "f(x[n,m])[i] = prod[j](x[i,j])",
    "diagonal": "f(x[n,n]) = sum[i](x[i,i]**2)",
    "reverse": "f(x[n])[i] = x[n-1-i] * x[i]",
    "shift": "f(x[n]): y[i:n-1] = x[i+1] - x[i]",
    "activations": "f(x[n])[i] = sigmoid(x[i]) + relu(x[i]) * softplus(x[i]) - abs(x[i]) + maximum(x[i], tanh(x[i]))",
    "powers": "f(x[n], y)[i] = exp(x[i])**(1/2) + (x[i]**2 + 1)**(-3/2) + x[i]**3 + (x[i]**2+y**2)**(1/3) + 1/3",
    "index": "f(x[n])[i] = i * x[i] / n + (i % 2) * x[i] + (i // 2)",
    "scalar": "f(x, n[m])[i] = x * n[i]",
    "mlp": "f(x[n,k], a[h,k], c[o,h]): z[i,j] = tanh(sum[l](x[i,l]*a[j,l])); y[i,p] = sum[j](z[i,j]*c[p,j])",
    "attention": """f(q[n,d], k[m,d], v[m,e]): s[i,j] = sum[l](q[i,l]*k[j,l])/sqrt(d); top[i] = max[j](s[i,j]);
        w[i,j] = exp(s[i,j]-top[i]); z[i] = sum[j](w[i,j]); out[i,p] = sum[j](w[i,j]*v[j,p])/z[i]""",
    "batched": "f(x[..., d], weight[d])[..., i] = x[..., i] * weight[i]",
    "pairs": "f(x[n,d])[i,j] = sqrt(1 + sum[k]((x[i,k]-x[j,k])**2))",
    "reshape": "f(x[n,h])[i,a:h//2,c:2] = x[i, a*2+c]**2",
    "sums": "f(x[n,m], y[n]): r[i] = sum[j](x[i,j]*y[i]); t = sum[i](r[i]**2); out[i] = r[i]/t",
    "two": "f(x[n], y[n]) -> u, v: u[i] = sin(x[i])*y[i]; v[i] = sin(x[i])+exp(y[i])",
    "cross_entropy": """f(x[n,c], t[n]: int): top[i] = max[j](x[i,j]); s[i] = sum[j](exp(x[i,j]-top[i]));
        out = sum[i](top[i] + log(s[i]) - x[i,t[i]])/n""",
    "embedding": "f(table[n,d], t[m]: int)[i,j] = table[t[i],j]**2",
    "mask": "f(x[n], keep[n]: bool)[i] = where(keep[i], x[i]**2, 0) + keep[i]*x[i]",
    "maxpool": "f(x[n,h])[i,j:(h-3)//2+1] = max[r:3](x[i,2*j+r])",
    "argmax": "f(x[n,m]): p[i] = argmax[j](x[i,j]); out[i] = x[i,p[i]]**2",
    "modulo": "f(x[n])[i] = x[(i+n-1)%n]*x[i] - x[(n-1-i)//2]",
    "negative": "f(x[n])[i] = x[i]*where((i-2)//2 >= 0, x[(i-1)//2], 3.0) + (0-i)//2*x[i]",
    "band": "f(a[n,n], x[n])[i] = sum[j](where((j <= i+1) & (j >= i-1), a[i,j]*x[j], 0))",
    "upper": "f(a[n,n], x[n])[i] = sum[j](where(j > i, a[i,j]*x[j], 0))",
    "columns": "f(x[n,m])[j] = sum[i](x[i,j])",
    "norm": "f(x[...,d])[..., i] = x[...,i]/sqrt(sum[k](x[...,k]**2))",
    "optional": "f(x[n], a?, b[n]?)[i] = a*x[i] + b[i]",
    "both": "f(x[n,m]): r[i] = sum[j](x[i,j]); c[j] = sum[i](x[i,j]); out[i,j] = x[i,j]*r[i]*c[j]",
    "cross": "f(x[n,n]): e[i,j] = exp(x[i,j]); r[i] = sum[j](e[j,i]); out[i,j] = e[i,j]/r[i]",
    "bilinear": "f(a[n,k], u[o,k,c], b[n,c])[p,q] = sum[r,s](a[p,r]*u[q,r,s]*b[p,s])",
    "transposed": "f(x[n,m])[j,i] = x[i,j]**2",
    "pi": "f(x[n])[i] = sin(pi*x[i])",
    "residual": """f(x[n,k], weight[k,k], bias[k]): z[i,j] = tanh(sum[l](x[i,l]*weight[j,l]) + bias[j]);
        out[i,j] = x[i,j] + z[i,j]""",
    "batch_norm": """f(x[n,d], gain[d]; eps=1e-5): mean[j] = sum[i](x[i,j])/n; c[i,j] = x[i,j]-mean[j];
        rstd[j] = 1/sqrt(sum[i](c[i,j]**2)/n + eps); out[i,j] = c[i,j]*rstd[j]*gain[j]""",
    "twice_read": """f(x[n,m]): u[i,j] = x[i,j]*2 - 1; s[i] = sum[j](u[i,j]**2); c[j] = sum[i](u[i,j]);
        out[i,j] = u[i,j]*s[i]*c[j]""",
    "turned": "f(x[n,n]): u[i,j] = x[i,j]*2 - 1; out[i,j] = u[i,j] * u[j,i]",
    "links": """f(x[n,m]): u[i,j] = x[i,j] + 1; v[i,j] = u[i,j] * u[i,j]; w[i,j] = v[i,j] - u[i,j];
        out[j] = sum[i](w[i,j]*v[i,j])""",
}
SIZES = {"n": 3, "k": 4, "m": 5, "d": 4, "h": 5, "w": 6, "c": 2, "o": 3, "p": 2, "q": 3, "e": 2}


def narrowed(program: Program) -> Program:
    """Every `sum of where(c, x, 0)` as a sum of x where c, as the plan hands it over."""

    def equation(e):
        if (
            e.reduce in ("sum", "none")
            and isinstance(e.body, Apply)
            and e.body.op == "select"
            and e.body.args[2] is ZERO
        ):
            return replace(e, body=e.body.args[1], where=e.body.args[0])
        return e

    def procedure(p):
        return replace(p, steps=tuple(item.mapped(equation, lambda size: size) for item in p.steps))

    return replace(program, forward=procedure(program.forward), backward=procedure(program.backward))


def inputs_of(function: Function, rng, absent=(), batch=(2,)):
    sizes = {**SIZES, "...": batch}
    found = []
    for name in function.inputs:
        tensor = function.table[name]
        shape = []
        for extent in tensor.shape:
            size = sizes[extent.name] if isinstance(extent, Ref) else extent_of(extent, {})
            shape += list(size) if isinstance(size, tuple) else [size]
        if name in absent:
            found.append(None)
        elif tensor.dtype == "real":
            found.append(rng.normal(size=shape))
        else:
            found.append(rng.integers(0, 2, size=shape).astype(bool if tensor.dtype == "bool" else np.int64))
    return found


def worst_error(program: Program, absent=(), batch=(2,)) -> float:
    """How far forward and backward are from the equations, evaluated one by one; each gradient alone is the same."""
    rng = np.random.default_rng(0)
    function = program.derivative.primal
    given = inputs_of(function, rng, absent, batch)
    artefact = C().load(program, printed(program))
    out, saved = artefact.forward(*given)
    outs = out if isinstance(out, tuple) else (out,)
    seeds = tuple(rng.normal(size=np.shape(o)) for o in outs)
    seed = seeds if len(seeds) > 1 else seeds[0]
    gradients = artefact.backward(saved, seed)
    plain = [None if v is None else v.astype(int) if v.dtype == bool else v for v in given]
    named = dict(zip(function.inputs, plain, strict=True))
    named |= {s: g for (_, s), g in zip(program.derivative.seeds, seeds, strict=True)}
    exact = interpret(program.derivative.function, named)
    pairs = list(zip(function.outputs, outs, strict=True))
    for name, gradient in program.derivative.gradients:
        position = function.inputs.index(name)
        if named[name] is None:
            assert gradients[position] is None
            continue
        assert np.shape(gradients[position]) == np.shape(named[name])
        alone = artefact.backward(saved, seed, [n == name for n in function.inputs])
        assert np.array_equal(alone[position], gradients[position])
        assert all(g is None for n, g in enumerate(alone) if n != position)
        pairs.append((gradient, gradients[position]))
    return max(error(np.ravel(exact[name]).astype(float), np.ravel(value)) for name, value in pairs)


def error(exact, found) -> float:
    """The largest difference, relative to the largest number; sums may be added up in any order."""
    return np.max(np.abs(exact - found), initial=0.0) / max(1.0, np.max(np.abs(exact), initial=0.0))


@needs_cc
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.in_turn
def test_computes_what_the_equations_say(name):
    assert worst_error(naive(parse(FUNCTIONS[name]))) < 1e-13


@needs_cc
@pytest.mark.parametrize("name", ["causal", "padded", "band", "upper", "mask"])
def test_conditions_of_equations(name):
    program = narrowed(naive(parse(FUNCTIONS[name])))
    assert worst_error(program) < 1e-13


def test_a_triangle_is_a_loop_bound():
    text = printed(narrowed(naive(parse(FUNCTIONS["upper"]))))["f.c"]
    assert "for (size_t j = i + 1; j < n; ++j) {" in body(text, "f_forward")


@needs_cc
@pytest.mark.parametrize("name, absent", [("linear", ["bias"]), ("gain", ["gain"]), ("gain", ["gain", "bias"])])
def test_absent_inputs(name, absent):
    program = naive(parse(FUNCTIONS[name]))
    assert worst_error(program, absent) < 1e-13


@needs_cc
@pytest.mark.parametrize("batch", [(), (3,), (2, 3), (0,), (2, 1, 2)])
@pytest.mark.parametrize("name", ["squares", "stacked", "batched", "norm"])
def test_packs_of_any_rank(name, batch):
    if 0 in batch:
        artefact = C().load(naive(parse(FUNCTIONS[name])), printed(naive(parse(FUNCTIONS[name]))))
        given = inputs_of(parse(FUNCTIONS[name]), np.random.default_rng(0), batch=batch)
        out, _ = artefact.forward(*given)
        assert np.size(out) == 0
        return
    assert worst_error(naive(parse(FUNCTIONS[name])), batch=batch) < 1e-13


@needs_cc
@pytest.mark.parametrize("make", [linear, softmax, layer_norm])
def test_hand_made_backward_is_the_gradient(make):
    program = make()
    rng = np.random.default_rng(1)
    given = inputs_of(program.derivative.primal, rng)
    artefact = C().load(program, printed(program))
    out, saved = artefact.forward(*given)
    g = rng.normal(size=out.shape)
    gradients = artefact.backward(saved, g)
    for position, gradient in enumerate(gradients):
        step = rng.normal(size=gradient.shape)
        ahead, behind = ([v + s * step if n == position else v for n, v in enumerate(given)] for s in (1e-6, -1e-6))
        slope = np.sum(g * (artefact.forward(*ahead)[0] - artefact.forward(*behind)[0])) / 2e-6
        assert slope == pytest.approx(np.sum(gradient * step), rel=1e-6)


@needs_cc
def test_a_gradient_through_an_absent_input_is_zero():
    program = naive(parse("f(x[n], y[n], a?)[i] = x[i] + given(a, a*y[i], 0)"))
    artefact = C().load(program, printed(program))
    _, saved = artefact.forward(np.ones(2), np.ones(2))
    grad_x, grad_y, grad_a = artefact.backward(saved, np.ones(2))
    assert (grad_x.tolist(), grad_y.tolist(), grad_a) == ([1.0, 1.0], [0.0, 0.0], None)


@needs_cc
def test_saved_pointers_may_be_null_though_their_values_are_read():
    program = by_hand(
        "f(x[n,n]): h[i,j] = tanh(x[i,j]); out[i] = sum[j](h[j,i] * h[i,j])",
        "adjoint(h[n,n], g[n]) -> dx: dx[i,j] = (g[i] + g[j]) * h[j,i] * (1 - h[i,j]**2)",
        ("h",),
    )
    files = printed(program)
    assert "    h = h ? h : work;" in files["f.c"]
    library = compile_library("f", files)
    x, out, work = np.arange(9.0).reshape(3, 3), np.empty(3), np.empty(9)
    x_at, out_at, work_at = (ctypes.c_void_p(a.ctypes.data) for a in (x, out, work))
    library.functions.f_forward(ctypes.c_size_t(3), x_at, None, out_at, work_at)
    assert np.allclose(out, (np.tanh(x) * np.tanh(x).T).sum(axis=1), rtol=1e-15)


PLANNED = {  # what the checked text of the whole pipeline must not do wrong
    "a range that may be empty": "f(x[n]) = sum[i:n-1](x[i]*x[i+1])",
    "the number n - 1": "f(x[n]): h[i:n-1] = x[i]; out = sum[i](h[i])*(n-1) + n - 1",
    "a local named as an array": "f(x[n,m]): h[i:n-1,j] = exp(x[i,j]); o[i,j] = x[i,j]**2 + sum[k:n-1](h[k,j])",
    "part of an axis": "f(x[n,m]): h[i:n-1,j] = exp(x[i,j]); g[i,j] = exp(-x[i,j]); o[j] = sum[i](h[0,j]*g[i,j])",
    "one row of two": "f(x[m]): h[0,j:m] = x[j]; h[1,j:m] = 2*x[j]; o = sum[p:m](h[0,p]**2)",
    "a scatter to k - 1": "f(x[n]): o[i:n] = max[k:n](where(k > 0, x[k-1], 0))",
    "a first element that may be missing": "f(x[n]): o[i:n] = where(i > 0, x[0], x[i])",
    "a value that may be missing": "f(x[n]): o[i:n] = where(i > 0, exp(x[0]), x[i])",
    "an index that goes further": "f(x[m], y[n]): o[i:n,k:3] = where(i < m, exp(x[i])*k, y[i])",
    "a loop without a turn": "f(x[n]): o[i:n] = sum[k:n](where(k > i, exp(x[i+1])*x[k], 0))",
    "a condition around what is computed again": "f(x[n]): g[i:n-1] = x[i]*3; o = max[p:n+1](where(p < n-1, g[p], 0))",
    "a number of an array": "f(x[n], y): h[i:2*n] = x[i//2]; o = sin(h[0]*y)",
    "a mean on a condition": "f(x[n], y[m]): o[i:m-1] = mean[p:m](where(p < n, x[p], 1))",
}


@needs_cc
@pytest.mark.parametrize("name", PLANNED)
@pytest.mark.in_turn
def test_the_planned_text_is_what_was_declared(name):
    report = pipeline.check(parse(PLANNED[name]), to="c")
    assert report.ok, str(report)


READ_AGAIN = {  # formula -> what stands once in its forward, though it reads what was stored just before
    "f(x[n,m], goal[n], w[m]) -> fit, o: fit[i] = sum[j](x[i,j]*w[j]); o = sum[i]((fit[i] - goal[i])**2)": "_i - goal",
    "f(x[n,m], w[m], bias) -> row, o: row[i] = sum[j](x[i,j]*w[j]); o = sum[i](softplus(row[i] + 2*bias))": "_i + 2.0",
}


@pytest.mark.parametrize("text", READ_AGAIN)
def test_what_reads_a_stored_element_is_computed_once(text):
    code = generate(parse(text), to="c", check=False)["f.c"]
    forward = re.search(r"^\w+ f_forward.*?^}", code, re.MULTILINE | re.DOTALL).group()
    assert forward.count(READ_AGAIN[text]) == 1, forward


def test_a_table_that_is_filled_cell_by_cell_is_as_long_as_it_has_cells():
    def alignment(x: sg.Tensor["2"], y: sg.Tensor["2"]):
        cost = np.zeros((3, 3))
        cost[0, 1:], cost[1:, 0] = 1e4, 1e4
        for i in range(1, 3):
            for j in range(1, 3):
                a, b, c = -cost[i - 1, j], -cost[i, j - 1], -cost[i - 1, j - 1]
                top = np.maximum(a, np.maximum(b, c))
                total = np.exp(a - top) + np.exp(b - top) + np.exp(c - top)
                cost[i, j] = (x[i - 1] - y[j - 1]) ** 2 - top - np.log(total)
        return cost[2, 2]

    code = generate(sg.function(alignment), to="c", check=False)["alignment.c"]
    assert len(code) < 40_000


@needs_cc
def test_a_batch_of_points_has_a_workspace():
    assert pipeline.check(library.triple_product, to="c").ok


def test_a_saved_array_that_is_not_asked_for_stands_in_the_workspace():
    text = generate(library.batch_norm, to="c", check=False)["batch_norm.c"]
    assert "    mean_x = mean_x ? mean_x : work + d;\n    rstd = rstd ? rstd : work + 2 * d;\n" in text


LIBRARY = ["batch_norm", "cross_entropy", "layer_norm", "linear", "linear_mse", "mlp", "residual", "rms_norm", "var"]


@needs_cc
@pytest.mark.parametrize("name", LIBRARY)
def test_the_library_agrees_with_its_equations(name):
    """The planned program; `residual` is a gradient that is a plain copy plus a contraction."""
    program = pipeline.printed(getattr(library, name), "c").program
    assert worst_error(program) < 1e-12


@needs_cc
def test_saved_pointers_of_batch_norm_may_be_null():
    program = pipeline.printed(library.batch_norm, "c").program
    library_c = compile_library("batch_norm", printed(program))
    rng = np.random.default_rng(0)
    x, gain, bias = rng.normal(size=(5, 3)), rng.normal(size=3), rng.normal(size=3)
    out, work = np.empty((5, 3)), np.empty(9)
    n, d, eps = ctypes.c_size_t(5), ctypes.c_size_t(3), ctypes.c_double(1e-5)
    given = [ctypes.c_void_p(a.ctypes.data) for a in (x, gain, bias)]
    library_c.functions.batch_norm_forward(
        n, d, eps, *given, None, None, *(ctypes.c_void_p(a.ctypes.data) for a in (out, work))
    )
    assert np.allclose(out, (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) * gain + bias, rtol=1e-13)


# What the compiler says


@needs_cc
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.in_turn
def test_compiles_without_a_warning(name, tmp_path: Path):
    program = naive(parse(FUNCTIONS[name]))
    for text in (printed(program), printed(narrowed(program))):
        for file, content in text.items():
            tmp_path.joinpath(file).write_text(content)
            assert all(len(line) <= 88 for line in content.split("\n"))
            assert content.endswith("\n") and not content.endswith("\n\n")
        source = next(f for f in text if f.endswith(".c"))
        subprocess.run(["cc", *STRICT, "-O2", "-c", source, "-o", "out.o"], cwd=tmp_path, check=True)
        if shutil.which("g++"):
            header = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", source[:-1] + "h"]
            subprocess.run(header, cwd=tmp_path, check=True)


WARNED = {  # what GCC warned of once
    "checkpoints of an option": (
        "f(w[d,d], a[d]; n=5): h[0,i] = a[i]; h[(t:n)+1,i] = tanh(sum[j](w[i,j]*h[t,j])); out[i] = h[n,i]",
        {"checkpoint": "sqrt"},
    ),
    "a condition that is saved": (
        "f(x, y) = where(y >= abs(x), x**2/2, y*(abs(x) - y/2))", {"save": "all"}
    ),
    "logarithms in loops": ("f(x, y) = log(x)*log1p(y)", {}),
}


@needs_cc
@pytest.mark.parametrize(("text", "options"), WARNED.values(), ids=WARNED)
def test_compiles_without_a_warning_as_it_is_asked_for(text, options, tmp_path: Path):
    for file, content in generate(parse(text), to="c", check=False, **options).items():
        tmp_path.joinpath(file).write_text(content)
    strict = [*STRICT, "-Wdouble-promotion"]
    subprocess.run(["cc", *strict, "-O2", "-c", "f.c", "-o", "out.o"], cwd=tmp_path, check=True)


@needs_cc
def test_a_missing_compiler_is_explained(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(CompilerError, match="apt install gcc"):
        C().load(softmax(), printed(softmax()))


# Calls


@needs_cc
def test_shapes_are_checked_and_named():
    artefact = C().load(linear(), printed(linear()))
    x, weight = np.ones((2, 4)), np.ones((3, 5))
    with pytest.raises(ValueError, match=r"^linear: x has k = 4 \(axis 1\), weight has k = 5 \(axis 1\)$"):
        artefact.forward(x, weight)
    _, saved = artefact.forward(x, weight[:, :4])
    with pytest.raises(ValueError, match=r"grad_output has shape \(3, 2\), out has shape \(2, 3\)"):
        artefact.backward(saved, np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"only for scalar outputs; pass grad_output of shape \(2, 3\)"):
        artefact.backward(saved)
    with pytest.raises(TypeError, match="x has dtype int64"):
        artefact.forward(np.ones((2, 4), dtype=np.int64), weight)


@needs_cc
def test_grad_output_of_a_scalar_may_be_omitted():
    program = naive(parse("f(x[n]) = sum[i](x[i]**2)"))
    artefact = C().load(program, printed(program))
    out, saved = artefact.forward(np.array([1.0, 2.0]))
    assert out == 5.0 and isinstance(out, np.float64)
    assert artefact.backward(saved)[0].tolist() == [2.0, 4.0]


@needs_cc
def test_a_bad_index_is_never_read():
    function = parse(FUNCTIONS["embedding"])
    program = naive(function, indexed=(Subscript(ref("t", index("i")), ref("n")),))
    artefact = C().load(program, printed(program))
    for t in ([0, 3], [-1, 0]):
        with pytest.raises(IndexError):
            artefact.forward(np.ones((3, 2)), np.array(t))
    assert artefact.forward(np.ones((3, 2)), np.array([0, 2]))[0].tolist() == [[1.0, 1.0], [1.0, 1.0]]


@needs_cc
def test_strided_inputs_and_unchanged_inputs():
    artefact = C().load(linear(), printed(linear()))
    x, weight = np.arange(24.0).reshape(4, 6)[::2, ::-2], np.broadcast_to(np.arange(3.0), (5, 3))
    before = x.copy()
    assert np.array_equal(artefact.forward(x, weight)[0], x @ weight.T)
    assert np.array_equal(x, before)


LEFT_OUT = "f(x[n,m], w[m])[i,j] = x[i,j]*sum[k](x[i,k]*w[k])**3"


@pytest.mark.parametrize(
    "text, free",
    [
        (LEFT_OUT, ["out"]),
        ("f(x[n,m])[i,j] = exp(x[i,j])*x[i,j]", []),
        ("f(x[n,m]) = sum[i,j](exp(x[i,j])*x[i,j])/sum[i](x[i,0])", []),
        ("f(x[n,m]) -> s, y: s[i] = sum[k](x[i,k]**2); y[i,j] = x[i,j]/s[i]", []),
        ("f(x[n,m]) -> y, z: a[i] = sum[k](exp(x[i,k])); y[i,j] = x[i,j]*a[i]; z[i] = sum[j](y[i,j]*a[i]**2)", ["z"]),
    ],
    ids=["more than is saved", "as much as is saved", "a number", "saved", "beside one that it reads"],
)
def test_forward_for_what_it_saves_may_leave_an_output_out(text, free):
    """An array whose loops nothing saved needs is computed where it is asked for."""
    files = generate(parse(text), to="c", check=False)
    assert [name for name in ("out", "s", "y", "z") if f"if ({name}) {{" in files["f.c"]] == free
    assert all(f"{name} included." in files["f.h"] for name in free)


@needs_cc
def test_an_output_that_may_be_left_out_is_checked():
    function, result = as_function(parse(LEFT_OUT)), pipeline.printed(parse(LEFT_OUT), "c")
    wrong = {**result.files, "f.c": result.files["f.c"].replace("if (out) {", "{")}
    artefact = result.backend.load(result.program, result.files)
    assert check(function, result.files, "c", artefact, heads=result.backend.heads(result.program)).ok
    report = check(function, wrong, "c", artefact, heads=result.backend.heads(result.program))
    assert "out is NULL" in str(report)


@needs_cc
@pytest.mark.parametrize(
    "text",
    [
        "f(x[n,m])[i] = max[j](x[i,j])",
        "f(x[n,m])[j] = max[i](x[i,j])",
        "f(x[n,m])[i] = max[j:3](x[i,j])",
        "f(x[n,m]; k=2)[i,j] = min[r:k,s:k](x[i+r,j+s])",
        "f(x[n,m])[j] = prod[i](x[i,j])",
    ],
    ids=["of rows", "of columns", "of a few", "of windows", "of factors"],
)
def test_a_nan_goes_through_the_largest_and_the_smallest(text):
    x = np.arange(35.0).reshape(5, 7)
    for place in ((0, 0), (2, 3), (4, 6)):
        at = x.copy()
        at[place] = np.nan
        found, wanted = (load(parse(text), to=language).forward(at)[0] for language in ("c", "numpy"))
        assert np.array_equal(found, wanted, equal_nan=True)


def test_a_long_chain_takes_linear_time():
    draft = Draft("chain")
    i = index("...")
    for name in "xyz":
        draft.input(name, [draft.dim("...")])
    x, y, z = (ref(name, i) for name in "xyz")
    for step in range(400):
        x, y, z = apply("sin", y * z + x * (step + 2)), x * z - y, apply("cos", x) * y + z / (1 + x * x)
    draft.define("out", [i], x + y * z)
    text = printed(naive(draft.finish(["out"])))["chain.c"]
    assert max(len(line) for line in text.split("\n")) <= 88


ROWS = {  # (function, macro): the memory that is left where loops take along those before them
    (library.causal_attention, "FORWARD_WORK"): "(m) ((m))",
    (library.rnn, "FORWARD_WORK"): "(b, m) (2 * (b) * (m))",
    (library.lstm, "FORWARD_WORK"): "(b, m) (2 * (b) * 4 * (m) + 4 * (m))",
    (library.logistic_growth_rk4, "BACKWARD_WORK"): "(n) ((n) + 1)",  # with the loop of one gradient under its guard
    (library.soft_edit_distance, "BACKWARD_WORK"): "(n, m) (6 * (m) + ((n) + 1) * ((m) + 1))",  # a loop that runs down
}


@pytest.mark.parametrize(("declared", "macro"), ROWS, ids=lambda x: getattr(x, "name", x))
def test_what_one_loop_alone_reads_has_memory_for_one_turn(declared, macro):
    name = declared.name
    text = generate(declared, to="c", check=False)[f"{name}.h"]
    assert f"#define {name.upper()}_{macro}{ROWS[declared, macro]}" in text
