"""A check in a process of its own, which a crash or an endless loop of the printed code ends instead of the caller.

Only where a process can be copied safely with all it has loaded. Elsewhere the check runs in the caller's.
"""

from __future__ import annotations

import faulthandler
import gc
import multiprocessing
import os
import pickle
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import field
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

from ..records import dataclass

SILENCE = 120.0  # seconds that one call of the printed code may take: a point takes milliseconds
Tell = Callable[[str, Any], None]


@dataclass(slots=True)
class Ending:
    """How work ended, and the last that it told under each heading.

    how  "" if it came to its end, "late" if the time ran out, "silent" if one call took too long, or the name of the
         signal that ended it, or of the error while the printed code was called; later, too, of a MemoryError: what
         wrote outside of an array may have changed a length
    """

    how: str = ""
    told: dict[str, Any] = field(default_factory=dict)


def possible() -> bool:
    """Whether this process may be copied: on Linux, and not beside JAX, whose threads the copy would wait for."""
    return sys.platform == "linux" and "jax" not in sys.modules


def isolated(work: Callable[[Tell], None], seconds: float | None = None, heard: Tell | None = None) -> Ending:
    """Run `work` in a copy of this process, for at most so many seconds; what it raises is raised here.

    `work` gets a function to tell what it has found so far: the last of each heading survives it. `heard` is told here,
    as soon as it is known.
    """
    context = multiprocessing.get_context("fork")
    readable, writable = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(work, writable))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of NumPy's: they are not used in the copy
        child.start()
    writable.close()
    ending = Ending()
    try:
        ending.how = _listen(readable, seconds, ending.told, heard or (lambda heading, said: None))
    except BaseException:
        ending.how = "left"
        raise
    finally:
        if ending.how:
            child.kill()
        child.join()
        readable.close()
    if "raised" in ending.told:
        overwritten = "calling" in ending.told and isinstance(ending.told["raised"], MemoryError)
        if ending.told.get("calling") is None and not overwritten:
            raise ending.told["raised"]
        ending.how = type(ending.told["raised"]).__name__  # printed code may have written anywhere
    if not ending.how and "ended" not in ending.told:
        code = child.exitcode or 0
        ending.how = signal.Signals(-code).name if code < 0 else "an exit"
    return ending


def _child(work: Callable[[Tell], None], pipe: Connection) -> None:
    def tell(heading: str, said: Any) -> None:
        pipe.send((heading, said))

    faulthandler.disable()  # the caller tells of a crash
    gc.freeze()  # the collector would touch, and so copy, all that the caller has
    try:
        work(tell)
        tell("ended", None)
    except BaseException as error:
        error.add_note("".join(traceback.format_tb(error.__traceback__)))
        try:
            pickle.loads(pickle.dumps(error))
            tell("raised", error)
        except Exception:
            tell("raised", RuntimeError(f"{type(error).__name__}: {error}"))
    finally:
        os._exit(0)  # what the caller does at its own end is not done here


def _listen(pipe: Connection, seconds: float | None, told: dict[str, Any], heard: Tell) -> str:
    """What is told until the other end is closed; "late" or "silent" where that takes too long."""
    end = None if seconds is None else perf_counter() + seconds
    while True:
        left = SILENCE if end is None else max(0.0, min(SILENCE, end - perf_counter()))
        if pipe.poll(left):
            try:
                heading, said = pipe.recv()
            except (EOFError, OSError):  # OSError: in the middle of a message
                return ""
            told[heading] = said
            heard(heading, said)
        elif end is not None and perf_counter() >= end:
            return "late"
        elif told.get("calling") is not None:
            return "silent"
