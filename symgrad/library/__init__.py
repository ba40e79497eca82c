"""Functions that ship with symgrad, each declared from its definition; `generated/` is printed from them."""

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
