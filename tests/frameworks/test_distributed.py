"""The programs of docs/distributed.md, run as they stand there beside the printed files."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from symgrad import library
from symgrad.cli.files import placed, write
from symgrad.pipeline import generate

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "distributed.md").read_text(encoding="utf-8")
JIT, SHARD_MAP, DDP, DTENSOR = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
NAMES = ["layer_norm", "mlp", "cross_entropy"]
CC = shlex.split(os.environ.get("CC") or "cc")[0]


@pytest.fixture
def folder(tmp_path):
    """A folder with what the programs import."""
    for name in NAMES:
        shutil.copytree(ROOT / "generated" / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def run(folder, program, *launcher):
    """What the program writes to stderr, and how it ends."""
    folder.joinpath("program.py").write_text(program, encoding="utf-8")
    line = [sys.executable, *launcher, "program.py"]
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(folder)}
    done = subprocess.run(line, cwd=folder, env=variables, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stderr


def run_twice(folder, program):
    """What the program writes in two processes, and how they end."""
    for _ in range(3):
        code, said = run(folder, program, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
        if "terminate called without an active exception" not in said:  # now and then a thread of torch's own, at exit
            break
    return code, said


@pytest.mark.parametrize("program", [JIT, SHARD_MAP], ids=["jit", "shard_map"])
def test_jax_on_eight_devices(program, folder, jax):
    code, said = run(folder, program, "-W", "error")
    assert code == 0, said


def test_shard_map_wants_the_line_that_the_page_gives(folder, jax):
    line = '    parameters = jax.lax.pcast(parameters, "data", to="varying")\n'
    assert line in SHARD_MAP
    code, said = run(folder, SHARD_MAP.replace(line, ""))
    assert code == 1 and "Custom VJP bwd rule must produce an output with the same type" in said
    assert "the manual axis types do not match" in said


def test_differentiating_outside_of_the_mean(folder, jax):
    """The other way that the page names."""
    other = " ".join(re.search(r"`(jax\.grad\(lambda p: .*?\"data\"\)\))`", PAGE, re.DOTALL)[1].split())
    start, end = SHARD_MAP.index("    parameters = jax.lax.pcast"), SHARD_MAP.index("\n\nrng")
    code, said = run(folder, f"{SHARD_MAP[:start]}    return {other}(parameters)\n{SHARD_MAP[end:]}", "-W", "error")
    assert code == 0, said


def test_an_explicit_mesh_wants_what_printed_code_has_not(folder, jax):
    code, said = run(folder, JIT.replace("AxisType.Auto", "AxisType.Explicit"))
    assert code == 1 and "ShardingTypeError" in said


@pytest.mark.parametrize("to", ["torch", "torch_c"])
def test_ddp_in_two_processes(to, folder, torch):
    """Both compile the C at the same time."""
    if to == "torch_c":
        if shutil.which(CC) is None:
            pytest.skip("no C compiler")
        for name in NAMES:
            write(placed(folder / name, generate(getattr(library, name), to=to, check=False)))
    code, said = run_twice(folder, DDP.replace("_torch import", f"_{to} import"))
    assert code == 0, said


def test_sharded_tensors_in_two_processes(folder, torch):
    shutil.rmtree(folder / "cross_entropy")
    write(placed(folder / "cross_entropy", generate(library.cross_entropy, to="torch", check=False)))
    code, said = run_twice(folder, DTENSOR)
    assert code == 0, said
