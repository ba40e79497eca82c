"""ONNX of printed torch, by torch.onnx.export: its values are those of torch."""

from __future__ import annotations

import numpy as np
import pytest
from library_inputs import function, module

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

RNG = np.random.default_rng(0)
INPUTS = {
    "gelu": [(5,)],
    "layer_norm": [(3, 5), (5,), (5,)],
    "conv2d": [(2, 3, 7, 6), (4, 3, 3, 2)],
    "attention": [(4, 3), (6, 3), (6, 2)],
    "cross_entropy": [(6, 5), np.array([0, 1, 2, 3, 4, -100])],
}


@pytest.mark.parametrize("name", INPUTS)
def test_onnx(name, torch, tmp_path):
    import onnxruntime

    own = getattr(module(name, "torch"), function(name).name)
    given = [x if isinstance(x, np.ndarray) else RNG.normal(size=x).astype(np.float32) for x in INPUTS[name]]

    class Layer(torch.nn.Module):
        def forward(self, *tensors):
            return own(*tensors)

    path, tensors = tmp_path / f"{name}.onnx", tuple(map(torch.from_numpy, given))
    torch.onnx.export(Layer().eval(), tensors, path, verbose=False)
    session = onnxruntime.InferenceSession(path)
    (found,) = session.run(None, {node.name: x for node, x in zip(session.get_inputs(), given, strict=True)})
    np.testing.assert_allclose(found, own(*tensors), rtol=1e-5, atol=1e-6)
