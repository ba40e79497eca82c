"""Functions, and the files that a person wrote for them: what the oracle is tested with."""

from __future__ import annotations

from symgrad.declare.draft import Draft
from symgrad.expr import apply, index, ref
from symgrad.ir import Dtype, Function

I, J, K = index("i"), index("j"), index("l")


def squares() -> Function:
    d = Draft("squares")
    d.dim("...")
    p = index("...")
    for name in "xy":
        d.input(name, (ref("..."),))
    x, y = ref("x", p), ref("y", p)
    d.define("out0", (p,), x**2)
    d.define("out1", (p,), x * y)
    d.define("out2", (p,), y**2)
    return d.finish(["out0", "out1", "out2"])


def linear() -> Function:
    d = Draft("linear")
    n, m, k = d.dim("n"), d.dim("m"), d.dim("k")
    d.input("x", (n, k))
    d.input("weight", (m, k))
    d.input("bias", (m,), optional=True)
    total = d.reduce("sum", (K,), ref("x", I, K) * ref("weight", J, K))
    d.define("out", (I, J), total + ref("bias", J))
    return d.finish(["out"])


def softmax() -> Function:
    d = Draft("softmax")
    n, k = d.dim("n"), d.dim("k")
    d.input("x", (n, k))
    e = apply("exp", ref("x", I, J))
    d.define("out", (I, J), e / d.reduce("sum", (J,), e))
    return d.finish(["out"])


def cross_entropy() -> Function:
    d = Draft("cross_entropy")
    n, k = d.dim("n"), d.dim("k")
    d.input("x", (n, k))
    d.input("target", (n,), Dtype.INT)
    total = d.reduce("logsumexp", (J,), ref("x", I, J))
    loss = d.reduce("mean", (I,), total - ref("x", I, ref("target", I)))
    d.define("out", (), loss)
    return d.finish(["out"])


def layer_norm() -> Function:
    d = Draft("layer_norm")
    n, k = d.dim("n"), d.dim("d")
    d.input("x", (n, k))
    d.input("gain", (k,))
    d.input("bias", (k,))
    eps = d.option("eps", 1e-5)
    mean = d.reduce("mean", (J,), ref("x", I, J))
    var = d.reduce("mean", (J,), (ref("x", I, J) - mean) ** 2)
    out = (ref("x", I, J) - mean) / apply("sqrt", var + eps) * ref("gain", J) + ref("bias", J)
    d.define("out", (I, J), out)
    return d.finish(["out"])


FUNCTIONS = {f.__name__: f for f in (squares, linear, softmax, cross_entropy, layer_norm)}

NUMPY = {
    "squares": """
import numpy as np


def forward(x, y):
    x, y = np.asarray(x), np.asarray(y)
    if x.shape != y.shape:
        raise ValueError(f"squares: x has shape {x.shape}, y has shape {y.shape}")
    return (x**2, x * y, y**2), (x, y)


def backward(saved, grad_output=None, needs_input_grad=(True, True)):
    x, y = saved
    g0, g1, g2 = (np.zeros_like(x) if g is None else np.asarray(g) for g in grad_output)
    grad_x = grad_y = None
    if needs_input_grad[0]:
        grad_x = 2 * x * g0 + y * g1
    if needs_input_grad[1]:
        grad_y = x * g1 + 2 * y * g2
    return grad_x, grad_y
""",
    "linear": """
import numpy as np


def forward(x, weight, bias=None):
    x, weight = np.asarray(x), np.asarray(weight)
    if x.shape[1] != weight.shape[1]:
        raise ValueError(f"linear: x has k = {x.shape[1]} (axis 1), weight has k = {weight.shape[1]} (axis 1)")
    out = x @ weight.T
    if bias is not None:
        out = out + bias
    return out, (x, weight, bias is not None)


def backward(saved, grad_output=None, needs_input_grad=(True, True, True)):
    x, weight, has_bias = saved
    if grad_output is None:
        raise ValueError("linear: grad can be implicitly created only for scalar outputs")
    grad_output = np.asarray(grad_output)
    grad_x = grad_weight = grad_bias = None
    if needs_input_grad[0]:
        grad_x = grad_output @ weight
    if needs_input_grad[1]:
        grad_weight = grad_output.T @ x
    if has_bias and needs_input_grad[2]:
        grad_bias = grad_output.sum(axis=0)
    return grad_x, grad_weight, grad_bias
""",
    "softmax": """
import numpy as np


def forward(x):
    x = np.asarray(x)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    out = e / e.sum(axis=1, keepdims=True)
    return out, (out,)


def backward(saved, grad_output=None, needs_input_grad=(True,)):
    (out,) = saved
    if grad_output is None:
        raise ValueError("softmax: grad can be implicitly created only for scalar outputs")
    grad_output = np.asarray(grad_output)
    grad_x = None
    if needs_input_grad[0]:
        grad_x = out * (grad_output - (grad_output * out).sum(axis=1, keepdims=True))
    return (grad_x,)
""",
    "cross_entropy": """
import numpy as np


def forward(x, target):
    x, target = np.asarray(x), np.asarray(target)
    if target.size and (target.min() < 0 or target.max() >= x.shape[1]):
        raise IndexError(f"cross_entropy: target must be in range({x.shape[1]})")
    shifted = x - x.max(axis=1, keepdims=True)
    e = np.exp(shifted)
    total = e.sum(axis=1, keepdims=True)
    rows = np.arange(x.shape[0])
    out = (np.log(total[:, 0]) - shifted[rows, target]).mean()
    return out, (e / total, target)


def backward(saved, grad_output=None, needs_input_grad=(True, False)):
    out, target = saved
    grad_output = np.ones((), out.dtype) if grad_output is None else np.asarray(grad_output)
    n = out.shape[0]
    grad_x = None
    if needs_input_grad[0]:
        grad_x = out * (grad_output / n)
        np.add.at(grad_x, (np.arange(n), target), -grad_output / n)
    return grad_x, None
""",
    "layer_norm": """
import numpy as np


def forward(x, gain, bias, *, eps=1e-05):
    x, gain, bias = np.asarray(x), np.asarray(gain), np.asarray(bias)
    centred = x - x.mean(axis=1, keepdims=True)
    rstd = 1 / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + eps)
    xhat = centred * rstd
    return xhat * gain + bias, (xhat, rstd, gain)


def backward(saved, grad_output=None, needs_input_grad=(True, True, True)):
    xhat, rstd, gain = saved
    if grad_output is None:
        raise ValueError("layer_norm: grad can be implicitly created only for scalar outputs")
    grad_output = np.asarray(grad_output)
    grad_x = grad_gain = grad_bias = None
    if needs_input_grad[0]:
        gn = grad_output * gain
        grad_x = rstd * (gn - gn.mean(axis=1, keepdims=True) - xhat * (gn * xhat).mean(axis=1, keepdims=True))
    if needs_input_grad[1]:
        grad_gain = (grad_output * xhat).sum(axis=0)
    if needs_input_grad[2]:
        grad_bias = grad_output.sum(axis=0)
    return grad_x, grad_gain, grad_bias
""",
}

HEADER = """#ifndef PRINTED_H
#define PRINTED_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
%s
#ifdef __cplusplus
}
#endif
#endif
"""

C = {
    "squares": r"""
#include "squares.h"

void squares_forward(double x, double y, double *out0, double *out1, double *out2)
{
    *out0 = x * x;
    *out1 = x * y;
    *out2 = y * y;
}

void squares_backward(double x, double y, double grad_out0, double grad_out1, double grad_out2,
                      double *grad_x, double *grad_y)
{
    if (grad_x) {
        *grad_x = 2.0 * x * grad_out0 + y * grad_out1;
    }
    if (grad_y) {
        *grad_y = x * grad_out1 + 2.0 * y * grad_out2;
    }
}

void squares_forward_batch(size_t batch, const double *x, const double *y, double *out0, double *out1, double *out2)
{
    for (size_t i = 0; i < batch; ++i) {
        squares_forward(x[i], y[i], &out0[i], &out1[i], &out2[i]);
    }
}

void squares_backward_batch(size_t batch, const double *x, const double *y, const double *grad_out0,
                            const double *grad_out1, const double *grad_out2, double *grad_x, double *grad_y)
{
    for (size_t i = 0; i < batch; ++i) {
        squares_backward(x[i], y[i], grad_out0[i], grad_out1[i], grad_out2[i], grad_x ? &grad_x[i] : NULL,
                         grad_y ? &grad_y[i] : NULL);
    }
}
""",
    "linear": r"""
#include "linear.h"

void linear_forward(size_t n, size_t m, size_t k, const double *restrict x, const double *restrict weight,
                    const double *restrict bias, double *restrict out)
{
    /* out[i,j] = sum[l] x[i,l] * weight[j,l] + bias[j] */
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < m; ++j) {
            double sum = 0.0;
            for (size_t l = 0; l < k; ++l) {
                sum += x[i * k + l] * weight[j * k + l];
            }
            out[i * m + j] = bias != NULL ? sum + bias[j] : sum;
        }
    }
}

void linear_backward(size_t n, size_t m, size_t k, const double *restrict x, const double *restrict weight,
                     const double *restrict bias, const double *restrict grad_output, double *restrict grad_x,
                     double *restrict grad_weight, double *restrict grad_bias)
{
    (void)bias;
    if (grad_x) {
        for (size_t i = 0; i < n; ++i) {
            for (size_t l = 0; l < k; ++l) {
                grad_x[i * k + l] = 0.0;
            }
            for (size_t j = 0; j < m; ++j) {
                for (size_t l = 0; l < k; ++l) {
                    grad_x[i * k + l] += grad_output[i * m + j] * weight[j * k + l];
                }
            }
        }
    }
    if (grad_weight) {
        for (size_t j = 0; j < m; ++j) {
            for (size_t l = 0; l < k; ++l) {
                double sum = 0.0;
                for (size_t i = 0; i < n; ++i) {
                    sum += grad_output[i * m + j] * x[i * k + l];
                }
                grad_weight[j * k + l] = sum;
            }
        }
    }
    if (grad_bias) {
        for (size_t j = 0; j < m; ++j) {
            grad_bias[j] = 0.0;
        }
        for (size_t i = n; i-- > 0;) {
            for (size_t j = 0; j < m; ++j) {
                grad_bias[j] += grad_output[i * m + j];
            }
        }
    }
}
""",
    "softmax": r"""
#include "softmax.h"
#include <math.h>

void softmax_forward(size_t n, size_t k, const double *restrict x, double *restrict out)
{
    for (size_t i = 0; i < n; ++i) {
        double top = -INFINITY;
        double sum = 0.0;
        for (size_t j = 0; j < k; ++j) {
            top = fmax(top, x[i * k + j]);
        }
        for (size_t j = 0; j < k; ++j) {
            out[i * k + j] = exp(x[i * k + j] - top);
            sum += out[i * k + j];
        }
        for (size_t j = 0; j < k; ++j) {
            out[i * k + j] /= sum;
        }
    }
}

void softmax_backward(size_t n, size_t k, const double *restrict out, const double *restrict grad_output,
                      double *restrict grad_x)
{
    if (!grad_x) {
        return;
    }
    for (size_t i = 0; i < n; ++i) {
        double sum = 0.0;
        for (size_t j = 0; j < k; ++j) {
            sum += grad_output[i * k + j] * out[i * k + j];
        }
        for (size_t j = 0; j < k; ++j) {
            grad_x[i * k + j] = out[i * k + j] * (grad_output[i * k + j] - sum);
        }
    }
}
""",
    "cross_entropy": r"""
#include "cross_entropy.h"
#include <math.h>

int cross_entropy_forward(size_t n, size_t k, const double *restrict x, const int64_t *restrict target,
                          double *restrict total, double *restrict top, double *restrict out)
{
    double loss = 0.0;
    for (size_t i = 0; i < n; ++i) {
        if (target[i] < 0 || (size_t)target[i] >= k) {
            return 1;
        }
    }
    for (size_t i = 0; i < n; ++i) {
        double largest = x[i * k];
        double sum = 0.0;
        for (size_t j = 1; j < k; ++j) {
            largest = x[i * k + j] > largest ? x[i * k + j] : largest;
        }
        for (size_t j = 0; j < k; ++j) {
            sum += exp(x[i * k + j] - largest);
        }
        if (top) {
            top[i] = largest;
        }
        if (total) {
            total[i] = sum;
        }
        loss += log(sum) - (x[i * k + (size_t)target[i]] - largest);
    }
    *out = loss / (double)n;
    return 0;
}

int cross_entropy_backward(size_t n, size_t k, const double *restrict x, const int64_t *restrict target,
                           const double *restrict total, const double *restrict top, double grad_output,
                           double *restrict grad_x)
{
    const double share = grad_output / (double)n;
    for (size_t i = 0; i < n; ++i) {
        if (target[i] < 0 || (size_t)target[i] >= k) {
            return 1;
        }
    }
    if (grad_x) {
        for (size_t i = 0; i < n; ++i) {
            for (size_t j = 0; j < k; ++j) {
                grad_x[i * k + j] = exp(x[i * k + j] - top[i]) / total[i] * share;
            }
            grad_x[i * k + (size_t)target[i]] -= share;
        }
    }
    return 0;
}
""",
    "layer_norm": r"""
#include "layer_norm.h"
#include <math.h>

void layer_norm_forward(size_t n, size_t d, double eps, const double *restrict x, const double *restrict gain,
                        const double *restrict bias, double *restrict xhat, double *restrict rstd,
                        double *restrict out)
{
    for (size_t i = 0; i < n; ++i) {
        const double *row = x + i * d;
        double mean = 0.0, var = 0.0;
        for (size_t j = 0; j < d; ++j) {
            mean += row[j];
        }
        mean /= (double)d;
        for (size_t j = 0; j < d; ++j) {
            var += (row[j] - mean) * (row[j] - mean);
        }
        const double scale = 1.0 / sqrt(var / (double)d + eps);
        if (rstd) {
            rstd[i] = scale;
        }
        for (size_t j = 0; j < d; ++j) {
            const double normal = (row[j] - mean) * scale;
            if (xhat) {
                xhat[i * d + j] = normal;
            }
            out[i * d + j] = normal * gain[j] + bias[j];
        }
    }
}

void layer_norm_backward(size_t n, size_t d, const double *restrict gain, const double *restrict xhat,
                         const double *restrict rstd, const double *restrict grad_output,
                         double *restrict grad_x, double *restrict grad_gain, double *restrict grad_bias,
                         double *restrict work)
{
    if (grad_x) {
        for (size_t i = 0; i < n; ++i) {
            double sum = 0.0, dot = 0.0;
            for (size_t j = 0; j < d; ++j) {
                work[j] = grad_output[i * d + j] * gain[j];
                sum += work[j];
                dot += work[j] * xhat[i * d + j];
            }
            for (size_t j = 0; j < d; ++j) {
                grad_x[i * d + j] = rstd[i] * (work[j] - sum / (double)d - xhat[i * d + j] * (dot / (double)d));
            }
        }
    }
    for (size_t j = 0; j < d; ++j) {
        if (grad_gain) {
            grad_gain[j] = 0.0;
        }
        if (grad_bias) {
            grad_bias[j] = 0.0;
        }
        for (size_t i = 0; i < n; ++i) {
            if (grad_gain) {
                grad_gain[j] += grad_output[i * d + j] * xhat[i * d + j];
            }
            if (grad_bias) {
                grad_bias[j] += grad_output[i * d + j];
            }
        }
    }
}
""",
}
MACROS = {"layer_norm": "#define LAYER_NORM_BACKWARD_WORK(n, d) (d)"}


def numpy_files(name: str, text: str | None = None) -> dict[str, str]:
    return {f"{name}_numpy.py": NUMPY[name] if text is None else text}


def c_files(name: str, text: str | None = None) -> dict[str, str]:
    return {f"{name}.c": C[name] if text is None else text, f"{name}.h": HEADER % MACROS.get(name, "")}
