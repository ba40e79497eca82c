"""What tests/aero.py has, in torch and JAX."""

import aero
import numpy as np

SLOPES = np.diff(aero.DRAG) / np.diff(aero.MACH)
INSIDE = len(SLOPES) - 1  # the last interval


def torch_place(torch, mach):
    """The interval of each number."""
    found = torch.searchsorted(torch.tensor(aero.MACH, dtype=mach.dtype), mach.detach().contiguous(), right=True)
    return (found - 1).clamp(0, INSIDE)


def torch_drag(mach):
    """The table."""
    import torch

    k, x = torch_place(torch, mach), mach.clamp(0.0, 5.0)
    start, value, slope = (torch.tensor(a, dtype=mach.dtype)[k] for a in (aero.MACH, aero.DRAG, SLOPES))
    return value + (x - start) * slope


def torch_slope(mach):
    """Its slope."""
    import torch

    slopes = torch.tensor(SLOPES, dtype=mach.dtype)[torch_place(torch, mach)]
    return torch.where((mach < 0) | (mach >= 5), torch.zeros_like(mach), slopes)


def torch_thrust(v, h):
    """Of two arguments."""
    import torch

    return 3.0 * torch.exp(-h / 8.0) / (1.0 + v * v)


def jax_drag(mach):
    """The table."""
    import jax.numpy as jnp

    return jnp.interp(mach, jnp.asarray(aero.MACH), jnp.asarray(aero.DRAG))


def jax_slope(mach):
    """Its slope."""
    import jax.numpy as jnp

    k = jnp.clip(jnp.searchsorted(jnp.asarray(aero.MACH), mach, side="right") - 1, 0, INSIDE)
    return jnp.where((mach < 0) | (mach >= 5), 0.0, jnp.asarray(SLOPES)[k])


def jax_thrust(v, h):
    """Of two arguments."""
    import jax.numpy as jnp

    return 3.0 * jnp.exp(-h / 8.0) / (1.0 + v * v)
