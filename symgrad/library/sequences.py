"""Recurrences along the first axis: cumulative sums, filters, recurrent networks, integrators, alignment."""

from .. import declare as sg
from .windows import loops


def _running(x, before, behind, combined):
    """Along an axis, with so many before it and behind it, what `combined` makes of the one before and of each."""
    out = sg.tensor.new(x.shape)
    b, t, e = loops("bcd", before), sg.indices("t"), loops("efg", behind)
    out[*b, t, *e] = combined(t > 0, out[*b, t - 1, *e], x[*b, t, *e])
    return out


@sg.function
def cumsum(x: sg.Tensor["m*before n k*behind"], *, before: sg.Static = 0, behind: sg.Static = 0):
    """The sums of the first 1, 2, ..., n elements along an axis."""
    return _running(x, before, behind, lambda later, so_far, each: sg.where(later, so_far, 0) + each)


@sg.function
def cumprod(x: sg.Tensor["m*before n k*behind"], *, before: sg.Static = 0, behind: sg.Static = 0):
    """The products of the first 1, 2, ..., n elements along an axis; its gradient is exact where some are 0."""
    return _running(x, before, behind, lambda later, so_far, each: sg.where(later, so_far, 1) * each)


@sg.function
def logcumsumexp(x: sg.Tensor["m*before n k*behind"], *, before: sg.Static = 0, behind: sg.Static = 0):
    """The logarithms of the sums of the exponentials of the first 1, 2, ..., n elements along an axis."""
    return _running(x, before, behind, lambda later, so_far, each: sg.where(later, sg.logaddexp(so_far, each), each))


@sg.function
def exponential_moving_average(x: sg.Tensor["n d"], alpha):
    """mean[0] = x[0]; mean[t] = alpha * x[t] + (1 - alpha) * mean[t-1]."""
    mean = sg.tensor.new("n d")
    t, i = sg.indices("t i")
    mean[t, i] = sg.where(t > 0, alpha * x[t, i] + (1 - alpha) * mean[t - 1, i], x[t, i])
    return mean


@sg.function
def linear_recurrence(x: sg.Tensor["n d"], decay: sg.Tensor["d"], start: sg.Tensor["d"]):
    """state[0] = start; state[t+1] = decay * state[t] + x[t]: the core of a diagonal state space model."""
    state = sg.tensor.new("n+1 d")
    t, i = sg.indices("t i")
    state[0, i] = start[i]
    state[t + 1, i] = decay[i] * state[t, i] + x[t, i]
    return state


@sg.function
def rnn(
    x: sg.Tensor["n b d"],
    weight_input: sg.Tensor["m d"],
    weight_hidden: sg.Tensor["m m"],
    bias: sg.Tensor["m"],
    start: sg.Tensor["b m"],
):
    """hidden[0] = start; hidden[t+1] = tanh(x[t] @ weight_input.T + hidden[t] @ weight_hidden.T + bias)."""
    hidden = sg.tensor.new("n+1 b m")
    t, r, i, j, l = sg.indices("t r i j l")
    hidden[0, r, i] = start[r, i]
    from_input = sg.sum[l](x[t, r, l] * weight_input[i, l])
    from_hidden = sg.sum[j](hidden[t, r, j] * weight_hidden[i, j])
    hidden[t + 1, r, i] = sg.tanh(from_input + from_hidden + bias[i])
    return hidden


@sg.function
def lstm(
    x: sg.Tensor["n b d"],
    weight_input: sg.Tensor["4 m d"],
    weight_hidden: sg.Tensor["4 m m"],
    bias: sg.Tensor["4 m"],
    hidden_start: sg.Tensor["b m"],
    cell_start: sg.Tensor["b m"],
):
    """A long short-term memory over n steps; the gates are input, forget, cell and output, as in PyTorch.

    Returns the hidden states and the cells, both (n + 1, b, m) with the start first.
    """
    hidden, cell = sg.tensor.new("n+1 b m"), sg.tensor.new("n+1 b m")
    t, r, i, j, l, g = sg.indices("t r i j l g")
    hidden[0, r, i] = hidden_start[r, i]
    cell[0, r, i] = cell_start[r, i]
    from_input = sg.sum[l](x[t, r, l] * weight_input[g, i, l])
    from_hidden = sg.sum[j](hidden[t, r, j] * weight_hidden[g, i, j])
    gates = sg.tensor[t, r, g, i](from_input + from_hidden + bias[g, i])
    candidate = sg.tanh(gates[t, r, 2, i])
    enter = sg.sigmoid(gates[t, r, 0, i])
    keep = sg.sigmoid(gates[t, r, 1, i])
    leave = sg.sigmoid(gates[t, r, 3, i])
    cell[t + 1, r, i] = keep * cell[t, r, i] + enter * candidate
    hidden[t + 1, r, i] = leave * sg.tanh(cell[t + 1, r, i])
    return hidden, cell


@sg.function
def pendulum(force: sg.Tensor["n"], angle0, velocity0, *, dt: float = 0.01, gravity: float = 9.81):
    """A pendulum under a force at each of n steps, by the semi-implicit Euler method: angles and velocities (n + 1)."""
    angle, velocity = sg.tensor.new("n+1"), sg.tensor.new("n+1")
    t = sg.indices("t")
    angle[0] = angle0
    velocity[0] = velocity0
    velocity[t + 1] = velocity[t] + dt * (force[t] - gravity * sg.sin(angle[t]))
    angle[t + 1] = angle[t] + dt * velocity[t + 1]
    return angle, velocity


@sg.function
def logistic_growth_rk4(rate: sg.Tensor["n"], start, *, dt: float = 0.1):
    """y' = rate y (1 - y), the rate given for each step, by the method of Runge and Kutta."""
    y = sg.tensor.new("n+1")
    t = sg.indices("t")
    y[0] = start
    k1 = rate[t] * y[t] * (1 - y[t])
    y2 = y[t] + dt / 2 * k1
    k2 = rate[t] * y2 * (1 - y2)
    y3 = y[t] + dt / 2 * k2
    k3 = rate[t] * y3 * (1 - y3)
    y4 = y[t] + dt * k3
    k4 = rate[t] * y4 * (1 - y4)
    y[t + 1] = y[t] + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@sg.function
def hmm_log_likelihood(log_start: sg.Tensor["m"], log_move: sg.Tensor["m m"], log_emit: sg.Tensor["n m"]):
    """log p(observations) of a hidden Markov model, by the forward algorithm; log_emit[t] is log p(x_t | state)."""
    alpha = sg.tensor.new("n+1 m")
    t, i, j = sg.indices("t i j")
    alpha[0, j] = log_start[j]
    alpha[t + 1, j] = sg.logsumexp[i](alpha[t, i] + log_emit[t, i] + log_move[i, j])
    n = log_emit.shape[0]
    return sg.logsumexp[j](alpha[n, j])


@sg.function
def soft_edit_distance(cost: sg.Tensor["n m"], *, temperature: float = 1.0):
    """Soft dynamic time warping: the smooth minimum over all monotone paths of the costs along them."""
    total = sg.tensor.new("n+1 m+1")
    i, j = sg.indices("i j")
    total[i + 1, 0] = total[i, 0] + cost[i, 0]
    total[0, j + 1] = total[0, j] + cost[0, j]
    diagonal, left, above = total[i, j], total[i + 1, j], total[i, j + 1]
    best = sg.minimum(sg.minimum(diagonal, left), above)
    soft = (
        sg.exp((best - diagonal) / temperature)
        + sg.exp((best - left) / temperature)
        + sg.exp((best - above) / temperature)
    )
    total[i + 1, j + 1] = cost[i, j] + best - temperature * sg.log(soft)
    n, m = cost.shape
    return total[n, m]


@sg.function
def polyval(coefficients: sg.Tensor["n"], x: sg.Tensor["m"]):
    """np.polyval by Horner's rule: the coefficient of the highest power first."""
    value = sg.tensor.new("n+1 m")
    k, i = sg.indices("k i", i="m")
    value[0, i] = 0
    value[k + 1, i] = value[k, i] * x[i] + coefficients[k]
    return value[-1]


@sg.function
def gru(
    x: sg.Tensor["n b d"],
    weight_input: sg.Tensor["3 m d"],
    weight_hidden: sg.Tensor["3 m m"],
    bias: sg.Tensor["3 m"],
    start: sg.Tensor["b m"],
):
    """A gated recurrent unit of n steps: reset, update and candidate. The hidden states (n + 1, b, m), start first."""
    hidden = sg.tensor.new("n+1 b m")
    t, r, i, j, l = sg.indices("t r i j l")
    hidden[0, r, i] = start[r, i]
    inputs = [sg.sum[l](x[t, r, l] * weight_input[g, i, l]) + bias[g, i] for g in range(3)]
    states = [sg.sum[j](hidden[t, r, j] * weight_hidden[g, i, j]) for g in range(3)]
    reset = sg.sigmoid(inputs[0] + states[0])
    update = sg.sigmoid(inputs[1] + states[1])
    candidate = sg.tanh(inputs[2] + reset * states[2])
    hidden[t + 1, r, i] = (1 - update) * candidate + update * hidden[t, r, i]
    return hidden


@sg.function
def ctc_loss(log_p: sg.Tensor["n c"], symbol: sg.Int["m"], skip: sg.Bool["m"]):
    """-log p of a labelling under connectionist temporal classification (Graves and others, 2006).

    symbol is the labelling with a blank before, between and behind its labels. skip holds where a path may leave out
    the blank before: at the first label, and at one that differs from the label before it.
    """
    n, m = log_p.shape[0], symbol.shape[0]
    alpha, stay = sg.tensor.new("n+1 m+2"), sg.tensor.new("n m")
    t, j, k = sg.indices("t j k", k="m+2")
    alpha[0, k] = sg.where(k == 1, 0, -1e30)
    alpha[t + 1, 0] = -1e30 + 0 * log_p[t, 0]
    alpha[t + 1, 1] = -1e30 + 0 * log_p[t, 0]
    stay[t, j] = sg.logaddexp(alpha[t, j + 2], alpha[t, j + 1])
    leap = sg.where(skip[j], alpha[t, j], -1e30)
    alpha[t + 1, j + 2] = sg.logaddexp(stay[t, j], leap) + log_p[t, symbol[j]]
    return -sg.logaddexp(alpha[n, m], alpha[n, m + 1])
