"""Which names a declaration may use: any identifier; what only one language minds, its printer refuses."""

from __future__ import annotations

import re

from ..errors import DeclarationError

_IDENTIFIER = re.compile(r"(?!__)(?!_[A-Z]|_$)[A-Za-z_][A-Za-z0-9_]{0,62}", re.ASCII)

_DEVICES = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]", re.ASCII | re.IGNORECASE)  # of Windows, in every folder


def output_names(count: int) -> list[str]:
    """What results are called that have no names."""
    return ["out"] if count == 1 else [f"out{k}" for k in range(count)]


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
    elif what == "function" and _DEVICES.fullmatch(name):
        reason = "is a device of Windows, where no file or folder can have its name"
    if reason:
        raise DeclarationError(f"{what} {name!r} {reason}. {advice}")
    return name
