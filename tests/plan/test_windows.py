"""The order of loops that reduce windows, or write to them: short ones are innermost, elements side by side."""

from __future__ import annotations

import pytest
from mathematics import COMPILER

import symgrad as sg
from symgrad.backends.c_expressions import language
from symgrad.derivatives import derive
from symgrad.plan import plan
from symgrad.plan.loops import Loop, flatten, nests

FORWARD = {
    "f(x[n,w])[i,j:w-2] = max[s:3](x[i,j+s])": "i j s",
    "f(x[n,w])[i,j:w-4] = max[s:3](x[i,j+2*s])": "i j s",
    "f(x[h,w])[i:h//2,j:w//2] = sum[r:2,s:2](x[2*i+r,2*j+s])": "i j r s",
    "f(x[n,w], k[5])[i,j:w-4] = sum[s:5](k[s]*x[i,j+s])": "i j s",
    "f(x[4,n])[j] = sum[k](x[k,j]**2)": "j k",
    # a compiler has loops of these: rows are added up
    "f(x[n,w])[i,j:w-7] = max[s:8](x[i,j+s])": "i j, i s j",
    "f(x[h,w])[i:h-4,j:w-4] = max[r:5,s:5](x[i+r,j+s])": "i j, i r s j",
    "f(x[n,w]; k=3)[i,j:w-k+1] = max[s:k](x[i,j+s])": "i j, i s j",
    "f(x[n,w])[i,j:w] = sum[s:3](where((j + s >= 1) & (j + s <= w), x[i,j+s-1], 0))": "i j, i s j",
}
BACKWARD = {
    "f(x[h,w])[i:h//2,j:w//2] = max[r:2,s:2](x[2*i+r,2*j+s])": "k, i j r s, i j r s",  # beside what counts the largest
    "f(x[h,w])[i:h//2,j:w//2] = sum[r:2,s:2](x[2*i+r,2*j+s])": "k, i j r s",
    # windows that overlap, one place after the other; the same value for all is added along the elements themselves
    "f(x[n,w], k[3])[i,j:w-2] = sum[s:3](k[s]*x[i,j+s])": "i l, i s j, s i j",
    "f(x[n,w])[i,j:w-2] = sum[s:3](x[i,j+s])": "i k, i s k",
    "f(x[n,w])[i,j:w-4] = mean[s:3](x[i,j+2*s])**2": "i k, i s k",
    "f(x[n,w])[i,j:(w-1)//2] = sum[s:3](x[i,2*j+s])": "i k, i s j",
}


def loops(block, around=()):
    """The indices around what is computed in each innermost loop, the outermost first."""
    for node in block:
        own = (*around, node.index.name) if isinstance(node, Loop) else around
        inside = [found for inner in node.blocks for found in loops(inner, own)]
        yield from inside or ([" ".join(own)] if isinstance(node, Loop) else [])


@pytest.mark.parametrize("text", FORWARD)
def test_forward(text):
    forward, _ = nests(flatten(plan(derive(sg.parse(text)), "c", "loops")), language)
    assert ", ".join(loops(forward.body)) == FORWARD[text]


@pytest.mark.parametrize("text", BACKWARD)
def test_backward(text):
    _, backward = nests(flatten(plan(derive(sg.parse(text)), "c", "loops")), language)
    assert ", ".join(loops(backward.body)) == BACKWARD[text]


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize("text", [*FORWARD, *BACKWARD])
@pytest.mark.in_turn
def test_numbers(text):
    assert sg.check(sg.parse(text), to="c").ok
