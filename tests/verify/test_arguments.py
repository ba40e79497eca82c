"""What printed code must refuse, and what it may lose, is part of the check.

A row is (function, what stands in the file, what the mutant has instead, a part of what the check says).
"""

from __future__ import annotations

import re

import pytest
from mathematics import COMPILER

from symgrad import library
from symgrad.pipeline import printed, verified
from symgrad.records import replace

NUMPY = (
    ("linear", r"if weight.shape\[1\] != x.shape\[1\]", "if False", "of shape (2, 5)"),
    ("softmax", r"if x.ndim < 1", "if False", "of shape ()"),
    ("squares", r"if y.shape != x.shape", "if False", "of shape (2, 3, 1)"),
    ("linear", r"if not np.issubdtype.*:", "if False:", "of int64 is not refused"),
    ("cross_entropy", r"if not np.issubdtype\(array.dtype, np.integer\)", "if False", "target: of float64"),
    ("softmax", r"if grad_output.shape != shape", "if False", "grad_output: of shape"),
    ("linear", r"if (needs_input_grad\[2\])", r"if len(needs_input_grad) > 2 and \1", "needs_input_grad: with too few"),
    ("softmax", r"x.max\((.*?)\)", r"np.maximum(0.0, x.max(\1))", "need not overflow: as printed for c"),
    ("cross_entropy", r"logits.max\((.*?)\)", r"np.maximum(-1e30, logits.max(\1))", "as printed for c"),
)
C = (
    ("softmax", "= -INFINITY", "= 0.0", "need not overflow: as printed for numpy"),
    ("cross_entropy", "= -INFINITY", "= -1e30", "need not overflow: as printed for numpy"),
    ("softmax", r"for \(size_t j", "for (unsigned short j", "unsigned short"),
    ("softmax", r"for \(size_t j", "for (int j", "too small for a size"),
    ("lstm", r"const size_t (\w+) =", r"const int \1 =", "too small for a size"),
    ("lstm", r"const size_t (\w+_row) =", r"const int \1 =", "too small for it"),
)


def said(name, to, pattern, replacement):
    """What the check says of a printed file in which the text is changed at the first place."""
    declared = getattr(library, name)
    result = printed(declared, to)
    path = next(p for p in result.files if not p.endswith(".h"))
    text = re.sub(pattern, replacement, result.files[path], count=1)
    assert text != result.files[path]
    changed = replace(result, files={**result.files, path: text})
    return str(verified(declared, changed, changed.load()))


@pytest.mark.parametrize("row", NUMPY, ids=lambda r: f"{r[0]}-{r[1][:30]}")
@pytest.mark.filterwarnings("ignore")  # what is not refused may divide by zero
def test_numpy(row):
    name, pattern, replacement, told = row
    assert told in said(name, "numpy", pattern, replacement)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize("row", C, ids=lambda r: f"{r[0]}-{r[1][:30]}")
@pytest.mark.in_turn
def test_c(row):
    name, pattern, replacement, told = row
    assert told in said(name, "c", pattern, replacement)
