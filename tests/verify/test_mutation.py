"""The check is checked: mutants of printed files must be caught, every one.

A row is (function, what stands in the file, what the mutant has instead). One mutant is one place: where the text
occurs more than once, the number says which.
"""

from __future__ import annotations

import pytest
from loading import Compiled, numpy_module
from printed import FUNCTIONS, NUMPY, C, c_files, numpy_files

from symgrad.verify import check

pytestmark = pytest.mark.long

NUMPY_MUTANTS = [
    ("squares", "grad_x = 2 * x * g0 + y * g1", "grad_x = 2 * x * g0 - y * g1"),
    ("squares", "grad_x = 2 * x * g0 + y * g1", "grad_x = 2 * x * g0"),
    ("squares", "grad_x = 2 * x * g0", "grad_x = 2.0000000000000004 * x * g0"),
    ("squares", "return grad_x, grad_y", "return grad_y, grad_x"),
    ("squares", "(x**2, x * y, y**2)", "(x**2, y**2, x * y)"),
    ("squares", "g0, g1, g2 =", "g1, g0, g2 ="),
    ("squares", "if needs_input_grad[1]", "if needs_input_grad[0]"),
    ("squares", "x**2, x * y", "x * 2, x * y"),
    ("squares", "np.zeros_like(x) if g is None", "np.ones_like(x) if g is None"),
    ("linear", "x @ weight.T", "x @ weight"),
    ("linear", "grad_output @ weight", "(grad_output + 1e-30) @ weight"),
    ("linear", "grad_output.T @ x", "(x.T @ grad_output)"),
    ("linear", "grad_output.sum(axis=0)", "grad_output.sum(axis=1)"),
    ("linear", "grad_output.sum(axis=0)", "grad_output.mean(axis=0)"),
    ("linear", "grad_output.sum(axis=0)", "grad_output[0]"),
    ("linear", "out = out + bias", "out = out - bias"),
    ("linear", "has_bias and needs", "needs"),
    ("linear", "out = out + bias", "x += 1.0"),
    ("softmax", "x.max(axis=1, keepdims=True)", "x.max(axis=0, keepdims=True)"),
    ("softmax", "np.exp(x - x.max(axis=1, keepdims=True))", "np.exp(x)"),
    ("softmax", "e.sum(axis=1, keepdims=True)", "e.sum(axis=0, keepdims=True)"),
    ("softmax", "out * (grad_output - ", "out * (grad_output + "),
    ("softmax", "(grad_output * out).sum(axis=1", "(grad_output * out).sum(axis=0"),
    ("softmax", "(grad_output * out).sum", "(grad_output * 1).sum"),
    ("softmax", " - (grad_output * out).sum(axis=1, keepdims=True)", ""),
    ("softmax", "grad_x = None", "grad_output *= 1.5"),
    ("cross_entropy", "-grad_output / n", "grad_output / n"),
    ("cross_entropy", "grad_output / n)", "grad_output)"),
    ("cross_entropy", "(np.arange(n), target)", "(target, target)"),
    ("cross_entropy", "total[:, 0]", "total[0, 0]"),
    ("cross_entropy", ").mean()", ").sum()"),
    ("cross_entropy", "np.ones((), out.dtype)", "np.zeros((), out.dtype)"),
    ("cross_entropy", "np.add.at(grad_x, (np.arange(n), target), -grad_output / n)", "pass"),
    ("cross_entropy", "target.min() < 0 or ", ""),
    ("cross_entropy", "raise IndexError", "raise ValueError"),
    ("layer_norm", "- gn.mean(axis=1, keepdims=True)", ""),
    ("layer_norm", "(gn * xhat).mean(axis=1, keepdims=True)", "(gn * xhat).sum(axis=1, keepdims=True)"),
    ("layer_norm", "- xhat * (gn", "+ xhat * (gn"),
    ("layer_norm", "gn = grad_output * gain", "gn = grad_output"),
    ("layer_norm", "+ eps", "+ 1e-05"),
    ("layer_norm", "+ eps", ""),
    ("layer_norm", "eps=1e-05", "eps=1e-06"),
    ("layer_norm", "grad_gain, grad_bias\n", "grad_bias, grad_gain\n"),
    ("layer_norm", "(grad_output * xhat).sum(axis=0)", "(grad_output * xhat * gain).sum(axis=0)"),
    ("layer_norm", "rstd * (gn", "rstd * 1.0000001 * (gn"),
    ("layer_norm", "xhat * gain + bias, ", "xhat * gain + bias + bias, "),
]

C_MUTANTS = [
    ("squares", "*out1 = x * y", "*out1 = x * x"),
    ("squares", "*grad_x = 2.0 * x", "*grad_x = x"),
    ("squares", "*grad_x = 2.0", "*grad_x += 2.0"),
    ("squares", "*grad_x = 2.0 * x", "*grad_x = (double)(3 / 2) * x"),
    ("squares", "&out0[i], &out1[i]", "&out1[i], &out0[i]"),
    ("squares", "i < batch; ++i) {\n        squares_backward", "i + 1 < batch; ++i) {\n        squares_backward"),
    ("squares", "if (grad_y) {", "if (grad_x) {"),
    ("linear", "sum += x[i * k + l]", "sum = x[i * k + l]"),
    ("linear", "weight[j * k + l];\n            }", "weight[l * m + j];\n            }"),
    ("linear", "bias != NULL ? sum + bias[j] : sum", "sum + bias[j]"),
    ("linear", "grad_x[i * k + l] = 0.0;", ""),
    ("linear", "grad_x[i * k + l] += grad", "grad_x[i * k + l] = grad"),
    ("linear", "grad_output[i * m + j] * weight", "grad_output[j * n + i] * weight"),
    ("linear", "l < k; ++l) {\n                    grad_x", "l + 1 < k; ++l) {\n                    grad_x"),
    ("linear", "l < k; ++l) {\n                    grad_x", "l <= k; ++l) {\n                    grad_x"),
    ("linear", "i-- > 0;", "--i > 0;"),
    ("linear", "grad_bias[j] += grad_output[i * m + j]", "grad_bias[j] -= grad_output[i * m + j]"),
    ("linear", "if (grad_weight) {", "if (1) {"),
    ("linear", "double sum = 0.0;\n                for", "double sum;\n                for"),
    (
        "softmax",
        "double sum = 0.0;\n        for (size_t j = 0; j < k; ++j) {\n            top",
        "double sum = 1.0;\n        for (size_t j = 0; j < k; ++j) {\n            top",
    ),
    ("softmax", "- top)", ")"),
    ("softmax", "fmax(top", "fmin(top"),
    ("softmax", "- sum)", "+ sum)"),
    (
        "softmax",
        "size_t j = 0; j < k; ++j) {\n            sum += grad",
        "size_t j = 1; j < k; ++j) {\n            sum += grad",
    ),
    (
        "softmax",
        "double sum = 0.0;\n        for (size_t j = 0; j < k; ++j) {\n            sum",
        "static double sum = 0.0;\n        for (size_t j = 0; j < k; ++j) {\n            sum",
    ),
    ("cross_entropy", "-= share", "+= share"),
    ("cross_entropy", "/ total[i] * share", "* share"),
    (
        "cross_entropy",
        "size_t j = 0; j < k; ++j) {\n            sum",
        "size_t j = 1; j < k; ++j) {\n            sum",
    ),
    ("cross_entropy", "if (top) {", "{"),
    ("cross_entropy", "if (total) {", "if (top) {"),
    ("cross_entropy", "target[i] < 0 || ", ""),
    ("cross_entropy", "(size_t)target[i] >= k", "(size_t)target[i] > k"),
    ("cross_entropy", "i < n; ++i) {\n        if (target", "i + 1 < n; ++i) {\n        if (target"),
    (
        "cross_entropy",
        "size_t i = 0; i < n; ++i) {\n        if (target",
        "size_t i = 1; i < n; ++i) {\n        if (target",
    ),
    ("cross_entropy", "            return 1;\n", "            *out = 0.0;\n            return 1;\n"),
    (
        "cross_entropy",
        "            return 1;\n        }\n    }\n    if",
        "            return 0;\n        }\n    }\n    if",
    ),
    ("cross_entropy", "            return 1;\n", "            return 0;\n"),
    ("cross_entropy", "grad_output / (double)n", "grad_output"),
    ("cross_entropy", "grad_output / (double)n", "grad_output * (double)(1 / n)"),
    ("cross_entropy", "grad_x[i * k + (size_t)target[i]]", "grad_x[i * k + i]"),
    ("cross_entropy", "*out = loss", "*out += loss"),
    ("layer_norm", "work[j] = grad_output[i * d + j] * gain[j]", "work[j] = grad_output[i * d + j]"),
    ("layer_norm", "work[j] = grad", "work[j + 1] = grad"),
    ("layer_norm", "sum / (double)d -", "sum -"),
    ("layer_norm", "(dot / (double)d)", "(sum / (double)d)"),
    ("layer_norm", "mean /= (double)d;", ""),
    ("layer_norm", "if (rstd) {", "{"),
    ("layer_norm", "if (xhat) {", "if (rstd) {"),
    ("layer_norm", "if (rstd) {", "if (xhat) {"),
    ("layer_norm", "+ eps", ""),
    ("layer_norm", "grad_gain[j] = 0.0;", ""),
    ("layer_norm", "grad_bias[j] += grad_output[i * d + j]", "grad_bias[j] += grad_output[j * n + i]"),
    ("layer_norm", "rstd[i] * (work", "rstd[0] * (work"),
]

IDS = [f"{name}: {new.strip() or 'nothing'}" for name, _, new in [*NUMPY_MUTANTS, *C_MUTANTS]]


@pytest.mark.parametrize("mutant", NUMPY_MUTANTS, ids=IDS[: len(NUMPY_MUTANTS)])
@pytest.mark.in_turn
def test_a_mutant_of_numpy_is_caught(mutant):
    name, old, new = mutant
    assert old in NUMPY[name]
    files = numpy_files(name, NUMPY[name].replace(old, new, 1))
    report = check(FUNCTIONS[name](), files, "numpy", numpy_module(files))
    # the naive softmax is right over the reals: it only overflows
    assert not report.ok or new == "np.exp(x)" and report.losses, str(report)


@pytest.mark.parametrize("mutant", C_MUTANTS, ids=IDS[len(NUMPY_MUTANTS) :])
@pytest.mark.in_turn
def test_a_mutant_of_c_is_caught(mutant):
    name, old, new = mutant
    assert old in C[name]
    correct = c_files(name)
    function = FUNCTIONS[name]()
    # the text alone must be enough: the library is that of the correct file
    report = check(function, c_files(name, C[name].replace(old, new, 1)), "c", compiled(function, correct))
    assert not report.ok or new in ("- 0", ")") and report.losses, str(report)


def compiled(function, files):
    return _KEPT.setdefault(function.name, Compiled(function, files))


_KEPT: dict[str, Compiled] = {}
