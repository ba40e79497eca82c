"""How long a check may take where nobody has said so, and what of its sample is looked at then.

What takes long is the truth and the text in multiple precision. What they took for one case tells what they will take
for the others: if that is more than SECONDS for all of them, the most telling ones come first, and what does not fit
any more is left out. It is the processor's time, and not that of a clock: a busy machine looks at the
same points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from math import inf
from time import process_time

from ..records import dataclass
from .cases import Case

SECONDS = 2.0  # of the processor, for what grows with the function: beside it a check imports, compiles, and calls
# the labels of cases that each see mistakes of their own; the others follow in their order
TELLING = (
    "random", "edges", "ties", "optional inputs", "conditions that are all the same", "the edge of a condition",
    "kinks", "options", "sizes 1", "bounds of the domain", "a large offset", "broadcast inputs", "float32",
)  # fmt: skip


@dataclass
class Budget:
    """What was spent on the cases so far, and what is left out.

    limit  seconds; None: all cases are looked at, in their order
    first  seconds of the calls of the printed code at the first case, which tell nothing of the others: a framework
           compiles it there, and imports what it needs
    """

    limit: float | None = SECONDS
    spent: float = 0.0
    first: float | None = None
    left_out: list[Case] = field(default_factory=list)

    def chosen(self, cases: Sequence[Case]) -> Iterator[Case]:
        """The cases to look at, one after the other; what is done with one until the next is asked for counts."""
        limit = inf if self.limit is None else self.limit
        waiting, each = list(cases), 0.0  # seconds for an operation
        while waiting:
            case = waiting.pop(0)
            if self.spent + each * case.work > limit:
                self.left_out.append(case)
                continue
            start, known = process_time(), self.first is not None
            yield case
            took = process_time() - start - (0.0 if known else self.first or 0.0)
            self.spent += took
            each = took / case.work if case.work else each
            if self.spent + each * sum(c.work for c in waiting) > limit:
                waiting.sort(key=_rank)

    @contextmanager
    def calling(self) -> Iterator[None]:
        """The printed code is called."""
        start = process_time()
        yield
        if self.first is None:
            self.first = process_time() - start

    def __str__(self) -> str:
        """What was left out, in words; empty where nothing was."""
        labels = ", ".join(dict.fromkeys(case.label for case in self.left_out))
        count = sum(case.count for case in self.left_out)
        points = f"{count} point{'s' * (count != 1)}"
        return f"not looked at, to take no more than seconds: {points} ({labels}); --full does" * bool(count)


def _rank(case: Case) -> int:
    return TELLING.index(case.label) if case.label in TELLING else len(TELLING)
