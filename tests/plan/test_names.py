"""What values are called that nobody has named: after what they are of, or for, and not by numbers."""

from __future__ import annotations

import re

import pytest

import symgrad as sg
from symgrad import library

UNIT = "unit(r[3]): s = sum[k](r[k]**2); out[k] = where(s > 0, r[k]/sqrt(s), 0)"
HILL = "hill(x, half, n) = 1/(1 + (half/x)**n)"
MARGIN = """margin(score[n,c], target[n]: int): own[i] = score[i,target[i]];
    out = mean[i](sum[j](relu(1 - own[i] + score[i,j])) - 1)"""
INTEGRAL = "integral(e[n], ki, most) -> s: s[0] = 0; s[i+1] = clip(s[i] + ki*e[i], -most, most)"
CASES = [
    # a sum that is added to a gradient, after where it comes from
    ("gru_cell", "numpy", "grad_x_from_update grad_hidden_from_reset grad_pre_candidate"),
    ("gru_cell", "c", "grad_x_from_update grad_x_from_reset"),
    # a local of a function that is called twice, after the result
    ("gpt2_block", "numpy", "xhat normed2_xhat normed2_rstd hidden_inner"),
    # a second reduction, order, solution: after what it is of
    ("skewness", "numpy", "mean_centered_squared"),
    ("brown_conrady", "numpy", "sum_grad_scale_r2 sum_grad_scale_r2_squared sum_grad_scale_r2_cubed"),
    ("wasserstein_1d", "numpy", "order order_y"),
    ("gaussian_kl", "numpy", "solution solution_shift log_det log_det_covariance"),
    # sizes, rows and totals of C
    ("pixel_shuffle", "c", "out_h out_w"),
    ("segment_sum", "c", "out_size"),
    ("lstm", "c", "cell_row next_cell_row grad_gates2_row"),
    ("homography", "c", "grad_h01_total grad_h22_total"),
    ("lstm_cell", "c", "leave_ij new_cell_ij"),
    # what a statement reads twice of what it changes
    ("linear_relu", "c", "out_plus_bias"),
    (INTEGRAL, "c", "s_plus_ki_times_e"),
    # guards, and what is computed of them
    (UNIT, "numpy", "mask_s safe_s"),
    (HILL, "numpy", "safe_half_ratio guarded_half"),
    (MARGIN, "numpy", "masked_grad_total"),
    ("cross_entropy", "numpy", "safe_target"),
    # components
    ("quaternion_to_matrix", "c", "grad_output21_minus_12 grad_output10_plus_01"),
]


@pytest.mark.parametrize(("name", "to", "names"), CASES, ids=[f"{name.split('(')[0]}-{to}" for name, to, _ in CASES])
@pytest.mark.in_turn
def test_what_values_are_called(name, to, names):
    function = sg.parse(name) if "(" in name else getattr(library, name)
    files = sg.generate(function, to=to, check=False)
    text = next(text for path, text in files.items() if path.endswith((".py", ".c")))
    words = set(re.findall(r"\w+", text))
    assert not set(names.split()) - words
    assert not {w for w in words if re.fullmatch(r"(out_size|total|xhat|order)_\d+", w)}
