"""The page and its answers over HTTP, on this machine alone.

A page of another site reaches nothing: the name of the host is that of this machine, so no name of theirs leads here;
a question is JSON, which a browser sends to another site only if that site agrees, and this one never does.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..backends.base import source
from ..errors import TargetError
from .workers import Workers

HOST = "127.0.0.1"
HOSTS = [HOST, "localhost"]  # what this machine is called by itself
SECONDS = 20.0  # that an answer may take
PROCESSES = 2  # that answer: one may be checking while the next formula is typed
LARGEST = 16 << 10  # bytes of a question
PATIENCE = 1.0  # seconds in which an answer that nobody waits for may be finished, before its process is ended
FILES = {"/": ("playground.html", "text/html")} | {
    f"/{name}": (name, kind)
    for name, kind in {
        "explain.css": "text/css",
        "playground.css": "text/css",
        "explain.js": "text/javascript",
        "playground.js": "text/javascript",
    }.items()
}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def application(seconds: float = SECONDS, processes: int = PROCESSES) -> Starlette:
    """The page, and `/answer`, to which questions are posted; an answer may take so many seconds."""

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        app.state.workers = await Workers.started(processes, seconds)
        yield
        await app.state.workers.end()

    routes = [Route(path, _file(name, kind)) for path, (name, kind) in FILES.items()]
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False)
    return Starlette(routes=[*routes, Route("/answer", _answer, methods=["POST"])], middleware=[hosts], lifespan=life)


def serve(port: int, seconds: float, ready: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; `ready` is told the address. Raises TargetError where the port is taken."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        raise TargetError(f"port {port} of this machine: {error.strerror}. Choose another one: --port.") from error
    ready(f"http://{HOST}:{listening.getsockname()[1]}/")
    config = uvicorn.Config(application(seconds), log_level="warning", server_header=False, limit_concurrency=32)
    uvicorn.Server(config).run(sockets=[listening])


def _file(name: str, kind: str) -> Callable[[Request], Response]:
    def file(request: Request) -> Response:
        return Response(source(name), media_type=kind, headers=HEADERS)

    return file


async def _answer(request: Request) -> Response:
    """The answer to a question; 413, 415 or 400 for what is none."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        return _refused(415, "a question is JSON, and its Content-Type says so: application/json.")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            return _refused(413, f"a question has at most {LARGEST:,} bytes.")
    try:
        question = json.loads(body)
    except (ValueError, RecursionError):
        return _refused(400, "this is not JSON.")
    work = asyncio.ensure_future(request.app.state.workers.answer(question))
    gone = asyncio.ensure_future(request.receive())
    await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        await asyncio.wait({work}, timeout=PATIENCE)
    if not work.done():
        work.cancel()
        await asyncio.wait({work})
        return _refused(499, "nobody waits for this answer.")
    gone.cancel()
    return JSONResponse(work.result(), headers=HEADERS)


def _refused(status: int, said: str) -> Response:
    body: dict[str, Any] = {"error": said}
    return JSONResponse(body, status, HEADERS)
