"""A check in a process of its own, which a crash or an endless loop of the printed code ends instead of the caller.

Only where a process can be copied safely with all it has loaded. Elsewhere the check runs in the caller's.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import pickle
import select
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

SILENCE = 120.0  # seconds that one call of the printed code may take: a point takes milliseconds
Tell = Callable[[str, Any], None]


@dataclass(slots=True)
class Ending:
    """How work ended, and the last that it told under each heading.

    how  "" if it came to its end, "late" if the time ran out, "silent" if one call took too long, or the name of the
         signal that ended it
    """

    how: str = ""
    told: dict[str, Any] = field(default_factory=dict)


def possible() -> bool:
    """Whether this process may be copied: on Linux, and not beside JAX, whose threads the copy would wait for."""
    return sys.platform == "linux" and "jax" not in sys.modules


def apart(work: Callable[[Tell], None], seconds: float | None = None, heard: Tell | None = None) -> Ending:
    """Run `work` in a copy of this process, for at most so many seconds; what it raises is raised here.

    `work` gets a function to tell what it has found so far: the last of each heading survives it. `heard` is told here,
    as soon as it is known.
    """
    readable, writable = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of NumPy's: they are not used in the copy
        child = os.fork()
    if not child:
        os.close(readable)
        _child(work, writable)
    os.close(writable)
    try:
        return _listen(child, readable, seconds, heard or (lambda heading, said: None))
    finally:
        os.close(readable)


def _child(work: Callable[[Tell], None], pipe: int) -> None:
    def tell(heading: str, said: Any) -> None:
        message = pickle.dumps((heading, said))
        message = len(message).to_bytes(8, "little") + message
        while message:
            message = message[os.write(pipe, message) :]

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
        os._exit(0)


def _listen(child: int, pipe: int, seconds: float | None, heard: Tell) -> Ending:
    ending = Ending()
    end = None if seconds is None else perf_counter() + seconds
    buffer = b""
    try:
        while True:
            left = SILENCE if end is None else max(0.0, min(SILENCE, end - perf_counter()))
            if select.select([pipe], [], [], left)[0]:
                part = os.read(pipe, 1 << 20)
                if not part:
                    break
                buffer = _messages(buffer + part, ending.told, heard)
            elif end is not None and perf_counter() >= end:
                ending.how = "late"
                break
            elif ending.told.get("calling") is not None:
                ending.how = "silent"
                break
    except BaseException:
        ending.how = "left"
        raise
    finally:
        if ending.how:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if "raised" in ending.told:
        raise ending.told["raised"]
    if not ending.how and "ended" not in ending.told:
        ending.how = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "an exit"
    return ending


def _messages(buffer: bytes, told: dict[str, Any], heard: Tell) -> bytes:
    """Take whole messages from the front of a buffer; return what is left."""
    while len(buffer) >= 8 and len(buffer) >= 8 + (size := int.from_bytes(buffer[:8], "little")):
        heading, said = pickle.loads(buffer[8 : 8 + size])
        told[heading] = said
        heard(heading, said)
        buffer = buffer[8 + size :]
    return buffer
