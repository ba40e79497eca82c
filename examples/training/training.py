"""What the examples share: reading printed files, two optimizers, the loop over batches, a table of the losses.

A way is a function (weights, batch) -> (loss, gradients); weights and gradients are lists of NumPy arrays. What updates
the weights is written once, here, so that two ways differ in their loss and their gradients alone.
"""

import importlib.util
from pathlib import Path

import numpy as np

GENERATED = Path(__file__).parents[2] / "generated"


def generated(name, target):
    """The module generated/NAME/NAME_TARGET.py."""
    return module_of(GENERATED / name / f"{name}_{target}.py")


def module_of(path):
    """The module that a file is."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def momentum(rate, decay=0.9):
    """Gradient descent with momentum: a function (weights, gradients) that updates the weights in place."""
    speeds = {}

    def update(weights, grads):
        for k, (weight, grad) in enumerate(zip(weights, grads, strict=True)):
            speeds[k] = decay * speeds.get(k, 0) - rate * grad
            weight += speeds[k]

    return update


def adam(rate, decay1=0.9, decay2=0.999, eps=1e-8):
    """Adam (Kingma and Ba, 2015): a function (weights, gradients) that updates the weights in place."""
    means, squares, steps = {}, {}, 0

    def update(weights, grads):
        nonlocal steps
        steps += 1
        for k, (weight, grad) in enumerate(zip(weights, grads, strict=True)):
            means[k] = decay1 * means.get(k, 0) + (1 - decay1) * grad
            squares[k] = decay2 * squares.get(k, 0) + (1 - decay2) * grad**2
            mean, square = means[k] / (1 - decay1**steps), squares[k] / (1 - decay2**steps)
            weight -= rate * mean / (np.sqrt(square) + eps)

    return update


def train(way, weights, batches, update):
    """The losses of the batches, one after another; `weights` stay as they are."""
    weights = [weight.copy() for weight in weights]
    losses = []
    for batch in batches:
        loss, grads = way(weights, *batch)
        losses.append(float(loss))
        update(weights, grads)
    return np.array(losses)


def by_autograd(loss_of):
    """The way of a function (tensors, batch) -> loss in torch: its gradients are what torch finds."""
    import torch

    def way(weights, *batch):
        tensors = [torch.from_numpy(weight).requires_grad_() for weight in weights]
        loss = loss_of(tensors, *map(torch.from_numpy, batch))
        return loss.item(), [grad.numpy() for grad in torch.autograd.grad(loss, tensors)]

    return way


def called(model, tensors, *inputs):
    """What a torch module gives with `tensors` in place of its parameters, in their order."""
    import torch

    own = {name: t.view(p.shape) for (name, p), t in zip(model.named_parameters(), tensors, strict=True)}
    return torch.func.functional_call(model, own, inputs)


def largest_difference(found, expected):
    """The largest difference of two curves, relative to the second."""
    return np.max(np.abs(found - expected) / np.abs(expected))


def compare(curves):
    """Print {way: losses} beside each other, and how far each is from the first."""
    print("step", *(f"{way:>20}" for way in curves))
    for step, losses in enumerate(zip(*curves.values(), strict=True)):
        print(f"{step + 1:4}", *(f"{loss:20.15f}" for loss in losses))
    first, *others = curves
    for way in others:
        print(f"{way}: at most {largest_difference(curves[way], curves[first]):.1e} from {first}, relative")
