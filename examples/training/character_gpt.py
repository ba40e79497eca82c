"""Train a GPT of two blocks on characters for 100 steps three ways: `python examples/training/character_gpt.py`.

With torch's own modules, with the printed torch Functions, and with the printed NumPy alone, in float64, from the same
weights on the same batches. `python examples/training/character_gpt.py numpy` needs no torch. The network is GPT-2's,
small: tables of characters and of places, two blocks, a layer norm, a linear layer.
"""

import sys

import numpy as np
from training import adam, by_autograd, called, compare, generated, train

TEXT = """\
Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date:
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd;
And every fair from fair sometime declines,
By chance, or nature's changing course, untrimm'd;
But thy eternal summer shall not fade,
Nor lose possession of that fair thou ow'st;
Nor shall Death brag thou wander'st in his shade,
When in eternal lines to time thou grow'st:
So long as men can breathe, or eyes can see,
So long lives this, and this gives life to thee.
"""  # William Shakespeare, Sonnet 18

STEPS, BATCH, RATE = 100, 8, 5e-3
CONTEXT, WIDTH, HEADS, BLOCKS = 16, 32, 4, 2
VOCABULARY = sorted(set(TEXT))


def first_weights(rng):
    """The tables of characters and of places, the weights of each block, of the last norm and of the head."""

    def table(rows):
        return 0.1 * rng.standard_normal((rows, WIDTH))

    def linear(weight, bias):
        return [0.1 * rng.standard_normal(weight), np.zeros(bias)]

    def block():
        qkv = linear((3, HEADS, WIDTH // HEADS, WIDTH), (3, HEADS, WIDTH // HEADS))
        out = linear((WIDTH, HEADS, WIDTH // HEADS), WIDTH)
        fc1 = linear((4 * WIDTH, WIDTH), 4 * WIDTH)
        fc2 = linear((WIDTH, 4 * WIDTH), WIDTH)
        return [*norm, *qkv, *out, *norm, *fc1, *fc2]  # the order of gpt2_block

    norm = [np.ones(WIDTH), np.zeros(WIDTH)]
    tables = [table(len(VOCABULARY)), table(CONTEXT)]
    blocks = [weight for _ in range(BLOCKS) for weight in block()]
    return [*tables, *blocks, *norm, *linear((len(VOCABULARY), WIDTH), len(VOCABULARY))]


def by_block(weights):
    """The weights of all blocks, cut into one list for each."""
    size = len(weights) // BLOCKS
    return [weights[k * size : (k + 1) * size] for k in range(BLOCKS)]


def with_torch_modules():
    """torch.nn and its autograd."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1 = nn.LayerNorm(WIDTH)
            self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
            self.out = nn.Linear(WIDTH, WIDTH)
            self.norm2 = nn.LayerNorm(WIDTH)
            self.fc1 = nn.Linear(WIDTH, 4 * WIDTH)
            self.fc2 = nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
            heads = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(heads.transpose(1, 2).flatten(2))
            return x + self.fc2(nn.functional.gelu(self.fc1(self.norm2(x)), approximate="tanh"))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.characters = nn.Embedding(len(VOCABULARY), WIDTH)
            self.places = nn.Embedding(CONTEXT, WIDTH)
            self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
            self.norm = nn.LayerNorm(WIDTH)
            self.head = nn.Linear(WIDTH, len(VOCABULARY))

        def forward(self, text):
            x = self.characters(text) + self.places(torch.arange(CONTEXT))
            return self.head(self.norm(self.blocks(x)))

    model = Gpt()

    def loss(weights, text, following):
        return nn.functional.cross_entropy(called(model, weights, text).flatten(0, 1), following.flatten())

    return by_autograd(loss)


def with_torch_functions():
    """The printed torch of embedding, gpt2_block, layer_norm, linear and cross_entropy."""
    import torch

    embedding, gpt2_block, layer_norm, linear, cross_entropy = (
        getattr(generated(name, "torch"), name)
        for name in ("embedding", "gpt2_block", "layer_norm", "linear", "cross_entropy")
    )

    def loss(weights, text, following):
        characters, places, *blocks, gain, bias, head_weight, head_bias = weights
        x = embedding(characters, text) + embedding(places, torch.arange(CONTEXT))
        for block in by_block(blocks):
            x = gpt2_block(x, *block)
        scores = linear(layer_norm(x, gain, bias).flatten(0, 1), head_weight, head_bias)
        return cross_entropy(scores, following.flatten())

    return by_autograd(loss)


def with_numpy():
    """The printed NumPy of the same: what forward saves goes back through backward, last layer first."""
    embedding, gpt2_block, layer_norm, linear, cross_entropy = (
        generated(name, "numpy") for name in ("embedding", "gpt2_block", "layer_norm", "linear", "cross_entropy")
    )

    def way(weights, text, following):
        characters, places, *blocks, gain, bias, head_weight, head_bias = weights
        x, saved_characters = embedding.forward(characters, text)
        place, saved_places = embedding.forward(places, np.broadcast_to(np.arange(CONTEXT), text.shape))
        x = x + place
        saved_blocks = []
        for block in by_block(blocks):
            x, saved = gpt2_block.forward(x, *block)
            saved_blocks.append(saved)
        x, saved_norm = layer_norm.forward(x, gain, bias)
        scores, saved_head = linear.forward(x.reshape(-1, WIDTH), head_weight, head_bias)
        loss, saved_loss = cross_entropy.forward(scores, following.reshape(-1))

        grad, *_ = cross_entropy.backward(saved_loss)
        grad, *grads_head = linear.backward(saved_head, grad)
        grad, *grads_norm = layer_norm.backward(saved_norm, grad.reshape(x.shape))
        grads_blocks = []
        for saved in reversed(saved_blocks):
            grad, *grads = gpt2_block.backward(saved, grad)
            grads_blocks = grads + grads_blocks
        grad_places, _ = embedding.backward(saved_places, grad)
        grad_characters, _ = embedding.backward(saved_characters, grad)
        return loss, [grad_characters, grad_places, *grads_blocks, *grads_norm, *grads_head]

    return way


WAYS = {"torch modules": with_torch_modules, "torch Functions": with_torch_functions, "numpy": with_numpy}


def drawn(steps=STEPS, batch=BATCH):
    """The first weights, and the batches."""
    rng = np.random.default_rng(0)
    codes = np.array([VOCABULARY.index(character) for character in TEXT])
    windows = np.lib.stride_tricks.sliding_window_view(codes, CONTEXT + 1)
    chosen = windows[rng.integers(0, len(windows), (steps, batch))]
    return first_weights(rng), [(window[:, :-1], window[:, 1:]) for window in chosen]


def curves(ways=WAYS):
    """{way: its losses}, from the same weights on the same batches."""
    weights, batches = drawn()
    return {way: train(WAYS[way](), weights, batches, adam(RATE)) for way in ways}


if __name__ == "__main__":
    compare(curves(sys.argv[1:] or WAYS))
