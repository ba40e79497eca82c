"""Train the GPT of character_gpt.py with kernels of Triton, for a few steps.

    python examples/training/character_gpt_triton.py                        # on a GPU
    TRITON_INTERPRET=1 python examples/training/character_gpt_triton.py     # without one

Layer norms, gelu, the softmax of attention and the loss are printed Triton; products and tables, between them, are
torch's. Beside it torch's own modules, in float64, from the same weights on the same batches.
"""

import tempfile
from pathlib import Path

import torch
from character_gpt import CONTEXT, RATE, by_block, drawn, with_torch_modules
from training import adam, by_autograd, compare, module_of, train

import symgrad as sg
from symgrad import library

STEPS, BATCH = 5, 2
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def layer(name):
    """A function of the library, as it is printed for Triton."""
    ((name_of_file, text),) = sg.generate(getattr(library, name), to="triton", check=False).items()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name_of_file)
        path.write_text(text, encoding="utf-8")
        return getattr(module_of(path), name)


def with_triton_layers():
    """The printed Triton of layer_norm, gelu, softmax and cross_entropy."""
    layer_norm, gelu, softmax, cross_entropy = map(layer, ("layer_norm", "gelu", "softmax", "cross_entropy"))
    later = torch.ones(CONTEXT, CONTEXT, dtype=torch.bool, device=DEVICE).triu(1)

    def attention(x, qkv_weight, qkv_bias, out_weight, out_bias):
        q, k, v = torch.einsum("bnd,shed->sbhne", x, qkv_weight) + qkv_bias[:, None, :, None]
        scores = q @ k.mT / q.shape[-1] ** 0.5
        heads = softmax(scores.masked_fill(later, float("-inf"))) @ v
        return torch.einsum("bhne,dhe->bnd", heads, out_weight) + out_bias

    def block_of(x, gain1, bias1, qkv_weight, qkv_bias, out_weight, out_bias, gain2, bias2, w1, b1, w2, b2):
        x = x + attention(layer_norm(x, gain1, bias1), qkv_weight, qkv_bias, out_weight, out_bias)
        return x + gelu(layer_norm(x, gain2, bias2) @ w1.T + b1) @ w2.T + b2

    def loss(weights, text, following):
        characters, places, *blocks, gain, bias, head_weight, head_bias = (w.to(DEVICE) for w in weights)
        x = characters[text.to(DEVICE)] + places
        for block in by_block(blocks):
            x = block_of(x, *block)
        scores = layer_norm(x, gain, bias) @ head_weight.T + head_bias
        return cross_entropy(scores.flatten(0, 1), following.flatten().to(DEVICE))

    return by_autograd(loss)


WAYS = {"torch modules": with_torch_modules, "triton layers": with_triton_layers}


def curves(steps=STEPS):
    """{way: its losses}, from the same weights on the same batches."""
    weights, batches = drawn(steps, BATCH)
    return {name: train(way(), weights, batches, adam(RATE)) for name, way in WAYS.items()}


if __name__ == "__main__":
    compare(curves())
