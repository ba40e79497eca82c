"""Rotations and poses: what declarations compute with them, and derivatives by their perturbations."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import symgrad as sg
from symgrad import pipeline
from symgrad.errors import SymgradError
from symgrad.later import Later
from symgrad.pipeline import printed

transform = pytest.importorskip("scipy.spatial.transform")
Rotation = transform.Rotation
oracle = Later("symgrad.verify")
RNG = np.random.default_rng(7)
AXIS = np.array([2.0, -1.0, 2.0]) / 3
TURNS = [np.zeros(3), 1e-9 * AXIS, 1e-3 * AXIS, 0.4 * AXIS, -2.5 * AXIS, 3.1415926 * AXIS, (np.pi - 1e-9) * AXIS]
SHIFTS = RNG.standard_normal((len(TURNS), 3))
QUATERNIONS = np.array([Rotation.from_rotvec(t).as_quat() for t in TURNS])
MATRICES = np.array([Rotation.from_rotvec(t).as_matrix() for t in TURNS])
POSES = np.concatenate([QUATERNIONS, SHIFTS], axis=1)
AS_MATRICES = np.concatenate([MATRICES, SHIFTS[:, :, None]], axis=2)
OTHER = Rotation.from_rotvec([0.3, 0.9, -0.2])
AT = np.array([0.5, -1.5, 0.75])
POSE = np.array([*OTHER.as_quat(), *AT])


def homogeneous(rotation, shift):
    whole = np.eye(4)
    whole[:3, :3], whole[:3, 3] = rotation.as_matrix(), shift
    return whole


def exponential(twist):
    """Of a perturbation of a pose, as the matrix that SciPy makes of it."""
    from scipy.linalg import expm

    x, y, z = twist[:3]
    return expm(np.array([[0, -z, y, twist[3]], [z, 0, -x, twist[4]], [-y, x, 0, twist[5]], [0, 0, 0, 0]]))


def values(function, *arrays):
    return sg.load(function, check=False).forward(*arrays)[0]


@sg.function
def rotations(q: sg.Tensor["... 4"], r: sg.Tensor["4"], p: sg.Tensor["3"]):
    return sg.SO3.log(q), sg.SO3.compose(q, r), sg.SO3.between(q, r), sg.SO3.act(q, p), sg.SO3.to_matrix(q)


@sg.function
def matrices(m: sg.Tensor["... 3 3"], r: sg.Tensor["4"], p: sg.Tensor["3"]):
    return sg.SO3.log(m), sg.SO3.compose(m, r), sg.SO3.between(m, r), sg.SO3.act(m, p), sg.SO3.to_matrix(m)


@pytest.mark.parametrize(("function", "stored"), [(rotations, QUATERNIONS), (matrices, MATRICES)])
def test_rotations_are_scipys(function, stored):
    log, composed, between, moved, matrix = values(function, stored, OTHER.as_quat(), AT)
    for k, turn in enumerate(TURNS):
        own = Rotation.from_rotvec(turn)
        assert_allclose(log[k], turn, rtol=1e-14, atol=1e-15 if turn @ turn < 9 else 4e-8)  # its matrix has no more
        of = Rotation.from_quat if function is rotations else Rotation.from_matrix
        assert_allclose(of(composed[k]).as_matrix(), (own * OTHER).as_matrix(), atol=1e-14)
        assert_allclose(of(between[k]).as_matrix(), (own.inv() * OTHER).as_matrix(), atol=1e-14)
        assert_allclose(moved[k], own.apply(AT), atol=1e-14)
        assert_allclose(matrix[k], own.as_matrix(), atol=1e-14)


@sg.function
def poses(a: sg.Tensor["... 7"], b: sg.Tensor["7"], d: sg.Tensor["6"], p: sg.Tensor["3"]):
    right, left = sg.SE3.retract(a, d), sg.SE3.retract(a, d, side="left")
    back = sg.SE3.local(a, right), sg.SE3.local(a, left, side="left"), sg.SE3.exp(sg.SE3.log(a))
    made = sg.SE3.compose(a, b), sg.SE3.between(a, b), right, left, sg.SE3.inverse(a)
    return *(sg.SE3.to_matrix(m) for m in made), sg.SE3.act(a, p), *back


@sg.function
def pose_matrices(a: sg.Tensor["... 3 4"], b: sg.Tensor["7"], d: sg.Tensor["6"], p: sg.Tensor["3"]):
    right, left = sg.SE3.retract(a, d), sg.SE3.retract(a, d, side="left")
    back = sg.SE3.local(a, right), sg.SE3.local(a, left, side="left"), sg.SE3.to_matrix(sg.SE3.exp(sg.SE3.log(a)))
    made = sg.SE3.compose(a, b), sg.SE3.between(a, b), right, left, sg.SE3.inverse(a)
    return *(sg.SE3.to_matrix(m) for m in made), sg.SE3.act(a, p), *back


@pytest.mark.parametrize(("function", "stored"), [(poses, POSES), (pose_matrices, AS_MATRICES)])
def test_poses_are_matrices_of_four(function, stored):
    delta = np.array([0.2, -0.5, 0.1, 1.0, -2.0, 0.3])
    composed, between, right, left, inverse, moved, to_right, to_left, same = values(function, stored, POSE, delta, AT)
    b, step = homogeneous(OTHER, AT), exponential(delta)
    for k, (turn, shift) in enumerate(zip(TURNS, SHIFTS, strict=True)):
        a = homogeneous(Rotation.from_rotvec(turn), shift)
        expected = a @ b, np.linalg.inv(a) @ b, a @ step, step @ a, np.linalg.inv(a)
        for found, e in zip((composed, between, right, left, inverse), expected, strict=True):
            assert_allclose(found[k], e, atol=2e-14)
        assert_allclose(moved[k], (a @ [*AT, 1])[:3], atol=1e-14)
        assert_allclose((to_right[k], to_left[k]), (delta, delta), atol=1e-13)
        own = stored[k] if function is poses else a
        sign = np.sign(same[k][3] * own[3]) or 1 if function is poses else 1
        assert_allclose(same[k] * ([sign] * 4 + [1] * 3 if function is poses else 1), own, atol=1e-7)


@sg.function
def reprojection(pose: sg.Tensor["7"], point: sg.Tensor["3"], seen: sg.Tensor["2"]):
    x, y, z = sg.SE3.act(pose, point)
    return sg.stack([x / z, y / z]) - seen


@sg.function
def matrix_reprojection(pose: sg.Tensor["4 4"], point: sg.Tensor["3"], seen: sg.Tensor["2"]):
    x, y, z = sg.SE3.act(pose, point)
    return sg.stack([x / z, y / z]) - seen


@sg.function
def distance(pose: sg.Tensor["... 3 4"], point: sg.Tensor["... 3"]):
    return (sg.SE3.act(pose, point) ** 2).sum(axis=-1)


@sg.function
def turned(rotation: sg.Tensor["3 3"], point: sg.Tensor["3"]):
    return sg.SO3.act(rotation, point)


@sg.function
def turned_by_quaternion(rotation: sg.Tensor["... 4"], point: sg.Tensor["... 3"]):
    return sg.SO3.act(rotation, point)


@sg.function
def heading(angle: sg.Tensor["3"], rotation: sg.Tensor["4"]):
    """A rotation's distance to one that is given by an axis times its angle."""
    return sg.SO3.local(rotation, sg.SO3.exp(angle))


@sg.function
def trajectory(poses: sg.Tensor["n 7"], point: sg.Tensor["3"]):
    """The squared distances of many poses' points from the origin."""
    return (sg.SE3.act(poses, point) ** 2).sum(axis=-1)


KINDS = ("gauss_newton", "jvp")  # the first has a jacobian, and what is printed for one
CASES = [
    (reprojection, "pose: SE3", KINDS),
    (reprojection, "point, pose: SE3 left", ("jacobian",)),
    (reprojection, "pose: SO3xR3", ("jacobian",)),
    (matrix_reprojection, "pose: SE3", ("gauss_newton",)),
    (matrix_reprojection, "pose: SO3xR3 left", ("gauss_newton",)),
    (distance, "pose: SE3", ("gradient", "value_and_gradient")),
    (turned, "rotation: SO3", ("jacobian",)),
    (turned, "rotation: SO3 left", ("jvp",)),
    (turned_by_quaternion, "rotation: SO3", ("jacobian",)),
    (heading, "rotation: SO3", ("jacobian",)),
    (trajectory, "poses: SE3", ("jacobian", "jvp")),
]
IDS = [f"{f.function.name}, {wrt}" for f, wrt, _ in CASES]


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize(("function", "wrt", "kinds"), CASES, ids=IDS)
@pytest.mark.in_turn
def test_it_is_checked(function, wrt, kinds, to):
    report = sg.check(function, to=to, functions=kinds, wrt=wrt)
    assert report.ok, report


def moved_by(wrt, pose, delta):
    """SciPy's `retract`, of quaternions."""
    group, *left = wrt.split(":")[1].split()
    turn, own, at = Rotation.from_rotvec(delta[:3]), Rotation.from_quat(pose[:4]), pose[4:]
    rotation = turn * own if left else own * turn
    if group == "SO3xR3":
        return np.concatenate([rotation.as_quat(), at + delta[3:]])
    if group == "SE3":
        step = exponential(delta)
        whole = step @ homogeneous(own, at) if left else homogeneous(own, at) @ step
        return np.concatenate([rotation.as_quat(), whole[:3, 3]])
    return rotation.as_quat()


@pytest.mark.parametrize("wrt", ["pose: SE3", "pose: SE3 left", "pose: SO3xR3", "pose: SO3xR3 left"])
def test_columns_are_differences_along_scipys_rotations(wrt):
    f = sg.load(reprojection, functions=("forward", "jacobian"), wrt=wrt)
    point, seen = np.array([0.3, -0.4, 5.0]), np.array([0.1, 0.2])
    _, found = f.jacobian(POSE, point, seen)
    step = 1e-6
    ends = [[f.forward(moved_by(wrt, POSE, s * u), point, seen) for s in (step, -step)] for u in np.eye(6)]
    assert_allclose(found, np.transpose([(a - b) / (2 * step) for a, b in ends]), atol=1e-8)


@pytest.mark.parametrize(
    ("group", "left", "found"), [("SE3", True, "is right"), ("SO3xR3", False, "is joint"), ("SE3", False, "")]
)
def test_the_check_sees_another_perturbation(group, left, found, monkeypatch):
    wrong = oracle.Retraction(group, left, 1)
    monkeypatch.setattr(pipeline.oracle, "Retraction", lambda *_: wrong)
    result = printed(reprojection, "numpy", {"functions": ("jacobian",), "wrt": ("pose:SE3",)})
    assert pipeline.verified(reprojection, result, result.load()).ok == (not found)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("stored", [POSE, homogeneous(OTHER, AT)], ids=["quaternion", "matrix"])
@pytest.mark.parametrize("group", [sg.SE3, sg.SO3xR3], ids=lambda g: g.name)
def test_the_checks_retraction_is_that_of_declarations(group, side, stored):
    kind = sg.Tensor[" ".join(map(str, stored.shape))]

    def moved(a, d):
        return group.retract(a, d, side=side)

    moved.__annotations__ = {"a": kind, "d": sg.Tensor["6"]}
    delta = np.array([0.2, -0.5, 0.1, 1.0, -2.0, 0.3])
    told = oracle.Retraction(group.name, side == "left", stored.ndim).retract(stored.astype(object), list(delta))
    assert_allclose(values(sg.function(moved), stored, delta), told.astype(float), atol=1e-14)


def test_the_command_that_is_printed_asks_for_it_again():
    (text,) = sg.generate(reprojection, functions="jacobian", wrt="pose: SE3 left , point", check=False).values()
    assert "--wrt pose:SE3:left,point" in text


BAD = [
    ({"wrt": "pose: SE4"}, "pose:SE4 is no input with its perturbation. Write pose: and one of SO3, SE3, SO3xR3"),
    ({"wrt": "pose: SE3 up"}, "pose:SE3:up is no input with its perturbation."),
    ({"wrt": "pose: SE3, pose"}, "wrt=pose:SE3, pose names pose twice."),
    ({"wrt": "place: SE3"}, "reprojection has no input place; choose from pose, point, seen."),
    ({"wrt": "pose: SO3"}, "reprojection: pose is no SO3. Declare it as an input of real numbers that is always given, "
                           "whose last axes are 4 or 3 x 3."),
    ({"wrt": "pose: SE3", "what": "hessian"}, "reprojection: a hessian by the perturbation of a pose is not derived."),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "said"), BAD)
def test_what_cannot_be_is_told(asked, said):
    with pytest.raises(SymgradError) as error:
        sg.derived(reprojection, asked.get("what", "jacobian"), asked["wrt"])
    assert said in str(error.value)


WRONG = [
    (lambda a, b: sg.SE3.log(a), "sg.SE3.log of an array of shape (3): the last axes are 7 or 3 x 4 or 4 x 4."),
    (lambda a, b: sg.SO3.retract(b, b), "sg.SO3.retract with an array of shape (4): the last axis is 3."),
    (lambda a, b: sg.SO3.retract(b, a, side="up"), "'up' is no side of a perturbation. Choose from right, left."),
    (lambda a, b: sg.SO3.exp(a, "euler"), "'euler' is no storage of rotations. Choose from quaternion, matrix."),
]


@pytest.mark.parametrize(("body", "said"), WRONG)
def test_an_element_of_another_shape_is_refused(body, said):
    body.__annotations__ = {"a": sg.Tensor["3"], "b": sg.Tensor["4"]}
    body.__name__ = "body"
    with pytest.raises(SymgradError) as error:
        sg.function(body).function  # it is traced when it is asked for
    assert said in str(error.value)
