"""Trees of frozen dataclasses: what stands inside a node is what its fields hold."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

Node = TypeVar("Node", bound=Hashable)


def parts(node: Any) -> list[Any]:
    """What the fields of a node hold, in order; of tuples, what they hold."""
    return _flat(getattr(node, name) for name in _names(node.__class__))


def _flat(several: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in several:
        if value.__class__ is tuple:
            found += _flat(value)
        else:
            found.append(value)
    return found


def rebuilt(node: Node, change: Callable[[Any], Any]) -> Node:
    """The node with each of its parts changed; itself where none is another."""
    old = tuple(getattr(node, name) for name in _names(node.__class__))
    new = _changed(old, change)
    return node if new is old else node.__class__(*new)


def _changed(old: tuple[Any, ...], change: Callable[[Any], Any]) -> tuple[Any, ...]:
    new = tuple(_changed(v, change) if v.__class__ is tuple else change(v) for v in old)
    return old if all(a is b for a, b in zip(new, old, strict=True)) else new


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind)) if is_dataclass(kind) else ()
