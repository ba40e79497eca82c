"""Inputs of the library's functions, and frameworks that may be missing."""

from __future__ import annotations

import gc
import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
# a program runs once: XLA need not make it fast, and compiles it in a third of the time
XLA_FLAGS = """--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false
    --xla_cpu_parallel_codegen_split_count=1"""


def framework(request_name, config):
    """The module of a framework; without it the tests skip, or fail where `--frameworks` requires them."""
    try:
        module = importlib.import_module(request_name)
        gc.freeze()  # a million objects that stay: the collector need not look at them again
        return module
    except ImportError:
        text = f"{request_name} is not installed: pip install 'symgrad[{request_name}]'"
        if config.getoption("--frameworks"):
            pytest.fail(text)
        pytest.skip(text)


@pytest.fixture(scope="session")
def torch(pytestconfig, tmp_path_factory):
    """torch, on one thread; its compiler waits for no process beside this one, and for no lock of another run."""
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path_factory.mktemp("inductor"))
    module = framework("torch", pytestconfig)
    module.set_num_threads(1)
    return module


@pytest.fixture(scope="session")
def triton(pytestconfig, torch):
    """Triton, which compiles kernels here; they are interpreted in another process."""
    return framework("triton", pytestconfig)


@pytest.fixture(scope="session")
def jax(pytestconfig):
    """JAX, in 64 bits."""
    module = framework("jax", pytestconfig)
    flags = {"XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {XLA_FLAGS}"}
    probe = [sys.executable, "-c", "import jax; jax.numpy.ones(1)"]  # XLA aborts at a flag that it does not know
    if not subprocess.run(probe, env=os.environ | flags, capture_output=True).returncode:
        os.environ |= flags
    module.config.update("jax_enable_x64", True)
    return module


@pytest.fixture(autouse=True)
def language(request):
    """The framework that a test of several languages prints for."""
    to = getattr(request.node, "callspec", None) and request.node.callspec.params.get("to")
    if to in ("torch", "jax"):
        request.getfixturevalue(to)


@pytest.fixture
def rng():
    """The same random numbers in every test."""
    return np.random.default_rng(7)
