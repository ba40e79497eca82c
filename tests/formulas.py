"""Formulas of every kind, with sizes to try them at: what is differentiated, simplified and printed in tests."""

from __future__ import annotations

import numpy as np
import pytest

from symgrad import library

FORMULAS = [  # (formula, sizes, inputs that are not drawn)
    # scalars
    ("f(x, y) = x**2, x*y, y**2", {"...": ()}, {}),
    ("f(x, y) = x*y/(1 + x**2) - exp(-y)*sin(x)", {"...": (3,)}, {}),
    ("f(x, y) = (1 + x**2)**y + (1 + y**2)**(1/3)", {"...": (2,)}, {}),
    ("f(x) -> a, b, c: a = sin(x); b = a*x; c = a*b", {"...": (2,)}, {}),
    ("f(x) -> a, b: a = sin(x); b = 2*a", {"...": (2,)}, {}),
    ("f(x) = x**-3 + x**(-1/2)*abs(x)", {"...": ()}, {"x": 1.625}),
    ("f(x, y) = where(x > y, x**2*y, sin(x)/y)", {"...": (5,)}, {}),
    ("f(x) = where(x > 0, log(x), 7*x)", {"...": (4,)}, {}),
    ("f(x, y) = atan2(x, y) + hypot(x, y) + maximum(x, 2*y) - minimum(x*y, y)", {"...": (4,)}, {}),
    ("f(x) = relu(x) + abs(x) + sigmoid(x)*softplus(x) + tanh(x)", {"...": (4,)}, {}),
    ("f(x; a=0.3, k=3) = a*x**k + k*exp(a*x)", {"...": (2,)}, {}),
    ("f(x, y) = 3*y", {"...": (2,)}, {}),
    ("f(x, y) = (x % y)*y + x*(x//0.25)", {"...": (3,)}, {}),
    ("f(x) = floor(x)*x + sign(x)*x**2", {"...": (4,)}, {}),
    # an option that only the shape of the result mentions; a size with the letter of an index
    ("f(x[n]; a=1, b=2)[i:a+n+b] = where((i >= a) & (i < a + n), x[i-a]**2, 0)", {"n": 3}, {}),
    ("f(x[n,m], t[n,k]: int)[i,j] = x[i,t[i,j]]", {"n": 2, "m": 3, "k": 2}, {"t": [[0, 2], [1, 1]]}),
    ("f(x[n,m]; s=2)[i,j:s*m] = x[i,minimum(maximum(j - s, 0), m - 1)]", {"n": 2, "m": 3}, {}),
    # what is pooled and then read in windows; conditions that always hold; one sum in the words of two others
    (
        "f(x[n,6,6], w[2,2]): s[b,i,j] = max[r:2,t:2](x[b,2*i+r,2*j+t]); out[b,i,j] = sum[r,t](s[b,i+r,j+t]*w[r,t])",
        {"n": 2},
        {},
    ),
    ("f(x[n])[i] = where((i >= 0) & (i < n) & (0 < i), x[i]**2, 0)", {"n": 4}, {}),
    # a mean of what is the same for all has no axis to keep
    ("f(x[n,m], z[n])[j:3] = min[s:n](atan2(x[s,j], 2 + mean[r:m](z[s])**2))", {"n": 2, "m": 4}, {}),
    ("f(x[n,m])[j:3] = x[n-1-2*j,m-1]", {"n": 6, "m": 2}, {}),
    ("f(y[m]) = sum[j](sigmoid(0.5/(1 + y[j]**2)))", {"m": 3}, {}),
    ("f(x, y) = exp(x)/(exp(x) + exp(y)) + log(exp(x) + exp(y))", {"...": (3,)}, {}),
    ("f(x[n,m])[i:n] = where(i % 2 == 0, x[i,0], exp(-x[n-1-i,m-1]**2))", {"n": 3, "m": 2}, {}),
    ("f(x, w) = sqrt(1 + where(w > 0.5, w, x)**2) - abs(x)", {"...": (2,)}, {"x": [-0.25, 1.5], "w": [0.25, 0.125]}),
    ("f(x[n,m])[i:3] = sum[s:n](x[n-1-s,3*i])", {"n": 2, "m": 7}, {}),
    ("f(x[n,m])[i:m] = where(i > 0, x[n-1,m-1-i], x[1,m-1-i])", {"n": 2, "m": 3}, {}),
    # a vector added at a matrix of places; a count of ties with an axis of length 1, read in a loop
    ("f(x[n,m], y[m])[i:2] = sum[s:2](y[m-1-(2*s + 3*i)])", {"n": 1, "m": 6}, {}),
    ("f(x[n,m])[i:3] = sum[r:m](max[s:3](maximum(x[2*s+3*i,r], x[i,2*i])))", {"n": 11, "m": 5}, {}),
    # a series of what has no value on one side, in the branch that is not taken there
    ("f(x, y) = logaddexp(where(x > y, x, log(sqrt(x)**2 + 1)), x)", {"...": (2,)}, {"x": [-2e-5, 1e-5], "y": [-1, 1]}),
    # a condition that has a value only where another holds
    ("f(x[n])[i:n] = where(i > 0, where(x[i-1] > 0, log(x[i-1]), x[i]), 0)", {"n": 4}, {}),
    # an element that is there only where the condition before it holds, read twice
    (
        "f(x[n])[i:n] = where((i > 0) & (sin(x[i-1]) > 0), x[i]**2, 0) + where((i > 0) & (sin(x[i-1]) > 0), 1, x[i])",
        {"n": 4},
        {},
    ),
    # many conditions, whose cases are too many to be looked at one by one
    (
        "f(x, y) = tanh(" + "".join(f"maximum(exp({k}*x) - y, " for k in range(1, 12)) + "x" + ")" * 12,
        {"...": (2,)},
        {"x": [0.25, -0.5], "y": [0.5, -0.25]},
    ),
    # a number that stands under a condition on another number
    ("f(y[m], w) = where(sum[j:m](2) > 3, w - y[0], sum[j:m](2))", {"m": 2}, {}),
    # products, broadcasting
    ("linear(x[n,k], w[m,k], b[m]?)[i,j] = sum[l](x[i,l]*w[j,l]) + b[j]", {"n": 2, "k": 3, "m": 2}, {}),
    ("linear(x[n,k], w[m,k], b[m]?)[i,j] = sum[l](x[i,l]*w[j,l]) + b[j]", {"n": 2, "k": 3, "m": 2}, {"b": None}),
    ("f(x[n,d], g[d]?, b[d]?)[i,j] = x[i,j]**2*g[j] + b[j]", {"n": 2, "d": 3}, {"g": None}),
    ("f(x[n,d], g[d]?, b[d]?)[i,j] = x[i,j]**2*g[j] + b[j]", {"n": 2, "d": 3}, {"b": None}),
    ("f(x[n,d], g[d]?, b[d]?)[i,j] = x[i,j]**2*g[j] + b[j]", {"n": 2, "d": 3}, {"g": None, "b": None}),
    ("f(x[n,d], g[d]?, b[d]?)[i,j] = x[i,j]**2*g[j] + b[j]", {"n": 2, "d": 3}, {}),
    ("f(x[n], y[m])[i,j] = x[i]*sin(y[j]) + x[i]", {"n": 2, "m": 3}, {}),
    ("f(x[n], y)[i] = x[i]*y + y**2", {"n": 3}, {}),
    ("f(x[..., d], w[d])[..., i] = x[..., i]*w[i]", {"...": (2, 2), "d": 3}, {}),
    ("f(x[*a, n, d], y[*a, d, m])[*a, i, j] = sum[k](x[*a,i,k]*y[*a,k,j])", {"*a": (2, 1), "n": 3, "d": 2, "m": 2}, {}),
    ("f(a[n,k], b[k,m], c[m,p])[i,l] = sum[j](sum[r](a[i,r]*b[r,j])*c[j,l])", {"n": 2, "k": 2, "m": 3, "p": 2}, {}),
    ("f(x[n,n])[i,j] = x[i,j] + x[j,i]**2", {"n": 3}, {}),
    ("f(x[n])[i:n,j:n] = where(j > i, x[j], x[j//2])", {"n": 3}, {}),
    ("f(x[n], w)[i:n] = [1.5, w*x[i]]", {"n": 3}, {}),
    ("f(x[n,m], y[m]): s[i] = mean[j](x[i,j]); out[i,j] = s[i]*y[j]", {"n": 2, "m": 3}, {}),
    # repeated, literal and affine subscripts
    ("f(x[n,n]) = sum[i](x[i,i]**2)", {"n": 3}, {}),
    ("f(x[n,n])[i] = x[i,i]*x[0,i]", {"n": 3}, {}),
    ("f(x[n])[i] = x[n-1-i]*x[i]", {"n": 4}, {}),
    ("f(x[n])[i:n-1] = (x[i+1] - x[i])**2", {"n": 4}, {}),
    ("f(x[n], w[p]; s=2)[i] = sum[r](x[s*i+r]*w[r])", {"n": 5, "p": 3}, {}),
    ("conv(x[n,h,w], k[p,q])[b,i,j] = sum[r,s](x[b,2*i+r,j+s]*k[r,s])", {"n": 1, "h": 5, "w": 3, "p": 3, "q": 2}, {}),
    ("f(x[n], k[p])[i:n] = sum[r](where((i+r-1 >= 0) & (i+r-1 < n), x[i+r-1]*k[r], 0))", {"n": 4, "p": 3}, {}),
    (
        "f(x[n], k[p])[i:n] = sum[r](where(i+r < n, x[i+r]*k[r], 0) + where(i+r+1 < n, sin(x[i+r])*x[i+r+1]*k[r], 0))",
        {"n": 4, "p": 3},
        {},
    ),
    ("f(x[n])[i:n] = where(i > 0, where(i < 3, x[i-1]**2, x[i]), 1)", {"n": 5}, {}),
    ("f(x[n,h])[i,a:h//2,c:2] = x[i,a*2+c]**2", {"n": 2, "h": 4}, {}),
    ("f(x[n], y[m]): out[i:n] = x[i]**2; out[n+j] = y[j]*x[0]", {"n": 2, "m": 3}, {}),
    ("f(p[..., 2]): out[..., 0] = p[..., 0]**2; out[..., 1] = p[..., 0]*sin(p[..., 1])", {"...": (2,)}, {}),
    ("f(x[n])[i] = i*x[i]/n + (i % 2)*x[i]**2", {"n": 4}, {}),
    ("f(x[n]) = logsumexp[s:n](s)*x[0]", {"n": 3}, {}),
    ("f(x[n]) -> o, q: o[i:n] = i; o[i] += x[i]; q = sum[i](o[i]**2)", {"n": 3}, {}),
    ("f(x[n], t[n]: bool) = sum[s](t[s])*x[0]", {"n": 4}, {"t": [1, 0, 1, 1]}),
    ("f(x[n]) = sum[i:n-1](x[i]*x[i+1])", {"n": 4}, {}),
    ("f(x[n]): h[i:n-1] = x[i]; out = sum[i](h[i])*(n-1) + n - 1", {"n": 3}, {}),
    ("f(x[n,d])[i,j] = sum[k](where(k <= i, x[i,j]*x[k,j], 0))", {"n": 3, "d": 2}, {}),
    # names that mean something where gradients are passed
    ("loss(output[n], inputs[n])[i] = exp(output[i])*inputs[i]", {"n": 3}, {}),
    ("f(inputs[n]) -> output, y: output[i] = tanh(inputs[i]); y = sum[i](output[i])", {"n": 3}, {}),
    # indices of one name that do not run equally far, results read before they are written
    ("f(w[n]) -> o: o[i:n-1] = w[i]; o[n-1+k] = sin(w[k])", {"n": 3}, {}),
    ("f(w[n]) -> o: o[i:n-1] = w[i]*w[i+1]; o[n-1+k] = sin(w[k])", {"n": 3}, {}),
    ("f(x[n]) -> a, b: a[i:n-1] = exp(x[i])*x[i+1]; b[i] = exp(x[i]) + x[i]", {"n": 3}, {}),
    ("f(x[n], y[m]) -> a, b: a[i:n-1,j] = sqrt(x[i])*y[j]; b[i,j] = sqrt(x[i])*y[j]", {"m": 2}, {"x": [0.5, 2, 3]}),
    ("f(x[n]) -> o: h[i:n-1] = exp(x[i])*2; s = sum[j](exp(x[j])); o[i:n-1] = h[i]/s", {"n": 3}, {}),
    ("f(x[n]) -> o: h[i:n-1] = maximum(x[i+1], 1); o[j:n] = h[0]*h[0]", {"n": 3}, {}),
    ("f(x[n]) -> o: o[i:n-1] = h[i+1]*2; h[i] = x[i]**2", {"n": 3}, {}),
    ("f(x[n,m], y[n]) -> o: o[i:n] = max[j](x[i,j]); o[n+i] = y[i]", {"n": 3, "m": 2}, {}),
    ("f(a[n], b[m]) -> o: o[2*i] = a[i]; o[2*i+1] = b[i]", {"n": 3, "m": 2}, {}),
    # plain numbers in functions that widen by them
    ("f(x) = xlogy(x**2, 1.5)", {"...": (3,)}, {}),
    ("f(x, y) = clip(0.5, x, y)", {"...": (3,)}, {"x": [-1.0, 0.75, 0.25], "y": [0.25, 1.0, 1.5]}),
    ("f(x[d]; m=0): nn = d + m + 1; out = sum[i](x[i])*nn", {"d": 3}, {}),
    # read in part: how long a result is, what writes it tells; extents that follow another index
    ("f(x[n,3]): y[i,k] = x[i,k]**2; out[i,c:2] = y[i,c]", {"n": 2}, {}),
    ("f(x[n]): y[i] = x[i]**2; out = sum[i:n-1](y[i]*y[i+1])", {"n": 4}, {}),
    ("t(z[n]): v[j:n] = where(z[j] > 0, z[j], 0.1*z[j]); out[i:n-1] = v[i]", {"n": 3}, {}),
    ("f(x[n])[i] = sum[j:i+1](x[j]**2)*x[i]", {"n": 3}, {}),
    ("f(x[n,n])[i] = mean[j:i+1](x[i,j]) + max[j:n-i](x[i,j])", {"n": 3}, {}),
    ("f(x[n,n])[i:n,j:i+1] = x[i,j]**2", {"n": 3}, {}),
    ("f(x[n]) = sum[i](sum[j:i](x[i]*x[i-j]))", {"n": 4}, {}),
    # optional inputs
    ("f(x, b?) = given(b, b, x)", {"...": (2,)}, {}),
    ("f(x[n], b[n]?)[i] = given(b, b[i], x[i])", {"n": 2}, {"b": None}),
    ("f(x[n], b[n]?) = sum[i](given(b, b[i], 1)*x[i]) / sum[i:n](given(b, b[i], 1))", {"n": 2}, {}),
    ("f(x[n], b[n]?) = sum[i](given(b, b[i], 1)*x[i]) / sum[i:n](given(b, b[i], 1))", {"n": 2}, {"b": None}),
    ("f(x[n], b[n]?) = x[0]**2", {"n": 2}, {"b": None}),
    ("f(x[n,m], b[m]?)[i] = given(b, exp(sum[j](x[i,j]*b[j])), x[i,0])", {"n": 2, "m": 3}, {}),
    ("f(x[n,m], b[m]?)[i] = given(b, exp(sum[j](x[i,j]*b[j])), x[i,0])", {"n": 2, "m": 3}, {"b": None}),
    ("f(x[n], b[n]?) = x[0]*sum[i](b[i])", {"n": 2}, {"b": None}),
    ("f(x[n], b[n]?) -> o, p: o[i] = x[i]*b[i]; p[i] = given(b, o[i]*x[i]*exp(b[i]), x[i])", {"n": 2}, {}),
    # gathers, scatters
    ("f(x[n,m], t: int)[i] = x[i,t]**2", {"n": 2, "m": 3}, {"t": 2}),
    ("f(x[n]) = x[argmax[j](x[j])]**2", {"n": 3}, {}),
    ("f(x[..., n], t[k]: int)[..., i:k] = x[..., t[i]]**2", {"...": (2, 2), "n": 3}, {"t": [1, 0, 1, 2]}),
    ("f(x[n,d], t[m]: int)[i,j] = x[t[i],j]**2", {"d": 2}, {"x": np.arange(6.0).reshape(3, 2) / 4, "t": [2, 0, 2, 2]}),
    ("f(x[n,c], t[n]: int) = sum[i](logsumexp[j](x[i,j]) - x[i,t[i]])", {"n": 3, "c": 2}, {"t": [1, 0, 1]}),
    (  # a gradient that is one number everywhere, and is added to
        "f(x[n,c], t[n]: int; s=0.5): p[i,j] = exp(x[i,j]); hit = sum[i](p[i,t[i]]); out = s*hit + sum[i,j](s*p[i,j])",
        {"n": 3, "c": 2},
        {"t": [1, 0, 1]},
    ),
    (
        "f(x[m,d], t[m]: int, y[n,d]): out[i,j] = y[i,j]; out[t[k],j] += x[k,j]**2",
        {"m": 4, "n": 3, "d": 2},
        {"t": [2, 0, 2, 2]},
    ),
    ("f(x[n], mask[n]: bool)[i] = where(mask[i], x[i]**2, sin(x[i]))*mask[i]", {"n": 3}, {"mask": [1, 0, 1]}),
    # booleans in arithmetic, alone and among themselves; as subscripts; as results
    ("f(x[n], y[n])[i] = -(x[i] > 0)*y[i]", {"n": 3}, {}),
    ("f(x[n]) = sum[i]((x[i] > 0) + (x[i] > -1))*x[0]", {"n": 3}, {}),
    ("f(x[n], a[n]: bool, b[n]: bool)[i] = (a[i] + b[i])*x[i]", {"n": 3}, {"a": [1, 0, 1], "b": [1, 1, 0]}),
    ("f(x[n], a[n]: bool, b[n]: bool)[i] = (a[i] - b[i])*x[i]", {"n": 3}, {"a": [1, 0, 1], "b": [1, 1, 0]}),
    ("f(x[n], a[n]: bool)[i] = x[i]**a[i]/(1 + a[i])", {"n": 3}, {"a": [1, 0, 1]}),
    ("f(x[n], a[n]: bool) = x[0]*mean[i](a[i])*exp(a[1])", {"n": 3}, {"a": [1, 0, 1]}),
    ("f(x[n], a[n]: bool)[i] = x[i]*logsumexp[j](a[j])", {"n": 3}, {"a": [1, 0, 1]}),
    ("f(x[n], a[n]: bool)[i] = where(x[i] > 0, a[i], 1)*x[i]", {"n": 3}, {"a": [1, 0, 1]}),
    ("f(x[n], a[n,n]: bool, b[n]: bool)[i] = sum[j](a[i,j]*b[j])*x[i]", {"n": 2}, {"a": [[1, 1], [0, 1]], "b": [1, 1]}),
    ("f(x[n], a[n]: bool) -> p: o[i] = a[i]; o[i] += a[i]; p[i] = o[i]*x[i]", {"n": 2}, {"a": [1, 0]}),
    ("f(x[n], a[n]: bool)[i:n] = x[a[i]]**2", {"n": 3}, {"a": [1, 0, 1]}),
    ("f(x[n])[i:n] = x[where(i > 0, 1, 0)]**2", {"n": 3}, {}),
    # what a condition keeps inside of an axis that is shorter, or empty
    ("f(x[n]) -> o: o[i:n] = where(i > 0, x[0]*x[i], x[i])", {"n": 3}, {}),
    ("f(x[n], y[m]) -> o: o[i:n] = where(i > 0, y[2]*x[i], x[i])", {"n": 3, "m": 3}, {}),
    ("f(x[n], y[m])[i:n] = where(i < m, y[i]**2, x[i])", {"n": 3, "m": 2}, {}),
    ("f(x[n], y[m])[i:n+m] = where(i < n, x[i]**2, sin(y[i-n]))", {"n": 2, "m": 3}, {}),
    # a number beside integer arrays, outside of an axis without elements
    ("f(x[n,m])[i:n,j:3] = where(i % 2 == 0, x[n-1,m-1-j]**2, 0)", {"n": 0, "m": 3}, {}),
    ("f(x[n,m])[i:n,j:3] = where(i % 2 == 0, x[n-1,m-1-j]**2, 0)", {"n": 2, "m": 3}, {}),
    ("f(x[n,m])[i:n] = where(i > 1, x[2,i//2]**2, 2)", {"n": 1, "m": 2}, {}),
    ("f(x[n,m], t[n]: int)[i:n] = where(m > 0, x[t[i],m-1]**2, 2)", {"n": 2, "m": 0}, {"t": [1, 0]}),
    ("f(x[n,m]; k=-1)[i:n] = where((k >= 0) & (k < n), x[k,i//2]**2, 2)", {"n": 2, "m": 2}, {}),
    ("f(x[n,m]; k=1)[i:n] = where((k >= 0) & (k < n), x[k,i//2]**2, 2)", {"n": 2, "m": 2}, {}),
    ("f(x[n,m]): o[0,j:m] = x[0,j]; o[i+1,j] = where(j > 0, o[i,0]*x[i,j], x[i,j])", {"n": 2, "m": 2}, {}),
    # options that are negative, or 0
    ("f(x[n]; k=-1)[i:n-3] = x[i-k]**2", {"n": 5}, {}),
    ("f(x[n]; k=-2)[i:n] = where((i + k >= 0) & (i + k < n), x[i+k]**2, 0)", {"n": 4}, {}),
    ("f(x[n]; k=-1)[i:n+k] = x[i-k] - x[i]**2", {"n": 4}, {}),
    ("f(x[n], w[p]; s=-1)[i:n] = sum[r](where((s*i+r >= 0) & (s*i+r < n), x[s*i+r]*w[r], 0))", {"n": 3, "p": 2}, {}),
    ("f(x[n]; k=-2)[i] = x[i] + sum[j:k](x[i]*j)", {"n": 2}, {}),
    ("f(x[n]; k=0)[i:n-k] = x[i+k]*x[i]", {"n": 3}, {}),
    # gathers at integers that depend on a pack
    # subscripts that are out of range where a condition leaves them out
    ("f(x[n,d], t[m]: int)[i,j] = where(t[i] >= 0, x[t[i],j]**2, 0)", {"n": 3, "d": 2}, {"t": [2, -1, 0, 2]}),
    (
        "f(x[n], t[m]: int, keep[m]: bool)[i] = where(keep[i], exp(x[t[i]]), 1)",
        {"n": 3},
        {"t": [2, 9, -4, 0], "keep": [True, False, False, True]},
    ),
    (
        "f(x[n,c], t[n]: int; skip=-100) = sum[i](where(t[i] != skip, x[i,t[i]]**2, 0))",
        {"n": 3, "c": 2},
        {"t": [1, -100, 0]},
    ),
    ("f(x[..., n], t[...]: int)[...] = x[..., t[...]]**2", {"...": (2,), "n": 3}, {"t": [2, 0]}),
    (
        "f(x[..., n, d], t[..., k]: int)[..., j, l] = x[..., t[..., j], l]**2",
        {"...": (2,), "n": 3, "d": 2},
        {"t": [[2, 0], [1, 1]]},
    ),
    (
        "f(x[..., n], t[..., k]: int)[..., i, j] = x[..., t[..., i]]*x[..., t[..., j]]",
        {"...": (2,), "n": 3},
        {"t": [[2, 0], [1, 1]]},
    ),
    ("f(x[n,m], s[n]: int) = sum[i](x[i,s[i]]*(s[i] > 0) - (s[i] == 0)*x[i,0])", {"n": 2, "m": 3}, {"s": [2, 0]}),
    # numbers without any array
    ("f(x[n], y[m])[i] = x[i]*(1 + 2/m)*log(m)*m**-0.5", {"n": 2, "m": 3}, {}),
    ("f(x[n]) -> h: h[0] = sin(sum[i:n](0.5)); h[1] = 0.5", {"n": 3}, {}),
    ("f(x[n]) -> o, p: s = 0.5*n; o[i] = exp(s)*x[i]; p[i] = where(x[i] > 0, s, 2*s)*x[i]", {"n": 3}, {}),
    # reductions
    ("f(w[2]) = prod[q:3](prod[s:2](w[s]))", {}, {}),
    ("f(x[n])[i:n] = prod[j:n-1](x[j])", {"n": 3}, {}),
    ("f(x[n]) = prod[j:n-1,k:n-2](x[j] + x[k])", {"n": 4}, {}),
    ("f(x[n], w) = sum[i:n-1](w + x[i+1])*mean[q:n](w)", {"n": 3}, {}),
    ("f(x[n])[p:n,s:n] = max[r:2](x[p])", {"n": 3}, {}),
    ("f(x[n], y[m])[i] = y[i]*logsumexp[j,r:3](x[j])", {"n": 2, "m": 3}, {}),
    ("f(x[n,m])[i] = max[j](x[i,j]**3)", {"n": 2, "m": 3}, {}),
    ("f(x[n,m]) = min[i,j](x[i,j])*max[i,j](x[i,j])", {"n": 2, "m": 3}, {}),
    ("f(x[n,m])[i] = prod[j](x[i,j])", {"n": 2, "m": 3}, {}),
    ("f(x[n,m]) = prod[i,j](x[i,j])", {}, {"x": [[1.5, 0.0], [-2.0, 3.0]]}),
    ("f(x[n,m])[i] = prod[j](x[i,j])", {}, {"x": [[1.5, 0.0, 2.0], [0.0, 3.0, 0.0]]}),
    ("f(x[n,m])[i] = prod[j](where(j > 0, x[i,j], 1))", {"n": 2, "m": 3}, {}),
    ("f(x[n,m])[j] = logsumexp[i](2*x[i,j])", {"n": 3, "m": 2}, {}),
    ("f(x[n,m])[i] = sum[j](x[i,argmax[k](x[i,k])]*x[i,j])", {"n": 2, "m": 3}, {}),
    ("f(x[n,m])[i] = mean[j](x[i,j])**2", {"n": 2, "m": 3}, {}),
    ("f(x[n,m]): m1[i] = mean[j](x[i,j]); out[i] = mean[j]((x[i,j] - m1[i])**2)", {"n": 2, "m": 3}, {}),
    ("f(x[n,d])[i,j] = exp(x[i,j])/sum[k](exp(x[i,k]))", {"n": 2, "d": 3}, {}),
    ("f(x[n,d])[i,j] = sqrt(1 + sum[k]((x[i,k] - x[j,k])**2))", {"n": 2, "d": 3}, {}),
    ("f(x[n,m], y[n]): r[i] = sum[j](x[i,j]*y[i]); t = sum[i](r[i]**2); out[i] = r[i]/t", {"n": 2, "m": 3}, {}),
    (
        "attention(q[n,d], k[m,d], v[m,e]): s[i,j] = sum[l](q[i,l]*k[j,l])/sqrt(d); w[i,j] = exp(s[i,j]); "
        "out[i,p] = sum[j](w[i,j]*v[j,p])/sum[j](w[i,j])",
        {"n": 2, "m": 3, "d": 2, "e": 2},
        {},
    ),
    # over the places that a mask selects, and over none
    (
        "f(x[n,m], c[n,m]: bool)[i] = max[j](where(c[i,j], x[i,j], -oo))",
        {"n": 2, "m": 3},
        {"c": [[1, 0, 1], [0, 1, 1]]},
    ),
    (
        "f(x[n,m], c[n,m]: bool): w[i,j] = exp(where(c[i,j], x[i,j], -oo)); out[i,j] = w[i,j]/sum[k](w[i,k])",
        {"n": 2, "m": 3},
        {"c": [[1, 0, 1], [0, 1, 1]]},
    ),
    (
        "f(x[n,m], c[n,m]: bool): s[i,j] = where(c[i,j], x[i,j], -oo); top[i] = max[j](s[i,j]); "
        "out[i,j] = exp(s[i,j] - top[i]) + maximum(s[i,j], 0.25)",
        {"n": 2, "m": 3},
        {"c": [[1, 0, 1], [0, 1, 1]]},
    ),
    ("f(x[n,n])[i,j] = where(j <= i, exp(x[i,j]), 0)/sum[k](where(k <= i, exp(x[i,k]), 0))", {"n": 3}, {}),
    # a power that cancels has no index of its array; what is one number wherever it is any has no series
    (
        "f(x[n,m], w): s[i] = sum[j](w + x[i,j]); p[i] = w**2*s[i]/s[i]; t = sum[i](p[i]/s[i]); out = sqrt(t)*w**2",
        {"n": 2, "m": 2},
        {"x": [[0.5, 1.0], [2.0, 0.25]], "w": 0.75},
    ),
    ("f(w): t = sin(w)*log(w); out = where(w > 0, sin(exp(log(t)))**2, w)", {"...": ()}, {"w": 2.0}),
    # recurrences
    ("f(x[n], a, h0) -> h: h[0] = h0; h[t+1] = a*h[t] + x[t]", {"n": 3}, {}),
    ("f(x[n], a) -> h: h[t] = where(t > 0, a*h[t-1], 0) + x[t]", {"n": 3}, {}),
    ("f(x[n], a) -> h: h[n] = 1; h[t] = a*h[t+1]*x[t]", {"n": 3}, {}),
    ("f(x[n]) -> p: h[0] = 1; h[t+1] = h[t]*x[t]; p = h[n]", {"n": 3}, {"x": [2.0, 0.0, 3.0]}),
    ("f(x[n]) -> h: h[t] = where(t == 0, x[t], minimum(h[t-1], x[t]))", {"n": 3}, {}),
    ("f(x[n,m], s[m]?) -> h: h[0,i] = s[i]; h[t+1,i] = h[t,i] - sin(x[t,i])", {"n": 2, "m": 2}, {}),
    ("f(x[n,m], s[m]?) -> h: h[0,i] = s[i]; h[t+1,i] = h[t,i] - sin(x[t,i])", {"n": 2, "m": 2}, {"s": None}),
    ("f(x[n]) -> h: h[0] = 0; h[1] = 1; h[t+2] = h[t+1] + sin(h[t])*x[t]", {"n": 4}, {}),
    ("f(x[n]) -> a, b: a[0] = 1; b[t] = 2*a[t]; a[t+1] = b[t] + a[0]*x[t]", {"n": 3}, {}),
    # the neighbours of a place in time steps
    (
        "f(x[n], c, s[k]) -> u: u[0,i] = x[i]; u[t+1,i] = u[t,i] - c*u[t,i]*(u[t,i] - where(i > 0, u[t,i-1], 0)) "
        "+ s[t]*(where(i > 0, u[t,i-1], 0) - 2*u[t,i] + where(i < n-1, u[t,i+1], 0))",
        {"n": 3, "k": 2},
        {},
    ),
    (
        "f(x[n], c, s[k]) -> u: u[0,i] = x[i]; u[t+1,i] = where(i > 0 & i < n-1, "
        "u[t,i] - c*u[t,i]*(u[t,i+1] - u[t,i-1]) + s[t], u[t,i])",
        {"n": 4, "k": 2},
        {},
    ),
    (
        "f(x[n], w[m], s[k]) -> u: u[0,i] = x[i]; "
        "u[t+1,i] = s[t]*sin(u[t,i]) + sum[j](where(i - j >= 0, u[t,i-j]*w[j], 0))",
        {"n": 2, "m": 3, "k": 2},
        {},
    ),
    (
        "f(x[n,d], w[m,m], u[m,d], h0[m]) -> out: h[0,j] = h0[j]; "
        "h[t+1,j] = tanh(sum[k](w[j,k]*h[t,k]) + sum[i](u[j,i]*x[t,i])); out[t,j] = h[t+1,j]",
        {"n": 2, "d": 2, "m": 2},
        {},
    ),
    (
        "f(x[n,m]) -> o: d[0,j:m+1] = j; d[i+1,0] = d[i,0] + x[i,0]; "
        "d[i+1,j+1] = sin(d[i,j] + x[i,j]) + d[i+1,j]*d[i,j+1]; o = d[n,m]",
        {"n": 2, "m": 2},
        {},
    ),
    (
        "f(x[n,m], b[m]?) -> c: h[0,j:m] = 0; c[t,j] = tanh(h[t,j] + b[j]); h[t+1,j] = c[t,j]*x[t,j] + h[t,j]",
        {"n": 2, "m": 2},
        {},
    ),
    # nothing but the shape of a cotangent has the size m
    (
        "f(z[n], y[m]: int, t[n]: int, r[k]: int) -> out: h[p:m] = 0; h[t[i]] += z[i]; out[i] = h[r[i]]",
        {"n": 2, "m": 3, "k": 2},
        {"t": [2, 0], "r": [2, 2], "y": [0, 0, 0]},
    ),
    # an equality that holds nowhere: whoever looks for a point of it runs away, and gives up before numbers get huge
    ("f(x, y) = where(hypot(sigmoid(y), 1 + (x/(1 + y**2))**2) == 0, x, sigmoid(y)*x)", {"...": (2,)}, {}),
    # two pieces of a tensor have one gradient, of which one is not read to write the other
    ("f(x[n], w[n]) -> out: h[i] = x[i]**2; h[i+n] = exp(x[i]); out[i] = (h[i] + h[i+n])*sin(w[i])", {"n": 2}, {}),
]
LIBRARY = {
    "batch_norm": {"n": 3, "d": 2},
    "cross_entropy": {"n": 3, "c": 2},
    "gelu": {"...": (3,)},
    "layer_norm": {"...": (2,), "d": 3},
    "linear_mse": {"n": 2, "k": 2, "m": 3},
    "log_softmax": {"...": (2,), "n": 3},
    "mlp": {"n": 2, "k": 2, "h": 3, "m": 2},
    "residual": {"n": 2, "k": 2},
    "rms_norm": {"...": (2,), "d": 3},
    "softmax": {"...": (2,), "n": 3},
    "tanh": {"...": (3,)},
    "var": {"...": (2,), "n": 3},
}


def _row(text, sizes, given):
    absent = "".join(f", no {n}" for n, v in given.items() if v is None)
    return pytest.param(text, sizes, given, id=text + absent)


ROWS = [_row(*row) for row in FORMULAS]
ROWS += [
    pytest.param(getattr(library, name), sizes, {"target": [1, 0, 1]} if name == "cross_entropy" else {}, id=name)
    for name, sizes in LIBRARY.items()
]
