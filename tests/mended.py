"""Formulas that were printed wrong in one language or another; each is checked in all of them."""

from __future__ import annotations

MENDED = {
    "a sum that keeps an axis, repeated along it with the others turned": (
        "f(x[n,m,p], y[n,q])[j:m,k:q] = logsumexp[i:n](where(y[i,k] <= 0.3, 2, sum[h:p](x[i,j,h])))"
    ),
    "an array of a number that a framework's function gives":
        "f(w, b[p]) -> r: h[k:p] = max[i:p](softplus(w - w)); r[k:p] = h[k]*b[k]",
    "a gradient added to behind its first value, beside an optional input":
        "f(x[n], y[n], o?): d[i] = x[i] - y[i]; a[i] = x[i]*d[i]*o",
    "a sum over rows of means, read by elements": "f(x[n,m], z[n])[i] = z[i]*sum[k](mean[j](x[k,j]))",
    "equal gradients, of which one is of an optional input":
        "f(x[n], y[n], o[n]?)[i] = given(o, o[i], y[i])*x[i]**2*sin(2)",
    "a sum that the gradient of an optional input alone needs": (
        "f(r[2]?, x[n], y[n], M[n]: bool, s)[i:n] = atan2(y[i]*x[i], 2 + s**2) "
        "- given(r, r[0]*y[i], 0)*where(M[i], x[i], 1)*given(r, r[0]*y[i], 1)"
    ),
    "a minimum of what is computed from a result": (
        "f(y[n], B[n,n]) -> a, b: a[i] = exp(y[i]); b[i] = min[k:n](sin(B[i,k]*a[i]))"
    ),
    "a maximum of what is added up at places":
        "f(z[m], y[n], t[n]: int) -> b: a[j:m] = z[j]; a[t[i]] += y[i]; b = max[j:m](a[j])",
    "a maximum of 1 - tanh**2 of a choice":
        "f(x[n]) = max[i](1 - tanh(where(x[i] == 0, 1, x[i]))**2)",
    "a maximum of an exponential of a choice":
        "f(x[n], y[n]) = max[i](exp(-where(x[i] > 0, x[i], y[i])**2))",
    "a row that may not be there, beside places": "f(x[n,m], y[n])[i:n] = where(i > 1, x[2,i//2]**2*y[i], 2)",
    "a row that may not be there, between places": "f(x[n,m,p], y[k])[i:k] = where(i > 1, x[i//3,2,i%3]**2*y[i], 2)",
    "the last row beside places": "f(x[n,m])[i:n] = where(i < n - 2, x[n-1,i//2]**2, x[0,i])",
    "a border beside a pack": "f(x[...,n], w[...])[...,j:n] = where(j >= 1, x[...,j-1], w[...])",
    "an argmax of what is taken, taken": "f(x[n,m])[j:m] = x[argmax[k:n](x[k,j//2]), j//2]",
    "an argmax of rows that are taken": "f(x[n,m], y[n])[j:m] = y[argmax[k:n](x[k,m-1-j//2])]*x[0,j]",
    "a result of which a part is read": "t(z[n]): v[j:n] = where(z[j] > 0, z[j], 0.1*z[j]); out[i:n-1] = v[i]",
    "a sum over rows beside one over all": "f(x[n,m], s[n], t)[i:n,j:m] = x[i,j]*t/s[i]/t**2",
    "a sum over two axes of one size, of which one is divided by": "f(x[n,n]) = sum[i,j](x[i,j]**2/n)",
    "a product over two axes beside a pack": "f(x[...,n,m])[...] = prod[i,j](x[...,i,j])",
    "a product of what has no index": "f(x[n], a) = prod[i:n](a)*x[0]",
    "a power of a ratio that may be 0": "f(x, s, k) = x**k/s**k for x >= 0, s > 0",
    "Hill's function from 0 on": "f(v, n, k) = v**n/(k**n + v**n) for v >= 0, n > 0, k > 0",
    "Weibull's distribution from 0 on": "f(x, k, s) = 1 - exp(-(x/s)**k) for x >= 0, k > 0, s > 0",
    "a power of a power": "f(x, k) = x**(4**k)",
    "truth values that are subtracted from numbers": (
        "f(u[n], tau[n], b[n]: bool)[i] = abs(tau[i] - (u[i] < 0))*u[i] - b[i]"
    ),
    "the smaller of two, one of them between bounds, under a mask, in vectors": (
        "ppo(logp[n], old[n], adv[n], mask[n]: bool; eps=0.2): m = mean[i](adv[i]); "
        "s = sqrt(mean[i]((adv[i] - m)**2)) + 1e-8; z[i] = (adv[i] - m)/s; r[i] = exp(logp[i] - old[i]); "
        "a[i] = r[i]*z[i]; b[i] = clip(r[i], 1 - eps, 1 + eps)*z[i]; "
        "out = -sum[i](where(mask[i], minimum(a[i], b[i]), 0))/sum[i](where(mask[i], 1, 0))"
    ),
    "the number of all points, at each of them": "f(x[...])[...] = x[...]**2/size(...)",
    "a number that is beyond doubles once it is raised": "f(x, y) = (x/3)**3000/(y + 1)",
    "what moves far with what bfloat16 rounds": "f(x[n,d], b[m,d])[i,j] = sin(2*pi*sum[k](x[i,k]*b[j,k]))",
    "two inputs of one length": "f(x[n], y[m], w)[i:m] = where(i >= 1, x[i-1]*y[i], w)",
    "sizes and options alone": "f(x[d]; m=0): nn = d + m + 1; out = sum[i](x[i])*nn",
    "a number in xlogy": "f(x) = xlogy(x**2, 1.5)",
    "a number where a function of the file has a quotient": "f(x) = 2*log(x**2 + 1) + log_ratio(2, x**2 + 1)",
    "a number in clip": "f(x, y) = clip(0.5, x, y)",
    "windows with a border as long as their width tells": (
        "f(x[n], k[p])[i:n] = sum[r](where((i+r-1 >= 0) & (i+r-1 < n), x[i+r-1]*k[r], 0))"
    ),
    "a step that is negative": (
        "f(x[n], w[p]; s=-1)[i:n] = sum[r](where((s*i+r >= 0) & (s*i+r < n), x[s*i+r]*w[r], 0))"
    ),
    "an index that another limits": "f(x[n]) = sum[i](sum[j:i](x[i]*x[i-j]))",
    "the shorter of two": "f(x[n], y[m])[i:n] = where(i < m, y[i]**2, x[i])",
    "one behind the other": "f(x[n], y[m])[i:n+m] = where(i < n, x[i]**2, sin(y[i-n]))",
    "conditions on data beside those on places": (
        "f(x[n], t[m]: int, y[k])[i:m] = where((t[i] >= 0) & (i < k), x[t[i]]*y[i], 0)"
    ),
    "states that are computed from each other, by an explicit step": (
        "f(u[n], p, q, k): x[0] = p; v[0] = q; x[t+1] = x[t] + 0.1*v[t]; v[t+1] = v[t] + 0.1*(u[t] - k*sin(x[t])); "
        "out = x[n]**2 + v[n]"
    ),
    "an orbit, whose distance is divided by in each turn": (
        "f(p[2], q[2]; n=3, mu=1.0): x[0,i] = p[i]; v[0,i] = q[i]; r[t] = sqrt(sum[i](x[t,i]**2)); "
        "v[(t:n)+1,i] = v[t,i] - mu*x[t,i]/r[t]**3; x[t+1,i] = x[t,i] + v[t+1,i]/10; out[i] = x[n,i]"
    ),
    "a state of which nothing but its other part says how far it goes": (
        "f(u[n], a[2]): s[0,j] = a[j]; s[t+1,0] = s[t,0] + s[t,1]; s[t+1,1] = s[t,1] + u[t]*sin(s[t,0]); out = s[n,0]"
    ),
    "a recurrence of logarithms": (
        "h(a0[K], tr[K,K], x[T]): a[0,k] = a0[k]; "
        "a[t+1,k] = logsumexp[j](a[t,j] + tr[j,k] - logsumexp[q](tr[j,q])) + x[t]; out = sum[k](a[T,k])"
    ),
    "sizes that are equal and written in two ways": (
        "f(x[n,m], z[m], w): h[0] = w; h[i+1] = tanh(h[i]) + z[i] + max[k:n](x[k,m-1-i]); out = h[m]"
    ),
    "a value of sizes in two loops of one row": (
        "f(z[m], w; n=2): h[i:m] = sum[p:n](2); "
        "a[i:m] = maximum(maximum(h[i//2], z[i]), sum[k:n](h[i])); "
        "out[i:m] = where(z[i] > 0.5, i*w, where(i == m-1, w, z[i//2])) - a[i]"
    ),
    "one piece of a number and one of an array": "f(z[m], w) = where(~(w != 0), mean[p](z[p]), w + w)",
    "a tie between values that conditions choose": (
        "f(x[n], w): h = where(w != 0, hypot(w, x[0]), maximum(w, x[n-1])); "
        "out[i] = where((h != w) | (x[i] > 0), x[i] - h, logsumexp[p](x[p]))"
    ),
    "a product below a sum that ends where another index says": (
        "f(y[n], x[n])[i:n] = sum[p:i+1](prod[k:2](y[n-1-p] + k)*x[i])"
    ),
    "a value of which one piece is 0, compared and used": (
        "f(x[n,m]): h[i:m,j:n] = where(i + 1 < m, x[j,i+1], 0); out[i:m,j:n] = (h[i,j] - x[j,i])/sqrt(x[j,i]**2 + 1)"
    ),
    "turns that are told apart, one behind the other": (
        "f(y[n], w): h[i:n-1] = where(y[i+1] == 0, y[i], w); a[i:n] = where(i == 1, w, h[0])**2; "
        "out[i:n] = hypot(w, where(y[i] != 0, a[i], w))"
    ),
    "a causal softmax": (
        "f(s[n,m]): e[i,j] = exp(where(j <= i, s[i,j], -oo)); out[i,j] = e[i,j]/sum[k](e[i,k])"
    ),
    "a causal softmax by hand": (
        "f(s[n,n], v[n,d]): u[i,j] = where(j <= i, s[i,j], -oo); top[i] = max[j](u[i,j]); "
        "e[i,j] = exp(u[i,j] - top[i]); w[i,j] = e[i,j]/sum[k](e[i,k]); out[i,c] = sum[j](w[i,j]*v[j,c])"
    ),
    "a causal softmax behind a row without an entry": (
        "f(s[n,n], v[n]): e[i,j] = exp(where(j < i, s[i,j], -oo)); w[i,j] = e[i,j]/sum[k](e[i,k]); "
        "out[i] = where(i > 0, sum[j](w[i,j]*v[j]), v[i])"
    ),
    "a causal logsumexp": "f(s[n,m])[i] = logsumexp[j](where(j <= i, s[i,j], -oo))",
    "a logsumexp of rows without an entry": "f(s[n,m])[i] = logsumexp[j](where(j < i, s[i,j], -oo))",
    "a softmax under a condition on data": (
        "f(s[n,m], mask[n,m]): u[i,j] = where(mask[i,j] > 0, s[i,j], -oo); L[i] = logsumexp[j](u[i,j]); "
        "out[i,j] = exp(u[i,j] - L[i])"
    ),
    "a softmax with padded keys": (
        "f(s[n,m], pad[m]: bool, v[m]): e[i,j] = exp(where(pad[j], s[i,j], -oo)); t[i] = sum[j](e[i,j]); "
        "out[i] = sum[j](e[i,j]/t[i]*v[j])"
    ),
    "a log of a softmax": (
        "f(s[n,n], t[n]: int): u[i,j] = where(j <= i, s[i,j], -oo); "
        "out[i] = where(t[i] <= i, s[i,t[i]] - logsumexp[j](u[i,j]), 0)"
    ),
    "an infinite result": "f(x[n])[i] = where(x[i] > 0, x[i], -oo)",
    "a tie beside which the other piece goes to a limit": (
        "f(x[n,m], w): h = where(w >= 0, w, maximum(w, w)); out = where(w != 0, min[k:n-1](x[k,0]), atan2(h, w))"
    ),
    "a running product over a triangle that begins a row below": (
        "f(x[n,m]): out[i,j] = where(j > 0, out[i,j-1], 1)*where(j >= i - 1, x[i,j], 0)"
    ),
    "a scaled scatter with an optional factor": (
        "f(x[n], s[n], w[p], k[n]?; stride=2): out[stride*i+r] += x[i]*s[i]*w[r]*k[i]"
    ),
    "rows put together beside an axis that runs backwards": "f(x[a,b,3]): out[i*b+j,5-k] += x[i,j,k]",
    "a row of one value in front of others": "f(x[n,m], w): out[0,j:m] = w; out[i+1,j] = x[i,j]",
    "a largest of what its loop leaves as it is": (
        "f(v[n], q[n,n]): h[j:n,k:n] = 1 + max[i](q[k,i]); out[l+j] += (2*max[k](h[k,l]) - min[k](h[k,l]))*v[j]"
    ),
    "a minus before a condition that is a factor": (
        "f(a[m,k], w, u): h[i,j] = sum[l](a[i,l]*a[j,l])*w; "
        "out[i,j] = sum[l](exp(-abs(h[i,l]))*(u > 0)*sum[p](h[l,p]*h[j,p]))"
    ),
    "conditions added and subtracted": "f(x, u) = ((x > 0) + (u > 0))*x + ((x > 1) - (u > 1))*u + sin(-(u > x))*x",
    "a matrix times a condition": "f(x[n,m], u[m])[i] = x[i,0] - sum[j](x[i,j]*(u[j] > 0))",
    "operands whose axes are in a circle": "f(x[p,n,k], y[n,m,p])[a,b,c,d] = sin(x[c,a,d]*y[a,b,c])",
    "the place that mirrors the place of the largest": "f(x[n]): a = argmax[i](x[i]); out = x[n-1-a]*x[a]",
    "a row that is read where another row says": (
        "f(x[n,m], y[n,m]): o[j:m,i:n] = sin(x[i,j]); a[j] = argmax[i](o[j,i]); "
        "out[j:m] = where(o[j,a[j]] > 0.5, y[0,j], o[j,n-1-a[j]])"
    ),
    "exponentials of a logarithm over a sum below the line": "f(x, y) = x/expm1(log1p(y))",
    "a quotient by what is 0 everywhere": "f(x, y) = 2/(cosh(sign(y - y)*x*y) + x)",
    "a logsumexp of no terms, which are not read from an array": "f(x[n], w)[i:n] = logsumexp[l:n-1](l*w) + x[i]",
    "a mean that is of nothing where an axis has one element": "f(x[n,m])[i:m] = mean[j:n-1](x[j+1,i] - x[j,i])",
    "an infinite slope before a sum of nothing": "f(w[m], s) = cbrt(sum[i]((w[i]*s)**2))",
    "an infinite slope of what nobody reads": "f(w[m], v, s): h = cbrt(sum[i](w[i])*v); out = s + sum[i](w[i]*h)",
    "a logsumexp of no terms that a condition keeps from being read": (
        "f(x[n,m], z[m]): h = logsumexp[q:n-1](x[q,0])*x[0,0]; out[j:m] = where(j > 0, h, z[j])"
    ),
    "a number to the power of a size": "f(x[n], w)[i] = w*prod[k:n-1](-1.5)*x[i]",
    "what is no number before a sum of nothing": (
        "f(x[n,m], w[m], q[n,n]): h[i,j] = 1/(2 + cos(hypot(logsumexp[k](w[k]), q[i,j]))); "
        "out[i,k] = sum[j](h[i,j]*x[j,k]*w[k])"
    ),
    "a row that a condition keeps inside": (
        "f(b[p,n,m], s): h[i:m,j:n,k:p] = where(b[k,j,i] < s, b[k,j,i], 0); "
        "r[i:m,j:n,k:p] = where(i > 0, r[i-1,j,k], 0) + h[m-1-i,j,k]; out[i:m,j:n,k:p] = r[m-1-i,j,k]"
    ),
    "the deviation from a mean, times what it is made of": (
        "f(x[n,m], s): c[j] = sum[i](x[i,j]); mu = mean[j](c[j]*s); out = sum[j]((c[j]*s - mu)**2)"
    ),
    "a sum of squares of sums with one letter": (
        "f(x[n,m], s[n]): c[i] = sum[j](x[i,j]*s[i]); mu = mean[i](c[i]); out[i] = (c[i] - mu)**3*s[i]"
    ),
    "pieces that meet at one point of an equality": "f(z, w) = where(w != 0, z**2, w)",
    "pieces that meet at one point, as a limit": "f(z, w) = where(w != 0, z**2*sin(w)/w, w)",
    "an angle beside a negative zero": (
        "f(y[n], z[m], w): h[i:n] = atan2(y[i]*w, 0.5 + z[0]); out[i:m,j:n] = hypot(h[j], w)"
    ),
    "a sign of what overflows": "f(x, y) = sign(cos(sinh(x)*y))",
    "a neighbour without a slope": "f(x, y) = where(x != 0, cbrt(x)*y, x*y)",
    "a product of 0 by a sum in which a term leaves no trace": "f(x, y) = log(1 + exp(-x**2)**4)*exp(x**2)**4*y",
    "a sign of a sum in which a term leaves no trace": "f(x, y, z) = atan2(sign(log(1 + exp(z/x)**2)), y)",
    "a value in the memory of a value in that of a third": (
        "f(y[n], z[n], w): h[i:n] = sigmoid(w) - tanh(w*y[0]); g[i:n] = where(h[i//2] > 0.3, z[i], 2); "
        "out[i:n] = hypot(g[n-1-i], relu(h[i] - 0.1))"
    ),
    "roots that are equal, and 0": "f(x, y, z) = sqrt(x) - sqrt(y) + sqrt(x)*sqrt(x + z) - x",
    "a root less what it is a root of the square of": "f(x, y) = sqrt(x**4 + y**2) - abs(y)",
    "an element where an integer says, kept inside": "f(x[n], t: int) = x[clip(t, 0, n-1)]*x[(t % n + 2) % n]",
    "elements where integers say, kept inside": (
        "f(x[n,m], k[p]: int)[q:p] = x[clip(k[q], 0, n-1),clip(k[q], -1, m-2)+1]*x[k[q] % n,0]"
    ),
    "an element of what may be empty, on a condition": "f(x[n], t: int) = where(t >= 0 and t + 1 < n, x[t+1], 0)",
    "a quotient by a factor of an argument, added up": "f(x[n], w[m])[i] = sum[j](sin(w[j]*x[i])/w[j])",
    "a quotient that is 1 wherever it is one": "f(x, c) = sqrt(1 + exp(sin(c*(x + (2 + c)*(x**(-1)*x)))))",
    "a logsumexp of -oo alone in a branch": "f(v[n], s) = where(s > 0, s, logsumexp[i](v[i]))",
    "a smallest under a condition, of what may have no value": (
        "f(w[n], s, t) = where(t > s, min[i](logaddexp(sqrt(1 + w[i]**2), cosh(s/3))), s)"
    ),
    "the smallest of what is infinitely steep elsewhere": "f(w[n], s): h[i] = cbrt(w[i]) + s; out = min[i](h[i])",
    "the largest of lengths": "f(w[n,m]): h[i] = sqrt(sum[j](w[i,j]**2)); out = max[i](h[i])",
    "an infinite slope in a branch, of a value that conditions read": (
        "f(u[n], s): h = cbrt(mean[i](u[i])); out = where(where(h + s > -1.5, s, 2*s) < 0, h + s, 0)"
    ),
    "a piece under an equality, one branch of which is its neighbour": (
        "f(x, z, w) = where(z != 0, x*z, where(w <= 0, z**0.5, 0.25))"
    ),
    "an infinite slope where nobody reads": "f(x[n], y): h[i] = sqrt(x[i])*y; out = h[0]",
    "infinite slopes beside those that are read": "f(x[n], y): h[i] = log(x[i])*y; out[i:n-1] = h[i+1]*x[i]",
    "infinite slopes beside a diagonal": "f(x[n,n], y): h[i,j] = y/x[i,j]; out[i] = h[i,i]*x[i,0]",
    "what is computed under a condition, in a long expression": (
        "f(x[n,m], y[n], w): h[i:n] = softplus(y[i]**2*atan2(w, y[i])); a[i:n] = where(i%2 == 0, h[i], x[i,m-1]); "
        "out[i:n,j:m] = maximum(where(a[i] > 0.5, 2, a[i]), where(j == 1, w, a[i]))"
    ),
    "a value that two branches read": (
        "f(x[n], a, b): h[i] = sqrt(x[i]); out[i] = where(a > 0, h[i], 0) + where(b > 0, h[i], 0)"
    ),
    "infinite slopes between two elements that are read": "f(x[n], y): h[i] = sqrt(x[i]); out = h[0] + h[n-1]*y",
    "a root that no branch may read": (
        "f(v[n], c[k]): h = sqrt(sum[j](v[j]**2)); out[i:k] = where(c[i] > 0, h*c[i], 0)"
    ),
    "a logarithm that one of two branches reads, or none": (
        "f(x, w, u) -> y: h = sqrt(x)*x + log(x); y = where(w > 0, h, 0) + where(u > 0, 2*h, 1)"
    ),
    "one product of no factors, in a place of its own": (
        "f(a[k], w[m]): h[i+1] = prod[j](a[j]*w[i]); out = sum[i](h[i]**2)"
    ),
    "an element of no row, under a condition": (
        "f(w[m], b[p,n,m], on[n,m]: bool)[i,j,k] = minimum(where(on[j,k], b[0,j,k], 0), b[i,j,k]*(w[k] > 0))"
    ),
    "an infinite slope of what a border pushes out": (
        "f(a[m,k]): c[j] = cbrt(sum[i](a[i,j])); p[0] = 0; p[j+1] = c[j]; out[j:k] = expm1(-p[j]**2)"
    ),
    "an infinite slope where a condition is a factor below it": (
        "f(y[n,m], u[m], a[m,k]): h[i,l] = sum[j](cbrt(u[j]*(y[i,j] > 0))*a[j,l]); out = sum[i,l](h[i,l]**2)"
    ),
    "the shortest of lengths, by their order": (
        "f(b[n,m], h[k]): d[i,j] = h[i] - sqrt(sum[l](b[j,l]**2)); o[i,j] = argsort(d)[i,j]; out[i] = d[i,o[i,0]]"
    ),
    "a branch on a number that is given": (
        "f(x[n,m], y[k], s: int)[i:k] = where(i > s, x[s,i//2]**2*y[i], 2)"
    ),
    "a length at a place that is given": "f(b[n,m], t: int): d[i] = sqrt(sum[l](b[i,l]**2)); out = d[t]",
    "a sum over the letter of what is asked around it": (
        "f(x[n,m], q[n,n], u[m], b[p,k]): y[i,j] = sum[l](q[i,l]*x[l,j]); h[i] = sum[j](y[i,j]*u[j]**2); "
        "w = max[i](h[i]); d[i,l] = atan2(w, 1 + abs(h[i])) - sqrt(sum[j](b[l,j]**2)); o[i,l] = argsort(d)[i,l]; "
        "out[i] = d[i,o[i,0]]"
    ),
    "divided by a sum of nothing, where there is nothing to divide": (
        "f(y[n], v[n], u[k]): s = sum[i](v[i]); out[j:k,i:n] = u[j]*y[i]/s"
    ),
    "the sine of an input that may be absent": (
        "f(x, y, w?) = x*sin(x) + cos(y)*where(x > 0, sin(w*y), x)"
    ),
    "an optional input in the gradient of another alone": (
        "f(x[n], b[n]?): y[i] = exp(x[i]) + given(b, b[i], 2); out = sum[i](y[i])**2"
    ),
    "a loop without a turn, from a whole number": "f(x[n]): h[0] = 1; h[t+1] = sin(h[t]*x[t]); out = h[n]",
    "the slope at 0 of the cosine of a root, and far from there": "f(x, y) = y*cos(sqrt(1e16*(x**2 + y**2)))",
    "an angle of an angle, beyond what vectors reach": "f(x, far_angles) = sin(1e8*sin(x))*cos(far_angles)",
    "windows of nothing, behind a start": "f(x[n,c,w], k[o,c,p])[b,f,i] = sum[d,r](x[b,d,i+r+1]*k[f,d,r])",
    "a number as a place of an axis without elements": (
        "f(z[n], q[n,n]) -> h: h[0,i:n] = z[i]; h[1,i:n] = prod[r:n-1](where(i > 0, q[0,i-1], 0))"
    ),
    "places in an axis without elements, beside a slice": (
        "f(z[n], q[n,n], t[n]: int) -> h: h[a:n] = 0; h[t[i]] += sum[r:3](where(r < n, q[i,n-1-r], 0))*z[i]"
    ),
    "a product over windows, some factors of which are elsewhere": (
        "f(y[m], w, q[n,n])[i:m-1] = prod[v:2](y[i+v]*where((2*v+1 < n) & (v < n), q[2*v+1,n-1-v], w))"
    ),
    "a sum under a condition on where it is written, before a recurrence": (
        "f(y[m], z[n]) -> h: h[0,j:m] = sum[r:m](where(r + 1 < m, where(j >= 2, y[j-2], 0), 0)); "
        "h[i+1,j:m] = h[i,j]*z[i]"
    ),
    "the smaller of a neighbour and of what ends before": (
        "f(y[m], z[n], k[p]) -> h: h[i:n,j:p] = minimum(where(j >= 1, h[i,j-1], 1), where(j < m, y[j], 0))*z[i]*k[j]"
    ),
    "a recurrence beside an optional start": (
        "f(z[n], w, o[m]?, y[m]) -> h: h[0,j:m,l:m] = o[l]; "
        "h[i+1,j:m,l:m] = tanh(h[i,j,l] + where(i >= 2, z[i-2], w))*z[i]"
    ),
    "how far apart places are": "f(z[n], y[n])[i:n] = sum[j:n](abs(i-j)*z[j] + z[abs(i-j)]) + abs(2)*y[i]",
    "every second row, along a diagonal": (
        "f(x[n,m], w) = min[r:m](where((2*r+1 < n) & (r+1 < m), x[2*r+1,r+1], w))"
    ),
    "an optional input of which a gradient asks whether it is given": (
        "f(y[...,n], x[n]?, w): step[i:n-1] = given(x, x[i+1] - x[i], w); "
        "out[...] = sum[i:n-1]((y[...,i] + y[...,i+1])*step[i])"
    ),
    "a gradient of an optional input in several steps": (
        "f(y[...,n], x[n]?; dx=1.0): step[i:n-1] = given(x, x[i+1] - x[i], dx); "
        "out[...] = sum[i:n-1]((y[...,i] + y[...,i+1])*step[i])"
    ),
    "a difference of two distances that may both be 0": (
        "f(a[n,d], p[n,d], q[n,d]; margin=1.0): near[i] = sum[k]((a[i,k] - p[i,k])**2); "
        "far[i] = sum[k]((a[i,k] - q[i,k])**2); out = mean[i](maximum(sqrt(near[i]) - sqrt(far[i]) + margin, 0))"
    ),
    "a quotient by 1 and a power of what may be negative": "f(x[n]; a=2)[i] = x[i]**a/(1 + x[i]**a)",
    "a quotient of integers by what is read twice": "f(x[n], k: int)[i] = x[i]*(7//maximum(k, 1))",
    "remainders of integers that are read twice": (
        "f(x[n], k[n]: int, q: int)[i] = x[i]*((k[i]%maximum(k[i], 1))//(abs(q%(i + 2)) + 1)//maximum(q, 1))"
    ),
    "integers that are chosen, and read twice": (
        "f(x[n], k[n]: int, q: int)[i] = "
        "x[i]*(7//maximum(where(q == 2, k[i], 3), 1) + 5%maximum(where(q == 2, k[i], 3), 1))"
    ),
    "a remainder by an axis that may have no elements": "f(x[n], y)[i] = x[i]*(7%n) + y",
    "a remainder of a number by an index": "f(x[n])[i] = where(i != 2, x[i]*(7%(i - 2)), 0)",
    "a number of an option among integers": "f(x[n]; s=2)[i] = x[i]*(i//(1 + abs(clip(s, 0, 3)) + relu(s - 3)))",
    "a remainder by an option": "f(x[n]; s=2)[i] = x[i]*(i%s)",
    "a softmax of a sum in which an input may be absent": (
        "f(x[n,k], w[c,k], b[c]?): z[i,j] = sum[l](x[i,l]*w[j,l]); "
        "e[i,j] = exp(given(b, z[i,j] + b[j], z[i,j])); out[i,j] = e[i,j]/sum[q](e[i,q])"
    ),
    "a logarithm of a sum of exponentials in which an input may be absent": (
        "f(x[n,m], b[m]?, t[n]: int)[i] = where(t[i] > 0, log(sum[j](exp(given(b, x[i,j] + b[j], 2*x[i,j])))), 0)"
    ),
    "a logarithm of a sum of exponentials with weights, of which each may be 0": (
        "f(x[n,m], w[m])[i] = log(sum[j](w[j]*exp(x[i,j])))"
    ),
    # optional inputs, conditions and the order of what is read under them
    "a number for each place, backwards, under a mask": "f(x[n], y[n]) = sum[i](where(y[i] > 0, x[n-1-i], 0))",
    "one number for all places, backwards": "f(x[n]) = sum[i](x[n-1-i])",
    "the largest of saturated shares": "f(x[n,k]) = max[i,j](tanh(exp(x[i,j])/sum[l](exp(x[i,l]))))",
    "the logarithm of shares that add up": "f(x[n,k])[i] = log(sum[j](exp(x[i,j] - log(sum[l](exp(x[i,l]))))))",
    "a power with an exponent of two, filled": "f(x[n,k]) = max[i,j](sigmoid(2*log(x[i,j]**2)))",
    "a mask at a place that is left out": "f(x[n,k], keep[n,k]: bool, t[n]: int) = "
        "sum[i](where(t[i] != -1, 1 - where(keep[i,t[i]], sin(x[i,t[i]]), 0), 0))",
    "a bias that may be absent, in a function": "f(x[n,k], w[m,k], b[m]?)[i,j] = relu(sum[l](x[i,l]*w[j,l]) + b[j])",
    "a bias that may be absent, in a maximum": "f(x[n,k], g[k], b[k]?) = max[i,j](x[i,j]*g[j] + b[j])",
    "a bias that may be absent, under a mask that has a gradient":
        "f(x[n,k], w[k,k], a[k]?, b[k]?, m[n,k], t[n]: int): "
        "out = cross_entropy((standardize(linear(x, w, a)) + b)*m, t)",
    "a bias that may be absent, in a norm of a difference": "f(x[n,k], w[k,k], g[k], b[k]?, t[n]: int): "
        "out = cross_entropy(sigmoid(rms_norm(linear(x, w, b) - mean(linear(x, w, b)), g)), t)",
    "a bias that may be absent, beside another in a function": "f(x[n,k], w[k,k], a[k]?, b[k]?): "
        "out = mean(tanh(linear(x, w, a)) + b)",
    "a softmax of logarithms of shares under a mask": "f(x[n,k], y[n,k], keep[n,k]: bool): "
        "out = mse_loss(softmax(where(keep, log_softmax(x), 0)), y)",
    "a mask inside of a loss that leaves targets out": "f(x[n,k], keep[n,k]: bool, t[n]: int): "
        "out = cross_entropy(where(keep, silu(x), 0), t)",
    "a value that one gradient needs, of another that all have": "f(x[n,k], g[k], b[k], m[n,k]): "
        "out = layer_norm(log_softmax(log_softmax(x))*m, g, b)",
    "a mean of what is true or false": "f(x[n,k], t[n,k]: bool): out[j] = mean[i](t[i,j])*x[0,j]",
    "a mean of integers": "f(x[n,k], t[n,k]: int): out[j] = mean[i](t[i,j])*x[0,j]",
    "a recurrence of what another has computed": "f(x[n,k]): "
        "a = exponential_moving_average(2*x, 0.5); out = exponential_moving_average(a, 0.25)",
    "a softmax of which rows are moved on": "f(x[n,k], y[n,k]): "
        "s = softmax(x); out[i,j] = where(i > 0, s[i-1,j], y[i,j])",
    "a sum that is saved where an input is given": "f(x[n,k], b[k]?): s[0,j] = 0; s[i+1,j] = x[i,j]; "
        "h[i,j] = s[i+1,j]*x[i,j]; g[i,j] = h[i,j]/(1 + sum[p](x[p,j]**2)); y = given(b, g*b, h); "
        "out[j] = max[i](y[i,j])",
    "what all gradients need where an input is absent": "f(x[n,k], gain[k], shift[k]?, b[k]?): "
        "h = batch_norm(x, gain, shift); s[0,j] = gain[j]; s[i+1,j] = h[i,j]; g[i,j] = s[i+1,j]*h[i,j]; "
        "y = given(b, x*b, g); out[j] = max[i](y[i,j])",
    "a state's gradient that not all gradients need": "f(x[n,k], y[n,k], gain[k]): s[0,j] = gain[j]; "
        "s[i+1,j] = max(s[i,j], y[i,j]); h[i,j] = s[i,j]*x[i,j]; g = h*y + x; out[i,j] = g[i,j] - mean[p](g[p,j])",
    "a choice by an optional input in a norm": "f(x[n,k], gain[k], b[k]?): "
        "out = layer_norm(given(b, x*b, x), gain, b)",
    "an element at a place that is given": "f(x[n,m], k: int)[j] = x[j,k]**2",
    "a row at two places that are given": "f(x[n,p,m], k: int, l: int)[i] = x[k,i,l]**2",
    "a row at a place of data, one for all": "f(x[n,p,m], t[q]: int, k: int)[i,j] = sin(x[i,t[0],j])*x[i,k,j]",
    "a place that is given, behind leading axes": "f(x[...,n], k: int)[...] = x[...,k]**2",
    "a place that is given, if it is one": "f(x[n], k: int) = where(0 <= k and k < n, x[k]**2, 2)",
    "a weight at a place of data in each turn": "f(w[m], x[n], t[n]: int, s): h[0] = s; "
        "h[i+1] = h[i]*w[t[i]] + tanh(h[i]*w[0])*x[i]; out = h[n]",
    "a column at a place of data in each turn": "f(w[p,m], x[n], t[n]: int, s[p]): h[0,j] = s[j]; "
        "h[i+1,j] = h[i,j]*w[j,t[i]] + tanh(h[i,j])*x[i]; out[j] = h[n,j]",
    "a state at a place of data in each turn": "f(w[p], x[n,p], t[n]: int, s[p]): h[0,j] = s[j]; "
        "h[i+1,j] = h[i,t[i]]*w[j] + tanh(h[i,j])*x[i,t[i]]; out[j] = h[n,j]",
    "a median": "f(x[n]) = median(x**2)",
    "an input that is a value where another is absent": "f(x[n,k], b[k]?): h = given(b, x*b, x); out = h**2*x",
    "a neighbour in a branch that no place selects": "f(y[m], w)[j:m] = where(j > 0, w, where(j > 0, y[j-1], y[j]))",
    "a sum in a branch that no place selects": (
        "f(y[m], w)[j:m] = where(j > 2, w, where(j > 3, y[j-1]*sum[i:j](y[i]), y[j]))"
    ),
    "the smallest of quotients by what they are a multiple of": (
        "f(x[n,k], b[n], g): d[i] = sqrt(1 + sum[p](x[i,p]**2)); m = 1 + sum[p](b[p]**2); "
        "out = min[i,j](g*d[i]*x[i,j]*sin(x[i,j])/(x[i,j]*3)*m)"
    ),
    "the largest of quotients that rows have": "f(x[n,m], b[n], c[n], g) = max[i,j](g*x[i,j]/c[i]*b[i])",
    "the largest of products with numbers": "f(x[n,m], b[n], c[n])[i] = max[j](b[i]*x[i,j]/(c[i]*3))",
    "attention of two rows where an input is given": (
        "f(x[2,k], y[2,k], b[k]?): h = attention(x, y, y); g = given(b, h*b, x); out = sum(g*y)"
    ),
    "scores of heads that fall with the distance": (
        "f(q[b,h,n,d], k[b,h,n,d], v[b,h,n,d], a[h]): "
        "s[z,u,i,j] = where(j <= i, sum[r](q[z,u,i,r]*k[z,u,j,r])/sqrt(d) - a[u]*(i - j), -oo); "
        "w[z,u,i,j] = exp(s[z,u,i,j])/sum[p](exp(s[z,u,i,p])); out[z,u,i,c] = sum[j](w[z,u,i,j]*v[z,u,j,c])"
    ),
    "a mean that is the opposite of what it is in the formula as it was written": (
        "f(x[n,c], t[n,c], w[c], p[c]) = mean[i,j](w[j]*((1 - t[i,j])*x[i,j] "
        "+ (1 + (p[j] - 1)*t[i,j])*softplus(-x[i,j])))"
    ),
    "a quotient by a part of an argument that is divided itself": "f(x, a, b) = sin(a/2*x)/a + (1 - cos(a/b*x))/a**2",
    "a power with a given exponent over its base": "f(x, a, s) = (x**a + sin(x))/x + x**a*sin(s)/(x*s)",
    "a power less 1 over its exponent, beside its limit": "f(x, a) = where(a == 0, log(x), (x**a - 1)/a) for x > 0",
    "a power less 1 over its halved exponent, beside its limit": (
        "f(x[n], a) = sum[i](where(a == 0, log(x[i]), 2*(x[i]**(a/2) - 1)/a)**2) for x > 0"
    ),
    "a quotient by a factor of an argument, beside its limit": (
        "f(x, a) = where(a == 0, exp(-x), exp(-log(1 + a*x)/a))"
    ),
    "a power less 1 over its exponent, whatever its base, beside its limit": (
        "f(x, q) = where(q != 1, (x**(1 - q) - 1)/(1 - q), log(x))"
    ),
    "an exponential beside its limit, of numbers far apart": "f(t, k) = where(k == 0, t, (1 - exp(-k*t))/k)",
    "a power near 1 with a growing exponent, beside its limit": "f(x, a) = where(a == 0, exp(-x), (1 + a*x)**(-1/a))",
    "the power of a sum of squares less 1, beside its limit": (
        "f(x, a, c) = where(a == 2, (x/c)**2/2, where(a == 0, log((x/c)**2/2 + 1), "
        "abs(a - 2)/a*(((x/c)**2/abs(a - 2) + 1)**(a/2) - 1)))"
    ),
    "powers less 1 in two branches, each beside its limit": (
        "f(x, a) = where(x >= 0, where(a == 0, log(x + 1), ((x + 1)**a - 1)/a), "
        "where(a == 2, -log(1 - x), -((1 - x)**(2 - a) - 1)/(2 - a)))"
    ),
    "the last state at each place": "f(a[n], s): h[0] = s; h[(i:n)+1] = h[i] + a[i]; out[i:n] = h[n]",
    "the first state at each place, from the end": "f(a[n], s): h[n] = s; h[i:n] = h[i+1] + a[i]; out[i:n] = h[0]",
    "integers before states of real numbers": (
        "f(y[m], z[n]) -> h: h[n,j:m] = j; h[i:n,j] = tanh(sum[l:m](h[i+1,l])*y[0]) + z[i]"
    ),
    "a factor that is the next place, in a recurrence": (
        "f(a[n], x[m]) -> h: h[0] = 1; h[(i:n)+1] = tanh(h[i])*mean[l:m](i+1) + a[i]"
    ),
    "states from the end that are numbers": "f(x[n]; s=1.25) -> h: h[n] = -s; h[i:n] = 3*h[i+1]",
    "places of an axis in a loop, and outside": (
        "f(x[n,m], y[m], w, A[n,n], t[n]: int) -> g, h: h[j:m] = where(j % 2 == 0, x[0,j], sigmoid(y[j])); "
        "a[0,j:m] = x[0,j]**2; a[(i:n)+1,j] = maximum(a[i,j], where(j != j, y[t[i]] + A[i,i], x[i,j])); "
        "g[l:m] = 0; g[t[i]] += min[l:m](a[0,l])*maximum(x[i,t[i]], w)"
    ),
    "a running maximum, which ties are told by": "f(x[n], s): a[0] = s; a[i+1] = maximum(a[i], x[i])",
    "a function of a number, where an input is absent": "f(x[n], u?): out[i] = x[i]*exp(given(u, u, 1))",
    "a function of an array and a number, where an input is absent": (
        "f(y[n], c, u?) -> b: b[i:n] = atan2(y[i], 2 + given(u, u, 0)**2)*log(1 + (c + given(u, u, 0))**2)"
    ),
    "a condition that is not so, on the number of a turn": (
        "f(x[n]; e=2) -> a: a[0] = 0; a[i+1] = where(x[i] > 0 and not (i >= e), a[i], 0) + x[i]"
    ),
    "a number that is added at places, where an input is absent": (
        "f(x[n], z[m], o[n]?, t[n]: int) -> g: g[j:m] = z[j]; g[t[i]] += cos(given(o, o[i], 1))**2"
    ),
    "results that are one of two integers": "f(x[n]) -> b: b[i:n] = where(x[i] > 0, 1, 0)",
    "one of two integers, of which one is computed, in half precision": (
        "f(x[n], y[n], s) -> a, b: a[i:n] = exp(-(x[i] - (2 + s))**2); "
        "b[i:n] = where(i + 1 < n or x[i] > 0, 1/(1 + (a[i] - a[i])**2), 0)"
    ),
    "a result that is a place": "f(x[n]) -> b: b = argmax[i](x[i])",
    "a largest of smallest values, added to": (
        "f(B[n,n], z[m], y[n]) -> p: p[i:n] = max[j:m](min[k:n](B[i,k])); p[i] += y[i]"
    ),
    "a condition beside a result": "f(x[n]) -> b, c: b[i:n] = x[i] > 0; c[i] = x[i]**2",
    "a mean with weights, of which there may be none": "f(y[m], w[m]) = sum[i](y[i]*w[i]**2/sum[j](w[j]**2))",
}
# the same, with what is saved: nothing that backward can compute, or all
SAVED = {
    "what is saved with a pack behind another axis": (
        "f(x[...,n], M[...,n]: bool) -> a, out: a = sum[...,i:n](where(M[...,i], x[...,i], 0)); "
        "out[i:n] = sum[...](x[...,i]*sigmoid(x[...,i]*a))"
    ),
    "a sum that has a bias where one is given": "f(x[n,k], w[k,k], gain[k], b[k]?, r[n]: int): s[0,j] = gain[j]; "
        "s[i+1,j] = tanh(s[i,j])*x[i,j]; h[i,j] = s[i+1,j]; a = linear(h, w, b); g[i:n,j:k] = 0; g[r[i],j] += a[i,j]; "
        "out = sum[i,j](linear(g, w, b)[i,j]**2)",
    "an input that is a value where another is absent": MENDED["an input that is a value where another is absent"],
    "rows moved on twice, of products under a triangle": "f(x[n,k], y[n,k]): "
        "a[i,p:n] = where(p <= i, sum[j](x[i,j]*x[p,j]), -oo); s = softmax(a); h[i:n,j:k] = sum[p](s[i,p]*y[p,j]); "
        "g[i,j] = where(i > 0, h[i-1,j], y[i,j]); out[i,j] = where(i > 0, g[i-1,j], g[i,j])",
    "a smallest of products with a number, where an input is absent": (
        "f(z[m], s, u?) -> g: g = min[j:m]((given(u, u, 0) - 2)*s)"
    ),
    "a condition on an element that may not be there": (
        "f(s, x[n], y[n], M[n]: bool) -> g: g[i:n] = where(where(i > 0, x[i-1], 0) > 0.3, -s, "
        "where(where(M[i], x[i], 1) > 0.3 or i + 1 < n, where(i + 1 < n, y[i+1], 0), 0)/(1 + x[i]**2))"
    ),
    "a condition that is asked where an input is absent": (
        "f(x[...,n], y[n], z[m], w[...], s, u?) -> b, out: "
        "b[...] = min[j:m](where(z[j] > 0 or given(u, u, 1) > 0 and s > given(u, u, 1), z[j]*s, z[j])); "
        "out = max[...,i:n](x[...,i]*y[i]*w[...])"
    ),
    "a maximum of what a sum divides": "f(x[n,k], b[n], c[k], g): s[i] = sum[p](x[i,p]**2); "
        "d[i] = sqrt(1 + s[i]); m = 1 + sum[p](b[p]**2); out = max[i,j](g*(sin(x[i,j]))**2/m/m*m)",
    "a smallest of each row, repeated along it": "f(y[m], z[n]): "
        "q[i:n,j:n] = min[r:n](y[1]/(1 + where(r % 2 == 0, z[1], z[i])**2)); h[a:3*n,j:n] = 0; h[3*i,j] += q[i,j]; "
        "out = h",
}
# with what else is printed: the names of functions, and the inputs that these are with respect to
BESIDE = {
    "a value that is added to, beside a tangent of 0": ("f(x[m], z, w) -> h: h[j:m] = w; h[j] += x[j]", "jvp", "z"),
    "a tangent of a logsumexp of what may be nothing": ("f(y[m], w) = w - logsumexp[l](y[l])", "jvp", "y"),
    "a mean of nothing, where an input is given": (
        "f(x[n,k], b[k]?): h = given(b, x*b, x); out = mean(h)", "gradient", ""
    ),
    "the largest of products, rounded as they are": (
        "f(x[n,k], g[k]): o[i,j] = x[i,j] - mean[p](x[i,p]); s[i] = sum[p](o[i,p]**2); "
        "out = max[i,j](g[j]*o[i,j]*s[i])", "gradient", ""
    ),
    "largest values for some of the results": (
        "f(x[n,k]) -> out, other: other = softmax(x, axis=-2); out = softmax(other, axis=-2)", "jacobian", ""
    ),
    "the largest of what far out has no value as it is written": (
        "f(x[n,k], m[n,k]) = max[i,j](silu(x[i,j]*m[i,j]))", "jvp", "x"
    ),
    "slopes of powers over their base": (
        "f(s, k, x) = (1 + 1/k)*log(1 + k*x/s) + (1 + k*x/s)**(-1/k) for s > 0", "hessian", ""
    ),
    "tangents that are added at places": (
        "f(x[n], t[n]: int) -> a: a[j:3] = 0; a[t[i]] += x[i]", "forward,backward,jvp", ""
    ),
    "states that are a result, and their tangents": (
        "f(x[n]) -> s: s[0] = 0; s[i+1] = s[i]*x[i] + tanh(x[i])", "jvp", ""
    ),
    "a value that only a cotangent other than 0 asks for": (
        "f(x[n], g[n]): m = sum[i](x[i]**2); s = sqrt(1 + m); r = 1/sqrt(1 + sum[i]((x[i]/s)**2)); h[i] = x[i]/s; "
        "p[i] = h[i]*r; out = max[i](p[i]*g[i])", "jacobian", ""
    ),
    "a position that is a factor": ("f(x[n], w[n]) = argmax[i](x[i])*sum[i](w[i]*x[i]**2)", "gradient", ""),
    "a Hessian with leading axes between others": (
        "f(x[...,n], y[n]) = sum[...,i:n](x[...,i]**2*y[i]**2)", "hessian", ""
    ),
    "integers that are added at places": (
        "f(x[n], t[n]: int, u[n]: int) = sum[i](t[i]*x[u[i]]*u[i])", "gradient", ""
    ),
    "what may be absent, added at places": (
        "f(x[n], g[n]?, u[n]: int): h[u[i]] += given(g, g[i], u[i])*2; out[i:n] = h[i]*x[i]", "forward,backward", ""
    ),
}
# any number of leading axes, none of them, too
PACKS = {
    "a factor without them first": "f(x[...,n], z[n]) = sum[...,i:n](z[i]*tanh(x[...,i]))",
    "a pair of ends first": "f(y[n], w[...])[...,i:n] = maximum(y[i] + y[n-1-i], sin(w[...]))",
    "a result without them": "f(x[...,n])[i:n] = sum[...](x[...,i]*sin(x[...,i]))",
    "a neighbour that may not be there": "f(y[...,n]) = sum[...,i:n]((where(i + 1 < n, y[...,i+1], 0) - y[...,i])**2)",
    "a quotient whose divisor may be 0": (
        "f(y[n], x[...,n], A[n,m])[...,i:n,j:m] = atan2(y[i] - A[i,j], 2 + where(x[...,i] < y[i], A[i,j], 0)**2)"
    ),
    "one sum twice, under other letters": "f(x[...,n], y[n])[...,i:n,k:n] = x[...,k]*x[...,i]*y[i]*y[k]",
    "places that are data, beside a neighbour": (
        "f(t[...,n]: int, x[...,n], z[...,m]) = sum[...,i:n](minimum(where(i > 0, x[...,i-1], 0), z[...,t[...,i]]))"
    ),
    "places that are data, behind an axis": "f(A[m,n], t[...,k]: int)[...,i:k,j:m] = sin(A[j,t[...,i]])",
    "a mean of a power of an exponential": "f(x[...,n], y[n]) = mean[...,i:n]((exp(-(y[i]*x[...,i])**2))**2)",
    "a value that may be absent": "f(y[n], x[...,n], o[n]?) = mean[...,i:n](y[i] - given(o, o[i]*x[...,i], 0))",
    "a product with fewer of an axis": "f(y[n], x[...,n])[...,i:n,k:n] = y[k]*where(i > 0, x[...,i-1], 0)",
    "a local that has them last": "f(x[...,n]) -> b: h[i:n,...] = sin(x[...,i]); b = sum[...,i:n](h[i,...]**2)",
    "a result that has them between others": (
        "f(x[...,n,m], y[m]) -> b, c: b[i:n,...,j:m] = sin(x[...,i,j])*y[j]; c = sum[...,i:n,j:m](b[i,...,j]**3)"
    ),
    "a result whose gradient tells them, behind its rows": (
        "f(A[n,m], x[...,m], y[n]) -> b: b[i:n,...] = sum[j:m](A[i,j]*x[...,j]*y[i])"
    ),
}
