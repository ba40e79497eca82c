"""What torch computes of numbers alone stays on its device: no number is read of a tensor."""

from __future__ import annotations

import pytest

import symgrad as sg


@pytest.mark.parametrize("formula", ["x*log1p(sigmoid(2))", "x + sqrt(erfc(3))"])
def test_constants_on_a_device(formula, torch):
    loaded = sg.load(sg.parse(f"f(x) = {formula}"), to="torch")
    assert loaded.module.f(torch.ones(2, 3, device="meta")).device.type == "meta"
