"""Which names a declaration may use: any identifier; what only one language minds, its printer refuses."""

from __future__ import annotations

import re

from ..errors import DeclarationError

_IDENTIFIER = re.compile(r"(?!__)(?!_[A-Z]|_$)[A-Za-z_][A-Za-z0-9_]{0,62}", re.ASCII)

_INTERFACE = frozenset(  # which a function of that name would hide; all else yields to what is declared
    """grad_output saved forward backward needs_input_grad ctx np jnp jax torch special linalg math functools
    builtins""".split()
)
_MODULES = frozenset(
    "atexit contextlib ctypes hashlib os pathlib shlex shutil subprocess sysconfig tempfile".split()
)  # which a function of that name would hide; an input does not, it is known only inside of functions
_DEVICES = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]", re.ASCII | re.IGNORECASE)  # of Windows, in every folder
_PYTHON = frozenset("bool dict enumerate float int len list print range self cls tuple type zip".split())


def check_name(name: str, what: str) -> str:
    """Return `name`; raise DeclarationError if no language could print it."""
    advice = f"Choose another name for this {what}."
    if not _IDENTIFIER.fullmatch(name):
        raise DeclarationError(
            f"{what} {name!r}: a name is one to 63 ASCII letters, digits and underscores, not starting with a digit, "
            f"two underscores, or an underscore and a capital, and not an underscore alone. {advice}"
        )
    reason = None
    if name == "oo":
        reason = "is a constant of formula text"
    elif name in _INTERFACE and what == "function":
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
