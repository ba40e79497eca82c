"""Which names a declaration may use: those that mean the same in every language that is printed."""

from __future__ import annotations

import keyword
import re

from ..errors import DeclarationError
from ..ops import ROWS

_IDENTIFIER = re.compile(r"(?!__)(?!_[A-Z])[A-Za-z_][A-Za-z0-9_]{0,62}", re.ASCII)

_C_WORDS = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    bool true false size_t ptrdiff_t int64_t NULL NAN INFINITY main errno assert
    alignas alignof and and_eq asm bitand bitor catch class compl constexpr decltype delete dynamic_cast explicit export
    friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public
    reinterpret_cast static_assert static_cast template this throw try typeid typename using virtual wchar_t xor
    xor_eq""".split()
)
LIBM = frozenset(
    """abs fabs exp exp2 expm1 log log2 log10 log1p logb pow sqrt cbrt hypot sin cos tan asin acos atan atan2 sinh cosh
    tanh asinh acosh atanh erf erfc tgamma lgamma ceil floor trunc round rint nearbyint fmod remainder copysign fmax
    fmin fdim fma ldexp frexp modf scalbn isnan isinf isfinite signbit""".split()
)
_OURS = frozenset("PI oo work iwork".split())
_INTERFACE = frozenset(  # which a function of that name would hide; all else yields to what is declared
    """grad_output saved forward backward needs_input_grad ctx np jnp jax torch special linalg math functools
    builtins""".split()
)
_HELPERS = frozenset(row.name for row in ROWS if row.helper is not None)
_MODULES = frozenset(
    "atexit contextlib ctypes hashlib os pathlib shlex shutil subprocess sysconfig tempfile".split()
)  # which a function of that name would hide; an input does not, it is known only inside of functions
_DEVICES = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]", re.ASCII | re.IGNORECASE)  # of Windows, in every folder
_PYTHON = frozenset("len range print tuple list dict float type zip enumerate self cls".split())


def check_name(name: str, what: str) -> str:
    """Return `name`; raise DeclarationError if it cannot stand in every printed language."""
    advice = f"Choose another name for this {what}."
    if not _IDENTIFIER.fullmatch(name):
        raise DeclarationError(
            f"{what} {name!r}: a name is one to 63 ASCII letters, digits and underscores, not starting with a digit, "
            f"two underscores, or an underscore and a capital. {advice}"
        )
    reason = None
    if keyword.iskeyword(name) or keyword.issoftkeyword(name) and name != "type":
        reason = "is a word of Python"
    elif name in _C_WORDS:
        reason = "is a word of C or C++"
    elif name == "I":
        reason = "is a macro of C's complex.h"
    elif name in LIBM and what != "function":
        reason = "is a function of C's math.h"
    elif name in _OURS or name in _HELPERS or (name in _INTERFACE and what == "function"):
        reason = "has a meaning in the printed code"
    elif name in _MODULES and what == "function":
        reason = "is a module that the printed Python imports"
    elif name in _PYTHON and what == "function":
        reason = "is a name that the printed Python uses"
    elif what == "function" and _DEVICES.fullmatch(name):
        reason = "is a device of Windows, where no file or folder can have its name"
    if reason:
        raise DeclarationError(f"{what} {name!r} {reason}. {advice}")
    return name
