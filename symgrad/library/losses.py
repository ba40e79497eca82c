"""Losses: the mean over all examples, their sum, or one for each, by the static option `reduction`."""

import numpy as np

from .. import declare as sg
from ..errors import DeclarationError
from .layers import linear
from .statistics import log_softmax, logsumexp


def _reduced(loss, reduction):
    """The mean or the sum of all elements of a loss, or the loss itself."""
    if reduction not in ("none", "mean", "sum"):
        raise DeclarationError(f"reduction={reduction!r}: it is 'none', 'mean' or 'sum'.")
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


@sg.function
def squared_error(x: sg.Tensor["..."], *, target: float = 4.0):
    """sum((x - target)^2)."""
    return ((x - target) ** 2).sum()


@sg.function
def mse_loss(prediction: sg.Tensor["..."], target: sg.Tensor["..."], *, reduction: sg.Static = "mean"):
    """mean((prediction - target)^2)."""
    return _reduced((prediction - target) ** 2, reduction)


@sg.function
def linear_mse(x: sg.Tensor["n k"], weight: sg.Tensor["m k"], bias: sg.Tensor["m"], target: sg.Tensor["n m"]):
    """A linear layer and its mean squared error as one function."""
    prediction = linear(x, weight, bias)
    return mse_loss(prediction, target)


@sg.function
def nll_loss(
    log_p: sg.Tensor["n*batch c w*places"],
    target: sg.Int["n*batch w*places"],
    weight: sg.Tensor["c"] = None,
    *,
    ignore_index: int = -100,
    reduction: sg.Static = "mean",
    places: sg.Static = 0,
    batch: sg.Static = 1,
):
    """-sum(weight[target] log_p[target]) / sum(weight[target]), without the targets that are ignore_index."""
    counts = target != ignore_index
    own = sg.where(counts, sg.given(weight, weight[target], 1), 0)
    loss = sg.where(counts, -own * _of_class(log_p, target, places), 0)
    return loss.sum() / own.sum() if reduction == "mean" else _reduced(loss, reduction)


def _of_class(scores, target, places=0):
    """The element of each target along the axis of classes, which stands before the places."""
    axis = -1 - places
    return np.squeeze(np.take_along_axis(scores, np.expand_dims(target, axis), axis), axis)


def _is_part(smoothing):
    sg.require(0 <= smoothing <= 1, f"0 <= smoothing <= 1, here smoothing = {smoothing}")


@sg.function
def cross_entropy(
    logits: sg.Tensor["n*batch c w*places"],
    target: sg.Int["n*batch w*places"],
    weight: sg.Tensor["c"] = None,
    *,
    ignore_index: int = -100,
    smoothing: sg.Static = 0.0,
    reduction: sg.Static = "mean",
    places: sg.Static = 0,
    batch: sg.Static = 1,
):
    """The nll_loss of log_softmax(logits), with class indices as targets.

    Label smoothing leaves 1 - smoothing to the target and gives smoothing / c to every class.
    """
    axis = -1 - places
    counts = target != ignore_index
    own = sg.where(counts, sg.given(weight, weight[target], 1), 0)
    scores = logsumexp(logits, axis=axis)
    loss = sg.where(counts, own * (scores - _of_class(logits, target, places)), 0)
    if smoothing:
        each = weight[:, *[None] * places] * (np.expand_dims(scores, axis) - logits)
        loss = (1 - smoothing) * loss + smoothing * sg.where(counts, each.mean(axis=axis), 0)
    return loss.sum() / own.sum() if reduction == "mean" else _reduced(loss, reduction)


@sg.function
def linear_cross_entropy(
    x: sg.Tensor["n k"],
    weight: sg.Tensor["c k"],
    target: sg.Int["n"],
    bias: sg.Tensor["c"] = None,
    class_weight: sg.Tensor["c"] = None,
    *,
    ignore_index: int = -100,
    smoothing: sg.Static = 0.0,
    reduction: sg.Static = "mean",
):
    """The cross_entropy of x @ weight.T + bias, with a row of weight for each class: the last layer and the loss of a
    language model. class_weight is what cross_entropy calls weight."""
    logits = linear(x, weight, bias)
    return cross_entropy(
        logits, target, class_weight, ignore_index=ignore_index, smoothing=smoothing, reduction=reduction
    )


@sg.function
def l1_loss(prediction: sg.Tensor["..."], target: sg.Tensor["..."], *, reduction: sg.Static = "mean"):
    """mean(|prediction - target|)."""
    return _reduced(abs(prediction - target), reduction)


@sg.function
def rmse_loss(prediction: sg.Tensor["..."], target: sg.Tensor["..."]):
    """sqrt(mean((prediction - target)^2))."""
    return sg.sqrt(((prediction - target) ** 2).mean())


@sg.function
def weighted_mse_loss(prediction: sg.Tensor["..."], target: sg.Tensor["..."], weight: sg.Tensor["..."]):
    """sum(weight (prediction - target)^2) / sum(weight)."""
    return (weight * (prediction - target) ** 2).sum() / weight.sum()


@sg.function
def huber_loss(
    prediction: sg.Tensor["..."], target: sg.Tensor["..."], *, delta: float = 1.0, reduction: sg.Static = "mean"
):
    """mean of d^2/2 where |d| < delta, else delta (|d| - delta/2), with d = prediction - target."""
    d = prediction - target
    return _reduced(sg.where(abs(d) < delta, d**2 / 2, delta * (abs(d) - delta / 2)), reduction)


@sg.function
def smooth_l1_loss(
    prediction: sg.Tensor["..."], target: sg.Tensor["..."], *, beta: float = 1.0, reduction: sg.Static = "mean"
):
    """mean of d^2/(2 beta) where |d| < beta, else |d| - beta/2, with d = prediction - target."""
    d = prediction - target
    return _reduced(sg.where(abs(d) < beta, d**2 / (2 * beta), abs(d) - beta / 2), reduction)


@sg.function
def log_cosh_loss(prediction: sg.Tensor["..."], target: sg.Tensor["..."], *, reduction: sg.Static = "mean"):
    """mean(log(cosh(prediction - target)))."""
    return _reduced(sg.log(sg.cosh(prediction - target)), reduction)


@sg.function
def charbonnier_loss(
    prediction: sg.Tensor["..."], target: sg.Tensor["..."], *, eps: float = 1e-3, reduction: sg.Static = "mean"
):
    """mean(sqrt((prediction - target)^2 + eps^2))."""
    return _reduced(sg.sqrt((prediction - target) ** 2 + eps**2), reduction)


@sg.function
def quantile_loss(
    prediction: sg.Tensor["..."], target: sg.Tensor["..."], *, quantile: float = 0.9, reduction: sg.Static = "mean"
):
    """mean(max(quantile d, (quantile - 1) d)), with d = target - prediction."""
    d = target - prediction
    return _reduced(sg.maximum(quantile * d, (quantile - 1) * d), reduction)


@sg.function
def msle_loss(prediction: sg.Tensor["..."], target: sg.Tensor["..."], *, reduction: sg.Static = "mean"):
    """mean((log(1 + prediction) - log(1 + target))^2)."""
    error = sg.log(1 + prediction) - sg.log(1 + target)
    return _reduced(error**2, reduction)


@sg.function
def binary_cross_entropy(
    p: sg.Tensor["..."],
    target: sg.Tensor["..."],
    weight: sg.Tensor["..."] = None,
    *,
    reduction: sg.Static = "mean",
):
    """-mean(weight (target log(p) + (1 - target) log(1 - p)))."""
    return _reduced(-(weight * (target * sg.log(p) + (1 - target) * sg.log(1 - p))), reduction)


@sg.function
def binary_cross_entropy_with_logits(
    logits: sg.Tensor["..."],
    target: sg.Tensor["..."],
    weight: sg.Tensor["..."] = None,
    pos_weight: sg.Tensor["..."] = None,
    *,
    reduction: sg.Static = "mean",
):
    """binary_cross_entropy(sigmoid(logits), target, weight), in which pos_weight counts what is 1."""
    each = sg.given(
        pos_weight,
        pos_weight * target * sg.softplus(-logits) + (1 - target) * sg.softplus(logits),
        sg.softplus(logits) - target * logits,
    )
    return _reduced(weight * each, reduction)


@sg.function
def focal_loss(
    logits: sg.Tensor["..."], target: sg.Tensor["..."], *, gamma: float = 2.0, reduction: sg.Static = "mean"
):
    """mean(-(1 - q)^gamma log(q)), where q is the probability of the target, 0 or 1 (Lin and others, 2017)."""
    x = (2 * target - 1) * logits
    return _reduced(sg.sigmoid(-x) ** gamma * sg.softplus(-x), reduction)


@sg.function
def soft_cross_entropy(
    logits: sg.Tensor["n*batch c w*places"],
    p: sg.Tensor["n*batch c w*places"],
    weight: sg.Tensor["c"] = None,
    *,
    smoothing: sg.Static = 0.0,
    reduction: sg.Static = "mean",
    places: sg.Static = 0,
    batch: sg.Static = 1,
):
    """-mean over i of sum(weight p[i] log_softmax(logits[i])), with probabilities as targets."""
    log_p = log_softmax(logits, axis=-1 - places)
    _is_part(smoothing)
    if smoothing:
        p = (1 - smoothing) * p + smoothing / logits.shape[-1 - places]
    each = weight[:, *[None] * places] * p * log_p
    return _reduced(-each.sum(axis=-1 - places), reduction)


@sg.function
def fenchel_young_loss(x: sg.Tensor["n c"], p: sg.Tensor["n c"]):
    """mean(logsumexp(x) + sum(p log(p)) - x . p): what two convex conjugates lack to equality (Blondel, 2020)."""
    return (sg.logsumexp(x, axis=1) + sg.xlogy(p, p).sum(axis=1) - (x * p).sum(axis=1)).mean()


@sg.function
def poisson_conjugate_loss(log_rate: sg.Tensor["..."], target: sg.Tensor["..."], *, reduction: sg.Static = "mean"):
    """mean(exp(log_rate) + target log(target) - target - target log_rate): half the deviance of a Poisson model."""
    return _reduced(sg.exp(log_rate) + sg.xlogy(target, target) - target - target * log_rate, reduction)


@sg.function
def poisson_nll_loss(
    log_rate: sg.Tensor["..."],
    target: sg.Tensor["..."],
    *,
    eps: float = 1e-8,
    log_input: sg.Static = True,
    full: sg.Static = False,
    reduction: sg.Static = "mean",
):
    """mean(exp(log_rate) - target log_rate); rate - target log(rate + eps) where it is the rate that is given.

    `full` adds Stirling's approximation of log(target!) where the target is above 1.
    """
    rate, log_of_it = (sg.exp(log_rate), log_rate) if log_input else (log_rate, sg.log(log_rate + eps))
    loss = rate - target * log_of_it
    if full:
        stirling = target * sg.log(target) - target + sg.log(2 * sg.pi * target) / 2
        loss = loss + sg.where(target > 1, stirling, 0)
    return _reduced(loss, reduction)


@sg.function
def kl_div(
    log_q: sg.Tensor["..."], p: sg.Tensor["..."], *, log_target: sg.Static = False, reduction: sg.Static = "batchmean"
):
    """mean over i of sum(p (log(p) - log_q)), with 0 log(0) = 0; `log_target` says that p is given by its logarithm.

    "batchmean" is the sum over the last axis and the mean over the others; "mean" is that of all elements.
    """
    loss = sg.exp(p) * (p - log_q) if log_target else sg.xlogy(p, p) - p * log_q
    return loss.sum(axis=-1).mean() if reduction == "batchmean" else _reduced(loss, reduction)


@sg.function
def js_divergence(p: sg.Tensor["... n"], q: sg.Tensor["... n"]):
    """(KL(p, m) + KL(q, m)) / 2 with m = (p + q) / 2, over the last axis."""
    m = (p + q) / 2
    return (p * sg.log(p / m) + q * sg.log(q / m)).sum(axis=-1) / 2


@sg.function
def cosine_similarity(x: sg.Tensor["..."], y: sg.Tensor["..."], *, eps: float = 1e-8, axis: sg.Static = -1):
    """x . y / (max(|x|, eps) max(|y|, eps)) over an axis."""
    x_norm, y_norm = sg.sqrt((x**2).sum(axis=axis)), sg.sqrt((y**2).sum(axis=axis))
    return (x * y).sum(axis=axis) / (sg.maximum(x_norm, eps) * sg.maximum(y_norm, eps))


@sg.function
def cosine_embedding_loss(
    x: sg.Tensor["... d"],
    y: sg.Tensor["... d"],
    label: sg.Tensor["..."],
    *,
    margin: float = 0.0,
    reduction: sg.Static = "mean",
):
    """mean of 1 - cos where label is 1, else max(cos - margin, 0)."""
    cosine = cosine_similarity(x, y)
    return _reduced(sg.where(label > 0, 1 - cosine, sg.relu(cosine - margin)), reduction)


@sg.function
def hinge_loss(score: sg.Tensor["..."], label: sg.Tensor["..."], *, reduction: sg.Static = "mean"):
    """mean(max(1 - label score, 0)), with labels 1 and -1."""
    return _reduced(sg.relu(1 - label * score), reduction)


@sg.function
def squared_hinge_loss(score: sg.Tensor["..."], label: sg.Tensor["..."], *, reduction: sg.Static = "mean"):
    """mean(max(1 - label score, 0)^2), with labels 1 and -1."""
    return _reduced(sg.relu(1 - label * score) ** 2, reduction)


@sg.function
def hinge_embedding_loss(
    distance: sg.Tensor["..."], label: sg.Tensor["..."], *, margin: float = 1.0, reduction: sg.Static = "mean"
):
    """mean of the distance where label is 1, else max(margin - distance, 0)."""
    return _reduced(sg.where(label > 0, distance, sg.relu(margin - distance)), reduction)


@sg.function
def soft_margin_loss(score: sg.Tensor["..."], label: sg.Tensor["..."], *, reduction: sg.Static = "mean"):
    """mean(log(1 + exp(-label score))), with labels 1 and -1."""
    return _reduced(sg.log(1 + sg.exp(-label * score)), reduction)


@sg.function
def multilabel_soft_margin_loss(
    logits: sg.Tensor["... c"],
    target: sg.Tensor["... c"],
    weight: sg.Tensor["... c"] = None,
    *,
    reduction: sg.Static = "mean",
):
    """-mean(weight (target log(p) + (1 - target) log(1 - p))) with p = sigmoid(logits), the mean of each row first."""
    each = weight * binary_cross_entropy(sg.sigmoid(logits), target, reduction="none")
    return _reduced(each.mean(axis=-1), reduction)


@sg.function
def multi_margin_loss(
    score: sg.Tensor["... c"],
    target: sg.Int["..."],
    weight: sg.Tensor["c"] = None,
    *,
    margin: float = 1.0,
    power: sg.Static = 1,
    reduction: sg.Static = "mean",
):
    """mean over i of sum over j != target[i] of max(margin - score[i, target[i]] + score[i, j], 0)^power / c.

    Each i counts with the weight of its target. The term of j = target[i] is max(margin, 0)^power, and is taken off.
    """
    own = _of_class(score, target)
    over = (sg.relu(margin - own[..., None] + score) ** power).sum(axis=-1) - sg.relu(margin) ** power
    return _reduced(weight[target] * over / score.shape[-1], reduction)


@sg.function
def gaussian_nll_loss(
    mean: sg.Tensor["..."],
    target: sg.Tensor["..."],
    var: sg.Tensor["..."],
    *,
    eps: float = 1e-6,
    full: sg.Static = False,
    reduction: sg.Static = "mean",
):
    """mean((log(v) + (mean - target)^2 / v) / 2) with v = max(var, eps); `full` adds log(2 pi) / 2."""
    v = sg.maximum(var, eps)
    loss = (sg.log(v) + (mean - target) ** 2 / v) / 2
    return _reduced(loss + sg.log(2 * sg.pi) / 2 if full else loss, reduction)


@sg.function
def triplet_margin_loss(
    anchor: sg.Tensor["... d"],
    positive: sg.Tensor["... d"],
    negative: sg.Tensor["... d"],
    *,
    margin: float = 1.0,
    eps: float = 1e-6,
    p: sg.Static = 2.0,
    swap: sg.Static = False,
    reduction: sg.Static = "mean",
):
    """mean(max(|anchor - positive| - |anchor - negative| + margin, 0)) with the p-norms of differences + eps.

    `swap` takes |positive - negative| where that is less than |anchor - negative|.
    """
    near, far = _distance(anchor, positive, eps, p), _distance(anchor, negative, eps, p)
    if swap:
        far = sg.minimum(far, _distance(positive, negative, eps, p))
    return _reduced(sg.relu(near - far + margin), reduction)


def _distance(x, y, eps, p):
    d = x - y + eps
    return sg.sqrt((d**2).sum(axis=-1)) if p == 2 else (abs(d) ** p).sum(axis=-1) ** (1 / p)


@sg.function
def margin_ranking_loss(
    x: sg.Tensor["..."],
    y: sg.Tensor["..."],
    label: sg.Tensor["..."],
    *,
    margin: float = 0.0,
    reduction: sg.Static = "mean",
):
    """mean(max(-label (x - y) + margin, 0)): label is 1 where x should be larger, else -1."""
    return _reduced(sg.relu(-label * (x - y) + margin), reduction)


@sg.function
def contrastive_loss(x: sg.Tensor["n d"], y: sg.Tensor["n d"], same: sg.Tensor["n"], *, margin: float = 1.0):
    """mean of d^2 where same is 1, else max(margin - d, 0)^2, with d = |x - y|."""
    distance = sg.sqrt(((x - y) ** 2).sum(axis=1))
    return (same * distance**2 + (1 - same) * sg.relu(margin - distance) ** 2).mean()


@sg.function
def info_nce_loss(x: sg.Tensor["n d"], y: sg.Tensor["n d"], *, temperature: float = 0.1):
    """The cross entropy of x @ y.T / temperature, in which row i should find column i."""
    score = x @ y.T / temperature
    i = sg.indices("i")
    return sg.mean[i](sg.logsumexp(score, axis=1)[i] - score[i, i])


@sg.function
def bpr_loss(positive: sg.Tensor["..."], negative: sg.Tensor["..."], *, reduction: sg.Static = "mean"):
    """mean(-log(sigmoid(positive - negative))) (Rendle and others, 2009)."""
    return _reduced(sg.softplus(negative - positive), reduction)


@sg.function
def dice_loss(p: sg.Tensor["n m"], target: sg.Tensor["n m"], *, smooth: float = 1.0):
    """1 - mean of (2 sum(p target) + smooth) / (sum(p) + sum(target) + smooth), each row an image."""
    overlap = (p * target).sum(axis=1)
    return 1 - ((2 * overlap + smooth) / (p.sum(axis=1) + target.sum(axis=1) + smooth)).mean()


@sg.function
def ridge_loss(x: sg.Tensor["n d"], weight: sg.Tensor["d"], target: sg.Tensor["n"], *, penalty: float = 0.1):
    """mean((x @ weight - target)^2) + penalty sum(weight^2)."""
    return ((x @ weight - target) ** 2).mean() + penalty * (weight**2).sum()


@sg.function
def logistic_regression_loss(x: sg.Tensor["n d"], weight: sg.Tensor["d"], bias, target: sg.Tensor["n"]):
    """The binary cross entropy of sigmoid(x @ weight + bias)."""
    return binary_cross_entropy_with_logits(x @ weight + bias, target)


@sg.function
def elbo_gaussian(mean: sg.Tensor["n d"], log_var: sg.Tensor["n d"]):
    """KL of N(mean, exp(log_var)) from N(0, 1), summed over d, as in a variational autoencoder."""
    return ((mean**2 + sg.exp(log_var) - log_var - 1) / 2).sum(axis=1).mean()


@sg.function
def kl_gaussians(mean1, std1, mean2, std2):
    """KL of N(mean1, std1^2) from N(mean2, std2^2)."""
    return sg.log(std2 / std1) + (std1**2 + (mean1 - mean2) ** 2) / (2 * std2**2) - 0.5
