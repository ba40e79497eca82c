"""Losses, each a scalar."""

from .. import declare as sg
from .layers import linear
from .statistics import log_softmax


@sg.function
def squared_error(x: sg.Tensor["..."], *, target: float = 4.0):
    """sum((x - target)^2)."""
    return ((x - target) ** 2).sum()


@sg.function
def mse_loss(prediction: sg.Tensor["n m"], target: sg.Tensor["n m"]):
    """mean((prediction - target)^2)."""
    return ((prediction - target) ** 2).mean()


@sg.function
def linear_mse(x: sg.Tensor["n k"], weight: sg.Tensor["m k"], bias: sg.Tensor["m"], target: sg.Tensor["n m"]):
    """A linear layer and its mean squared error as one function."""
    prediction = linear(x, weight, bias)
    return mse_loss(prediction, target)


@sg.function
def cross_entropy(logits: sg.Tensor["n c"], target: sg.Int["n"]):
    """mean over i of logsumexp(logits[i]) - logits[i, target[i]], with class indices as targets."""
    i, j = sg.indices("i j")
    scores = sg.tensor[i](sg.log(sg.sum[j](sg.exp(logits[i, j]))))
    return sg.mean[i](scores[i] - logits[i, target[i]])


@sg.function
def l1_loss(prediction: sg.Tensor["..."], target: sg.Tensor["..."]):
    """mean(|prediction - target|)."""
    return abs(prediction - target).mean()


@sg.function
def rmse_loss(prediction: sg.Tensor["..."], target: sg.Tensor["..."]):
    """sqrt(mean((prediction - target)^2))."""
    return sg.sqrt(((prediction - target) ** 2).mean())


@sg.function
def weighted_mse_loss(prediction: sg.Tensor["..."], target: sg.Tensor["..."], weight: sg.Tensor["..."]):
    """sum(weight (prediction - target)^2) / sum(weight)."""
    return (weight * (prediction - target) ** 2).sum() / weight.sum()


@sg.function
def huber_loss(prediction: sg.Tensor["..."], target: sg.Tensor["..."], *, delta: float = 1.0):
    """mean of d^2/2 where |d| < delta, else delta (|d| - delta/2), with d = prediction - target."""
    d = prediction - target
    return sg.where(abs(d) < delta, d**2 / 2, delta * (abs(d) - delta / 2)).mean()


@sg.function
def smooth_l1_loss(prediction: sg.Tensor["..."], target: sg.Tensor["..."], *, beta: float = 1.0):
    """mean of d^2/(2 beta) where |d| < beta, else |d| - beta/2, with d = prediction - target."""
    d = prediction - target
    return sg.where(abs(d) < beta, d**2 / (2 * beta), abs(d) - beta / 2).mean()


@sg.function
def log_cosh_loss(prediction: sg.Tensor["..."], target: sg.Tensor["..."]):
    """mean(log(cosh(prediction - target)))."""
    return sg.log(sg.cosh(prediction - target)).mean()


@sg.function
def charbonnier_loss(prediction: sg.Tensor["..."], target: sg.Tensor["..."], *, eps: float = 1e-3):
    """mean(sqrt((prediction - target)^2 + eps^2))."""
    return sg.sqrt((prediction - target) ** 2 + eps**2).mean()


@sg.function
def quantile_loss(prediction: sg.Tensor["..."], target: sg.Tensor["..."], *, quantile: float = 0.9):
    """mean(max(quantile d, (quantile - 1) d)), with d = target - prediction."""
    d = target - prediction
    return sg.maximum(quantile * d, (quantile - 1) * d).mean()


@sg.function
def msle_loss(prediction: sg.Tensor["..."], target: sg.Tensor["..."]):
    """mean((log(1 + prediction) - log(1 + target))^2)."""
    error = sg.log(1 + prediction) - sg.log(1 + target)
    return (error**2).mean()


@sg.function
def binary_cross_entropy(p: sg.Tensor["..."], target: sg.Tensor["..."]):
    """-mean(target log(p) + (1 - target) log(1 - p))."""
    return -(target * sg.log(p) + (1 - target) * sg.log(1 - p)).mean()


@sg.function
def binary_cross_entropy_with_logits(logits: sg.Tensor["..."], target: sg.Tensor["..."]):
    """binary_cross_entropy(sigmoid(logits), target)."""
    return (sg.softplus(logits) - target * logits).mean()


@sg.function
def focal_loss(logits: sg.Tensor["..."], target: sg.Tensor["..."], *, gamma: float = 2.0):
    """mean(-(1 - q)^gamma log(q)), where q is the probability of the target, 0 or 1 (Lin and others, 2017)."""
    x = (2 * target - 1) * logits
    return (sg.sigmoid(-x) ** gamma * sg.softplus(-x)).mean()


@sg.function
def nll_loss(log_p: sg.Tensor["n c"], target: sg.Int["n"], weight: sg.Tensor["c"]):
    """-sum(weight[target] log_p[target]) / sum(weight[target])."""
    i = sg.indices("i")
    total = sg.sum[i](weight[target[i]] * log_p[i, target[i]])
    return -total / sg.sum[i](weight[target[i]])


@sg.function
def nll_loss_ignoring(log_p: sg.Tensor["n c"], target: sg.Int["n"], *, ignore_index: int = -100):
    """The mean of -log_p[i, target[i]] over the i whose target is not ignore_index."""
    i = sg.indices("i")
    total = sg.sum[i](sg.where(target[i] != ignore_index, log_p[i, target[i]], 0))
    return -total / sg.where(target != ignore_index, 1.0, 0.0).sum()


@sg.function
def weighted_cross_entropy(logits: sg.Tensor["n c"], target: sg.Int["n"], weight: sg.Tensor["c"]):
    """The cross entropy, in which each class has a weight."""
    return nll_loss(log_softmax(logits), target, weight)


@sg.function
def cross_entropy_ignoring(logits: sg.Tensor["n c"], target: sg.Int["n"], *, ignore_index: int = -100):
    """The cross entropy over the rows whose target is not ignore_index."""
    return nll_loss_ignoring(log_softmax(logits), target, ignore_index=ignore_index)


@sg.function
def soft_cross_entropy(logits: sg.Tensor["n c"], p: sg.Tensor["n c"]):
    """-mean over i of sum(p[i] log_softmax(logits[i])), with probabilities as targets."""
    return -(p * log_softmax(logits)).sum(axis=-1).mean()


@sg.function
def label_smoothing_loss(logits: sg.Tensor["n c"], target: sg.Int["n"], *, smoothing: float = 0.1):
    """The cross entropy with 1 - smoothing for the target and smoothing / c for every class."""
    i = sg.indices("i")
    log_p = log_softmax(logits)
    hit = sg.mean[i](log_p[i, target[i]])
    return -(1 - smoothing) * hit - smoothing * log_p.mean()


@sg.function
def cross_entropy_full(
    logits: sg.Tensor["n c"],
    target: sg.Int["n"],
    weight: sg.Tensor["c"] = None,
    *,
    ignore_index: int = -100,
    smoothing: float = 0.0,
):
    """The cross entropy with weights of classes, a class that does not count, and label smoothing, as in torch."""
    i, j = sg.indices("i j")
    log_p = log_softmax(logits)
    counts = sg.where(target != ignore_index, 1.0, 0.0)
    own = sg.tensor[i](sg.where(target[i] != ignore_index, sg.given(weight, weight[target[i]], 1), 0))
    hit = sg.sum[i](sg.where(target[i] != ignore_index, own[i] * log_p[i, target[i]], 0))
    spread = sg.sum[i, j](counts[i] * weight[j] * log_p[i, j])
    return -((1 - smoothing) * hit + smoothing / logits.shape[1] * spread) / own.sum()


@sg.function
def fenchel_young_loss(x: sg.Tensor["n c"], p: sg.Tensor["n c"]):
    """mean(logsumexp(x) + sum(p log(p)) - x . p): what two convex conjugates lack to equality (Blondel, 2020)."""
    return (sg.logsumexp(x, axis=1) + sg.xlogy(p, p).sum(axis=1) - (x * p).sum(axis=1)).mean()


@sg.function
def poisson_conjugate_loss(log_rate: sg.Tensor["..."], target: sg.Tensor["..."]):
    """mean(exp(log_rate) + target log(target) - target - target log_rate): half the deviance of a Poisson model."""
    return (sg.exp(log_rate) + sg.xlogy(target, target) - target - target * log_rate).mean()


@sg.function
def kl_div(log_q: sg.Tensor["n c"], p: sg.Tensor["n c"]):
    """mean over i of sum(p (log(p) - log_q)), with 0 log(0) = 0."""
    return (sg.xlogy(p, p) - p * log_q).sum(axis=-1).mean()


@sg.function
def js_divergence(p: sg.Tensor["... n"], q: sg.Tensor["... n"]):
    """(KL(p, m) + KL(q, m)) / 2 with m = (p + q) / 2, over the last axis."""
    m = (p + q) / 2
    return (p * sg.log(p / m) + q * sg.log(q / m)).sum(axis=-1) / 2


@sg.function
def cosine_similarity(x: sg.Tensor["... n"], y: sg.Tensor["... n"]):
    """x . y / (|x| |y|) over the last axis."""
    return (x * y).sum(axis=-1) / (sg.sqrt((x**2).sum(axis=-1)) * sg.sqrt((y**2).sum(axis=-1)))


@sg.function
def cosine_embedding_loss(x: sg.Tensor["n d"], y: sg.Tensor["n d"], label: sg.Tensor["n"], *, margin: float = 0.0):
    """mean of 1 - cos where label is 1, else max(cos - margin, 0)."""
    cosine = cosine_similarity(x, y)
    return sg.where(label > 0, 1 - cosine, sg.relu(cosine - margin)).mean()


@sg.function
def hinge_loss(score: sg.Tensor["..."], label: sg.Tensor["..."]):
    """mean(max(1 - label score, 0)), with labels 1 and -1."""
    return sg.relu(1 - label * score).mean()


@sg.function
def squared_hinge_loss(score: sg.Tensor["..."], label: sg.Tensor["..."]):
    """mean(max(1 - label score, 0)^2), with labels 1 and -1."""
    return (sg.relu(1 - label * score) ** 2).mean()


@sg.function
def hinge_embedding_loss(distance: sg.Tensor["..."], label: sg.Tensor["..."], *, margin: float = 1.0):
    """mean of the distance where label is 1, else max(margin - distance, 0)."""
    return sg.where(label > 0, distance, sg.relu(margin - distance)).mean()


@sg.function
def soft_margin_loss(score: sg.Tensor["..."], label: sg.Tensor["..."]):
    """mean(log(1 + exp(-label score))), with labels 1 and -1."""
    return sg.log(1 + sg.exp(-label * score)).mean()


@sg.function
def multilabel_soft_margin_loss(logits: sg.Tensor["n c"], target: sg.Tensor["n c"]):
    """-mean(target log(p) + (1 - target) log(1 - p)) with p = sigmoid(logits)."""
    return binary_cross_entropy(sg.sigmoid(logits), target)


@sg.function
def multi_margin_loss(score: sg.Tensor["n c"], target: sg.Int["n"], *, margin: float = 1.0):
    """mean over i of sum over j != target[i] of max(margin - score[i, target[i]] + score[i, j], 0) / c.

    The margin is positive: the term of j = target[i] is the margin itself, and is taken off.
    """
    i = sg.indices("i")
    own = sg.tensor[i](score[i, target[i]])
    return (sg.relu(margin - own[:, None] + score).sum(axis=1) - margin).mean() / score.shape[1]


@sg.function
def gaussian_nll_loss(mean: sg.Tensor["..."], target: sg.Tensor["..."], var: sg.Tensor["..."], *, eps: float = 1e-6):
    """mean((log(v) + (mean - target)^2 / v) / 2) with v = max(var, eps)."""
    v = sg.maximum(var, eps)
    return ((sg.log(v) + (mean - target) ** 2 / v) / 2).mean()


@sg.function
def poisson_nll_loss(log_rate: sg.Tensor["..."], target: sg.Tensor["..."]):
    """mean(exp(log_rate) - target log_rate)."""
    return (sg.exp(log_rate) - target * log_rate).mean()


@sg.function
def triplet_margin_loss(
    anchor: sg.Tensor["n d"],
    positive: sg.Tensor["n d"],
    negative: sg.Tensor["n d"],
    *,
    margin: float = 1.0,
):
    """mean(max(|anchor - positive| - |anchor - negative| + margin, 0))."""
    near = sg.sqrt(((anchor - positive) ** 2).sum(axis=1))
    far = sg.sqrt(((anchor - negative) ** 2).sum(axis=1))
    return sg.relu(near - far + margin).mean()


@sg.function
def margin_ranking_loss(x: sg.Tensor["..."], y: sg.Tensor["..."], label: sg.Tensor["..."], *, margin: float = 0.0):
    """mean(max(-label (x - y) + margin, 0)): label is 1 where x should be larger, else -1."""
    return sg.relu(-label * (x - y) + margin).mean()


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
def bpr_loss(positive: sg.Tensor["..."], negative: sg.Tensor["..."]):
    """mean(-log(sigmoid(positive - negative))) (Rendle and others, 2009)."""
    return sg.softplus(negative - positive).mean()


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
