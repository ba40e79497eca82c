"""A page on which a formula is typed and its gradient is read: `symgrad playground`.

What is asked is answered by answers.py, of formula text alone, in a process that has a limit of time and memory
(workers.py, worker.py); server.py hands the page out, on this machine. static.py writes the same page for a browser
that runs symgrad itself, in Pyodide.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from ..errors import TargetError
from ..explanation.html import NEEDED
from ..later import Later

_server: Any = Later("symgrad.playground.server")

SERVING = {"starlette": "starlette", "uvicorn": "uvicorn", **NEEDED}  # what is imported, and what it is called


def serve(port: int, seconds: float, ready: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C, as `server.serve` does. Raises TargetError where something is not installed."""
    missing = [name for module, name in SERVING.items() if find_spec(module) is None]
    if missing:
        raise TargetError(f"a playground takes {', '.join(missing)} too: pip install 'symgrad[playground]'.")
    _server.serve(port, seconds, ready)
