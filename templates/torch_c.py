"""Functions that printed files of torch over C have."""

import atexit
import contextlib
import ctypes
import hashlib
import os
import pathlib
import shlex
import shutil
import subprocess
import sysconfig
import tempfile

import torch

_NAME = ""


def _library():
    """Load the library NAME.so beside this file; without one, compile NAME.c.

    What is compiled is kept in __pycache__ there, or until the end of the process.
    To make the library beforehand:
        cc -O2 -fopenmp-simd -std=c99 -shared -fPIC -o NAME.so NAME.c -lm
    """
    source = pathlib.Path(__file__).resolve().with_name(f"{_NAME}.c")
    ready = source.with_suffix(".so")
    return ctypes.CDLL(str(ready if ready.is_file() else _compiled(source)))


def _compiled(source):
    """Return the library that the C compiles to, with $CC or cc."""
    compiler = shlex.split(os.environ.get("CC") or "cc")
    command = [*compiler, "-O2", "-fopenmp-simd", "-std=c99", "-shared", "-fPIC"]
    parts = [path.read_text() for path in (source, source.with_suffix(".h"))]
    parts += [*command, sysconfig.get_platform()]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    folder = source.with_name("__pycache__")
    ready = folder / f"{_NAME}-{digest}.so"
    if ready.is_file():
        return ready
    with contextlib.suppress(OSError):
        folder.mkdir(exist_ok=True)
    if not os.access(folder, os.W_OK):
        folder = pathlib.Path(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # other processes may compile it at this moment: it takes its place when complete
    with tempfile.TemporaryDirectory(dir=folder) as work:
        made = pathlib.Path(work, ready.name)
        line = [*command, "-o", str(made), str(source), "-lm"]
        try:
            done = subprocess.run(line, capture_output=True, text=True)
        except FileNotFoundError as error:
            raise ImportError(
                f"{_NAME}: there is no C compiler ({compiler[0]}); install one, "
                f"set CC to its command, or put {_NAME}.so beside this file"
            ) from error
        if done.returncode:
            raise ImportError(f"{_NAME}: {' '.join(line)} failed:\n{done.stderr}")
        return made.replace(folder / ready.name)


def _refuse(ctx, *_):
    raise NotImplementedError(
        f"{_NAME}: there is no C code for the gradient of a gradient; "
        "what symgrad generate prints --to torch has one"
    )


def _stored(*tensors):
    """Return the tensors in the types of C; refuse those that are not on the CPU."""
    for tensor in tensors:
        if tensor is not None and tensor.device.type not in ("cpu", "meta"):
            raise ValueError(
                f"{_NAME}: there is a tensor on {tensor.device}; "
                "the C code runs on the CPU"
            )
    return [None if t is None else t.to(_type(t)) for t in tensors]


def _type(tensor):
    """Return the type in which C has what the tensor holds."""
    if tensor.is_floating_point():
        return torch.float64
    return torch.bool if tensor.dtype == torch.bool else torch.int64
