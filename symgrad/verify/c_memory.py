"""Memory as C's abstract machine has it: every read and write is watched."""

from __future__ import annotations

from typing import Any, ClassVar

from .rounding.array import UNSET
from .text import Fault

LIMIT = 10**7  # elements of memory whose size nobody tells
WORD = 2**64


class Turns:
    """What the turns of a loop that threads share have touched: what one writes, no other one may write or read.

    turn  which one is executed; EVERY for what all threads do
    """

    now: ClassVar[Turns | None] = None

    def __init__(self) -> None:
        self.turn: Any = EVERY
        self._written: dict[tuple[int, int], Any] = {}
        self._read: dict[tuple[int, int], Any] = {}
        self._kept: dict[int, list[Any]] = {}  # lest other memory comes to stand where some was

    def read(self, cells: list[Any], at: int, name: str) -> None:
        """One turn reads an element."""
        key = (id(cells), at)
        self._kept[key[0]] = cells
        if self._written.get(key, self.turn) != self.turn:
            raise Fault(f"reads {name}[{_signed(at)}], which another thread may write")
        self._read[key] = self.turn if self._read.get(key, self.turn) == self.turn else EVERY

    def write(self, cells: list[Any], at: int, name: str) -> None:
        """One turn writes an element."""
        key = (id(cells), at)
        self._kept[key[0]] = cells
        others = {self._written.get(key, self.turn), self._read.get(key, self.turn), self.turn}
        if len(others) > 1 or self.turn is EVERY:
            raise Fault(f"writes {name}[{_signed(at)}], which another thread may read or write")
        self._written[key] = self.turn


EVERY = object()  # turn of a loop, or thread


def begin() -> None:
    """Threads share a loop from here on."""
    Turns.now = Turns()


def turn(number: Any = EVERY) -> None:
    """What follows is of one of its turns."""
    if Turns.now is not None:
        Turns.now.turn = number


def end() -> None:
    """They have shared it."""
    Turns.now = None


class Pointer:
    """A pointer into one block. `const` may be read only; `open` memory grows where it is written."""

    __slots__ = ("cells", "const", "name", "offset", "open")

    def __init__(self, cells: list[Any], name: str, const: bool = False, offset: int = 0, open_: bool = False) -> None:
        self.cells, self.name, self.const, self.offset, self.open = cells, name, const, offset, open_

    def get(self, position: int) -> Any:
        at = position + self.offset
        if at < 0 or at >= len(self.cells):
            raise Fault(f"reads {self.name}[{_signed(at)}], outside of its {len(self.cells)} elements")
        value = self.cells[at]
        if value is UNSET:
            raise Fault(f"reads {self.name}[{at}], which nothing has written")
        if Turns.now is not None:
            Turns.now.read(self.cells, at, self.name)
        return value

    def set(self, position: int, value: Any) -> None:
        at = position + self.offset
        if self.const:
            raise Fault(f"writes {self.name}[{_signed(at)}], which it may only read")
        if value is UNSET:
            raise Fault(f"writes an uninitialised value to {self.name}[{_signed(at)}]")
        if self.open and len(self.cells) <= at < LIMIT:
            self.cells.extend([UNSET] * (at + 1 - len(self.cells)))
        if at < 0 or at >= len(self.cells):
            raise Fault(f"writes {self.name}[{_signed(at)}], outside of its {len(self.cells)} elements")
        if Turns.now is not None:
            Turns.now.write(self.cells, at, self.name)
        self.cells[at] = value

    def moved(self, by: int) -> Pointer:
        return Pointer(self.cells, self.name, self.const, self.offset + by, self.open)

    def reading(self) -> Pointer:
        """The same memory, to be read only."""
        return Pointer(self.cells, self.name, True, self.offset)


def _signed(at: int) -> int:
    return at - WORD if at > WORD // 2 else at


def block(count: int, name: str, before: Any = UNSET) -> Pointer:
    """Memory of `count` elements, uninitialised unless `before` is what each of them holds."""
    return Pointer([before] * count, name)


def unsigned(value: int) -> int:
    """A size_t result; one that wraps around is reported, however legal."""
    if value < 0:
        raise Fault(f"a size_t becomes negative ({value})")
    return value


def quotient(a: int, b: int) -> int:
    """C's division of integers, which truncates."""
    if b == 0:
        raise Fault("divides an integer by 0")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    """C's remainder, with the sign of the dividend."""
    return a - b * quotient(a, b)
