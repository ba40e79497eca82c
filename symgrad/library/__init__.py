"""Functions that ship with symgrad, each declared from its definition; `generated/` is printed from them."""

import sys

from .. import declare as _declare
from .activations import *
from .convolution import *
from .geometry import *
from .layers import *
from .linear_algebra import *
from .losses import *
from .networks import *
from .normalization import *
from .optimization import *
from .order import *
from .physics import *
from .pooling import *
from .scalars import *
from .sequences import *
from .shapes import *
from .statistics import *

__all__ = sorted(name for name, value in globals().items() if isinstance(value, _declare.Declared))


def topics() -> dict[str, tuple[str, list[str]]]:
    """The functions by the file that declares them: what it is about, and their names."""
    found: dict[str, tuple[str, list[str]]] = {}
    for name in __all__:
        home = sys.modules[globals()[name].__wrapped__.__module__]
        about = (home.__doc__ or "").partition("\n\n")[0]
        found.setdefault(home.__name__.rpartition(".")[2].replace("_", " "), (about, []))[1].append(name)
    return dict(sorted(found.items()))
