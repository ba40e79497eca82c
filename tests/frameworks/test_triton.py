"""Kernels of triton, interpreted: against the oracle, around the sizes of blocks, and with mistakes in them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import mpmath
import numpy as np
import pytest

import symgrad as sg
from symgrad import library
from symgrad.backends.python_names import module_from
from symgrad.errors import UnsupportedError
from symgrad.ops import OPS
from symgrad.pipeline import printed, verified
from symgrad.verify.approximations import APPROXIMATED, points
from symgrad.verify.reference import Declaration
from symgrad.verify.sampling import sample
from symgrad.verify.transforms import example
from symgrad.verify.triton_calls import second_order_faults

TEXTS = {
    "scaled": "scaled(x, a, b, c) = tanh(a*x + b)*sigmoid(c*x)",
    "softmax": "softmax(x[n]): out[i] = exp(x[i]) / sum[j](exp(x[j]))",
    "scaled_matrix": "scaled_matrix(x[n,d]): out[i,j] = x[i,j] / sqrt(sum[k,l](x[k,l]**2) + 1)",
    "rows": "rows(x[n,d]): out[i,j] = exp(x[i,j]) / sum[k](exp(x[i,k]))",
    "columns": "columns(x[n,d]): out[i,j] = x[i,j] / sum[k](x[k,j]**2 + 1)",
    "picked": "picked(x[n,d], t[n]: int): out[i] = x[i,t[i]]**2",
    "added": "added(x[n], t[n]: int, m[k]): out = sum[i](x[i]*m[t[i]])",
    "added_of_rows": "added_of_rows(x[n,m], s[k], t[n]: int): out[i,j] = s[t[i]]*x[i,j]",
    "added_twice": "added_twice(x[n], s[k], t[n]: int, u[n]: int) = sum[i](x[i]*s[t[i]]*s[u[i]])",
    "rounded": "rounded(x) = trunc(x)*round(x) + 0.1*where(x > 0, 1, 2)*log2(x**2 + 1)",
    "normal": "normal(x) = erfc(x)*ndtr(x) + erfcx(x)",
    "tail": "tail(x) = log_ndtr(x)",  # kernels and operations of torch have a function of the same name
    "product": "product(w[m,k], x[n,k]): y[b,i] = sum[j](w[i,j]*x[b,j])",
    "gated": """gated(x[b,n,d], a[b,n,d], s[b,d]):
        h[i,0,j] = s[i,j]
        h[i,t+1,j] = sigmoid(a[i,t,j])*h[i,t,j] + (1 - sigmoid(a[i,t,j]))*tanh(x[i,t,j])""",
    "ema": "ema(x[n,d], alpha): e[0,j] = x[0,j]; e[t+1,j] = alpha*x[t+1,j] + (1 - alpha)*e[t,j]",
    "coupled": """coupled(x[n,d], a[d]) -> y:
        h[0,j] = 0
        g[0,j] = 1
        g[t+1,j] = a[j]*g[t,j] + x[t,j]*h[t,j]
        h[t+1,j] = tanh(h[t,j] - g[t,j] + x[t,j])
        y[t,j] = h[t+1,j]**2 + g[t,j]""",
    "scanned": """scanned(x[b,n,d], dt[b,n,d], a[d,k], c[b,n,k]):
        h[i,0,j,l] = 0
        h[i,t+1,j,l] = exp(dt[i,t,j]*a[j,l])*h[i,t,j,l] + dt[i,t,j]*c[i,t,l]*x[i,t,j]
        y[i,t,j] = sum[l](h[i,t+1,j,l])""",
    "gates": """gates(x[n,d], f[n,d], o[n,d], u[d]) -> h:
        c[0,j] = 0
        h[0,j] = 0
        c[t+1,j] = sigmoid(f[t,j] + u[j]*h[t,j])*c[t,j] + tanh(x[t,j])
        h[t+1,j] = sigmoid(o[t,j])*tanh(c[t+1,j])""",
    "squared": "squared(x[n,d], a[d], s): h[0,j] = s; h[t+1,j] = a[j]*h[t,j] + x[t,j]; out[j] = h[n,j]**2",
    "paired": """paired(x[n,d], f[n,d], u[d]) -> h, c, y:
        c[0,j] = 0
        h[0,j] = 0
        c[t+1,j] = sigmoid(f[t,j] + u[j]*h[t,j])*c[t,j] + x[t,j]
        h[t+1,j] = tanh(c[t+1,j])
        y[t,j] = c[t+1,j]*h[t,j]""",
    "delayed": "delayed(x[n,d], s[d], a): e[0,j] = s[j]; e[t+1,j] = a*x[t+1,j] + (1 - a)*e[t,j]",
    "backwards": "backwards(x[n,d], a[d]): h[n,i] = 0; h[t,i] = a[i]*h[t+1,i] + x[t,i]",
    "one_lane": "one_lane(x[n]): s[0] = 0; s[i+1] = s[i] + x[i]**2; out[i] = s[i]",
    "kept": "kept(x[...], keep[...]: bool; p=0.5) = where(keep, x/(1 - p), 0)",
    "moved": "moved(x[n,k], y[n,k])[i,j] = where(i > 0, x[i-1,j], y[i,j])",  # a row of grad_x is written by nobody
    "share": "share(x[n,k], keep[n,k]: bool): out[i,j] = x[i,j]*(keep[i,j] - mean[p](keep[p,j]))",
    "ties": "ties(x[n,k], gain[k], shift[k]): y = layer_norm(x, gain, shift); out[j] = max[i](y[i,j])",
    "attended": "attended(x[n,k], y[n,k]): out = mean(causal_attention(2*y, 2*y, x))",
    # an axis that is shorter than an index runs, or than a number is; and a place moved along, in tiles
    "shorter": "shorter(x[n], y[m])[i:n] = where(i < m, y[i]**2, x[i])",
    "fourth": "fourth(x[n], y) = where(n > 3, x[3]*y, y)",
    "moved_bias": "moved_bias(x[n,k], w[m,k], b[m])[i,j] = sum[l](x[i,l]*w[j,l]) + where(j > 0, b[j-1], 0)",
    "halved": "halved(x[n], a[m])[i:n] = x[i]*where(i//2 < m, a[i//2], 0)",
    # what several equations write at places that are moved along
    "rotated": "rotated(x[n,d], c[d])[i,j] = x[i,j] + where(j < d//2, -x[i,j + d//2], x[i,j - d//2])*c[j]",
    "taps": "taps(x[n,d], w[2,d])[t,j] = x[t,j]*w[1,j] + where(t >= 1, x[t-1,j]*w[0,j], 0)",
    "differences": "differences(x[n]) = sum[i:n-1]((x[i+1] - x[i])**2)",
    "joined": "joined(x[n,d], y[n,e]): out[i,j] = x[i,j]; out[i,j+d] = y[i,j]",
    "hinge": "hinge(x[n,c], y[n]: int)[i] = sum[j](where(j != y[i], relu(1 + x[i,j] - x[i,y[i]]), 0))",
    # sums over rows of what stands at a literal place: of some indices, and of several places on one walk
    "pairs": "pairs(x[n,d,2], c[d]): out[i,j,0] = x[i,j,0]*c[j]; out[i,j,1] = x[i,j,1]*c[j]",
    "polynomial": """polynomial(x[n,d], w[2]):
        r[i] = 1/sqrt(1 + mean[j](x[i,j]**2))
        out[i,j] = w[0]*x[i,j]*r[i] + w[1]*x[i,j]**2*r[i]""",
    "opposite": """opposite(x[n,m], y[m], w):
        h[j:m,i:n] = where(j > 0, y[j-1], x[i,j])
        out[j:m,i:n] = w
        out[m + j,i:n] = sum[l:m](where(h[j,i] > -1, w, h[j,i]))""",
    "one_of_all": "one_of_all(x[n], w[m])[i] = x[i]*w[0]",
    "averaged": "averaged(x[n,k]): h = exponential_moving_average(x, 0.5); out[i,j] = h[i,j] - mean[p](h[p,j])",
    "powers": "powers(x[n], y[n])[i] = x[i]**4*y[i] + x[i]**7/(1 + y[i]**10) + (2 + y[i]**2)**(-2.5)",
    "lengths": "lengths(x[n], y[n])[i] = sqrt(x[i]**2 + y[i]**2) + sqrt(1 + x[i]**2)",
    "both_ways": "both_ways(x[n,k]): y[i,j] = max[p](x[p,j])*x[i,j]; out[i] = sum[q](exp(y[i,q] - max[r](y[i,r])))",
}


def declared(name):
    return sg.parse(TEXTS[name]) if name in TEXTS else getattr(library, name)


pytestmark = pytest.mark.usefixtures("triton")


@pytest.mark.parametrize("name", [
    "scaled", "cross_entropy", "layer_norm", "mlp", "causal_attention", "linear_cross_entropy"
])  # fmt: skip
@pytest.mark.in_turn
def test_kernels_agree_and_are_operators(name):
    """Everything that a check asks: half precision, torch.compile, opcheck, compilation for sm_80 and sm_90."""
    report = sg.check(declared(name), to="triton")
    assert report.ok, report


@pytest.mark.parametrize(
    "name",
    "columns picked added added_of_rows added_twice rounded normal kept moved share ties attended both_ways "
    "scaled_matrix mse_loss binary_cross_entropy batch_norm cross_layer product linear_recurrence gated ema "
    "coupled shorter fourth moved_bias halved rotated taps differences joined hinge pairs polynomial averaged powers "
    "lengths one_of_all opposite".split(),
)
@pytest.mark.in_turn
def test_kernels_agree(name, monkeypatch):
    monkeypatch.setattr("symgrad.verify.transforms.FAULTS", {})
    report = sg.check(declared(name), to="triton")
    assert report.ok, report


def test_label_smoothing_agrees(monkeypatch):
    monkeypatch.setattr("symgrad.verify.transforms.FAULTS", {})
    report = sg.check(library.cross_entropy, to="triton", smoothing=0.1)
    assert report.ok, report


@pytest.mark.parametrize("bits, real", [(53, np.float64), (24, np.float32)])
@pytest.mark.parametrize("function", ["erfcx", "vector_erfc", "vector_bell", "vector_normal_bell"])
def test_functions_that_triton_lacks_are_as_exact_as_in_c(function, bits, real):
    granted = APPROXIMATED[function]
    x = np.array([*points(*granted.within[bits], bits)], real)
    function = granted.operator
    found, _ = sg.load(sg.parse(f"f(x) = {function}(x)"), to="triton", check=False).forward(x)
    assert found.dtype == real
    with mpmath.workprec(2 * bits + 16):
        truth = [OPS[function].value(mpmath.mpf(float(a))) for a in x]
        units = [float(np.spacing(real(abs(t)))) for t in truth]
        off = [abs(mpmath.mpf(float(a)) - t) / unit for a, t, unit in zip(found, truth, units, strict=True)]
    assert max(off) <= granted.ulps, x[np.argmax(off)]


PLANES = {
    "grouped": """grouped(q[g,h,n,d], k[g,m,d], v[g,m,e]):
        s[t,u,i,j] = sum[c](q[t,u,i,c]*k[t,j,c])
        w[t,u,i,j] = exp(s[t,u,i,j]) / sum[p](exp(s[t,u,i,p]))
        out[t,u,i,l] = sum[j](w[t,u,i,j]*v[t,j,l])""",
    "columns": """columns(q[n,d], k[m,d], v[n,e]):
        s[i,j] = sum[c](q[i,c]*k[j,c])
        w[i,j] = exp(s[i,j]) / sum[p](exp(s[p,j]))
        out[j,l] = sum[i](w[i,j]*v[i,l])""",
    "squares": """squares(q[n,d], k[m,d], v[m,e]):
        s[i,j] = sum[c](q[i,c]*k[j,c])
        w[i,j] = s[i,j]**2 / (1 + sum[p](s[i,p]**2))
        out[i,l] = sum[j](w[i,j]*v[j,l])""",
    "centred": """centred(q[n,d], k[m,d], v[m,e]):
        s[i,j] = sum[c](q[i,c]*k[j,c])
        a[i] = mean[j](s[i,j])
        out[i,l] = sum[j](tanh(s[i,j] - a[i])*v[j,l])""",
    "near": """near(q[n,d], k[m,d], v[m,e]):
        s[i,j] = where(abs(i - j) < 3, 30*tanh(sum[c](q[i,c]*k[j,c])/30) - 0.5*abs(i - j), -oo)
        w[i,j] = exp(s[i,j]) / sum[p](exp(s[i,p]))
        out[i,l] = sum[j](w[i,j]*v[j,l])""",
    "attention": library.attention,
    "causal_attention": library.causal_attention,
    "masked_attention": library.masked_attention,
    "biased_attention": library.biased_attention,
}


def streamed(name):
    return sg.parse(PLANES[name]) if isinstance(PLANES[name], str) else PLANES[name]


@pytest.mark.parametrize("name", PLANES)
def test_planes_are_computed_where_they_are_read_and_not_stored(name):
    """Memory has the shapes of inputs, and of one number for each row."""
    ((_, text),) = sg.generate(streamed(name), to="triton", check=False).items()
    shapes = [shape for shape in re.findall(r"new_empty\(\s*\((.*?)\)", text) if shape.endswith("n, m")]
    assert shapes == (["*batch, n, m", "n, m"] if name == "biased_attention" else [])  # a gradient for each two places
    forward, _, _ = text.partition("def _backward")
    assert forward.count("for start in range(") == 1 + (name == "centred")


SIZES_OF_PLANES = ((5, 7, 3, 2), (7, 3, 1, 3), (1, 1, 2, 2), (40, 70, 5, 3))


@pytest.mark.parametrize("name", PLANES)
@pytest.mark.in_turn
def test_planes_around_a_tile(name, rng):
    """Tiles of two, of sixteen and of 64; masks leave some rows without anything, which are NaN."""
    f = streamed(name)
    primal, both = sg.vjp(f).primal, [sg.load(f, to=to, check=False) for to in ("triton", "numpy")]
    for n, m, d, e in SIZES_OF_PLANES:
        extents = {"n": n, "m": m, "d": d, "e": e, "g": 2, "h": 2, "...": 2}
        shapes = [[extents[s.name] for s in primal.table[x].shape] for x in primal.inputs]
        inputs = [rng.standard_normal(shape) for shape in shapes]
        if name == "masked_attention":
            inputs[3] = (inputs[3] < 0.5) & (np.arange(n) != 1)[:, None]
        results = []
        for one in (*both, both[0]):
            with np.errstate(all="ignore"):
                out, saved = one.forward(*inputs)
                results.append((out, *one.backward(saved, np.cos(np.arange(out.size)).reshape(out.shape))))
        for result in (results[0], results[2]):
            for a, b in zip(result, results[1], strict=True):
                if b is not None:  # there is none of a mask
                    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13, err_msg=f"{name} {n} {m}")


def test_rows_that_a_program_does_not_hold_are_refused(torch):
    ((path, text),) = sg.generate(library.attention, to="triton", check=False).items()
    module = module_from(f"wide_{path}", text)
    half, real = torch.ones(1, dtype=torch.bfloat16), torch.ones(1)
    assert module._streams(5, 4096, 64, 1024, half) == (16, 16, 64, 1024, 8, 1)
    for features, tensor in ((1025, half), (257, real)):
        with pytest.raises(ValueError, match=r"attention: .* rows of 2048 bytes, and one has 4096; what"):
            module._streams(5, 4096, 64, features, tensor)


TRIANGLES = {  # what a place sees, and how far it may look ahead if blocks are left out
    "j <= i": 0,
    "i >= j": 0,
    "j < i + 3": 2,
    "j < i": None,  # the first place sees nothing
    "j >= i": None,  # so do the last ones, of more queries than keys
    "2*j <= i": None,
    "j <= i & x[i,j] > 0": None,
}


@pytest.mark.parametrize("condition", TRIANGLES)
def test_blocks_that_nobody_sees_are_left_out(condition):
    f = sg.parse(f"""f(q[n,d], k[m,d], v[m,e], x[n,m]):
        s[i,j] = where({condition}, x[i,j] + sum[c](q[i,c]*k[j,c]), -oo)
        w[i,j] = exp(s[i,j]) / sum[p](exp(s[i,p]))
        out[i,l] = sum[j](w[i,j]*v[j,l])""")
    ((_, text),) = sg.generate(f, to="triton", check=False).items()
    more = TRIANGLES[condition]
    ahead = f" + {more}" if more else ""
    left_out = [] if more is None else [f"range(0, tl.minimum(m, first + BLOCK_I{ahead}), BLOCK_J)"]
    assert re.findall(r"range\(0, tl.minimum\(.*?\), BLOCK_J\)", text)[:1] == left_out


CHUNKS = {  # rows of a product, in chunks of few
    "distilled": """distilled(x[b,k], w[v,k], g[b,h], u[v,h]):
        s[i,c] = sum[j](x[i,j]*w[c,j])
        t[i,c] = sum[j](g[i,j]*u[c,j])
        p[i,c] = s[i,c] - logsumexp[j](s[i,j])
        q[i,c] = t[i,c] - logsumexp[j](t[i,j])
        out = sum[i,c](exp(q[i,c])*(q[i,c] - p[i,c]))/b""",
    "fitted": """fitted(x[*b,k], w[v,k], t[*b,v]):
        d[*b,c] = sum[j](x[*b,j]*w[c,j]) - t[*b,c]
        out = sum[*b,c](d[*b,c]**2)""",
    "contrasted": """contrasted(x[b,k], g[b,k]):
        s[i,c] = sum[j](x[i,j]*g[c,j])/0.07
        out = sum[i](logsumexp[c](s[i,c]) - s[i,i])/b""",
    "classified": """classified(x[b,k], w[h,k], u[v,h], y[b]: int):
        a[i,p] = tanh(sum[j](x[i,j]*w[p,j]))
        z[i,c] = sum[p](a[i,p]*u[c,p])
        out[i] = logsumexp[c](z[i,c]) - z[i,y[i]]""",
    "tokens": """tokens(x[b,h,k], w[v,k], y[b,h]: int):
        z[i,p,c] = sum[j](x[i,p,j]*w[c,j])
        out = sum[i,p](logsumexp[c](z[i,p,c]) - z[i,p,y[i,p]])/(b*h)""",
    "weighted": """weighted(x[b,k], w[v,k], a[v], y[b]: int):
        z[i,c] = sum[j](x[i,j]*w[c,j])
        out = sum[i](a[y[i]]*(logsumexp[c](z[i,c]) - z[i,y[i]]))/sum[i](a[y[i]])""",
    "weighted and smoothed": """smoothed(x[b,k], w[v,k], a[v], y[b]: int):
        z[i,c] = sum[j](x[i,j]*w[c,j])
        s[i] = logsumexp[c](z[i,c])
        each[i] = 0.9*a[y[i]]*(s[i] - z[i,y[i]]) + 0.1*sum[c](a[c]*(s[i] - z[i,c]))/v
        out = sum[i](each[i])/sum[i](a[y[i]])""",
    "a temperature of each class": """f(x[b,k], w[v,k], a[v], y[b]: int):
        z[i,c] = where(y[i] > 0, a[y[i]]*sum[j](x[i,j]*w[c,j]), 0)
        out = sum[i](logsumexp[c](z[i,c]) - z[i,y[i]])""",
    "weighted tokens": """f(x[b,h,k], w[v,k], a[v], y[b,h]: int):
        z[i,p,c] = sum[j](x[i,p,j]*w[c,j])
        out = sum[i,p](a[y[i,p]]*(logsumexp[c](z[i,p,c]) - z[i,p,y[i,p]]))/sum[i,p](a[y[i,p]])""",
    "a factor of what is picked": """f(x[b,k], w[v,k], a, y[b]: int):
        z[i,c] = sum[j](x[i,j]*w[c,j])
        out = sum[i](logsumexp[c](z[i,c]) - a*z[i,y[i]])""",
    "numbered": """numbered(x[b,k], w[v,k]):
        z[i,c] = where(c <= i, sum[j](x[i,j]*w[c,j]), 0)
        out[i] = i*sum[c](z[i,c]**2)""",
    "all rows but one": """f(x[b,k], w[v,k], y[b]: int):
        z[i:b-1,c] = sum[j](x[i,j]*w[c,j])
        out = sum[i](logsumexp[c](z[i,c]) - z[i,y[i+1]])""",
    "sums of a row of rows": """f(x[b,h,k], w[v,k]):
        z[i,p,c] = sum[j](x[i,p,j]*w[c,j])
        out = sum[i](log(1 + sum[p,c](z[i,p,c]**2)))""",
    "a count": """f(x[b,k], w[v,k], y[b]: int):
        z[i,c] = sum[j](x[i,j]*w[c,j])
        hits = sum[i](where(z[i,y[i]] > 0, 1, 0))
        out = sum[i](logsumexp[c](z[i,c])) + log(1 + hits)""",
    "gradients of a diagonal": """f(x[b,k], g[b,k]):
        s[i,c] = sum[j](x[i,j]*g[c,j])
        worse[i] = sum[c](where(s[i,c] > s[i,i], 1, 0))
        out = sum[i](worse[i]*s[i,i]**2)""",
}


@pytest.mark.parametrize("name", CHUNKS)
@pytest.mark.in_turn
def test_rows_in_chunks(name, rng):
    """Chunks of two rows, and two of which the second one has fewer rows."""
    f = sg.parse(CHUNKS[name])
    primal, both = sg.vjp(f).primal, [sg.load(f, to=to, check=False) for to in ("triton", "numpy")]
    ((_, text),) = sg.generate(f, to="triton", check=False).items()
    assert len(re.findall(r"for first in range\(0, .*, chunk\):", text)) == 2
    for b, v, k, h in ((5, 7, 3, 2), (1, 3, 1, 2), (9, 6, 4, 2)):
        extents = {"b": b, "*b": b, "v": v, "k": k, "h": h}
        inputs = [rng.standard_normal([extents[s.name] for s in primal.table[x].shape]) for x in primal.inputs]
        inputs = [rng.integers(0, v, a.shape) if x == "y" else a for x, a in zip(primal.inputs, inputs, strict=True)]
        seed, results = rng.standard_normal(b), []
        for one in (*[both[0]] * 3, both[1]):
            out, saved = one.forward(*inputs)
            results.append((out, *one.backward(saved, np.resize(seed, out.shape))))
        for result in results[:3]:
            for a, e in zip(result, results[3], strict=True):
                if e is not None:
                    np.testing.assert_allclose(a, e, rtol=1e-11, atol=1e-12, err_msg=f"{name} {b}")


@pytest.mark.parametrize("ignored", [[1, 4], slice(None)], ids=["some", "all"])
@pytest.mark.parametrize("real, exact, smoothing", [(np.float32, 1e-5, 0.1), (np.float64, 1e-12, 0.0)])
def test_weights_of_classes_beside_those_of_torch(real, exact, smoothing, ignored, rng):
    """Where all rows are ignored, the loss is 0 divided by 0, and no row has a gradient."""
    torch = pytest.importorskip("torch")
    n, k, c = 5, 3, 7
    x, weight, bias = (rng.standard_normal(shape).astype(real) for shape in ((n, k), (c, k), c))
    of_classes, target = rng.uniform(0.5, 2, c).astype(real), rng.integers(0, c, n)
    target[ignored] = -100
    ours = sg.load(library.linear_cross_entropy, to="triton", check=False, smoothing=smoothing)
    *inner, classes = (torch.tensor(a, requires_grad=a.dtype == real) for a in (x, weight, bias, of_classes))
    logits, place = torch.nn.functional.linear(*inner), torch.tensor(target)
    with torch.no_grad():
        own = torch.where(place != -100, classes[place.clamp(min=0)], 0)
    theirs = torch.nn.functional.cross_entropy(logits, place, classes.detach(), label_smoothing=smoothing)
    theirs.backward()
    # torch has no gradient of weights of classes: the loss is linear in them but for the sum that divides it
    each = torch.zeros(n, c, dtype=classes.dtype).scatter(1, place.clamp(min=0)[:, None], 1 - smoothing) + smoothing / c
    each = torch.where((place != -100)[:, None], -each * torch.log_softmax(logits.detach(), 1), 0)
    shares = torch.bincount(place.clamp(min=0)[place != -100], minlength=c)
    of_weights = torch.nan_to_num((each.sum(0) - shares * theirs.detach()) / own.sum())
    for _ in range(2):
        out, saved = ours.forward(x, weight, target, bias, of_classes)
        assert out.dtype == real
        np.testing.assert_allclose(out, theirs.detach(), rtol=exact)
        grad_x, grad_weight, _, grad_bias, grad_classes = ours.backward(saved, np.ones((), real))
        expected = *(t.grad for t in inner), of_weights
        for found, one in zip((grad_x, grad_weight, grad_bias, grad_classes), expected, strict=True):
            np.testing.assert_allclose(found, one, rtol=exact, atol=exact)


def test_memory_is_that_of_a_chunk():
    """Nothing that is neither given nor returned has a number for each row and class."""
    ((_, text),) = sg.generate(library.linear_cross_entropy, to="triton", check=False).items()
    shapes = re.findall(r"new_(?:empty|zeros)\(\s*\((.*?),?\)", text)
    assert shapes.count("chunk, c") == 2
    assert not any({"n", "c"} <= {*s.split(", ")} for s in shapes)


@pytest.mark.parametrize("wide, narrow, rows, chunk", [
    (128_000, 4096, 8192, 256),  # 32 chunks: 256*128000 numbers are about as many as 8192*4096
    (128_000, 4096, 100, 64),
    (10_000, 10, 10_000, 512),  # more than 256 tiles
    (1000, 4096, 8192, 8192),
    (0, 0, 0, 1),
])  # fmt: skip
def test_how_many_rows_a_chunk_has(wide, narrow, rows, chunk):
    ((path, text),) = sg.generate(library.linear_cross_entropy, to="triton", check=False).items()
    assert module_from(f"chunk_{path}", text)._chunk(rows, wide, narrow) == chunk


@pytest.mark.parametrize("text", [
    "f(x[n,k]): out[j] = max[i](tanh(x[i,j]))",
    "f(x[n,k], w[k,m]): h[i,j] = sum[p](x[i,p]*w[p,j]); out[j] = min[i](h[i,j])",
])  # fmt: skip
def test_a_maximum_is_one_in_half_precision(text, rng):
    """What backward compares is not what was rounded to be returned."""
    one = sg.load(text, to="triton", check=False)
    given = [rng.normal(size=(5, 5)).astype(np.float16) for _ in sg.parse(text).inputs]
    found = []
    for real in (np.float16, np.float32):
        out, saved = one.forward(*(x.astype(real) for x in given))
        found.append(one.backward(saved, np.ones_like(out)))
    for half, single in zip(*found, strict=True):
        np.testing.assert_allclose(half, single, rtol=2e-3, atol=2e-3)


SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9)
SHAPES = {
    "gelu": lambda n: [(n,)],
    "softmax": lambda n: [(n,)],
    "rows": lambda n: [(3, n)],
    "rms_norm": lambda n: [(2, n), (n,)],
    "layer_norm": lambda n: [(2, n), (n,), (n,)],
    "group_norm": lambda n: [(2, 2, n)],
    "logsumexp": lambda n: [(3, n)],
    "mse_loss": lambda n: [(n,)] * 2,
    "linear": lambda n: [(3, n), (2, n), (2,)],
    "batch_matmul": lambda n: [(2, n, 3), (2, 3, 5)],
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.in_turn
def test_sizes_around_a_block(name, rng):
    """Four elements are a block of many, and of a long row; rows are long in every other call."""
    f, given = declared(name), {"groups": 1} if name == "group_norm" else {}
    both = [sg.load(f, to=to, check=False) for to in ("triton", "numpy")]
    for size in SIZES:
        if not size and name != "gelu":
            continue  # a mean of nothing
        inputs = [rng.standard_normal(shape) for shape in SHAPES[name](size)]
        inputs += [None] * (len(sg.vjp(f).primal.inputs) - len(inputs))
        results = []
        for one in (*both, both[0]):
            out, saved = one.forward(*inputs, **given)
            results.append((out, *one.backward(saved, np.ones_like(out))))
        for result in (results[0], results[2]):
            for a, b in zip(result, results[1], strict=True):
                if b is not None:
                    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13, err_msg=f"{name} {size}")


RECURRENCES = (
    "linear_recurrence exponential_moving_average cumprod gated ema coupled scanned gates squared paired delayed "
    "backwards one_lane".split()
)


@pytest.mark.parametrize("name", RECURRENCES)
@pytest.mark.in_turn
def test_turns_around_a_block(name, rng):
    """No turns, one, and some; no lanes, and a block that has some more than there are."""
    f = declared(name)
    primal, both = sg.vjp(f).primal, [sg.load(f, to=to, check=False) for to in ("triton", "numpy")]
    for n, d in ((0, 3), (1, 1), (2, 5), (5, 9), (7, 0), (4, 20)):
        if name == "ema" and not n:
            continue  # there is no first row
        extents = {"n": n, "d": d, "b": 2, "k": 3, "m": 2}
        inputs = [rng.standard_normal([extents.get(str(s), n) for s in primal.table[x].shape]) for x in primal.inputs]
        inputs = [0.1 * x if name == "cumprod" else x for x in inputs]
        results = []
        for one in (*both, both[0]):
            out, saved = one.forward(*inputs)
            outs = out if isinstance(out, tuple) else (out,)
            seeds = [np.cos(np.arange(o.size)).reshape(o.shape) for o in outs]
            results.append((*outs, *one.backward(saved, tuple(seeds) if len(seeds) > 1 else seeds[0])))
        for result in (results[0], results[2]):
            for a, b in zip(result, results[1], strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13, err_msg=f"{name} {n} {d}")


def test_a_recurrence_and_all_that_is_computed_of_it_is_one_kernel():
    for name in ("linear_recurrence", "gated", "exponential_moving_average", "coupled", "gates"):
        ((_, text),) = sg.generate(declared(name), to="triton", check=False).items()
        assert text.count("@triton.jit\ndef _forward_kernel(") == text.count("@triton.jit\ndef _backward_kernel(") == 1


TOGETHER = {  # sums over rows beside what is no row's; and planes of what is computed of one tensor
    "sums": """sums(x[n,d], y[n,e,h,c], b[h,c]) -> p, q:
        p[i,j] = exp(x[i,j]) / sum[k](exp(x[i,k]))
        q[i,r,u,v] = y[i,r,u,v] + b[u,v]""",
    "projected": """projected(x[n,d], a[e,d], b[e,d], c[e,d]):
        y[i,r] = x[i,r] / (1 + sum[p](x[i,p]**2))
        q[i,u] = sum[r](y[i,r]*a[u,r])
        k[i,u] = sum[r](y[i,r]*b[u,r])
        v[i,u] = sum[r](y[i,r]*c[u,r])
        s[i,j] = sum[u](q[i,u]*k[j,u])
        w[i,j] = exp(s[i,j]) / sum[p](exp(s[i,p]))
        out[i,u] = sum[j](w[i,j]*v[j,u])""",
    "shifted": "shifted(x[n,d], a[d]): out[t:n-1,i] = a[i]*x[t+1,i]**2",
    "shares": "shares(x[n,d], b[d]): out[i,j] = b[j]*exp(x[i,j]) / sum[k,l](exp(x[k,l]))",
}


@pytest.mark.parametrize("name", TOGETHER)
def test_what_stands_beside_other_kernels(name, rng):
    f = sg.parse(TOGETHER[name])
    table, extents = sg.vjp(f).primal.table, {"n": 5, "d": 4, "e": 3, "h": 2, "c": 3}
    inputs = [rng.standard_normal([extents[s.name] for s in table[x].shape]) for x in sg.vjp(f).primal.inputs]
    results = []
    for to in ("triton", "triton", "numpy"):
        one = sg.load(f, to=to, check=False)
        out, saved = one.forward(*inputs)
        outs = out if isinstance(out, tuple) else (out,)
        seeds = [np.cos(np.arange(o.size)).reshape(o.shape) for o in outs]
        results.append([*outs, *one.backward(saved, tuple(seeds) if len(seeds) > 1 else seeds[0])])
    for result in results[:2]:
        for a, b in zip(result, results[2], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


def test_rows_of_a_vocabulary(rng):
    """Rows that are walked along in blocks of 1,024: two numbers are far above the others, one of them infinitely."""
    x = rng.standard_normal((2, 5000))
    x[:, 3000], x[0, :2048], x[1, 4500] = 700, -np.inf, np.inf
    grad = rng.standard_normal((2, 5000))
    found = []
    for to in ("triton", "numpy"):
        one = sg.load(declared("rows"), to=to, check=False)
        for _ in range(2):
            with np.errstate(all="ignore"):
                out, saved = one.forward(x)
                found.append((out, one.backward(saved, grad)[0]))
    for result in found[:2]:
        np.testing.assert_allclose(result, found[2], rtol=1e-11, atol=1e-13)


WALKS = {  # a formula, and how often forward walks along a long row
    "f(x[n,d]): out[i] = logsumexp[j](x[i,j])": 1,
    "f(x[n,d]): out[i,j] = exp(x[i,j]) / sum[k](exp(x[i,k]))": 2,
    "f(x[n,d]): m[i] = max[j](x[i,j]); out[i] = sum[j](x[i,j]*exp(x[i,j] - m[i]))": 1,
    "f(x[n,d]): m[i] = max[j](x[i,j]); out[i] = sum[j](exp(-x[i,j] - m[i]))": 2,
    "f(x[n,d]): m[i] = max[j](x[i,j]); out[i] = sum[j](m[i]*exp(x[i,j] - m[i]))": 2,
    "f(x[n,d], y[n,d]): m[i] = max[j](x[i,j]); out[i] = sum[j](exp(y[i,j] - m[i]))": 2,
    "f(x[n,d]): m[i] = mean[j](x[i,j]); out[i] = mean[j]((x[i,j] - m[i])**2)": 1,
    "f(x[n,d]): m[i] = mean[j](x[i,j]); out[i] = mean[j](abs(x[i,j] - m[i]))": 2,
    "f(x[n,d]): m[i] = mean[j](x[i,j]**2); out[i] = mean[j]((x[i,j] - m[i])**2)": 2,
    # the second way is back: what has been seen is behind
    "f(x[n,d], gain[d]): y = rms_norm(x, gain); m[i] = mean[j](y[i,j]); out[i] = mean[j]((y[i,j] - m[i])**2)": 2,
}


@pytest.mark.parametrize("formula", WALKS)
@pytest.mark.in_turn
def test_reductions_that_follow_each_other_take_one_walk(formula, monkeypatch):
    monkeypatch.setattr("symgrad.verify.transforms.FAULTS", {})
    f = sg.parse(formula)
    ((_, text),) = sg.generate(f, to="triton", check=False).items()
    forward, _, _ = text.partition("def _backward")
    assert forward.count("for start in range(") == WALKS[formula]
    assert sg.check(f, to="triton").ok


REFUSED = {
    "f(x[n,k], y[m,k])[i,j] = sum[l](abs(x[i,l] - y[j,l]))": "many times, and is no product of two.* --to torch",
    "f(x[n,d], w[d,d]): h[0,i] = 0; h[t+1,i] = tanh(sum[j](w[i,j]*h[t,j]) + x[t,i])": (
        "sums or products in a turn, as .* triton has loops over time for states of one lane each. Print torch"
    ),
    "f(x[n,d]): h[0,i] = 0; h[t+1,i] = h[t,d-1-i] + x[t,i]": "a recurrence with another lane, or more than one turn",
    "f(x[n]): h[0] = 0; h[1] = 1; h[t+2] = h[t+1]*h[t] + x[t]": "a recurrence with another lane, or more than one turn",
    "f(x[n,d], k[n,d]: int): h[0,i] = 0; h[t+1,i] = h[t,i] + x[k[t,i],i]": "places in a turn that are data",
    "f(x[n,m]): h[0,j] = x[0,j]; h[i+1,0] = x[i+1,0]; h[i+1,j+1] = h[i,j+1] + h[i+1,j]*x[i,j]": "a loop over",
    "f(x[n]; k=2)[i] = x[i]*x[(i + k) % n]": "several rows add to one element in more than one term, as grad_x",
    "f(x[n], y[m]): out[2*i] = x[i]; out[3*j+1] = y[j]": "triton has no kernel of rows of several kinds",
    "f(x[n], t[n]: int)[i] = t[i]": "f depends on no input of real numbers. Print torch",
    "f(x, y) = x**y": "triton has no function pow",
    "f(x[n]) = prod[i](x[i])": "triton has no prod",
}


@pytest.mark.parametrize("formula", REFUSED)
def test_what_kernels_do_not_hold_is_refused_by_name(formula):
    with pytest.raises(UnsupportedError, match=REFUSED[formula]):
        sg.generate(sg.parse(formula), to="triton", check=False)


LAID_OUT = {  # how a tensor of rows lies, and whether a kernel reads it there, as an input and as a cotangent
    "contiguous": (lambda x: x, True, True),
    "the first columns": (lambda x: x[:, :3], True, True),
    "every other row": (lambda x: x[::2], True, True),
    "one row for all": (lambda x: x[:1].expand(4, -1), True, True),
    "one number for all": (lambda x: x[0, 0].expand(4, 6), False, True),
    "every other column": (lambda x: x[:, ::2], False, False),
    "transposed": (lambda x: x.T, False, False),
}


@pytest.mark.parametrize("name", LAID_OUT)
def test_what_a_kernel_reads_by_strides_is_not_copied(name, torch):
    lies, *there = LAID_OUT[name]
    ((path, text),) = printed(declared("rows"), "triton").files.items()
    module, tensor = module_from(path, text), lies(torch.arange(24.0).reshape(4, 6))
    found = [of(tensor) for of in (module._rows, module._spread)]
    assert [t.data_ptr() == tensor.data_ptr() for t in found] == there
    assert all(torch.equal(t, tensor) for t in found)


HEADS = {  # how matrices of a batch lie, and whether kernels read them there
    "contiguous": (lambda x: x[:, 0].contiguous(), True),
    "heads beside each other": (lambda x: x[:, 0].transpose(1, 2), True),
    "one of three, beside each other": (lambda x: x.transpose(2, 3)[:, 1], True),
    "transposed": (lambda x: x[:, 0].mT, True),
    "one for all heads": (lambda x: x[:, 0, :1].expand(-1, 5, -1, -1), True),
    "no heads": (lambda x: x[:, 0, 0], True),
    "one matrix": (lambda x: x[0, 0, 0], True),
    "three axes of which two are one": (lambda x: x.transpose(2, 3), True),
    "three axes of which none are one": (lambda x: x[:, :2, :4].transpose(2, 3), False),
}


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("function", ["causal_attention", "biased_attention"])
@pytest.mark.in_turn
def test_heads_are_read_where_they_lie(function, name, torch, monkeypatch):
    lies, there = HEADS[name]
    ((path, text),) = printed(declared(function), "triton").files.items()
    module, given = module_from(f"{function}_{len(name)}_{path}", text), []

    class Launched:
        def __getitem__(self, grid):
            return lambda *args, **_: given.append({a.data_ptr() for a in args if torch.is_tensor(a)})

    for kernel in [n for n in vars(module) if n.endswith("_kernel")]:
        monkeypatch.setattr(module, kernel, Launched())
    monkeypatch.setattr(module, "_on_gpu", lambda tensor: None)
    q, k, v, grad_output = (lies(torch.ones(2, 3, 5, 4, 4)).requires_grad_(place < 3) for place in range(4))
    more = [torch.ones(q.shape[-2], q.shape[-2])] if function == "biased_attention" else []
    out = getattr(module, function)(q, k, v, *more)
    assert all((t.data_ptr() in given[0]) == there for t in (q, k, v))
    out.backward(grad_output)
    read = set().union(*given[1:])
    assert all((t.data_ptr() in read) == there for t in (q, k, v))
    assert (grad_output.data_ptr() in read) == (there and grad_output.stride(-1) == 1)


@pytest.mark.parametrize("name", ["grouped", "attention", "causal_attention", "masked_attention", "biased_attention"])
@pytest.mark.parametrize("heads", [(2, 3), (2, 1, 3)], ids=str)
@pytest.mark.in_turn
def test_heads_beside_each_other_give_what_contiguous_ones_do(name, heads, rng):
    f = streamed(name)
    primal, one = sg.vjp(f).primal, sg.load(f, to="triton", check=False)
    reference = sg.load(f, to="numpy", check=False)
    extents = {"...": heads, "n": [5], "m": [7], "d": [3], "e": [2], "g": heads[:1], "h": heads[-1:]}
    shapes = [[n for s in primal.table[x].shape for n in extents[s.name]] for x in primal.inputs]
    inputs = [rng.standard_normal(shape) for shape in shapes]
    if name == "masked_attention":
        inputs[3] = np.tril(np.ones((5, 7), bool))
    out, saved = reference.forward(*inputs)
    grad = rng.standard_normal(out.shape)
    expected = out, *reference.backward(saved, grad)
    for _ in range(2):
        lying = [beside(a) for a in inputs]
        found, kept = one.forward(*lying)
        for a, b in zip((found, *one.backward(kept, beside(grad))), expected, strict=True):
            if b is not None:
                np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


def beside(array):
    """The array with the rows of its last matrices beside each other, as those of heads are by `transpose(1, 2)`."""
    return np.ascontiguousarray(array.swapaxes(-2, -3)).swapaxes(-2, -3) if array.ndim > 2 else array


SECONDS = 100.0  # all points are looked at: a kernel that is interpreted takes the time of most by itself
MISTAKES = (  # in what, what stands there, and what stands there now
    ("gelu", "mask = b < batch", "mask = b <= batch"),
    ("gelu", "tl.store(out_ptr + b, out, mask=mask)", "tl.store(out_ptr + b, out)"),
    ("gelu", "x_ptr + b, mask=mask", "x_ptr + 2 * b, mask=mask"),
    ("rows", 'tl.where(mask, x, float("-inf"))', "x"),
    ("rows", 'tl.where(mask, x, float("-inf"))', "tl.where(mask, x, 0.0)"),
    ("rows", "tl.where(mask, exp_x, 0.0)", "exp_x"),
    ("rows", "x_ptr + i * x_stride + j", "x_ptr + i * d + j"),
    ("rows", ", other=0.0", ""),
    ("rows", "tensor.stride(-1) == 1 else tensor.contiguous()", "True else tensor"),
    ("rows", "i * grad_output_stride_0 + j * grad_output_stride_1", "i * grad_output_stride_0 + j"),
    ("rows", "i * grad_output_stride_0 + j * grad_output_stride_1", "i * d + j * grad_output_stride_1"),
    ("rms_norm", "grad_gain += ", "grad_gain = "),
    ("rms_norm", "tl.num_programs(0)", "1"),
    ("rms_norm", ".sum(dim=0)", ".amax(dim=0)"),
    ("rms_norm", "BLOCK_J=block_j", "BLOCK_J=block_j // 2"),
    ("rows", "sum_exp_x * tl.exp(max_x_before - max_x)", "sum_exp_x"),
    ("masked_softmax", 'max_masked_x_before == -float("inf")', "max_masked_x_before == 0"),
    ("rows", "j = start + tl.arange(0, BLOCK_J)", "j = tl.arange(0, BLOCK_J)"),
    ("rows", "in range(0, d, BLOCK_J)", "in range(0, d - 1, BLOCK_J)"),
    ("rows", "in range(0, d, BLOCK_J)", "in range(0, d, 2 * BLOCK_J)"),
    ("rows", "* BLOCK_J, -BLOCK_J", "* BLOCK_J, 0"),
    ("layer_norm", "start * (", "0 * ("),
    ("layer_norm", "tl.minimum(start + BLOCK_J, d)", "(start + BLOCK_J)"),
    ("layer_norm", "tl.program_id(1) * BLOCK_J + ", ""),
    ("layer_norm", "grid = (programs, triton.cdiv(d, block_j))", "grid = (programs, 1)"),
    ("cross_entropy", "i * logits_stride + target", "i * logits_stride + target + 1"),
    ("cross_entropy", "j == target", "j == target + 1"),
    ("cross_entropy", "accumulate=True", "accumulate=False"),
    ("cross_entropy", "counts = target != ignore_index", "counts = target >= 0"),
    ("gelu", "with torch.cuda.device_of(x):", "if True:"),
    ("linear", "mask_l = l < k", "mask_l = l <= k"),
    ("linear", "mask=mask_i[:, None] & mask_l[None, :]", "mask=mask_i[:, None]"),
    ("linear", "j[None, :] * weight_stride_0", "j[None, :] * x_stride_0"),
    ("linear", "l[:, None] * weight_stride_1", "l[:, None]"),
    ("linear", "*weight.stride()", "*weight.stride()[::-1]"),
    ("linear", "l = (start + tl.arange(0, BLOCK_TERMS))", "l = tl.arange(0, BLOCK_TERMS)"),
    ("linear", "range(0, k, BLOCK_TERMS)", "range(0, k, 2 * BLOCK_TERMS)"),
    ("linear", "tl.dot(x, weight, out, ", "tl.dot(x, weight, "),
    ("linear", "out += bias[None, :]", "out = bias[None, :]"),
    ("linear", "triton.cdiv(m, block_j))", "1)"),
    ("batch_matmul", "tl.cdiv(k, BLOCK_P)", "1"),
    ("attention", "tl.where(mask_p[None, :], exp_score, 0.0), axis=1", "exp_score, axis=1"),
    ("attention", "out_sum * tl.exp(max_score_before[:, None] - max_score[:, None])", "out_sum"),
    ("attention", "p = (start + tl.arange(0, BLOCK_P))", "p = tl.arange(0, BLOCK_P)"),
    ("attention", "mask=mask_p[:, None] & mask_r[None, :]", "mask=mask_p[:, None]"),
    ("causal_attention", "tl.minimum(m, first + BLOCK_I)", "tl.minimum(m, first)"),
    ("causal_attention", "(first // BLOCK_I) * BLOCK_I", "first + BLOCK_I"),
    ("causal_attention", "*q.stride()", "*q.transpose(1, 2).stride()"),
    ("causal_attention", "+ h * k_stride_1", "+ h * k_stride_2"),
    ("causal_attention", "*grad_output.stride()", "*grad_output.contiguous().stride()"),
    ("batch_matmul", "h = row % inner", "h = row // inner"),
    ("linear_cross_entropy", "sum_loss_total.add_", "sum_loss_total.copy_"),
    ("linear_cross_entropy", "grad_weight += tl.load", "grad_weight = tl.load"),
    ("linear_cross_entropy", "stop = min(first + chunk, n)", "stop = min(chunk, n)"),
    ("linear_cross_entropy", "x[first:stop]", "x"),
    ("linear_cross_entropy", "logits_target[first:stop]", "logits_target"),
    ("linear_recurrence", "state = decay * state + x", "state = decay * x + x"),
    ("linear_recurrence", "tl.store(state_ptr + i, state, mask=mask)", ""),
    ("linear_recurrence", "(t + 1) * d + i, state, mask=mask)", "(t + 1) * d + i, state)"),
    ("linear_recurrence", "grad_decay += ", "grad_decay = "),
    ("linear_recurrence", "for t in range(n):", "for t in range(1, n):"),
    ("linear_recurrence", "range(n - 1, -1, -1)", "range(n - 1, 0, -1)"),
    ("linear_recurrence", "grad_output + grad_state_total * decay", "grad_state_total * decay"),
    ("ema", "grad_alpha_parts.sum(dim=0)", "grad_alpha_parts.amax(dim=0)"),
    ("coupled", "h = h_next", "h = h"),
    *(
        pytest.param(*row, marks=pytest.mark.longest)  # told by the last of the points
        for row in (
            ("masked_attention", 'max_seen_before[:, None] == -float("inf")', "max_seen_before[:, None] == 0"),
            ("attention", "tl.where(m > 0, out_sum / sum_exp_score[:, None], 0.0)", "out_sum / sum_exp_score[:, None]"),
        )
    ),
)


@pytest.mark.parametrize(("name", "before", "after"), MISTAKES)
@pytest.mark.in_turn
def test_a_kernel_with_a_mistake_is_refused(name, before, after, monkeypatch):
    monkeypatch.setattr("symgrad.verify.transforms.FAULTS", {})
    f = declared(name)
    result = printed(f, "triton")
    ((path, text),) = result.files.items()
    assert before in text
    wrong = replace(result, files={path: text.replace(before, after)})
    assert verified(f, wrong, wrong.load(), seconds=SECONDS, enough=1).failures


def second_order(name, before="", after=""):
    """What the check finds in gradients of gradients, where something else stands in the lines that compute them."""
    f = declared(name)
    result = printed(f, "triton")
    ((path, text),) = result.files.items()
    head, cut, block = text.partition("def _backward_in_torch")
    assert before in block
    wrong = replace(result, files={path: head + cut + block.replace(before, after, 1)}).load()
    function = sg.vjp(f).primal
    case = example(function, sample(Declaration(function)).cases, 0, wrong)
    return [*second_order_faults(function, wrong, case, None, 0)]


@pytest.mark.parametrize("name", ["tail", "picked", "kept", "product", "standardize", "embedding", "cross_layer"])
def test_gradients_have_gradients(name):
    assert not second_order(name)


MISTAKES_IN_TORCH = (
    ("gelu", "3 * 0.044715", "2 * 0.044715"),
    ("gelu", "1 - tanh_inner**2", "1 + tanh_inner**2"),
    ("rms_norm", ".mean(dim=-1, keepdim=True) + eps)", ".mean(dim=-1, keepdim=True).detach() + eps)"),
    ("rms_norm", "grad_xhat - xhat", "grad_xhat + xhat"),
    ("linear", "grad_output.T @ x", "grad_output.T @ x.detach()"),
    ("cross_entropy", "-grad_scores", "grad_scores"),
    ("rows", "zip(moved, pulled, strict=True)", "zip(moved, reversed(pulled), strict=True)"),
    ("rms_norm", "cotangents[k] for k", "cotangents[0] for k"),
    ("gelu", "_backward.register_autograd(_differentiate_again, setup_context=_keep_again)", ""),
)


@pytest.mark.parametrize(("name", "before", "after"), MISTAKES_IN_TORCH)
@pytest.mark.in_turn
def test_a_gradient_of_a_gradient_with_a_mistake_is_refused(name, before, after):
    assert second_order(name, before, after)


def test_gradients_of_gradients_are_those_of_torch():
    """gradgradcheck, three orders, half precision, autocast, and torch.compile beside them."""
    program = Path(__file__).with_name("second_order.py")
    path = os.pathsep.join(filter(None, (str(program.parents[2]), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": path}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == 9
    assert not [(name, what) for name, row in found.items() for what, fine in row.items() if not fine]


def test_tensors_on_the_cpu_are_refused_where_nothing_interprets(torch):
    ((path, text),) = sg.generate(library.gelu, to="triton", check=False).items()
    module = module_from(f"cpu_{path}", text)
    with pytest.raises(ValueError, match="gelu: there is a tensor on the CPU; kernels run on a GPU, or in the interp"):
        module.gelu(torch.ones(3))
    assert module.gelu(torch.ones(3, device="meta")).shape == (3,)


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
def test_forward_mode_is_refused(torch):
    ((path, text),) = sg.generate(library.gelu, to="triton", check=False).items()
    module = module_from(f"forward_mode_{path}", text)
    x = torch.ones(3, device="meta")
    with pytest.raises(NotImplementedError, match="gelu: there is no forward mode"):
        torch.func.jvp(module.gelu, (x,), (x,))


def test_tensors_on_two_devices_are_refused_by_name(torch):
    ((path, text),) = sg.generate(library.cross_entropy, to="triton", check=False).items()
    module = module_from(f"two_{path}", text)
    logits, target = torch.ones(2, 3, device="meta"), torch.zeros(2, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"cross_entropy: the tensors .* devices: logits on meta, target on cpu"):
        module.cross_entropy(logits, target)


def test_the_benchmark_of_a_gpu_runs(triton):
    """Tiny, in the interpreter."""
    script = Path(__file__).parents[2] / "benchmarks" / "gpu.py"
    run = [sys.executable, script, "--tiny", "--only", "softmax"]
    said = subprocess.run(run, env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True, check=True)
    assert said.stdout.count("softmax, backward") == 8
