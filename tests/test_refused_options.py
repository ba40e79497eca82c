"""Options that have no meaning are refused, by name, value and bound, before anything is computed.

A row is (function of the library, shapes of its inputs, options, what is said). Options that are fixed are refused when
the function is declared, others by the printed code of every language; the bounds are torch's.
"""

from __future__ import annotations

import numpy as np
import pytest

import symgrad as sg
from symgrad import library
from symgrad.errors import SymgradError

IMAGE = (1, 4, 6, 6)
ROWS = [
    ("avg_pool2d", [IMAGE], {"size": -1}, "needs size >= 1, here size = -1"),
    ("avg_pool2d", [IMAGE], {"size": 0}, "needs size >= 1, here size = 0"),
    ("avg_pool2d", [IMAGE], {"size": 9}, "needs size <= h + 2 * padding, here size = 9, h = 6, padding = 0"),
    ("avg_pool2d", [IMAGE], {"size": 2, "padding": 2}, "needs 2 * padding <= size, here padding = 2, size = 2"),
    ("avg_pool2d", [IMAGE], {"size": 2, "padding": -1}, "needs padding >= 0, here padding = -1"),
    ("avg_pool2d", [IMAGE], {"size": 2, "stride": 0}, "needs stride >= 1, here stride = 0"),
    ("max_pool2d", [IMAGE], {"size": 9}, "needs size <= h + 2 * padding, here size = 9, h = 6, padding = 0"),
    ("max_pool1d", [(1, 4, 6)], {"size": 3, "padding": 2}, "needs 2 * padding <= size, here padding = 2, size = 3"),
    ("max_pool2d", [IMAGE], {"dilation": 0}, "needs dilation >= 1, here dilation = 0"),
    ("max_pool2d", [IMAGE], {"size": (2, 0)}, "needs size >= 1, here size = 0"),
    ("conv2d", [IMAGE, (2, 4, 9, 9)], {}, "needs dilation * (p - 1) + 1 <= h + 2 * padding, here dilation = 1, p = 9"),
    ("conv1d", [(1, 4, 6), (2, 4, 3)], {"padding": -1}, "needs padding >= 0, here padding = -1"),
    ("conv1d", [(1, 4, 6), (2, 4, 3)], {"stride": 0}, "needs stride >= 1, here stride = 0"),
    ("conv1d", [(1, 4, 6), (2, 2, 3)], {"groups": 3}, "needs o % 3 == 0, here o = 2"),
    (
        "conv_transpose1d",
        [(1, 4, 6), (4, 2, 3)],
        {"output_padding": 1},
        "needs output_padding < stride or output_padding < dilation, here output_padding = 1, stride = 1",
    ),
    ("adaptive_avg_pool1d", [(1, 4, 6)], {"bins": 0}, "needs bins >= 1, here bins = 0"),
    ("group_norm", [(1, 4, 6), (4,), (4,)], {"groups": 3}, "needs c % groups == 0, here c = 4, groups = 3"),
    ("pixel_shuffle", [IMAGE], {"factor": 3}, "needs k % (factor * factor) == 0, here k = 4, factor = 3"),
    ("pixel_unshuffle", [IMAGE], {"factor": 4}, "needs h % factor == 0, here h = 6, factor = 4"),
    ("pad_reflect", [(2, 6)], {"left": 6}, "needs left + 1 <= n, here left = 6, n = 6"),
    ("pad_circular", [(2, 6)], {"left": 7}, "needs left <= n, here left = 7, n = 6"),
    ("pad_constant", [(2, 6)], {"left": -8}, "left + n + right >= 0"),
    ("strided_slice", [(6,)], {"step": 0}, "needs step >= 1, here step = 0"),
    ("softmax", [(2, 6)], {"axis": 7}, "axis 7"),
    ("soft_cross_entropy", [(2, 6), (2, 6)], {"smoothing": 2.0}, "needs 0 <= smoothing <= 1, here smoothing = 2.0"),
]


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r[0]}-{'-'.join(map(str, r[2])) or 'sizes'}")
@pytest.mark.in_turn
def test_refused(row, to):
    name, shapes, options, said = row
    declared = getattr(library, name)
    fixed = {k: v for k, v in options.items() if k in declared.signature.static or isinstance(v, tuple)}
    with pytest.raises((SymgradError, ValueError)) as refused:
        code = sg.load(declared, to=to, check=False, **fixed)
        code.forward(*map(np.ones, shapes), **{k: v for k, v in options.items() if k not in fixed})
    text = str(refused.value)
    assert name in text
    in_c = to == "c" and isinstance(refused.value, ValueError)  # it says what is needed, and no numbers
    assert (said.removeprefix("needs ").split(", here")[0] if in_c else said) in text


def test_only_sizes_and_options_are_required():
    def over(x: sg.Tensor["n"]):
        sg.require(x[0] > 0)
        return x

    with pytest.raises(SymgradError, match=r"sg\.require takes a condition on sizes and options, and no tensor"):
        sg.vjp(sg.function(over))
