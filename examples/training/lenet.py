"""Train LeNet for 50 steps three ways, and compare the losses: `python examples/training/lenet.py`.

With torch's own modules, with the printed torch Functions, and with the printed NumPy alone, in float64, from the same
weights on the same batches. `python examples/training/lenet.py numpy` needs no torch. The images are synthetic: each
class is a pattern of its own, with noise on it.
"""

import sys

import numpy as np
from training import by_autograd, called, compare, generated, momentum, train

STEPS, BATCH, RATE = 50, 32, 0.02
SHAPES = [(6, 1, 5, 5), (6,), (16, 6, 5, 5), (16,), (120, 400), (120,), (84, 120), (84,), (10, 84), (10,)]


def with_torch_modules():
    """torch.nn and its autograd."""
    from torch import nn

    model = nn.Sequential(
        *(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        *(nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)),
    )

    def loss(weights, images, labels):
        return nn.functional.cross_entropy(called(model, weights, images), labels)

    return by_autograd(loss)


def with_torch_functions():
    """generated/lenet/lenet_torch.py and generated/cross_entropy/cross_entropy_torch.py."""
    lenet = generated("lenet", "torch").lenet
    cross_entropy = generated("cross_entropy", "torch").cross_entropy

    def loss(weights, images, labels):
        return cross_entropy(lenet(images, *weights), labels)

    return by_autograd(loss)


def with_numpy():
    """generated/lenet/lenet_numpy.py and generated/cross_entropy/cross_entropy_numpy.py."""
    lenet = generated("lenet", "numpy")
    cross_entropy = generated("cross_entropy", "numpy")
    needs = (False, *(True for _ in SHAPES))  # the images are given

    def way(weights, images, labels):
        scores, saved = lenet.forward(images, *weights)
        loss, saved_loss = cross_entropy.forward(scores, labels)
        grad_scores, *_ = cross_entropy.backward(saved_loss)
        _, *grads = lenet.backward(saved, grad_scores, needs)
        return loss, grads

    return way


WAYS = {"torch modules": with_torch_modules, "torch Functions": with_torch_functions, "numpy": with_numpy}


def curves(ways=WAYS):
    """{way: its losses}, from the same weights on the same batches."""
    rng = np.random.default_rng(0)
    patterns = rng.standard_normal((10, 1, 32, 32))
    labels = rng.integers(0, 10, (STEPS, BATCH))
    images = (patterns[labels] + rng.standard_normal((STEPS, BATCH, 1, 32, 32))) / 2
    weights = [
        rng.standard_normal(shape) * np.sqrt(1 / np.prod(shape[1:])) if len(shape) > 1 else np.zeros(shape)
        for shape in SHAPES
    ]
    batches = list(zip(images, labels, strict=True))
    return {way: train(WAYS[way](), weights, batches, momentum(RATE)) for way in ways}


if __name__ == "__main__":
    compare(curves(sys.argv[1:] or WAYS))
