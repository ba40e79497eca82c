"""Processes that answer, each of which is ended, with all that it has started, where an answer takes too long.

No library does that: `concurrent.futures` and loky cannot end one process, and pebble ends one without what that has
started, which the check and the C compiler are.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from contextlib import suppress
from typing import Any

from ..records import dataclass
from .answers import Answer

LARGEST = 4 << 20  # bytes of an answer: a page of a thousand formulas has one
RETRY = "Ask for a smaller formula, or use the command, symgrad explain, which has no limit."


@dataclass(slots=True)
class Workers:
    """Some processes, each of which answers one question at a time.

    seconds  that an answer may take
    """

    seconds: float
    free: asyncio.Queue[asyncio.subprocess.Process]
    folder: Any

    @classmethod
    async def started(cls, count: int, seconds: float) -> Workers:
        """So many processes."""
        folder = tempfile.TemporaryDirectory(prefix="symgrad-playground-", ignore_cleanup_errors=True)
        found = cls(seconds, asyncio.Queue(), folder)
        for _ in range(count):
            await found.start()
        return found

    async def start(self) -> None:
        """One more process, which is free; it imports from where this one does, and not from the current folder."""
        paths = os.pathsep.join(filter(None, sys.path))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "symgrad.playground.worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths, "TMPDIR": self.folder.name},
            limit=LARGEST,
            start_new_session=True,  # its children end with it
        )
        self.free.put_nowait(process)

    async def answer(self, question: Any) -> Answer:
        """The answer of a process that is free, or why there is none."""
        try:
            process = await asyncio.wait_for(self.free.get(), self.seconds)
        except TimeoutError:
            return {"error": f"other formulas have taken the {self.seconds:g} s that an answer may. Try again."}
        done = False
        try:
            line = await asyncio.wait_for(_asked(process, question), self.seconds)
            found: Answer = json.loads(line)
            done = True
            return found
        except TimeoutError:
            return {"error": f"this took more than {self.seconds:g} s, and was ended. {RETRY}"}
        except ValueError:  # a line longer than the limit, or half of one
            return {"error": f"this ended the process that answers, or is too long for a page. {RETRY}"}
        finally:
            if done:
                self.free.put_nowait(process)
            else:
                await _ended(process)
                await self.start()

    async def end(self) -> None:
        """End those that are free, as all are where nobody waits for an answer."""
        while not self.free.empty():
            await _ended(self.free.get_nowait())
        self.folder.cleanup()


async def _asked(process: asyncio.subprocess.Process, question: Any) -> bytes:
    assert process.stdin is not None and process.stdout is not None
    with suppress(ConnectionError):  # it has ended: its output says so
        process.stdin.write(json.dumps(question).encode() + b"\n")
        await process.stdin.drain()
    return await process.stdout.readline()


async def _ended(process: asyncio.subprocess.Process) -> None:
    """End a process, and the compiler or check that it has started."""
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with suppress(ConnectionError):
        await process.communicate()  # what it wrote last; then its pipes are closed
