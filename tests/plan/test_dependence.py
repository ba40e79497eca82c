"""Whether the turns of a loop depend on each other: by what they write and read."""

from __future__ import annotations

import pytest

import symgrad as sg
from symgrad import library
from symgrad.backends.c_expressions import language
from symgrad.derivatives import derive
from symgrad.plan import plan
from symgrad.plan.loops import Loop, flatten, nests, walk
from symgrad.plan.loops.dependence import tag

TAGS = {  # the loops of forward, in the order of their text
    "f(x[n,k], w[m,k])[i,j] = sum[l](x[i,l]*w[j,l])": "i parallel, i parallel, j parallel, l scatter",
    "f(x[n,m])[j] = sum[i](x[i,j])": "j parallel, i rows, j parallel",
    "f(x[n])[i] = exp(x[i])": "i parallel",
    "f(x[n]) = max[i](x[i])": "i reduction",
    "f(x[n]) = prod[i](x[i])": "i reduction",
    "cumsum": "t serial",
    "exponential_moving_average": "i parallel, t serial, i parallel",
    "scatter_add": "k parallel, l parallel, i rows, j parallel",
}


@pytest.mark.parametrize("text", TAGS)
def test_tags(text):
    function = sg.parse(text) if "(" in text else getattr(library, text)
    forward, _ = nests(flatten(plan(derive(function), "c", "loops")), language)
    found = [f"{n.index.name} {tag(n)}" for n in walk(forward.body) if isinstance(n, Loop)]
    assert ", ".join(found) == TAGS[text]


def test_a_convolution_adds_to_rows_of_its_own():
    """Backward scatters into grad_x: under the plain axes the turns are apart, under a window they meet."""
    _, backward = nests(flatten(plan(derive(library.conv1d), "c", "loops")), language)
    tags = {}
    for loop in (n for n in walk(backward.body) if isinstance(n, Loop)):
        tags.setdefault(loop.index.name, []).append(tag(loop))
    assert tags["b"][:2] == ["parallel", "rows"]  # of grad_x and of grad_bias
    assert tags["r"][0] == "scatter"  # the windows of grad_x


def test_the_taps_of_a_filter_lie_between_each_other():
    """Threads that share them would wait for each other's memory."""
    _, backward = nests(flatten(plan(derive(library.conv2d), "c", "loops")), language)
    taps = [tag(n) for n in walk(backward.body) if isinstance(n, Loop) and n.index.name == "r"]
    assert "strided" in taps
    assert "parallel" not in taps
