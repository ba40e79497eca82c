"""Softmax and logsumexp of rows in which nothing counts, or all of it is -inf: what torch and JAX give for them."""

from __future__ import annotations

import numpy as np
from numpy import inf, nan

import symgrad as sg
from symgrad.library import logsumexp, masked_softmax, softmax

SCORES = np.array([[-inf, -inf, -inf], [0.0, -inf, 0.0], [-inf, 1.0, 1.0]])
MASK = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 1]], dtype=bool)
SHARES = np.array([[nan] * 3, [0.5, 0, 0.5], [0, 0.5, 0.5]])
TOTALS = np.array([-inf, np.log(2), 1 + np.log(2)])
ZEROS = np.where(MASK, SCORES, 0.0)

NO_ENTRY = {
    "softmax of -inf": (softmax, (SCORES,), SHARES, None),
    "logsumexp of -inf": (logsumexp, (SCORES,), TOTALS, None),
    "softmax under a mask": (masked_softmax, (ZEROS, MASK), SHARES, np.zeros((3, 3))),
    "logsumexp under a mask": (
        sg.parse("f(x[n,m], mask[n,m]: bool)[i] = logsumexp[j](where(mask[i,j], x[i,j], -oo))"),
        (ZEROS, MASK),
        TOTALS,
        np.where(MASK, 0.5, 0.0),
    ),
    "softmax of what is before": (
        sg.parse("f(x[n,m]): e[i,j] = exp(where(j < i, x[i,j], -oo)); out[i,j] = e[i,j]/sum[k](e[i,k])"),
        (np.zeros((3, 3)),),
        np.array([[nan] * 3, [1, 0, 0], [0.5, 0.5, 0]]),
        np.zeros((3, 3)),
    ),
    "logsumexp of what is before": (
        sg.parse("f(x[n,m])[i] = logsumexp[j](where(j < i, x[i,j], -oo))"),
        (np.zeros((3, 3)),),
        np.array([-inf, 0, np.log(2)]),
        np.array([[0, 0, 0], [1, 0, 0], [0.5, 0.5, 0]]),
    ),
}  # each with its inputs, its value, and the gradient of its sum by the first input if there is one
