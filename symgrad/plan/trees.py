"""Trees of frozen dataclasses: what stands inside a node is what its fields hold."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter, is_
from typing import Any, TypeVar

Node = TypeVar("Node", bound=Hashable)


def parts(node: Any) -> list[Any]:
    """What the fields of a node hold, in order; of tuples, what they hold."""
    found: list[Any] = []
    for value in _fields(node.__class__)(node):
        found += _flat(value) if value.__class__ is tuple else (value,)
    return found


def _flat(values: tuple[Any, ...]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        found += _flat(value) if value.__class__ is tuple else (value,)
    return found


def rebuilt(node: Node, change: Callable[[Any], Any]) -> Node:
    """The node with each of its parts changed; itself where none is another."""
    old = _fields(node.__class__)(node)
    new = _changed(old, change)
    return node if new is old else node.__class__(*new)


def _changed(old: tuple[Any, ...], change: Callable[[Any], Any]) -> tuple[Any, ...]:
    new = tuple([_changed(v, change) if v.__class__ is tuple else change(v) for v in old])
    return old if all(map(is_, new, old)) else new


@cache
def _fields(kind: type) -> Callable[[Any], tuple[Any, ...]]:
    """What takes the values of its fields from a node of a kind."""
    names = [f.name for f in fields(kind)] if is_dataclass(kind) else []
    if len(names) > 1:
        return attrgetter(*names)
    return lambda node: tuple([getattr(node, name) for name in names])
