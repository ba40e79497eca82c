"""NumPy: every spelling computes what the interpreter computes, and treats arrays as printed code should."""

from __future__ import annotations

import numpy as np
import pytest
from formulas import ROWS
from mathematics import as_function, by_equations, inputs_of, interpret, loaded, rng_of, seeds_of, shape_of, sizes_of
from mpmath import mp
from numpy.testing import assert_allclose

import symgrad as sg
from symgrad.differentiate import differentiate
from symgrad.expr import ref, show
from symgrad.expr.sizes import tidy

N = {"n": 2, "k": 3, "m": 4}
CONV = {"n": 2, "c": 2, "l": 5, "o": 3, "k": 3}
IMAGE = {"n": 1, "h": 5, "w": 6, "p": 2, "q": 3}
SPELLINGS = [  # (formula, sizes, inputs that are not drawn)
    # products of matrices and vectors
    ("f(x[n,k], y[k,m])[i,j] = sum[l](x[i,l]*y[l,j])", N, {}),
    ("f(x[n,k], y[m,k])[i,j] = sum[l](x[i,l]*y[j,l])", N, {}),
    ("f(x[k,n], y[k,m])[i,j] = sum[l](x[l,i]*y[l,j])", N, {}),
    ("f(x[k,n], y[m,k])[i,j] = sum[l](x[l,i]*y[j,l])", N, {}),
    ("f(x[k,n], y[m,k])[j,i] = sum[l](x[l,i]*y[j,l])", N, {}),
    ("f(x[n,k], y[k])[i] = sum[l](x[i,l]*y[l])", N, {}),
    ("f(x[k,n], y[k])[i] = sum[l](x[l,i]*y[l])", N, {}),
    ("f(x[k], y[k]) = sum[l](x[l]*y[l])", N, {}),
    ("f(x[n], y[m])[i,j] = x[i]*y[j]", N, {}),
    ("f(x[b,n,k], y[b,k,m])[p,i,j] = sum[l](x[p,i,l]*y[p,l,j])", {"b": 2, **N}, {}),
    ("f(x[b,k,n], y[b,m,k])[p,i,j] = sum[l](x[p,l,i]*y[p,j,l])", {"b": 2, **N}, {}),
    ("f(x[n,b,k], y[k,b,m])[p,i,j] = sum[l](x[i,p,l]*y[l,p,j])", {"b": 2, **N}, {}),
    ("f(x[b,n,k], y[k,m])[p,i,j] = sum[l](x[p,i,l]*y[l,j])", {"b": 2, **N}, {}),
    ("f(x[..., k], y[k,m])[..., j] = sum[l](x[..., l]*y[l,j])", {"...": (2, 2), **N}, {}),
    ("f(x[..., n,k], y[k,m])[..., i,j] = sum[l](x[..., i,l]*y[l,j])", {"...": (2,), **N}, {}),
    ("f(x[*b,n,k], y[*b,k,m])[*b,i,j] = sum[l](x[*b,i,l]*y[*b,l,j])", {"*b": (2, 1), **N}, {}),
    ("f(x[..., k], y[..., k])[...] = sum[l](x[..., l]*y[..., l])", {"...": (3,), **N}, {}),
    ("f(x[..., k], y[k])[...] = sum[l](x[..., l]*y[l])", {"...": (), **N}, {}),
    ("f(x[n,k], y[k,m], z)[i,j] = z*sum[l](x[i,l]*y[l,j])/k + 1", N, {}),
    ("f(x[b,k,m], y[n,k])[p,i,j] = sum[l](x[p,l,j]*y[i,l])", {"b": 2, **N}, {}),
    ("f(x[..., k,m], y[k,n])[..., i,j] = sum[l](x[..., l,j]*y[l,i])", {"...": (2,), **N}, {}),
    ("f(x[b,k,m,c], y[n,k])[p,i,j,r] = sum[l](x[p,l,j,r]*y[i,l])", {"b": 2, "c": 2, **N}, {}),
    # what einsum is for
    ("f(x[n,k], a[k,m], y[n,m])[i] = sum[l,j](x[i,l]*a[l,j]*y[i,j])", N, {}),
    ("f(x[n], a[n,m], y[m]) = sum[i,j](x[i]*a[i,j]*y[j])", N, {}),
    ("f(x[n,k], y[n,k])[i] = sum[l](x[i,l]*y[i,l])", N, {}),
    ("f(x[n,k], y[n,m])[l,j] = sum[i](x[i,l]*y[i,j])**2", N, {}),
    ("f(x[n,k,m], y[m,k])[i] = sum[l,j](x[i,l,j]*y[j,l])", N, {}),
    ("f(x[n,n]) = sum[i](x[i,i])", N, {}),
    ("f(x[n,n,n])[j] = sum[i](x[i,j,i])", N, {}),
    # what is summed first
    ("f(a[n,k], b[k,m], c[m], d[n])[i] = sum[j,l](-a[i,j]*b[j,l]*c[l]/d[i])", N, {}),
    ("f(x[n,k], y[m,k])[i] = sum[l,j](where(l <= j, x[i,l], 0)*y[j,l])", N, {}),
    ("f(x[n,m], y[k])[l] = sum[i,j](where(i <= j, x[i,j]*y[l], 0))", N, {}),
    ("f(x[n,m], y[k,m])[l] = mean[i,j](x[i,j]*y[l,j])", N, {}),
    # broadcasting, axes kept and moved
    ("f(x[n,m], y[n], z[m])[i,j] = (x[i,j] - y[i])*z[j]", N, {}),
    ("f(x[n,m], y[n], z[m])[j,i] = (x[i,j] - y[i])*z[j]", N, {}),
    ("f(x[n,m])[j,i] = x[i,j]", N, {}),
    ("f(x[n,m])[i,j] = x[i,j] - mean[l](x[i,l])", N, {}),
    ("f(x[n,m])[i,j] = x[i,j]*sum[l](x[l,j]**2)", N, {}),
    ("f(x[n,k,m])[j,i] = sum[l](x[i,l,j]**2)", N, {}),
    ("f(x[..., n], y[n])[..., i] = x[..., i]*y[i] - sum[j](x[..., j])", {"...": (2, 3), "n": 2}, {}),
    ("f(x[*b, n], y[*b])[*b] = sum[i](x[*b,i])*y[*b]", {"*b": (2, 2), "n": 3}, {}),
    ("f(x[..., n], y[n]) = sum[..., i](x[..., i]*y[i])", {"...": (2, 3), "n": 2}, {}),
    ("f(x[n,m])[i,j,l] = x[i,j]*x[i,l]", N, {}),
    ("f(x[n])[i,j] = x[i] - x[j]", N, {}),
    ("f(x[n,m], y[m,n])[i,j] = x[i,j]*y[j,i]", N, {}),
    # slices, literal components, stacks, concatenation
    ("f(x[n])[i:n-1] = x[i+1]*x[i]", {"n": 4}, {}),
    ("f(x[n])[i:n//2] = x[2*i] - x[2*i+1]**2", {"n": 4}, {}),
    ("f(x[n])[i] = x[n-1-i]**2", {"n": 4}, {}),
    ("f(x[n,m])[i] = x[i,0]*x[i,m-1]", N, {}),
    ("f(x[n,m])[j] = x[0,j] + x[1,j]**2", N, {}),
    ("f(p[..., 3])[...] = [p[...,0]*p[...,1], p[...,2]**2]", {"...": (2,)}, {}),
    ("f(p[3]) = p[0]*p[1] + sin(p[2])", {}, {}),
    ("f(p[2,2]) = p[0,0]*p[1,1] - p[0,1]*p[1,0]", {}, {}),
    ("f(x, y): out[0] = x*y; out[1] = x/y; out[2] = x", {"...": ()}, {}),
    ("f(x[n], y[m]): out[i:n] = x[i]**2; out[n+j] = sin(y[j])", N, {}),
    ("f(x[n,m], y[k,m]): out[i:n,j] = x[i,j]**2; out[n+l,j] = y[l,j]", N, {}),
    ("f(x[n,m]) -> a, b: a[i] = sum[j](x[i,j]); b[j] = sum[i](x[i,j]**2)", N, {}),
    ("f(x[n,m], y[n,k]): out[i,j:m] = x[i,j]; out[i,m+l] = y[i,l]**2", N, {}),
    ("f(x[..., n], y[..., m]): out[..., i:n] = x[..., i]; out[..., n+j] = y[..., j]", {"...": (2, 1), **N}, {}),
    ("f(x[n], y[n]): out[i+1] = x[i]; out[i:n+2] += y[i // 2]", {"n": 3}, {}),
    ("f(x[n,m])[i:n-2,j:m-2] = x[i,j+1] + x[i+2,j+1] - 4*x[i+1,j+1]", {"n": 4, "m": 5}, {}),
    ("f(x[n,m])[i:n,j:m] = x[n-1-i,m-1-j]**2", N, {}),
    ("f(x[n])[i:n-1] = x[n-2-i]*x[i]", {"n": 4}, {}),
    ("f(x[n])[i:n//3] = x[3*i+2]*x[3*i]", {"n": 8}, {}),
    ("f(x[n]; s=3)[i:(n-1)//s+1] = x[s*i]**2", {"n": 8}, {}),
    ("f(x[n]; k=2)[i:n-k] = x[i+k] - x[i]", {"n": 5}, {}),
    ("f(x[n], y[k])[i:n-k] = x[i+k]*y[0]", {"n": 5, "k": 2}, {}),
    ("f(x[..., n])[..., i:n-1] = x[..., i+1] - x[..., i]", {"...": (2, 2), "n": 3}, {}),
    ("f(x[n]) -> a, b: a[i:n-1] = x[i+1] - x[i]; b[i:n] = x[n-1-i]**2", {"n": 4}, {}),
    # an axis that is turned
    ("f(x[n,m])[i:n,j:m] = x[(i+1) % n,j]*x[i,(j-2) % m]", N, {}),
    ("f(x[..., n]; k=2)[..., i:n] = x[..., (i-k) % n]**2", {"...": (2,), "n": 5}, {}),
    # windows
    ("f(x[n,c,l], w[o,c,k]; s=1)[b,f,i] = sum[d,r](x[b,d,s*i+r]*w[f,d,r])", CONV, {}),
    ("f(x[n,c,l], w[o,c,k]; s=2)[b,f,i] = sum[d,r](x[b,d,s*i+r]*w[f,d,r])", CONV, {}),
    ("f(x[n,c,l], w[o,c,k]; d=2)[b,f,i] = sum[e,r](x[b,e,i+d*r]*w[f,e,r])", CONV, {}),
    ("f(x[n,h,w], k[p,q]; s=2)[b,i,j] = sum[r,e](x[b,s*i+r,s*j+e]*k[r,e])", IMAGE, {}),
    ("f(x[..., n], w[k])[..., i] = sum[r](x[..., i+r]*w[r])", {"...": (2, 2), "n": 5, "k": 3}, {}),
    ("f(x[n], w[k])[i] = sum[r](sin(x[i+r])*w[r])", {"n": 5, "k": 3}, {}),
    ("f(x[n], w[k])[i:n-k] = sum[r](x[i+r]*w[r])", {"n": 5, "k": 3}, {}),
    ("f(x[n], w[k])[i:n-k+1] = sum[r](x[i+k-1-r]*w[r])", {"n": 5, "k": 3}, {}),
    ("f(x[n,h,w])[b,i,j] = max[r:2,e:2](x[b,2*i+r,2*j+e])", IMAGE, {}),
    ("f(x[n,h,w]; k=3, s=1)[b,i,j] = max[r:k,e:k](x[b,s*i+r,s*j+e])", IMAGE, {}),
    ("f(x[n,h,w])[b,i,j] = max[r:2,e:2](x[b,i+r,j+e])", {}, {"x": np.ones((1, 3, 4))}),
    ("f(x[n,h,w]; k=2, s=2)[b,i,j] = sum[r:k,e:k](x[b,s*i+r,s*j+e])/(k*k)", IMAGE, {}),
    ("f(x[n,h,w])[b,i,j] = min[r:2,e:3](x[b,2*i+r,j+e])", IMAGE, {}),
    # windows that reach over the border
    (
        "f(x[n,c,l], w[o,c,k]; s=2, p=1)[b,f,i:(l+2*p-k)//s+1] = "
        "sum[d,r](where((s*i+r-p >= 0) & (s*i+r-p < l), x[b,d,s*i+r-p], 0)*w[f,d,r])",
        CONV,
        {},
    ),
    ("f(x[n], w[k])[i:n] = sum[r](where(i - r >= 0, x[i-r]*w[r], 0))", {"n": 4, "k": 3}, {}),
    ("f(x[n])[i:(n-1)//2+1] = max[r:3](where((2*i+r >= 1) & (2*i+r <= n), x[2*i+r-1], -oo))", {"n": 6}, {}),
    ("f(x[n])[i:(n-1)//2+1] = min[r:3](where((2*i+r >= 1) & (2*i+r <= n), x[2*i+r-1], oo))", {"n": 6}, {}),
    ("f(x[n])[i:n+5] = max[r:2](where((i+r >= 3) & (i+r < n+3), x[i+r-3], -oo))", {"n": 4}, {}),  # windows of nothing
    ("f(x[n])[i:n+2] = where((i > 0) & (i <= n), exp(x[i-1]), 2)", {"n": 3}, {}),
    ("f(x[n])[i:n] = where(i > 0, x[i-1], 0) + where(i < n-1, x[i+1], 0) - 2*x[i]", {"n": 4}, {}),
    ("f(x[n])[i:n] = where((i > 0) & (x[i] > 0), x[i-1]*x[i], 0)", {"n": 5}, {}),
    ("f(x[n,m])[i:n+1,j:m+1] = where((i > 0) & (j > 0), x[i-1,j-1], 0)", N, {}),
    # written through windows, side by side and overlapping
    ("f(x[n,c,l], w[c,o,k]; s=2) -> y: y[b,f,s*i+r] += sum[d](x[b,d,i]*w[d,f,r])", CONV, {}),
    ("f(x[n], w[k]) -> y: y[i+r] += x[i]*w[r]", {"n": 4, "k": 3}, {}),
    ("f(x[n,d]; k=2)[a:k,i,e:d//k] = x[i,(a e)]**2", {"n": 2, "d": 5}, {}),
    ("f(x[n,a,b])[i,(j k)] = x[i,j,k]**2", {"n": 2, "a": 2, "b": 3}, {}),
    ("f(x[n,c,p,q,h,w])[b,d,(i r),(j s)] = x[b,d,r,s,i,j]", {"n": 1, "c": 2, "p": 2, "q": 3, "h": 2, "w": 2}, {}),
    # diagonals and triangles
    ("f(x[b,n,n,k])[a,j,i] = x[a,i,i,j]**2", {"b": 2, **N}, {}),
    ("f(x[..., n,n])[...] = sum[i](x[..., i,i])", {"...": (2,), "n": 3}, {}),
    ("f(x[n,m])[i,j] = where(i >= j, x[i,j], 0) + where(i + 1 < j, 2*x[i,j], 0)", {"n": 3, "m": 4}, {}),
    ("f(x[b,n,n])[a,i,j] = where(j - i <= 1, sin(x[a,i,j]), 0)", {"b": 2, "n": 3}, {}),
    ("f(x[n,n])[j,i] = where(i >= j, x[i,j], 0)", {"n": 3}, {}),
    # gathers and scatters, with indices that repeat
    ("f(x[..., n], t[k]: int) -> o: o[..., i:k] = x[..., t[i]]**2", {"...": (2, 2), "n": 3, "k": 2}, {"t": [2, 2]}),
    ("f(x[n,d,e], t[m]: int)[i,j,l] = x[j,t[i],l]", {"n": 2, "d": 3, "e": 2}, {"t": [2, 0, 2]}),
    ("f(x[n,c], t[n,k]: int)[i,j] = x[i,t[i,j]]**2", {"n": 2, "c": 3}, {"t": [[2, 2], [0, 1]]}),
    ("f(x[n], t[m]: int)[i] = x[t[i]]**2", {}, {"x": [1.5, -2.0, 0.5], "t": [2, 0, 2, 2]}),
    ("f(x[n,k], t[m]: int)[i,j] = x[t[i],j]*x[t[i],0]", {"k": 2}, {"x": [[1.5, 1.0], [2.0, -3.0]], "t": [1, 0, 1]}),
    ("f(x[n,k], t[n]: int)[i] = x[i,t[i]]**2", {"n": 3, "k": 2}, {"t": [1, 0, 1]}),
    ("f(x[n,k], s[m]: int, t[m]: int)[i] = x[s[i],t[i]]", {"n": 3, "k": 2}, {"s": [2, 2, 0], "t": [1, 1, 0]}),
    (
        "f(x[m,d], t[m]: int, y[n,d]): out[i,j] = y[i,j]; out[t[k],j] += x[k,j]**2",
        {"m": 3, "n": 3, "d": 2},
        {"t": [2, 0, 2]},
    ),
    ("f(x[..., c], t[...]: int)[...] = x[..., t[...]]", {"...": (3,), "c": 2}, {"t": [1, 1, 0]}),
    # reductions
    ("f(x[..., n])[...] = max[i](x[..., i])", {"...": (2, 3), "n": 3}, {}),
    ("f(x[..., n])[...] = prod[i](x[..., i])", {"...": (2,), "n": 3}, {}),
    ("f(x[..., n])[...] = logsumexp[i](x[..., i])", {"...": (2,), "n": 3}, {}),
    ("f(x[n,m])[j] = min[i](x[i,j])", N, {}),
    ("f(x[n,m]) = prod[i,j](x[i,j])", N, {}),
    ("f(x[n,m])[i] = prod[j](x[i,j])", {}, {"x": [[1.5, 0.0, 2.0], [0.0, 3.0, 0.0]]}),
    ("f(x[n,m])[i] = max[j](x[i,j])", {}, {"x": [[1.5, 1.5, 0.5], [2.0, 2.0, 2.0]]}),
    ("f(x[n,m])[i] = x[i,argmax[j](x[i,j])]**2", N, {}),
    ("f(x[n,m]) = max[i,j](x[i,j]**2)", N, {}),
    ("f(x[n,m])[i] = max[j](x[i,j]) - min[j](x[i,j])", N, {}),
    ("f(x[n,m])[i,j] = exp(x[i,j])/sum[l](exp(x[i,l]))", N, {}),
    # scans: what is computed from all before it, by one operation
    ("f(x[n]) -> h: h[t] = where(t > 0, h[t-1], 0) + x[t]", {"n": 3}, {}),
    ("f(x[n,m]) -> h: h[i,t] = where(t > 0, maximum(h[i,t-1], x[i,t]), x[i,t])", {"n": 2, "m": 3}, {}),
    ("f(x[n], s) -> h: h[n] = s; h[t] = h[t+1] - sin(x[t])", {"n": 3}, {}),
    ("f(x[..., n], s[...]) -> h: h[..., 0] = s[...]; h[..., t+1] = h[..., t]*x[..., t]", {"...": (2,), "n": 3}, {}),
    ("f(x[n,m]) -> h: h[t,i] = where(t > 0, logaddexp(x[t,i], h[t-1,i]), x[t,i])", N, {}),
    ("f(x[n], a) -> s: h[0] = 1; h[t+1] = a*x[t] + h[t] + x[t]; s = h[n]", {"n": 3}, {}),
    ("f(x[n], s[n]) -> h: h[t] = where(t > 0, h[t-1] + s[t], 0) + x[t]", {"n": 3}, {}),
    ("f(x[n,m]) -> h: h[0,i:m+1] = 0; h[t+1,0] = x[t,0]; h[t+1,i+1] = h[t,i+1] + x[t,i]", {"n": 2, "m": 2}, {}),
    ("f(x[n,m]) -> h: h[t,i] = where(t > 0, where(i > 0, h[t-1,i-1], 0), 0) + x[t,i]", {"n": 2, "m": 3}, {}),
    ("f(x[n]) -> h: h[t] = where((t == 0) | (t == 2), x[t], h[t-1]*sin(x[t]))", {"n": 4}, {}),
    # indices and sizes as values
    ("f(x[n])[i] = x[i]*i/n", {"n": 4}, {}),
    ("f(x[n,m])[i,j] = x[i,j]*(i - j) + i // 2 + (j % 2)*x[i,j]", N, {}),
    ("f(x[n]) = sum[i](x[i]**2*(i + 1))/n", {"n": 3}, {}),
    ("f(x; n=3) = sum[i:4](x**i*n)", {"...": ()}, {}),
    # where, and what stands in it
    ("f(x[n]) = sum[i](where(x[i] > 0, log(x[i]), -x[i]**2))", {"n": 4}, {}),
    ("f(x[n])[i] = where(x[i] == 0, 1, sin(x[i])/x[i])", {}, {"x": [0.0, 1.5, -2.0]}),
    ("f(x[n,n])[i,j] = where(j <= i, x[i,j]**2, 0)", {"n": 3}, {}),
    ("f(x[n,n])[i] = sum[j](where(j <= i, exp(x[i,j]), 0))", {"n": 3}, {}),
    ("f(x[n,n])[i] = max[j](where(j <= i, x[i,j], -oo))", {"n": 3}, {}),
    ("f(x[n], mask[n]: bool)[i] = where(mask[i], x[i]**2, 3*x[i])", {"n": 3}, {"mask": [True, False, True]}),
    ("f(x[n], c[n]: int)[i] = where(c[i] > 1, x[i]*c[i], -x[i])", {"n": 3}, {"c": [0, 2, 3]}),
    ("f(x[n])[i] = where(i > 0, x[i-1]*x[i], x[i])", {"n": 4}, {}),
    # optional inputs in sums and products
    *(
        ("f(x[n,d], g[d]?, b[d]?)[i,j] = x[i,j]**2*g[j] + b[j]", {"n": 2, "d": 3}, dict.fromkeys(absent))
        for absent in ("", "g", "b", "gb")
    ),
    ("f(x[n], y[n]?) = sum[i](x[i]*y[i])", {"n": 3}, {"y": None}),
    # options, constants, functions of SciPy
    ("f(x[n]; a=0.5, k=2)[i] = a*x[i]**k + exp(-a*x[i])", {"n": 3}, {}),
    ("f(x) = erf(x) + erfc(2*x) + 2*pi*x", {"...": (3,)}, {}),
    ("f(x) = 3", {"...": (2,)}, {}),
    (
        "f(x, y) = log2(1+x**2) + log10(2+y**2) + cbrt(x) + atan(y) + asinh(x) + expm1(y) + log1p(x**2)",
        {"...": (3,)},
        {},
    ),
    ("f(x, y) = floor(x)*y + ceil(y)*x + sign(x)*y", {"...": (3,)}, {}),
]


def ids(rows):
    return [
        pytest.param(text, sizes, given, id=text + "".join(f", no {n}" for n, v in given.items() if v is None))
        for text, sizes, given in rows
    ]


TABLE = [*ids(SPELLINGS), *ROWS]
table = pytest.mark.parametrize(("declaration", "sizes", "given"), TABLE)


class Point:
    """A function at a point: its inputs, a cotangent for each output, and what the interpreter says."""

    def __init__(self, declaration, sizes, given):
        self.function = function = as_function(declaration)
        rng = rng_of(str(declaration))
        exact = inputs_of(function, sizes, given, rng)
        kinds = {"real": float, "int": int, "bool": bool}
        self.inputs = [
            None if exact[n] is None else np.asarray(exact[n]).astype(kinds[function.table[n].dtype])
            for n in function.inputs
        ]
        with mp.workdps(40):
            seeds = seeds_of(function, exact, rng)
            sizes = sizes_of(function, exact)
            derivative = differentiate(function)
            named = {name: seeds[output] for output, name in derivative.seeds}
            values = interpret(function, exact)
            self.shapes = {out: shape_of(function, out, sizes) for out in function.outputs}
            self.out = {out: np.array(values[out], dtype=float).reshape(self.shapes[out]) for out in function.outputs}
            pulled = by_equations(derivative, exact, named)
            self.gradients = {n: np.array(pulled[n], dtype=float).reshape(np.shape(exact[n])) for n in pulled}
        self.seeds = tuple(np.asarray(seeds[out], dtype=float) for out in function.outputs)

    def run(self, inputs=None, seeds=None, dtype=None):
        """Outputs and gradients of the printed code."""
        code = loaded(self.function, "numpy")
        inputs = self.inputs if inputs is None else inputs
        seeds = self.seeds if seeds is None else seeds
        if dtype is not None:
            inputs = [x.astype(dtype) if x is not None and x.dtype.kind == "f" else x for x in inputs]
            seeds = tuple(s.astype(dtype) for s in seeds)
        out, saved = code.forward(*inputs)
        found = code.backward(saved, seeds if len(seeds) > 1 else seeds[0])
        return (out if isinstance(out, tuple) else (out,)), found

    def compare(self, out, found, tolerance=1e-12):
        for name, value in zip(self.function.outputs, out, strict=True):
            assert np.shape(value) == self.shapes[name], f"{name} has shape {np.shape(value)}"
            assert_allclose(value, self.out[name], rtol=tolerance, atol=tolerance)
        for name, gradient, given in zip(self.function.inputs, found, self.inputs, strict=True):
            if name not in self.gradients:
                assert gradient is None
                continue
            assert np.shape(gradient) == given.shape, f"grad_{name} has shape {np.shape(gradient)}"
            assert_allclose(gradient, self.gradients[name], rtol=tolerance, atol=tolerance)


@table
@pytest.mark.in_turn
def test_a_spelling_computes_what_the_interpreter_computes(declaration, sizes, given):
    point = Point(declaration, sizes, given)
    point.compare(*point.run())


@table
def test_float32_stays_float32(declaration, sizes, given):
    point = Point(declaration, sizes, given)
    out, found = point.run(dtype=np.float32)
    for value in (*out, *(g for g in found if g is not None)):
        assert np.asarray(value).dtype == np.float32
    point.compare(out, found, 2e-4)


def strided(array):
    """The same numbers, every other element of a larger array, the axes in the other order in memory."""
    if array is None or array.ndim == 0:
        return array
    wide = np.zeros([2 * s for s in reversed(array.shape)], dtype=array.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in array.shape)].transpose()
    view[...] = array
    return view


@table
def test_arrays_may_have_any_strides_and_are_not_written(declaration, sizes, given):
    point = Point(declaration, sizes, given)
    inputs = [strided(x) for x in point.inputs]
    seeds = tuple(strided(s) for s in point.seeds)
    arrays = [a for a in (*inputs, *seeds) if a is not None]
    before = [a.tobytes() for a in arrays]
    for a in arrays:
        a.flags.writeable = False
    point.compare(*point.run(inputs, seeds))
    assert [a.tobytes() for a in arrays] == before


@table
def test_gradients_share_no_memory_and_backward_can_be_called_again(declaration, sizes, given):
    point = Point(declaration, sizes, given)
    code = loaded(point.function, "numpy")
    seeds = point.seeds if len(point.seeds) > 1 else point.seeds[0]
    inputs = [None if x is None else x.copy() for x in point.inputs]
    _, saved = code.forward(*inputs)
    first = code.backward(saved, seeds)
    arrays = [g for g in first if isinstance(g, np.ndarray)]
    for k, g in enumerate(arrays):
        assert not any(np.shares_memory(g, other) for other in arrays[k + 1 :])
        assert not any(np.shares_memory(g, x) for x in inputs if x is not None and x.ndim)
    kept = [None if g is None else np.array(g) for g in first]
    for one, other in zip(kept, code.backward(saved, seeds), strict=True):
        assert (one is None and other is None) or np.array_equal(one, other)


@pytest.mark.parametrize(
    "text", ["f(x[n,m], y[m])[i,j] = x[i,j]*y[j] + x[i,j]", "f(x[n,m], y[m])[i] = sum[j](x[i,j]*y[j])"]
)
def test_inputs_and_grad_output_of_stride_0(text):
    function = sg.parse(text)
    code = loaded(text, "numpy")
    x, y = np.broadcast_to(np.float64(1.5), (2, 3)), np.broadcast_to(np.float64(-2.0), (3,))
    out, saved = code.forward(x, y)
    grad_output = np.broadcast_to(np.float64(0.5), out.shape)
    found = code.backward(saved, grad_output)
    copies = code.backward(code.forward(x.copy(), y.copy())[1], grad_output.copy())
    for one, other in zip(found, copies, strict=True):
        assert_allclose(one, other, rtol=1e-15)
    assert len(found) == len(function.inputs)


SIZES = [
    ("f(x[n,k], y[k,m])[i,j] = sum[l](x[i,l]*y[l,j])", ["n", "k", "m"]),
    ("f(x[n,k], w[m,k], b[m]?)[i,j] = sum[l](x[i,l]*w[j,l]) + b[j]", ["n", "k", "m"]),
    ("f(x[n,m], y[n], z[m])[i,j] = (x[i,j] - y[i])*z[j]", ["n", "m"]),
    ("f(x[n,m])[i] = sum[j](x[i,j]**2)", ["n", "m"]),
    ("f(x[n,m])[i] = prod[j](x[i,j])", ["n", "m"]),
    ("f(x[n,m])[i] = max[j](x[i,j])", ["n"]),
    ("f(x[n,m])[i,j] = exp(x[i,j])/sum[l](exp(x[i,l]))", ["n"]),
    ("f(x[n], t[m]: int)[i] = x[t[i]]**2", ["m"]),
    ("f(x[n], y[m]): out[i:n] = x[i]**2; out[n+j] = sin(y[j])", ["n", "m"]),
    ("f(x[n])[i] = x[i]*i/n", ["n"]),
    ("f(x[n]): s = sum[i](x[i]); out[i] = x[i]*s", ["n"]),
]


SHIFTED = [  # read or written beside their own place: at every size up to where each shift has room
    "f(x[n])[i:n-1] = x[i+1] - x[i]",
    "f(x[n])[i:n-3] = x[i+3]*x[i+1]",
    "f(x[n])[i:n] = x[n-1-i]**2",
    "f(x[n])[i:(n+1)//2] = x[2*i]**2",
    "f(x[n])[i] = where(i > 0, x[i-1], 0)",
    "f(x[n])[i:n] = where(i > 1, x[i-2]**2, 0)",
    "f(x[n])[i:n] = where(i < n-2, x[i+2]*x[i], x[i])",
    "f(x[n])[i:n] = x[(i+2) % n]",
    "f(x[n], w[m])[i] = sum[r](x[i+r]*w[r])",
    "f(x[n], w[m]; s=2)[i] = sum[r](x[s*i+r]*w[r])",
    "f(x[n], w[m]; d=2)[i] = sum[r](x[i+d*r]*w[r])",
    "f(x[n], w[m])[i:n] = sum[r](where(i >= r, x[i-r]*w[r], 0))",
    "f(x[n], w[m]; s=2, p=1)[i:(n+2*p-m)//s+1] = sum[r](where((s*i+r-p >= 0) & (s*i+r-p < n), x[s*i+r-p]*w[r], 0))",
    "f(x[n], w[m]) -> y: y[i+r] += x[i]*w[r]",
    "f(x[n]; s=2)[i] = max[r:3](x[s*i+r])",
    "f(x[n])[i] = max[r:2](x[2*i+r])",
    "f(x[n,m])[(i j)] = x[i,j]",
    "f(x[n,n]) = sum[i](x[i,i]**2)",
    "f(x[n,m])[i,j] = where(i > j, x[i,j], 0)",
    "f(x[n], y[m]): out[i:n] = x[i]; out[n+j] = y[j]",
]


@pytest.mark.parametrize("text", SHIFTED)
def test_what_is_shifted_at_small_sizes(text):
    for n in range(6):
        for m in range(4) if "m]" in text else (0,):
            try:
                point = Point(text, {"n": n, "m": m}, {})
            except (ValueError, IndexError, ZeroDivisionError):
                continue  # the formula has no value at these sizes
            for dtype in (np.float64, np.float32):
                out, found = point.run(dtype=dtype)
                assert all(np.asarray(v).dtype == dtype for v in (*out, *found))
                point.compare(out, found, 1e-9 if dtype is np.float64 else 2e-4)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("f(x[n], w[k]; s=2)[i] = sum[r](x[s*i+r]*w[r])", {"s": 0}, "f: needs s >= 1, here s = 0"),
        ("f(x[n]; k=1)[i:n-k] = x[i+k]", {"k": -1}, "f: needs k >= 0, here k = -1"),
        ("f(x[n]; p=2.0)[i] = x[i]**(1/p)", {"p": 0.0}, "f: needs p != 0, here p = 0.0"),  # not a quotient of arrays
        ("f(x[n]; p=2, q=3)[i] = x[i]*sin(q/(p*q))", {"q": 0}, r"f: needs p \* q != 0, here p = 2, q = 0"),
    ],
)
def test_an_option_that_a_slice_or_a_quotient_does_not_take_is_refused(text, options, message):
    code = loaded(text, "numpy")
    inputs = [np.ones(4) for _ in sg.parse(text).inputs]
    with pytest.raises(ValueError, match=message):
        code.forward(*inputs, **options)


@pytest.mark.parametrize("extent", [0, 1])
@pytest.mark.parametrize(("text", "name"), [(text, name) for text, names in SIZES for name in names])
def test_sizes_0_and_1(text, name, extent):
    sizes = {"n": 2, "k": 3, "m": 2, name: extent}
    given = {"t": np.zeros(sizes["m"], dtype=int)} if "t[" in text else {}
    point = Point(text, sizes, given)
    point.compare(*point.run())


@pytest.mark.parametrize("sizes", [(), (1,), (0,), (2, 0), (1, 3, 1)], ids=str)
@pytest.mark.parametrize(
    "text",
    [
        "f(x, y) = x**2*y, sin(x)",
        "f(x[..., n], w[n])[...] = sum[i](x[..., i]*w[i])",
        "f(x[..., n])[..., i] = exp(x[..., i])/sum[j](exp(x[..., j]))",
        "f(p[..., 2])[...] = [p[...,0]**2, p[...,0]*p[...,1]]",
    ],
)
def test_packs_of_any_number_of_axes(text, sizes):
    point = Point(text, {"...": sizes, "n": 3}, {})
    point.compare(*point.run())


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("f(x[n,k], y[n,k])[i,j] = x[i,j]*y[i,j]", [(2, 3), (2, 1)]),
        ("f(x[n,k], y[k])[i,j] = x[i,j]*y[j]", [(2, 3), (1,)]),
        ("f(x, y) = x*y", [(3,), (1,)]),
        ("f(x, y) = x*y", [(3,), ()]),
    ],
)
def test_an_axis_of_size_1_is_not_broadcast(text, shapes):
    code = loaded(text, "numpy")
    with pytest.raises(ValueError, match=r"x has .* y has"):
        code.forward(*(np.ones(s) for s in shapes))


@pytest.mark.parametrize("options", [{}, {"a": 2.0}, {"a": -1.0, "k": 3}, {"k": 0}], ids=str)
def test_options_are_passed_by_name(options):
    text = "f(x[n]; a=0.5, k=2)[i] = a*x[i]**k + exp(-a*x[i])"
    a, k = options.get("a", 0.5), options.get("k", 2)
    x, g = np.array([0.5, 1.5, -2.0]), np.array([1.0, -2.0, 3.0])
    code = loaded(text, "numpy")
    out, saved = code.forward(x, **options)
    assert_allclose(out, a * x**k + np.exp(-a * x), rtol=1e-14)
    assert_allclose(code.backward(saved, g)[0], g * (a * k * x ** (k - 1) - a * np.exp(-a * x)), rtol=1e-14)


def test_sizes_are_printed_as_they_are_written_whatever_was_built_before():
    built_first, built_last = ref("built_first"), ref("built_last")
    assert show(tidy(built_last * built_first - 1 + built_last)) == "built_last * built_first + built_last - 1"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("h[t] = where(t > 0, h[t-1], 0) + x[t]", ["np.cumsum(x)", "np.cumsum(grad_output[::-1])[::-1]"]),
        ("h[t] = where(t < n-1, h[t+1], 0) + x[t]", ["np.cumsum(x[::-1])[::-1]", "np.cumsum(grad_output)"]),
        ("h[0] = 0; h[t+1] = x[t]**2 + h[t]", ["np.cumsum(np.concatenate([np.zeros((1,), dtype=x.dtype), x**2]))"]),
        ("h[0] = 1; h[t+1] = h[t]*x[t]", ["np.pad(x, (1, 0), constant_values=1)", "np.cumprod("]),
        ("h[t] = where(t == 0, x[t], minimum(h[t-1], x[t]))", ["np.minimum.accumulate(x)"]),
        ("h[0] = 1; h[t+1] = h[t] + x[t]; s = h[n]", ["np.broadcast_to(grad_output, (n + 1,))"]),
        ("h[0] = 1; h[t+1] = 2*h[t] + x[t]", ["for t in range(n):", "h[t + 1] = 2 * h[t] + x[t]"]),
    ],
)
def test_a_scan_is_one_call(text, lines):
    result = "s" if "; s" in text else "h"
    (printed,) = sg.generate(sg.parse(f"f(x[n]) -> {result}: {text}"), check=False).values()
    assert [line for line in lines if line not in printed] == []


def test_an_extreme_of_windows_goes_one_axis_after_the_other():
    text = "f(x[n,m,l]; k=2, d=1)[i,j,h] = min[r:k,s:k,t:3](x[2*i+d*r,j+s,h+t])"
    (printed,) = sg.generate(sg.parse(text), check=False).values()
    assert printed.split("def backward")[0].count(".min(axis=3)") == 3
    assert sg.check(sg.parse(text)).ok


def test_neighbours_in_time_steps_are_slices_of_a_row():
    text = "f(x[n], s[k]) -> u: u[0,i] = x[i]; u[t+1,i] = s[t]*u[t,i]**2 + where(i > 0, u[t,i-1], 0)"
    (printed,) = sg.generate(sg.parse(text), check=False).values()
    lines = ["np.pad(u[t], (1, 0))[:-1]", "grad_u_total[t, :-1] += grad_u_total[t + 1, 1:]"]
    assert [line for line in lines if line not in printed] == []


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("f[t] = where(t > 0, x[t-1]*y[t], y[t])", "padded_x = np.pad(x, (1, 0), constant_values=1)"),
        ("f = sum[t](where(t > 0, x[t-1], 0)*y[t])", "f = (x[:-1] * y[1:]).sum()"),
        ("f = sum[t](where(2*t >= 3, x[t-2]*y[t], 0))", "f = (x[:-2] * y[2:]).sum()"),
        ("f = sum[t,s](where(t >= s, z[t,s], 0))", "f = np.tril(z).sum()"),
        ("f[t,s] = where(s > t + 1, z[t,s], 0)", "f = np.triu(z, 2)"),
    ],
)
def test_a_condition_on_places_is_a_slice_a_border_or_a_triangle(body, line):
    (printed,) = sg.generate(sg.parse(f"g(x[n], y[n], z[n,n]) -> f: {body}"), to="numpy", check=False).values()
    assert line in printed


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("f[i] = sum[j](where(j < i, w[i,j]*x[j], 0))", "f = np.tril(w, -1) @ x"),
        ("f[i,k] = sum[j](where(i <= j, z[k,j]*w[i,j], 0))", "f = np.triu(w) @ z.T"),
        ("f[i,j] = sum[k](where(j <= i, w[i,k]*z[j,k], 0))", "f = np.tril(w @ z.T)"),
        ("f[i] = sum[j](where(w[i,j] > 1, w[i,j]*x[j], 0))", "f = np.where(w > 1, w, 0) @ x"),
        ("f[i] = sum[j](where(j < i, w[i,j]*exp(x[j] - x[i]), 0))", "np.exp(np.tril(x - x[:, None], -1)), -1)"),
        # 0 times the exponential of what does not count is no number where that leaves the range
        ("f[i] = sum[j](where(j < i, w[i,j]*exp(x[j]), 0))", "w * np.exp(np.where("),
        ("h[j] = 1 + exp(x[j]); f[i] = sum[j](where(j < i, w[i,j]*h[j], 0))", "np.tril(w * h, -1).sum(axis=1)"),
        ("f[i] = sum[j](where(j < i, w[i,j]*log(x[j]), 0))", "w * np.log(np.where("),
    ],
)
def test_a_condition_in_a_sum_of_products_is_one_on_a_factor(body, line):
    formula = sg.parse(f"g(x[n], w[n,n], z[n,n]) -> f: {body}")
    (printed,) = sg.generate(formula, to="numpy", check=False).values()
    assert line in printed
    assert sg.check(formula, to="numpy").ok


@pytest.mark.parametrize(
    ("text", "line"),
    [
        # both branches divide by y: where it is 0, there is no result to keep safe
        ("f(x, y) = where(x > 0, x/y, 2/y)", "out = np.where(x > 0, x / y, 2 / y)"),
        ("f(x, y) = 1/y + where(x > 0, x/y, 2)", "out = 1 / y + np.where(x > 0, x / y, 2)"),
        # the derivative of a quotient does not go through a condition
        ("f(x, y) = where(1/y > 5, x, x/y)", "out = np.where(1 / y > 5, x, x / np.where(1 / y > 5, 1, y))"),
        (
            "f(x, y) = where(x > 0, where(y > 1, x/y, 3), 2/y)",
            "np.where(y > 1, x / np.where(mask_x & (y > 1), y, 1), 3)",
        ),
    ],
    ids=lambda text: text.partition("=")[2].strip() if text.startswith("f(") else "",
)
def test_guards_stand_where_there_is_a_result_to_keep_safe(text, line):
    (printed,) = sg.generate(sg.parse(text), to="numpy", check=False).values()
    assert line in printed
