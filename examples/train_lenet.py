"""Train the printed LeNet on synthetic images with NumPy alone: `python examples/train_lenet.py`.

Forward and backward come from generated/lenet/lenet_numpy.py, which imports nothing of symgrad. Each class is a pattern
of its own with noise on it; 20 steps of gradient descent with momentum on one batch.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "generated" / "lenet"))
from lenet_numpy import backward, forward

STEPS, RATE, MOMENTUM = 20, 0.02, 0.9
SHAPES = [(6, 1, 5, 5), (6,), (16, 6, 5, 5), (16,), (120, 400), (120,), (84, 120), (84,), (10, 84), (10,)]


def images(rng, count):
    """Images (count, 1, 32, 32) and their classes."""
    patterns = rng.standard_normal((10, 1, 32, 32))
    labels = rng.integers(0, 10, count)
    return patterns[labels] + 0.5 * rng.standard_normal((count, 1, 32, 32)), labels


def cross_entropy(scores, labels):
    """The mean loss, and its gradient in the scores."""
    rows = np.arange(len(labels))
    shifted = scores - scores.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    grad = np.exp(log_p)
    grad[rows, labels] -= 1
    return -log_p[rows, labels].mean(), grad / len(labels)


def main():
    rng = np.random.default_rng(0)
    x, labels = images(rng, 64)
    weights = [
        rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:])) if len(shape) > 1 else np.zeros(shape)
        for shape in SHAPES
    ]
    speeds = [np.zeros(shape) for shape in SHAPES]
    needs = (False, *(True for _ in weights))  # the images are given
    for step in range(STEPS):
        scores, saved = forward(x, *weights)
        loss, grad_scores = cross_entropy(scores, labels)
        _, *grads = backward(saved, grad_scores, needs)
        for weight, speed, grad in zip(weights, speeds, grads, strict=True):
            speed *= MOMENTUM
            speed -= RATE * grad
            weight += speed
        print(f"step {step + 1:2}  loss {loss:.4f}")


if __name__ == "__main__":
    main()
