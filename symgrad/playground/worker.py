"""The process that answers: a question on each line of its input, the answer on a line of its output, as JSON."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from .answers import answer

try:
    import resource
except ImportError:  # Windows has none: there the limit of time alone ends what takes too much
    resource = None  # type: ignore[assignment]

MEMORY = 4 << 30  # bytes of addresses that a formula may take


def main() -> None:
    """Answer until there are no more questions."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    answer({"ask": "derive", "formula": "exp(x)"})  # imports what the first question would wait for
    for line in sys.stdin:
        question = json.loads(line)
        _limit(question)
        print(json.dumps(answer(question)), file=answers, flush=True)


def _limit(question: Any) -> None:
    """Limit memory, but not that of a check: it runs C under AddressSanitizer, which reserves terabytes of addresses,
    and arrays of a few elements."""
    if resource is not None:
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        checks = isinstance(question, dict) and question.get("ask") == "check"
        resource.setrlimit(resource.RLIMIT_AS, (most if checks else MEMORY, most))


if __name__ == "__main__":
    main()
