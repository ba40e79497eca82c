"""Functions that printed files of torch have where they call them."""

import functools
import math

import torch


def _promoted(*tensors):
    """Return the tensors in the one dtype that they promote to."""
    dtypes = [t.dtype for t in tensors if t is not None]
    dtype = functools.reduce(torch.promote_types, dtypes)
    return [None if t is None else t.to(dtype) for t in tensors]


def _forward_mode(*tensors):
    """Whether one of the tensors is differentiated in forward mode."""
    dual = torch.autograd.forward_ad.unpack_dual
    return any(t is not None and dual(t).tangent is not None for t in tensors)


def _tangent(tangent, tensor):
    """Return the tangent of a tensor, which is 0 where there is none."""
    if tangent is None and tensor is not None:
        return torch.zeros_like(tensor)
    return tangent


def _float32(tensor):
    """Return the tensor in float32 if it is in half precision."""
    if tensor is None:
        return None
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def _autocast(*tensors, dtype=None):
    """Return the tensors as torch.autocast has them, where that is on.

    dtype  the type that they get; None for that of products
    """
    device = next(t.device.type for t in tensors if t is not None)
    device = "cpu" if device == "meta" else device
    if not torch.is_autocast_enabled(device):
        return tensors
    dtype = dtype or torch.get_autocast_dtype(device)
    double = any(t is not None and t.dtype == torch.float64 for t in tensors)
    return tensors if double else [None if t is None else t.to(dtype) for t in tensors]


def _no_autocast(tensor):
    """Return a context in which products have the type of their operands."""
    device = "cpu" if tensor.is_meta else tensor.device.type
    return torch.autocast(device, enabled=False)


def _in_range(places, extent, name, bounds, asked=True):
    """Return subscripts; refuse what is not in range(extent) where it is asked for.

    Nobody waits for a device, and while torch traces there are no numbers to look at:
    what is negative there becomes `extent`, which torch refuses where it is read.
    """
    if places.device.type == "cpu" and not torch.compiler.is_compiling():
        outside = ((places < 0) | (places >= extent)) & asked
        try:
            refused = bool(outside.any())
        except RuntimeError:  # as under torch.vmap
            pass
        else:
            if refused:
                said = f"{name} must be in {bounds}, here range({extent})"
                raise IndexError(said)
            return places
    return torch.where((places < 0) & asked, extent, places)


def _hurwitz(s, x):
    """Return the zeta function of Hurwitz; torch has 0, or NaN, where x is huge."""
    zeta = torch.special.zeta(s, torch.clamp(x, max=2.0**60))
    return torch.where(x > 2.0**60, x ** (1 - s) / (s - 1), zeta)


def _in_domain(values, inside, name, domain):
    """Return the values; refuse those that are not inside of the domain.

    While torch traces there are no numbers to look at: what is outside becomes NaN.
    """
    traced = torch.compiler.is_compiling()
    try:
        refused = not traced and not bool(inside.all())
    except RuntimeError:  # as under torch.vmap
        traced, refused = True, False
    if refused:
        said = f"{name} = {values[~inside].flatten()[0].item()}, declared for {domain}"
        raise ValueError(said)
    real = values.is_floating_point()
    return torch.where(inside, values, math.nan) if traced and real else values


def _reverse_mode_only(name, *tensors):
    """Refuse forward mode: torch would take the derivative of an operator for 0."""
    try:
        given = [t for t in tensors if t is not None]
        duals = map(torch.autograd.forward_ad.unpack_dual, given)
        refused = any(dual.tangent is not None for dual in duals)
    except RuntimeError:  # as under torch.vmap in forward mode
        refused = True
    if refused:
        raise NotImplementedError(
            f"{name}: there is no forward mode (torch.func.jvp, jacfwd, hessian); "
            "what symgrad generate prints --to torch has it, "
            "with --functions forward,backward,jvp"
        )


def _cut(x, *cuts):
    """Return x cut along axes, by (axis, slice); not every vmap of torch has x[:n]."""
    for axis, cut in cuts:
        x = torch.ops.aten.slice(x, axis, cut.start, cut.stop, cut.step or 1)
    return x


def _zero(*tensors):
    """Return 0; tensors made of it take values of `tensors` under torch.vmap too."""
    tensors = [t for t in tensors if t is not None]
    return sum(t.new_zeros((), dtype=tensors[0].dtype) for t in tensors)


def _amax(x, dim=(), keepdim=False):
    """Return the maximum along `dim`, which is -inf where there is nothing."""
    if x.numel() == 0:
        return x.sum(dim, keepdim) - math.inf
    return x.amax(dim, keepdim)


def _with(tensor, index, value):
    """Return a copy of `tensor` in which `value` stands at `index`."""
    tensor = tensor.clone()
    tensor[index] = value
    return tensor


def _stacked(rows, tensor):
    """Return the rows of `tensor` as one tensor; without rows, `tensor` itself."""
    return torch.stack(rows) if rows else tensor


def _added(tensor, index, value):
    """Return `tensor` with `value` added at `index`, where elements may repeat."""
    places = torch.arange(tensor.numel(), device=tensor.device)
    places = places.reshape(tensor.shape)[index]
    value = value.expand(places.shape).reshape(-1)
    added = tensor.reshape(-1).index_add(0, places.reshape(-1), value)
    return added.reshape(tensor.shape)


def _einsum(subscripts, *operands):
    """Return torch.einsum as products of matrices, which every vmap of torch knows."""
    names, out = subscripts.split("->")
    names = names.split(",")
    pairs = zip(names, operands, strict=True)
    ranks = [x.ndim + 3 - len(n) for n, x in pairs if "..." in n]
    pack = "ABCDEFGHIJKLMNOP"[: max(ranks, default=0)]
    names = [n.replace("...", pack) for n in names]
    out = out.replace("...", pack)
    left, x = names[0], operands[0]
    for k, (right, y) in enumerate(zip(names[1:], operands[1:], strict=True)):
        later = out + "".join(names[k + 2 :])
        batch = [i for i in left if i in right and i in later]
        both = [i for i in left if i in right and i not in later]
        rows = [i for i in left if i not in right]
        columns = [i for i in right if i not in left]
        size = dict(zip([*left, *right], [*x.shape, *y.shape], strict=True))
        sizes = [size[i] for i in batch]
        n, k, m = [math.prod([size[i] for i in s]) for s in (rows, both, columns)]
        x = x.permute([left.index(i) for i in (*batch, *rows, *both)])
        y = y.permute([right.index(i) for i in (*batch, *both, *columns)])
        x = x.reshape(*sizes, n, k) @ y.reshape(*sizes, k, m)
        left = [*batch, *rows, *columns]
        x = x.reshape([size[i] for i in left])
    alone = [k for k, i in enumerate(left) if i not in out]
    x = x.sum(dim=alone) if alone else x
    left = [i for i in left if i in out]
    return x.permute([left.index(i) for i in out])


def _places(shape, device):
    """Return the places along each axis of `shape`, in tensors that broadcast."""
    ones = (1,) * len(shape)
    ranges = [torch.arange(n, device=device) for n in shape]
    return [r.reshape(-1, *ones[k + 1 :]) for k, r in enumerate(ranges)]


def _solve_triangular(a, b, upper):
    """Return x with a x = b for a triangular `a`; b is a vector or a matrix."""
    if b.ndim < a.ndim:
        b = b[..., None]
        return torch.linalg.solve_triangular(a, b, upper=upper)[..., 0]
    return torch.linalg.solve_triangular(a, b, upper=upper)


def _conv(x, weight, stride=1, padding=0, dilation=1, groups=1):
    """Return the convolution of torch; a sum over nothing, which that refuses, is 0."""
    rank = x.ndim - 2
    ways = (padding, dilation, stride)
    ways = [w if isinstance(w, tuple) else (w,) * rank for w in ways]
    sizes = zip(x.shape[2:], weight.shape[2:], *ways, strict=True)
    counts = [max((n + 2 * p - d * (k - 1) - 1) // s + 1, 0) for n, k, p, d, s in sizes]
    if 0 in (*x.shape, *weight.shape, *counts):
        return x.new_zeros((x.shape[0], weight.shape[0], *counts))
    conv = getattr(torch.nn.functional, f"conv{rank}d")
    return conv(x, weight, None, stride, padding, dilation, groups)


def _conv_input(shape, weight, grad_output, **ways):
    """Return the gradient of `_conv` by its input, of that shape."""
    if 0 in (*shape, *weight.shape, *grad_output.shape):
        return grad_output.new_zeros(shape)
    conv_input = getattr(torch.nn.grad, f"conv{len(shape) - 2}d_input")
    return conv_input(shape, weight, grad_output, **ways)


def _conv_weight(x, shape, grad_output, **ways):
    """Return the gradient of `_conv` by its weight, of that shape."""
    if 0 in (*x.shape, *shape, *grad_output.shape):
        return grad_output.new_zeros(shape)
    conv_weight = getattr(torch.nn.grad, f"conv{len(shape) - 2}d_weight")
    return conv_weight(x, shape, grad_output, **ways)


def _conv_transpose(x, weight, stride=1, padding=0, dilation=1, groups=1):
    """Return the transposed convolution of torch; a sum over nothing is 0."""
    rank = x.ndim - 2
    ways = (padding, dilation, stride)
    ways = [w if isinstance(w, tuple) else (w,) * rank for w in ways]
    sizes = zip(x.shape[2:], weight.shape[2:], *ways, strict=True)
    counts = [max(s * (n - 1) + d * (k - 1) + 1 - 2 * p, 0) for n, k, p, d, s in sizes]
    if 0 in (*x.shape, *weight.shape, *counts):
        return x.new_zeros((x.shape[0], weight.shape[1] * groups, *counts))
    conv = getattr(torch.nn.functional, f"conv_transpose{rank}d")
    return conv(x, weight, None, stride, padding, 0, groups, dilation)


def _windows(x, axis, size, step=1, dilation=1):
    """Return a view of the windows of x along `axis`, each in a new last axis."""
    span = dilation * (size - 1) + 1
    if x.shape[axis] < span or size == 0:
        shape = list(x.shape)
        shape[axis] = max((x.shape[axis] - span) // step + 1, 0)
        return x.new_zeros((*shape, size))
    windows = x.unfold(axis, span, step)
    return windows if dilation == 1 else windows[..., ::dilation]


def _pattern(shape, *places):
    """Return the shape, where each row begins, the columns, and where each value goes.

    Where each goes to an entry of its own: the order in which the entries take them.

    places  rows and columns for each tensor of values; behind the last row is nowhere
    """
    rows, columns = (_flat(*tensors) for tensors in zip(*places, strict=True))
    stored, entries = torch.unique(rows * shape[1] + columns, return_inverse=True)
    first = torch.arange(shape[0] + 1, device=rows.device) * shape[1]
    starts = torch.searchsorted(stored, first)
    columns = stored[: starts[-1]] % max(shape[1], 1)
    alone = len(entries) == len(columns)
    return shape, starts, columns, torch.argsort(entries) if alone else entries


def _entries(pattern, *values):
    """Return the entries of a sparse matrix: what stands at one place is added up."""
    _, _, columns, entries = pattern
    values = _flat(*values)
    if len(entries) == len(columns):
        return values[entries]
    added = values.new_zeros(len(columns) + 1).index_add(0, entries, values)
    return added[: len(columns)]


def _matrix(pattern, entries):
    """Return the sparse matrix that has these entries."""
    shape, *places = pattern
    device = entries.device
    starts, columns = (torch.as_tensor(p, device=device) for p in places[:2])
    return torch.sparse_csr_tensor(
        starts, columns, entries, shape, check_invariants=False
    )


def _flat(*tensors):
    """Return the elements of the tensors in one vector."""
    return torch.cat([tensor.reshape(-1) for tensor in tensors])
