"""Functions that printed files of Pallas have."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

_NAME = ""

_BLOCK = 4096  # elements of a block of rows on a GPU; a TPU has 32 times as many

_WIDTH = 128  # lanes that elements without a row are laid out in, and blocks of columns

_TILE = 4096  # elements of a long row that a program takes at a time

_SHORT = 16384  # elements of a row that a program takes at once

_LONGEST = 65536  # elements of a row that the fast memory of a TPU holds


def _platform():
    """Return what runs kernels: a CPU, which interprets them, a GPU or a TPU."""
    return jax.default_backend()


def _fits(lanes, sums=False):
    """Whether a program takes a row at once; beside sums over rows, of which each
    program has a part, a GPU takes several rows at once or none."""
    return lanes <= (_SHORT // 64 if sums and _platform() != "tpu" else _SHORT)


def _block(rows, lanes, way):
    """Return how many rows a program has, and how many lanes of each at a time."""
    tpu = _platform() == "tpu"
    width = pl.cdiv(max(lanes, 1), 128) * 128 if tpu else pl.next_power_of_2(lanes)
    if way != "apart" and width > (_LONGEST if tpu or not way else width):
        raise ValueError(
            f"{_NAME}: a row has {lanes} elements, and a program holds {_LONGEST}; "
            "what symgrad generate prints --to jax takes any"
        )
    width = min(width, {"walk": _TILE, "apart": _WIDTH}.get(way, width))
    height = max(32 * _BLOCK // width // 8 * 8, 8) if tpu else max(_BLOCK // width, 1)
    most = pl.cdiv(rows, 8) * 8 if tpu else pl.next_power_of_2(rows)
    height, width = max(min(height, most), 1), max(width, 1)
    return 1 if rows == 1 else height, 1 if lanes == 1 else width


def _launch(kernel, extents, operands, results, way=""):
    """Return what a kernel computes, a program for each block of rows.

    extents   how many rows there are, and lanes in each
    operands  arrays with as many or one of each; None for an input that is absent
    results   shapes of the same kind and dtypes; how parts of programs are added up
    way       "walk": a program takes the lanes in blocks, one after the other;
              "apart": each of those blocks has a program; else it takes all at once
    """
    block = _block(*extents, way)
    held = block
    if way == "walk":
        held = block[0], max(pl.cdiv(extents[1], block[1]), 1) * block[1]
    grid = tuple(max(pl.cdiv(n, b), 1) for n, b in zip(extents, held, strict=True))
    given = [x for x in operands if x is not None]

    def whole(shape):
        axes = zip(shape, extents, grid, held, strict=True)
        return tuple(g * b if n == extent != 1 else 1 for n, extent, g, b in axes)

    def spec(shape, how=""):
        rows, lanes = (n == m != 1 for n, m in zip(shape, extents, strict=True))
        sizes = held[0] if rows else 1, held[1] if lanes else 1
        if how:  # a part of each program, in an axis of its own
            return pl.BlockSpec((None, *sizes), lambda i, k: (i, 0, k if lanes else 0))
        return pl.BlockSpec(sizes, lambda i, k: (i if rows else 0, k if lanes else 0))

    def padded(x):
        widths = [(0, m - n) for m, n in zip(whole(x.shape), x.shape, strict=True)]
        return jnp.pad(x, widths) if any(after for _, after in widths) else x

    def run(*refs):
        left = iter(refs)
        kernel(block, *(None if x is None else next(left) for x in operands), *left)

    @jax.custom_jvp
    def call(*arrays):
        return pl.pallas_call(
            run,
            grid=grid,
            in_specs=[spec(x.shape) for x in arrays],
            out_specs=[spec(s, how) for s, _, how in results],
            out_shape=[
                jax.ShapeDtypeStruct((*grid[:1] * bool(how), *whole(s)), dtype)
                for s, dtype, how in results
            ],
            **_compiled(),
        )(*map(padded, arrays))

    call.defjvp(_refuse)
    found = []
    for x, (shape, _, how) in zip(call(*given), results, strict=True):
        total = getattr(jnp, how)(x, axis=0) if how else x
        found.append(total[: shape[0], : shape[1]])
    return found


def _launch_elements(kernel, count, operands, results):
    """Return what a kernel computes of elements by number, a block in each program."""
    shape = (pl.cdiv(count, _WIDTH), _WIDTH)
    rest = shape[0] * _WIDTH - count

    def laid_out(x):
        return x if x is None or x.ndim == 2 else jnp.pad(x, (0, rest)).reshape(shape)

    results = [(s if how else shape, dtype, how) for s, dtype, how in results]
    found = _launch(kernel, shape, [*map(laid_out, operands)], results)
    pairs = zip(found, results, strict=True)
    return [x if how else x.reshape(-1)[:count] for x, (_, _, how) in pairs]


def _compiled():
    """Return how `pallas_call` runs kernels here."""
    if _platform() == "cpu":
        return {"interpret": True}
    return {"compiler_params": triton.CompilerParams()} if _platform() == "gpu" else {}


def _refuse(*_):
    raise NotImplementedError(
        f"{_NAME}: there is no kernel for the gradient of a gradient; "
        "what symgrad generate prints --to jax has one"
    )


def _rows(block):
    """Return the numbers of the rows of a program."""
    own = jax.lax.broadcasted_iota(jnp.int32, (block[0], 1), 0)
    return pl.program_id(0) * block[0] + own


def _lanes(block, at):
    """Return the numbers of the lanes of a block."""
    return at * block[1] + jax.lax.broadcasted_iota(jnp.int32, (1, block[1]), 1)


def _elements(block):
    """Return the numbers of the elements of a program."""
    return _rows(block) * block[1] + _lanes(block, 0)


def _at(block, turn):
    """Return where the lanes of a turn stand in what a program holds."""
    start = pl.multiple_of(turn * block[1], block[1])
    return slice(None), pl.ds(start, block[1])


def _there(x):
    """An array in which something stands at each place: of an empty one, 0."""
    return x if x.size else jnp.zeros([max(n, 1) for n in x.shape], x.dtype)


def _expm1(x):
    """Return exp(x) - 1: what rounding takes of u = exp(x), log(u) has lost, too."""
    u = jnp.exp(x)
    near, far = u == 1, (x > 30) | (x < -40)
    log_u = jnp.log(jnp.where(near | far, 2, u))
    return jnp.where(near, x, jnp.where(far, u - 1, (u - 1) * x / log_u))
