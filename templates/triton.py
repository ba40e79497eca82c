"""Functions that printed files of triton have."""

import torch
import triton
import triton.language as tl

_NAME = ""

_BLOCK = 1024  # elements that a program has of many

_LANES = 32  # lanes of a recurrence that a program has: one for each thread of a warp

_LARGEST = 65536  # elements that a program can hold

_SHORT = 16384  # elements of a row that registers hold; half beside sums of rows

_TILE = 4096  # elements of a long row that a program takes at a time

_CHUNK = 4194304  # elements of a chunk at least: 256 tiles, for all processors of a GPU

_TILES = (  # rows and columns of a tile of a product, warps, and blocks loaded ahead
    (128, 128, 8, 3),
    (64, 64, 4, 4),
    (16, 128, 4, 4),
    (128, 16, 4, 4),
    (16, 16, 2, 4),
)

# bytes of a row at most, rows of a tile, columns of a block, warps, blocks loaded ahead
_STREAMS = (
    (128, 128, 64, 8, 3),
    (256, 64, 64, 8, 2),
    (512, 64, 32, 8, 2),
    (1024, 32, 32, 8, 1),
    (2048, 16, 16, 8, 1),
)


def _keep_again(ctx, inputs, output):
    ctx.save_for_backward(*(v if torch.is_tensor(v) else None for v in inputs))
    ctx.others = [None if torch.is_tensor(v) else v for v in inputs]


def _differentiate_again(ctx, *cotangents):
    """Return the gradients of _backward: those that torch has of _backward_in_torch."""
    pairs = zip(ctx.saved_tensors, ctx.others, strict=True)
    given = [other if tensor is None else tensor for tensor, other in pairs]
    moved = [k for k, needed in enumerate(ctx.needs_input_grad) if needed]

    def gradients(*tensors):
        now = dict(zip(moved, tensors, strict=True))
        found = _backward_in_torch(*(now.get(k, v) for k, v in enumerate(given)))
        return {k: gradient for k, gradient in enumerate(found) if gradient is not None}

    with _no_autocast(cotangents[0]):
        found, pull = torch.func.vjp(gradients, *(given[k] for k in moved))
        pulled = pull({k: cotangents[k] for k in found})
    return tuple(map(dict(zip(moved, pulled, strict=True)).get, range(len(given))))


def _one_device(**tensors):
    """Refuse tensors that are on different devices."""
    given = {n: t.device for n, t in tensors.items() if t is not None}
    if len(set(given.values())) > 1:
        said = ", ".join(f"{name} on {device}" for name, device in given.items())
        raise ValueError(f"{_NAME}: the tensors are on different devices: {said}")


def _on_gpu(tensor):
    """Refuse a tensor that is not on a GPU."""
    if tensor.device.type == "cpu" and not triton.knobs.runtime.interpret:
        raise ValueError(
            f"{_NAME}: there is a tensor on the CPU; kernels run on a GPU, or in "
            "the interpreter: set TRITON_INTERPRET=1 before triton is imported"
        )


def _stored(*tensors):
    """Return the tensors as kernels read them that take no strides."""
    return [None if t is None else t.contiguous() for t in tensors]


def _rows(tensor, *shape):
    """Return the tensor with its axes taken together, where its rows lie if it can."""
    tensor = tensor.reshape(shape or tensor.shape)
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def _spread(tensor, *shape):
    """Return a cotangent so; one expanded number, as that of a sum, stays, too."""
    tensor = tensor.reshape(shape or tensor.shape)
    return tensor if tensor.stride(-1) in (0, 1) else tensor.contiguous()


def _precision(tensor):
    """Return the type in which kernels compute: half precision in float32."""
    return torch.promote_types(tensor.dtype, torch.float32)


def _kind(real):
    """Return that type in the words of triton."""
    return tl.float64 if real == torch.float64 else tl.float32


def _block(extent):
    """Return how many elements a program has along an axis that it has in full."""
    block = triton.next_power_of_2(max(extent, 1))
    if block > _LARGEST:
        raise ValueError(
            f"{_NAME}: a program holds {_LARGEST} elements, and an axis has {extent}; "
            "what symgrad generate prints --to torch takes any"
        )
    return block


def _tile(extent):
    """Return how many elements a program takes at a time of an axis of any length."""
    return min(triton.next_power_of_2(max(extent, 1)), _TILE)


def _tiles(rows, columns, terms, tensor):
    """Return rows, columns and terms of a block, warps, and blocks loaded ahead.

    That depends on sizes alone: sums have the same order in each call.
    """
    wide = tensor.element_size()
    fitting = (t for t in _TILES[wide > 4 :] if t[0] <= rows and t[1] <= columns)
    block_rows, block_columns, warps, stages = next(fitting, _TILES[-1])
    block_terms = min(triton.next_power_of_2(max(terms, 16)), max(128 // wide, 16))
    return block_rows, block_columns, block_terms, warps, stages


def _streams(rows, columns, *full):
    """Return the rows of a tile, the columns in a block that it walks along, the blocks
    that hold all else, the warps of a program, and how many blocks are loaded ahead."""
    *extents, tensor = full
    blocks = [max(triton.next_power_of_2(n), 16) for n in extents]
    size = tensor.element_size()
    wide = max(blocks) * size * (1 + (size > 2))  # float32 is multiplied in registers
    fitting = [s for s in _STREAMS if wide <= s[0]]
    if not fitting:
        raise ValueError(
            f"{_NAME}: a program holds rows of {_STREAMS[-1][0]} bytes, and one has "
            f"{wide}; what symgrad generate prints --to torch takes any"
        )
    _, tile, block, warps, stages = fitting[0]
    tile, block = (
        min(most, max(triton.next_power_of_2(n), 16))
        for most, n in ((tile, rows), (block, columns))
    )
    return tile, block, *blocks, warps, stages


def _chunk(rows, wide, narrow):
    """Return how many rows are computed at a time.

    A row has `wide` elements in the memory of a chunk, and `narrow` in the input that
    it is computed of: so many rows that the chunk is about as large as the input. They
    are a power of two, which tiles divide, told by sizes alone: sums have one order.
    """
    chunks = triton.cdiv(max(wide, 1), max(narrow, 1))
    chunk = max(triton.cdiv(rows, chunks), triton.cdiv(_CHUNK, max(wide, 1)))
    return max(min(triton.next_power_of_2(chunk), rows), 1)


def _total(result, real):
    """Return zeros to add up a result in, in the type in which kernels compute."""
    if result.dtype == real:
        return result.zero_()
    return torch.zeros_like(result, dtype=real)


def _warps(elements):
    """Return how many warps a program has for so many elements."""
    return min(max(elements // 256, 4), 32)


def _programs(rows, tensor, columns=1):
    """Return how many programs share the rows, each with a part of every sum.

    columns  how many blocks a row has, where each of them has programs of its own
    """
    if tensor.device.type != "cuda":
        return max(min(rows, 2), 1)
    properties = torch.cuda.get_device_properties(tensor.device)
    return max(min(rows, 4 * properties.multi_processor_count // max(columns, 1)), 1)


def _scattered(target, places, terms):
    """Set the target to the sums of the terms at each place, in one order."""
    total = terms.new_zeros(target.numel())
    if target.numel():
        total.index_put_((places.flatten(),), terms.flatten(), accumulate=True)
    target.copy_(total.view(target.shape))


@triton.jit
def _expm1(x):
    """exp(x) - 1: what rounding takes away of u = exp(x), log(u) has lost, too."""
    u = tl.exp(x)
    near = u == 1.0
    far = (x > 30.0) | (x < -40.0)
    log_u = tl.log(tl.where(near | far, 2.0, u))
    return tl.where(near, x, tl.where(far, u - 1.0, (u - 1.0) * x / log_u))


@triton.jit
def _log1p(x):
    """log(1 + x): what rounding takes away of u = 1 + x, u - 1 has lost, too."""
    u = 1.0 + x
    near = u == 1.0
    far = u == float("inf")
    return tl.where(
        near, x, tl.where(far, u, tl.log(u) * (x / tl.where(near | far, 1.0, u - 1.0)))
    )


@triton.jit
def _tanh(x):
    """tanh(x), by exp(-2 * abs(x)) - 1."""
    t = _expm1(-2.0 * tl.abs(x))
    y = -t / (t + 2.0)
    return tl.where(x < 0.0, -y, tl.where(x == 0.0, x, y))


@triton.jit
def _hypot(x, y):
    """sqrt(x**2 + y**2), whose squares neither overflow nor underflow."""
    a, b = tl.abs(x), tl.abs(y)
    high = tl.maximum(a, b, tl.PropagateNan.ALL)
    share = tl.minimum(a, b) / tl.where(high > 0.0, high, 1.0)
    return tl.where(high == float("inf"), high, high * tl.sqrt(1.0 + share * share))


@triton.jit
def _power(x, n: tl.constexpr):
    """x**n, of n factors."""
    y = x
    for _ in tl.static_range(n - 1):
        y = y * x
    return y


@triton.jit
def _rint(x):
    """The nearest integer to x, of two the even one; an infinite x stays."""
    low = tl.floor(x)
    odd = tl.floor(low / 2) != low / 2
    return low + tl.where((x - low > 0.5) | (x - low == 0.5) & odd, 1.0, 0.0)
