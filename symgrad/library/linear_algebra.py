"""Functions of whole matrices: inverses, factorisations, Gaussian densities. C refuses them; NumPy has them all."""

import numpy as np

from .. import declare as sg


@sg.function
def inverse(a: sg.Tensor["... n n"]):
    """The inverse of a matrix."""
    return sg.inv(a)


@sg.function
def solve(
    a: sg.Tensor["... n n"],
    b: sg.Tensor[lambda columns: "... n m" if columns else "... n"],
    *,
    columns: sg.Static = False,
):
    """The x with a @ x = b; `columns` says that b is a matrix of several right-hand sides."""
    return sg.solve(a, b)


@sg.function
def determinant(a: sg.Tensor["... n n"]):
    """The determinant."""
    return sg.det(a)


@sg.function
def log_determinant(a: sg.Tensor["... n n"]):
    """log |det a|."""
    return sg.logdet(a)


@sg.function
def cholesky(a: sg.Tensor["... n n"], *, upper: sg.Static = False):
    """The lower triangular L with L @ L.T = a, or its transpose."""
    factor = sg.cholesky(a)
    return factor.mT if upper else factor


@sg.function
def qr_decomposition(a: sg.Tensor["m n"]):
    """Q with orthonormal columns and the upper triangular R with Q @ R = a."""
    q, r = sg.qr(a)
    return q, r


@sg.function
def symmetric_eigenvalues(a: sg.Tensor["... n n"]):
    """The eigenvalues of a symmetric matrix, from the smallest."""
    return sg.eigvalsh(a)


@sg.function
def pseudoinverse(a: sg.Tensor["... m n"]):
    """The pseudoinverse of a matrix of full rank."""
    return sg.pinv(a)


@sg.function
def matrix_exponential(a: sg.Tensor["... n n"]):
    """1 + a + a @ a / 2 + a @ a @ a / 6 + ..."""
    return sg.expm(a)


@sg.function
def matrix_power(a: sg.Tensor["... n n"], *, power: sg.Static = 3):
    """a @ a @ ..., as often as `power` says; of the inverse where it is negative."""
    return sg.matrix_power(a, power)


@sg.function
def matrix_square_root(a: sg.Tensor["n n"]):
    """The positive definite square root of a positive definite matrix."""
    w, v = sg.eigh(a)
    return (v * sg.sqrt(w)) @ v.T


@sg.function
def trace(a: sg.Tensor["... n n"]):
    """The sum of the diagonal."""
    return sg.trace(a)


@sg.function
def matrix_norm(
    a: sg.Tensor["..."], *, order: sg.Static = "fro", axis: sg.Static = (-2, -1), keepdims: sg.Static = False
):
    """The norm of matrices: "fro", "nuc", or that of an operator: 1, 2 or infinity; with a minus the least value."""
    if order == "fro":
        return sg.sqrt((a**2).sum(axis=axis, keepdims=keepdims))
    a = np.moveaxis(a, axis, (-2, -1))
    if order == "nuc":
        norm = sg.svdvals(a).sum(axis=-1)
    else:
        values = sg.svdvals(a) if abs(order) == 2 else abs(a).sum(axis=-2 if abs(order) == 1 else -1)
        norm = values.max(axis=-1) if order > 0 else values.min(axis=-1)
    return np.expand_dims(norm, axis) if keepdims else norm


@sg.function
def least_squares(a: sg.Tensor["m n"], b: sg.Tensor["m"]):
    """The x for which a @ x is nearest to b, by a QR decomposition."""
    q, r = sg.qr(a)
    return sg.solve_triangular(r, q.T @ b)


@sg.function
def ridge_regression(x: sg.Tensor["m n"], y: sg.Tensor["m"], *, penalty: float = 1.0):
    """The weights that minimise |x @ w - y|**2 + penalty * |w|**2."""
    normal = x.T @ x + penalty * sg.eye(x.shape[1])
    return sg.solve(normal, x.T @ y)


@sg.function
def mahalanobis_distance(x: sg.Tensor["m n"], mean: sg.Tensor["n"], covariance: sg.Tensor["n n"]):
    """sqrt((x - mean) covariance**-1 (x - mean)) of each row."""
    factor = sg.cholesky(covariance)
    centered = x - mean
    whitened = sg.solve_triangular(factor, centered.T, lower=True)
    return sg.sqrt((whitened**2).sum(axis=0))


@sg.function
def gaussian_log_density(x: sg.Tensor["m n"], mean: sg.Tensor["n"], covariance: sg.Tensor["n n"]):
    """The log density of a Gaussian at each row, by a Cholesky factor."""
    i = sg.indices("i")
    factor = sg.cholesky(covariance)
    centered = x - mean
    z = sg.solve_triangular(factor, centered.T, lower=True)
    log_volume = sg.sum[i](sg.log(factor[i, i]))
    return -0.5 * (z**2).sum(axis=0) - log_volume - 0.5 * x.shape[1] * sg.log(2 * sg.pi)


@sg.function
def gaussian_kl(
    mean: sg.Tensor["n"], covariance: sg.Tensor["n n"], mean_q: sg.Tensor["n"], covariance_q: sg.Tensor["n n"]
):
    """The Kullback-Leibler divergence of one Gaussian from another."""
    shift = mean_q - mean
    spread = sg.trace(sg.solve(covariance_q, covariance)) + shift @ sg.solve(covariance_q, shift)
    return 0.5 * (spread - mean.shape[0] + sg.logdet(covariance_q) - sg.logdet(covariance))


@sg.function
def gaussian_process_nll(kernel: sg.Tensor["n n"], y: sg.Tensor["n"], *, noise: float = 0.1):
    """-log p(y) of a Gaussian process with this kernel matrix, up to a constant."""
    covariance = kernel + noise * sg.eye(kernel.shape[0])
    return 0.5 * (y @ sg.solve(covariance, y) + sg.logdet(covariance))


@sg.function
def kalman_update(x: sg.Tensor["n"], p: sg.Tensor["n n"], z: sg.Tensor["m"], h: sg.Tensor["m n"], r: sg.Tensor["m m"]):
    """The state and its covariance after a measurement z = h @ x + noise of covariance r."""
    projected = h @ p
    innovation = projected @ h.T + r
    gain = sg.solve(innovation, projected).T
    residual = z - h @ x
    state = x + gain @ residual
    covariance = p - gain @ projected
    return state, covariance


@sg.function
def solve_triangular(a: sg.Tensor["... n n"], b: sg.Tensor["... n m"]):
    """The x with a @ x = b, where a is lower triangular."""
    return sg.solve_triangular(a, b, lower=True)


@sg.function
def cholesky_solve(a: sg.Tensor["n n"], b: sg.Tensor["n m"]):
    """The x with a @ x = b for a positive definite a, by its Cholesky factor."""
    factor = sg.cholesky(a)
    half = sg.solve_triangular(factor, b, lower=True)
    return sg.solve_triangular(factor.T, half)


@sg.function
def sign_and_log_determinant(a: sg.Tensor["... n n"]):
    """The sign of the determinant, and the logarithm of its magnitude."""
    sign, log_magnitude = sg.slogdet(a)
    return sign, log_magnitude


@sg.function
def singular_values(a: sg.Tensor["... m n"]):
    """The singular values, from the largest."""
    return sg.svdvals(a)


@sg.function
def symmetric_eigenvectors(a: sg.Tensor["... n n"]):
    """The eigenvalues of a symmetric matrix from the smallest, and its eigenvectors as columns."""
    w, v = sg.eigh(a)
    return w, v
