"""Which sums are computed as matrices are multiplied: the indices of rows, columns and terms, before them of groups."""

from __future__ import annotations

import pytest

import symgrad as sg
from symgrad.backends.c_expressions import language
from symgrad.derivatives import derive
from symgrad.plan import plan
from symgrad.plan.loops import Contraction, flatten, nests, walk
from symgrad.plan.loops.contract import parts_of

FORWARD = {
    "f(x[n,k], w[k,m])[i,j] = sum[l](x[i,l]*w[l,j])": "i j l",
    "f(x[n,k], w[m,k])[i,j] = sum[l](x[i,l]*w[j,l])": "i j l",
    "f(x[n,k], w[m,k])[j,i] = sum[l](x[i,l]*w[j,l])": "j i l",
    "f(x[n,k], w[k,m], a)[i,j] = sum[l](a*x[i,l]*w[l,j]/n)": "i j l",
    "f(x[b,n,k], w[b,k,m], a[b])[p,i,j] = sum[l](a[p]*x[p,i,l]*w[p,l,j])": "i j l",
    "f(x[n,k,m], w[k,m,o])[i,j] = sum[l,q](x[i,l,q]*w[l,q,j])": "l i j q",
    "f(x[n,k], w[k,m], b[m])[i,j] = b[j] + sum[l](x[i,l]*w[l,j])": "i j l",
    "f(x[n,k], y[n,o], w[k,m], v[o,m])[i,j] = sum[l](x[i,l]*w[l,j]) + sum[l](y[i,l]*v[l,j])": "i j l, i j l",
    "f(x[c,n], w[o,c,r])[f,i:n-r+1] = sum[d,s](x[d,i+s]*w[f,d,s])": "s f i d",
    "f(x[n,k], w[k,m], y[k,4])[i,j:m] = sum[l](x[i,l]*w[l,j])": "i j l",
    "f(x[n,12], w[12,12])[i,j] = sum[l](x[i,l]*w[l,j])": "i j l",
}
PLAIN = {
    "a matrix and a vector": "f(x[n,k], w[k])[i] = sum[l](x[i,l]*w[l])",
    "two terms": "f(x[n,2], w[2,m])[i,j] = sum[l](x[i,l]*w[l,j])",
    "three columns": "f(x[n,k], w[k,3])[i,j] = sum[l](x[i,l]*w[l,j])",
    "8 by 8 by 8": "f(x[8,8], w[8,8])[i,j] = sum[l](x[i,l]*w[l,j])",
    "a factor for each term": "f(x[n,k], w[k,m], s[k])[i,j] = sum[l](x[i,l]*s[l]*w[l,j])",
    "a function of both": "f(x[n,k], w[k,m])[i,j] = sum[l](exp(x[i,l]*w[l,j]))",
    "a maximum": "f(x[n,k], w[k,m])[i,j] = max[l](x[i,l]*w[l,j])",
    "half of the terms": "f(x[n,n], w[n,m])[i,j] = sum[l:i+1](x[i,l]*w[l,j])",
    "where data say so": "f(x[n,k], w[k,m], c[n,k]: bool)[i,j] = sum[l](where(c[i,l], x[i,l]*w[l,j], 0))",
    "from the last to the first": "f(x[n,k], w[k,m])[i,j] = sum[l](x[i,k-1-l]*w[l,j])",
    "a place that data tell": "f(x[n,k], w[q,m], t[k]: int)[i,j] = sum[l](x[i,l]*w[t[l],j])",
}


def contractions(text):
    forward, _ = nests(flatten(plan(derive(sg.parse(text)), "c", "loops")), language)
    found = [parts_of(n) for n in walk(forward.body) if isinstance(n, Contraction)]
    return ", ".join(" ".join(loop.index.name for loop in parts.loops) for parts in found)


@pytest.mark.parametrize("text", FORWARD)
def test_products_of_matrices(text):
    assert contractions(text) == FORWARD[text]


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
def test_what_stays_in_plain_loops(text):
    assert contractions(text) == ""


JOINED = {  # how many products, and the arrays that are left beside the result
    (
        "f(x[n,k], w[k,m], y[n,o], v[o,m]): a[i,j] = sum[l](x[i,l]*w[l,j]); b[i,j] = sum[l](y[i,l]*v[l,j]); "
        "out[i,j] = a[i,j] + b[i,j]"
    ): (2, 0),
    "f(x[n,k], w[k,m], y[n,m]): a[i,j] = sum[l](x[i,l]*w[l,j]); out[i,j] = y[i,j]**2 - 3*a[i,j]/n": (1, 0),
    "f(x[n,k], w[k,n]): a[i,j] = sum[l](x[i,l]*w[l,j]); out[i,j] = a[i,j] + a[j,i]": (1, 1),
    "f(x[n,k], w[k,n]): a[i,j] = sum[l](x[i,l]*w[l,j]); out[i,j] = exp(a[i,j]) + a[i,j]": (1, 0),
    "f(x[n,k], w[k,m]): a[i,j] = sum[l](x[i,l]*w[l,j]); out[i,j] = 3*a[i,j]/2 + sign(a[i,j])": (1, 0),
    "f(x[n,k], w[k,m]): a[i,j] = sum[l](x[i,l]*w[l,j]); out[i,j] = 3*a[i,j] - a[i,j]/n": (1, 0),
}


@pytest.mark.parametrize("text", JOINED)
@pytest.mark.in_turn
def test_what_is_only_added_up_is_added_where_it_goes(text):
    forward, _ = nests(flatten(plan(derive(sg.parse(text)), "c", "loops")), language)
    products = [n for n in walk(forward.body) if isinstance(n, Contraction)]
    assert (len(products), len(forward.arrays)) == JOINED[text]
    assert sg.check(sg.parse(text), to="c").ok


CHECKED = [
    "f(x[b,n,k], w[b,k,m], s[b])[i,p,j] = sum[l](x[p,i,l]*w[p,l,j])*s[p]",
    "f(x[n,k], w[k,m]; p=1)[i:n,j:m+p] = sum[l](where(j >= p, x[i,l]*w[l,j-p], 0))",
    "f(x[n,k], w[k,m])[i:n-1,j:m] = sum[l:k-1](x[i+1,l+1]*w[l,j])",
    "f(x[n,n], w[n,m])[i,j] = sum[l](x[i,l]*w[l,j]) - x[i,i]*sum[l](x[l,i]*w[l,j])",
    "f(x[c,n], w[o,c,r]; s=2, d=1, p=1)[f,i:(n+2*p-d*(r-1)-1)//s+1] = "
    "sum[q,a](where((s*i+d*q-p >= 0) & (s*i+d*q-p < n), x[a,s*i+d*q-p]*w[f,a,q], 0))",
]


@pytest.mark.parametrize("text", CHECKED)
def test_products_within_limits_and_beside_others(text):
    report = sg.check(sg.parse(text), to="c")
    assert contractions(text) and report.ok, report
