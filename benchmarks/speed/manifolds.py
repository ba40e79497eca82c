"""Jacobians by perturbations of poses, beside SymForce's: the table of docs/manifolds.md.

    python -m benchmarks.speed.manifolds              # prints the table
    python -m benchmarks.speed.manifolds --update     # and writes it into docs/manifolds.md

SymForce's poses are perturbed as SO3xR3: rotation and translation each by itself. Operations are counted as in
jacobians.py, those that one point executes; times are not taken.
"""

from __future__ import annotations

import argparse
import ctypes
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import symgrad as sg

from .build import NATIVE, Array, compiled, executed
from .peers import eigen
from .printed_c import as_one_file
from .report import table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "manifolds.md"
GRAVITY = -9.81


@sg.function
def between(a: sg.Tensor["7"], b: sg.Tensor["7"], measured: sg.Tensor["7"]):
    """How far the pose of b as seen from a is from the one that was measured."""
    seen = sg.SE3.between(a, b)
    return sg.SO3xR3.local(measured, seen)


@sg.function
def reprojection(camera: sg.Tensor["7"], point: sg.Tensor["3"], focal: sg.Tensor[""], pixel: sg.Tensor["2"]):
    """Where a camera sees a point, minus where it was seen."""
    x, y, z = sg.SE3.act(camera, point)
    return sg.stack([focal * x / z - pixel[0], focal * y / z - pixel[1]])


@sg.function
def imu(
    a: sg.Tensor["7"],
    speed_a: sg.Tensor["3"],
    b: sg.Tensor["7"],
    speed_b: sg.Tensor["3"],
    turn: sg.Tensor["4"],
    gain: sg.Tensor["3"],
    way: sg.Tensor["3"],
    time: sg.Tensor[""],
):
    """The residual of preintegration: rotation, velocity and place between two states, minus what an IMU has summed."""
    back = sg.SO3.inverse(sg.SE3.rotation(a))
    rotation = sg.SO3.local(turn, sg.SO3.compose(back, sg.SE3.rotation(b)))
    fall = sg.stack([0.0, 0.0, GRAVITY])
    velocity = sg.SO3.act(back, speed_b - speed_a - fall * time) - gain
    moved = sg.SE3.translation(b) - sg.SE3.translation(a) - speed_a * time - fall * (time * time / 2)
    return sg.concatenate([rotation, velocity, sg.SO3.act(back, moved) - way])


def _between(sf: Any, a: Any, b: Any, measured: Any) -> Any:
    return sf.Matrix(measured.local_coordinates(a.between(b), epsilon=sf.numeric_epsilon))


def _reprojection(sf: Any, camera: Any, point: Any, focal: Any, pixel: Any) -> Any:
    x, y, z = camera * point
    return sf.Matrix([focal[0] * x / z - pixel[0], focal[0] * y / z - pixel[1]])


def _imu(sf: Any, a: Any, speed_a: Any, b: Any, speed_b: Any, turn: Any, gain: Any, way: Any, time: Any) -> Any:
    back, fall, t = a.R.inverse(), sf.V3(0, 0, GRAVITY), time[0]
    rotation = sf.Matrix(turn.local_coordinates(back * b.R, epsilon=sf.numeric_epsilon))
    velocity = back * (speed_b - speed_a - fall * t) - gain
    return rotation.col_join(velocity).col_join(back * (b.t - a.t - speed_a * t - fall * (t * t / 2)) - way)


class Work(NamedTuple):
    """A residual twice: as it is declared here, and in SymForce's words; `sizes` are those of the inputs."""

    title: str
    function: sg.Declared
    formula: Callable[..., Any]
    kinds: str  # of the inputs: p a pose, r a rotation, a digit a vector of so many
    wrt: str


WORK = (
    Work("between factor, 6x12", between, _between, "ppp", "a: SO3xR3, b: SO3xR3"),
    Work("reprojection, 2x6", reprojection, _reprojection, "p312", "camera: SO3xR3"),
    Work("reprojection, 2x9", reprojection, _reprojection, "p312", "camera: SO3xR3, point"),
    Work("IMU preintegration, 9x18", imu, _imu, "p3p3r331", "a: SO3xR3, speed_a, b: SO3xR3, speed_b"),
)
SIZES = {"p": 7, "r": 4}


def _points(work: Work) -> list[Array]:
    rng = np.random.default_rng(3)
    found = []
    for kind in work.kinds:
        x = rng.standard_normal(SIZES.get(kind) or int(kind))
        if kind in SIZES:
            x[:4] /= np.linalg.norm(x[:4])
        found.append(x)
    return found


def _at(points: Sequence[Array]) -> list[int]:
    """Where each input begins among all numbers."""
    return [sum(x.size for x in points[:k]) for k in range(len(points))]


def _ours(work: Work) -> tuple[Array, float, int]:
    """The Jacobian at a point, operations and lines."""
    files = sg.generate(work.function, to="c", functions="jacobian", wrt=work.wrt, check=False)
    text = next(text for path, text in files.items() if path.endswith(".c"))
    loaded = sg.load(work.function, to="c", functions="jacobian", wrt=work.wrt)
    points = _points(work)
    _, found = loaded.jacobian(*(x if x.size > 1 else x[0] for x in points))
    blocks = found if isinstance(found, tuple) else (found,)
    given = [f"x + {at}" if x.size > 1 else f"x[{at}]" for x, at in zip(points, _at(points), strict=True)]
    results = [f"g + {sum(b.size for b in blocks[:k])}" for k in range(len(blocks))]
    name = work.function.function.name
    call = f"""
void run_jacobian(const double *x, double *y, double *g)
{{
    {name}_jacobian({", ".join([*given, "y", *results])});
}}
"""
    matrix = np.concatenate(blocks, axis=1)
    count = executed(as_one_file(files) + call, np.concatenate(points)[None], matrix.shape, (), False)
    return matrix, count, _lines(text)


def _lines(text: str) -> int:
    """Those that are neither blank nor a comment."""
    code = re.sub(r"/\*.*?\*/", "", re.sub(r"//.*", "", text), flags=re.DOTALL)
    return sum(bool(line.strip()) for line in code.splitlines())


def _symforce(work: Work) -> tuple[Array, float, int]:
    import symforce

    symforce.set_epsilon_to_number()
    import symforce.symbolic as sf
    from symforce import codegen
    from symforce.values import Values

    kinds: dict[str, Any] = {"p": sf.Pose3, "r": sf.Rot3}
    points, names = _points(work), list(work.function.function.inputs)
    given = {n: sf.Matrix(x.size, 1).symbolic(n) for n, x in zip(names, points, strict=True)}
    elements = {n: kinds[k].from_storage(list(given[n])) if k in kinds else given[n]
                for n, k in zip(names, work.kinds, strict=True)}  # fmt: skip
    residual = work.formula(sf, *elements.values())
    wanted = [name.partition(":")[0].strip() for name in work.wrt.split(",")]
    blocks = [residual.jacobian(elements[name]) for name in wanted]
    jacobian = sf.Matrix([[cell for block in blocks for cell in block[i, :]] for i in range(residual.shape[0])])
    with tempfile.TemporaryDirectory() as folder:
        results = Values(r=residual, j=jacobian)
        made = codegen.Codegen(Values(**given), results, codegen.CppConfig(), name="run_jacobian")
        made.generate_function(output_dir=folder, skip_directory_nesting=True)
        text = Path(folder, "run_jacobian.h").read_text()
    rows, columns = jacobian.shape
    maps = [f"Eigen::Map<const Eigen::Matrix<double, {x.size}, 1>>(x + {at})"
            for x, at in zip(points, _at(points), strict=True)]  # fmt: skip
    calls = f"""
#include <Eigen/Core>
{text}
extern "C" void run_jacobian(const double *x, double *y, double *g)
{{
    Eigen::Matrix<double, {rows}, 1> out;
    Eigen::Matrix<double, {rows}, {columns}> jacobian;
    sym::RunJacobian<double>({", ".join(maps)}, &out, &jacobian);
    Eigen::Map<Eigen::Matrix<double, {rows}, 1>>(y, {rows}) = out;
    Eigen::Map<Eigen::Matrix<double, {rows}, {columns}, Eigen::RowMajor>>(g, {rows}, {columns}) = jacobian;
}}
"""
    include = eigen()
    library, _ = compiled(calls, (*NATIVE, f"-I{include}"), cxx=True)
    x, values, matrix = np.concatenate(points), np.empty(rows), np.empty((rows, columns))
    library.run_jacobian(*(a.ctypes.data_as(ctypes.c_void_p) for a in (x, values, matrix)))
    count = executed(calls, x[None], matrix.shape, (f"-I{include}",), True)
    return matrix, count, _lines(text)


def row(work: Work) -> Sequence[str]:
    """A line of the table."""
    (own, count, lines), (other, its_count, its_lines) = _ours(work), _symforce(work)
    apart = np.abs(own - other).max() / np.abs(other).max()
    assert apart < 1e-12, f"{work.title}: {apart}"
    return [work.title, f"{apart:.0e}", f"{count:.0f} / {its_count:.0f}", f"{lines} / {its_lines}"]


def main() -> None:
    read = argparse.ArgumentParser(prog="python -m benchmarks.speed.manifolds", description=__doc__)
    read.add_argument("--update", action="store_true", help="write the table into docs/manifolds.md")
    asked = read.parse_args()
    head = ["", "largest difference", "operations: symgrad / SymForce", "lines of code"]
    text = table([head, *(list(row(work)) for work in WORK)])
    print(text)
    if asked.update:
        page = PAGE.read_text(encoding="utf-8")
        start, end = page.index("|    "), page.rindex("|\n") + 2
        PAGE.write_text(page[:start] + text + "\n" + page[end:], encoding="utf-8")


if __name__ == "__main__":
    main()
