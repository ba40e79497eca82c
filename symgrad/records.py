"""Data classes whose methods are compiled when they are first called.

The decorator of the standard library compiles up to seven methods of each class as it is defined; most classes are of
other languages and other formulas. With it a short formula is printed in NumPy 0.55 s of processor time after the start
of Python, with this in 0.47 (C: 0.64, 0.57).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
else:

    def replace(record: Any, **changes: Any) -> Any:
        """`dataclasses.replace`."""
        return record.__replace__(**changes)

    def dataclass(kind: type | None = None, *, eq: bool = True, frozen: bool = False, **how: bool) -> Any:
        """`dataclasses.dataclass`."""
        if kind is None:
            return partial(dataclass, eq=eq, frozen=frozen, **how)
        kind.__doc__ = kind.__doc__ or kind.__name__  # else the signature is read for one
        own = {name for name in ("__init__", "__eq__", "__hash__", "__repr__") if vars(kind).get(name) is not None}
        made = dataclasses.dataclass(kind, init=False, repr=False, eq=False, **how)
        methods = {"__init__": partial(_init, frozen=frozen), "__repr__": _repr, "__replace__": _replace}
        if eq:
            methods |= {"__eq__": _eq, "__hash__": _hash} if frozen else {"__eq__": _eq}
            if not frozen and "__hash__" not in own:
                made.__hash__ = None
        for name in methods.keys() - own:
            setattr(made, name, _Method(made, name, methods[name]))
        if frozen:
            made.__setattr__, made.__delattr__, made.__reduce__ = _refuse, _refuse, _reduced
        return made


class _Method:
    """Stands in a class for a method, until that is asked for."""

    def __init__(self, kind: type, name: str, text: Callable[[type, dict[str, Any]], str]) -> None:
        self.kind, self.name, self.text = kind, name, text

    def __get__(self, instance: object, kind: type | None = None) -> Any:
        names: dict[str, Any] = {"missing": dataclasses.MISSING, "write": object.__setattr__}
        exec(self.text(self.kind, names), names)  # of the names of fields
        method = names[self.name]
        method.__qualname__ = f"{self.kind.__qualname__}.{self.name}"
        setattr(self.kind, self.name, method)
        return method.__get__(instance, kind)


def _init(kind: Any, names: dict[str, Any], frozen: bool) -> str:
    before, after, lines = ["self"], ["*"], []
    for f in dataclasses.fields(kind):
        value, default = f.name, ""
        if f.default_factory is not dataclasses.MISSING:
            names[f"make_{f.name}"] = f.default_factory
            value, default = f"make_{f.name}() if {f.name} is missing else {f.name}", "=missing"
        elif f.default is not dataclasses.MISSING:
            names[f"default_{f.name}"] = f.default
            default = f"=default_{f.name}"
        (after if f.kw_only else before).append(f.name + default)
        slot = getattr(kind, f.name, None)
        if frozen and isinstance(slot, MemberDescriptorType):  # in half the time of `write`, which looks it up
            names[f"write_{f.name}"] = slot.__set__
            lines.append(f"write_{f.name}(self, {value})")
        else:
            lines.append(f"write(self, {f.name!r}, {value})" if frozen else f"self.{f.name} = {value}")
    if hasattr(kind, "__post_init__"):
        lines.append("self.__post_init__()")
    given = ", ".join([*before, *after[len(after) == 1 :]])
    return f"def __init__({given}):\n " + "\n ".join(lines or ["pass"])


def _replace(kind: Any, names: Mapping[str, Any]) -> str:
    fields = [f.name for f in dataclasses.fields(kind)]
    given = ", ".join(["self", *["*"][: len(fields)], *(f"{name}=missing" for name in fields)])
    values = ", ".join(f"{name}=self.{name} if {name} is missing else {name}" for name in fields)
    return f"def __replace__({given}):\n return self.__class__({values})"


def _values(kind: Any, of: str) -> str:
    return "".join(f"{of}.{f.name}, " for f in dataclasses.fields(kind) if f.compare)


def _eq(kind: type, names: Mapping[str, Any]) -> str:
    mine, theirs = _values(kind, "self"), _values(kind, "other")
    same = f"({mine}) == ({theirs}) if other.__class__ is self.__class__ else NotImplemented"
    return f"def __eq__(self, other):\n return {same}"


def _hash(kind: type, names: Mapping[str, Any]) -> str:
    return f"def __hash__(self):\n return hash(({_values(kind, 'self')}))"


def _repr(kind: Any, names: Mapping[str, Any]) -> str:
    shown = ", ".join(f"{f.name}={{self.{f.name}!r}}" for f in dataclasses.fields(kind) if f.repr)
    return f'def __repr__(self):\n return f"{{self.__class__.__qualname__}}({shown})"'


def _refuse(self: object, name: str, *value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _reduced(self: Any) -> tuple[Any, ...]:
    """For pickle, which would assign."""
    return _rebuilt, (self.__class__, [getattr(self, f.name) for f in dataclasses.fields(self)])


def _rebuilt(kind: Any, values: list[Any]) -> Any:
    made = object.__new__(kind)
    for f, value in zip(dataclasses.fields(kind), values, strict=True):
        object.__setattr__(made, f.name, value)
    return made
