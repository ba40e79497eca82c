"""Geometry: rotations, coordinates, cameras, linkages, distances."""

from .. import declare as sg


@sg.function
def rotate2d(p: sg.Tensor["... 2"], angle: sg.Tensor["..."]):
    """p turned by an angle."""
    x, y = p
    c, s = sg.cos(angle), sg.sin(angle)
    return sg.stack([c * x - s * y, s * x + c * y])


@sg.function
def cross(a: sg.Tensor["... 3"], b: sg.Tensor["... 3"]):
    """The cross product."""
    a1, a2, a3 = a
    b1, b2, b3 = b
    return sg.stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1])


@sg.function
def triple_product(a: sg.Tensor["... 3"], b: sg.Tensor["... 3"], c: sg.Tensor["... 3"]):
    """a . (b x c), the volume of a parallelepiped."""
    return (a * cross(b, c)).sum(axis=-1)


@sg.function
def quaternion_multiply(p: sg.Tensor["... 4"], q: sg.Tensor["... 4"]):
    """Hamilton's product, real parts first."""
    a, b, c, d = p
    w, x, y, z = q
    return sg.stack(
        [
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        ]
    )


@sg.function
def quaternion_normalize(q: sg.Tensor["... 4"]):
    """q / |q|."""
    return q / sg.sqrt((q**2).sum(axis=-1, keepdims=True))


@sg.function
def quaternion_rotate(q: sg.Tensor["... 4"], v: sg.Tensor["... 3"]):
    """v turned by a unit quaternion: v + 2 u x (u x v + w v), with q = (w, u)."""
    w, x, y, z = q
    v1, v2, v3 = v
    t1 = y * v3 - z * v2 + w * v1
    t2 = z * v1 - x * v3 + w * v2
    t3 = x * v2 - y * v1 + w * v3
    return sg.stack([v1 + 2 * (y * t3 - z * t2), v2 + 2 * (z * t1 - x * t3), v3 + 2 * (x * t2 - y * t1)])


@sg.function
def quaternion_to_matrix(q: sg.Tensor["4"]):
    """The rotation matrix of a unit quaternion."""
    w, x, y, z = q
    row_x = sg.stack([1 - 2 * (y**2 + z**2), 2 * (x * y - w * z), 2 * (x * z + w * y)])
    row_y = sg.stack([2 * (x * y + w * z), 1 - 2 * (x**2 + z**2), 2 * (y * z - w * x)])
    row_z = sg.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x**2 + y**2)])
    return sg.stack([row_x, row_y, row_z], axis=0)


@sg.function
def rodrigues(w: sg.Tensor["... 3"], v: sg.Tensor["... 3"]):
    """v turned about w by the angle t = |w|: cos(t) v + sin(t)/t w x v + (1 - cos(t))/t^2 (w . v) w."""
    w1, w2, w3 = w
    v1, v2, v3 = v
    angle = sg.sqrt(w1**2 + w2**2 + w3**2)
    c = sg.cos(angle)
    s = sg.sin(angle) / angle
    k = (1 - sg.cos(angle)) / angle**2 * (w1 * v1 + w2 * v2 + w3 * v3)
    return sg.stack(
        [
            c * v1 + s * (w2 * v3 - w3 * v2) + k * w1,
            c * v2 + s * (w3 * v1 - w1 * v3) + k * w2,
            c * v3 + s * (w1 * v2 - w2 * v1) + k * w3,
        ]
    )


@sg.function
def se3_transform(rotation: sg.Tensor["3 3"], translation: sg.Tensor["3"], p: sg.Tensor["n 3"]):
    """rotation @ p + translation for each of n points."""
    return p @ rotation.T + translation


@sg.function
def project(p: sg.Tensor["... 3"], focal: sg.Tensor["2"], center: sg.Tensor["2"], distortion: sg.Tensor["2"]):
    """A pinhole camera with radial distortion: focal (1 + k1 r^2 + k2 r^4) (x, y) / z + center."""
    x, y, z = p
    u, v = x / z, y / z
    r2 = u**2 + v**2
    scale = 1 + distortion[0] * r2 + distortion[1] * r2**2
    return sg.stack([focal[0] * scale * u + center[0], focal[1] * scale * v + center[1]], axis=-1)


@sg.function
def homography(h: sg.Tensor["3 3"], p: sg.Tensor["n 2"]):
    """Each point of the plane mapped by a homography."""
    x, y = p[:, 0], p[:, 1]
    w = h[2, 0] * x + h[2, 1] * y + h[2, 2]
    u = (h[0, 0] * x + h[0, 1] * y + h[0, 2]) / w
    v = (h[1, 0] * x + h[1, 1] * y + h[1, 2]) / w
    return u, v


@sg.function
def law_of_cosines(a, b, angle):
    """The third side of a triangle: sqrt(a^2 + b^2 - 2 a b cos(angle))."""
    return sg.sqrt(a**2 + b**2 - 2 * a * b * sg.cos(angle))


@sg.function
def triangle_area(a, b, c):
    """Heron's formula, by the three sides."""
    s = (a + b + c) / 2
    return sg.sqrt(s * (s - a) * (s - b) * (s - c))


@sg.function
def great_circle_distance(lat1, lon1, lat2, lon2, *, radius: float = 6371.0):
    """The haversine formula, by angles in radians."""
    h = sg.sin((lat2 - lat1) / 2) ** 2 + sg.cos(lat1) * sg.cos(lat2) * sg.sin((lon2 - lon1) / 2) ** 2
    return 2 * radius * sg.asin(sg.sqrt(h))


@sg.function
def polar_to_cartesian(r, angle):
    """(r cos(angle), r sin(angle))."""
    x = r * sg.cos(angle)
    y = r * sg.sin(angle)
    return x, y


@sg.function
def cartesian_to_polar(x, y):
    """(sqrt(x^2 + y^2), atan2(y, x))."""
    r = sg.hypot(x, y)
    angle = sg.atan2(y, x)
    return r, angle


@sg.function
def spherical_to_cartesian(r, theta, phi):
    """By the polar angle theta and the azimuth phi."""
    x = r * sg.sin(theta) * sg.cos(phi)
    y = r * sg.sin(theta) * sg.sin(phi)
    z = r * sg.cos(theta)
    return x, y, z


@sg.function
def cartesian_to_spherical(x, y, z):
    """(r, polar angle theta, azimuth phi)."""
    rho = sg.hypot(x, y)
    r = sg.hypot(rho, z)
    theta = sg.atan2(rho, z)
    phi = sg.atan2(y, x)
    return r, theta, phi


@sg.function
def two_link_arm(a, b, *, length1: float = 1.0, length2: float = 1.0):
    """Where the hand is, by the angles of the joints."""
    x = length1 * sg.cos(a) + length2 * sg.cos(a + b)
    y = length1 * sg.sin(a) + length2 * sg.sin(a + b)
    return x, y


@sg.function
def three_link_arm(angle: sg.Tensor["... 3"], length: sg.Tensor["3"]):
    """Where the hand is and where it points, by the angles of the joints."""
    a, b, c = angle
    heading = a + b + c
    x = length[0] * sg.cos(a) + length[1] * sg.cos(a + b) + length[2] * sg.cos(heading)
    y = length[0] * sg.sin(a) + length[1] * sg.sin(a + b) + length[2] * sg.sin(heading)
    return x, y, heading


@sg.function
def barycentric(p: sg.Tensor["... 2"], a: sg.Tensor["2"], b: sg.Tensor["2"], c: sg.Tensor["2"]):
    """The weights of the corners a and b at p; that of c is what is missing to 1."""
    x, y = p
    area = (b[1] - c[1]) * (a[0] - c[0]) + (c[0] - b[0]) * (a[1] - c[1])
    u = ((b[1] - c[1]) * (x - c[0]) + (c[0] - b[0]) * (y - c[1])) / area
    v = ((c[1] - a[1]) * (x - c[0]) + (a[0] - c[0]) * (y - c[1])) / area
    return u, v


@sg.function
def bilinear_interpolation(f00, f01, f10, f11, x, y):
    """Between the values at the corners of the unit square."""
    return (f00 * (1 - x) + f10 * x) * (1 - y) + (f01 * (1 - x) + f11 * x) * y


@sg.function
def lerp(a, b, t):
    """a + t (b - a)."""
    return a + t * (b - a)


@sg.function
def smoothstep(x):
    """3 t^2 - 2 t^3, where t is x between 0 and 1."""
    t = sg.clip(x, 0, 1)
    return t**2 * (3 - 2 * t)


@sg.function
def cubic_bezier(a, b, c, d, t):
    """The cubic Bernstein polynomial with these coefficients."""
    s = 1 - t
    return a * s**3 + 3 * b * s**2 * t + 3 * c * s * t**2 + d * t**3


@sg.function
def reflect(v: sg.Tensor["... 3"], normal: sg.Tensor["... 3"]):
    """v - 2 (v . normal) normal, off a plane with a unit normal."""
    return v - 2 * (v * normal).sum(axis=-1, keepdims=True) * normal


@sg.function
def plane_distance(p: sg.Tensor["... 3"], normal: sg.Tensor["3"], offset: sg.Tensor[""]):
    """The signed distance from the plane normal . x = offset."""
    return ((p * normal).sum(axis=-1) - offset) / sg.sqrt((normal**2).sum())


@sg.function
def sphere_distance(p: sg.Tensor["... 3"], center: sg.Tensor["3"], *, radius: float = 1.0):
    """The signed distance from a sphere."""
    return sg.sqrt(((p - center) ** 2).sum(axis=-1)) - radius


@sg.function
def angle_between(a: sg.Tensor["... 3"], b: sg.Tensor["... 3"]):
    """atan2(|a x b|, a . b)."""
    a1, a2, a3 = a
    b1, b2, b3 = b
    sine = sg.hypot(a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1)
    cosine = a1 * b1 + a2 * b2 + a3 * b3
    return sg.atan2(sine, cosine)


@sg.function
def bicycle_step(x, y, heading, speed, steering, *, wheelbase: float = 2.5, dt: float = 0.1):
    """One step of the kinematic bicycle."""
    turn = speed / wheelbase * sg.tan(steering)
    new_x = x + dt * speed * sg.cos(heading)
    new_y = y + dt * speed * sg.sin(heading)
    new_heading = heading + dt * turn
    return new_x, new_y, new_heading


@sg.function
def n_link_arm(angle: sg.Tensor["n"], length: sg.Tensor["n"]):
    """Where the hand of a planar arm is, by the angles of its joints, each relative to the link before."""
    heading = sg.tensor.new("n")
    i = sg.indices("i")
    heading[i] = sg.where(i > 0, heading[i - 1], 0) + angle[i]
    x = (length * sg.cos(heading)).sum()
    y = (length * sg.sin(heading)).sum()
    return x, y


@sg.function
def se3_exponential_transform(w: sg.Tensor["3"], shift: sg.Tensor["3"], p: sg.Tensor["n 3"]):
    """p turned about w by the angle |w|, and moved: what pose estimation differentiates."""
    x, y, z = w
    angle = sg.sqrt(x**2 + y**2 + z**2)
    c, s, k = sg.cos(angle), sg.sin(angle) / angle, (1 - sg.cos(angle)) / angle**2
    row_x = sg.stack([c + k * x * x, k * x * y - s * z, k * x * z + s * y])
    row_y = sg.stack([k * x * y + s * z, c + k * y * y, k * y * z - s * x])
    row_z = sg.stack([k * x * z - s * y, k * y * z + s * x, c + k * z * z])
    rotation = sg.stack([row_x, row_y, row_z], axis=0)
    return p @ rotation.T + shift


@sg.function
def brown_conrady(
    p: sg.Tensor["... 3"],
    focal: sg.Tensor["2"],
    center: sg.Tensor["2"],
    radial: sg.Tensor["3"],
    tangential: sg.Tensor["2"],
):
    """A pinhole camera with radial and tangential distortion, as in OpenCV."""
    x, y, z = p
    k1, k2, k3 = radial
    p1, p2 = tangential
    u, v = x / z, y / z
    r2 = u**2 + v**2
    scale = 1 + k1 * r2 + k2 * r2**2 + k3 * r2**3
    across = scale * u + 2 * p1 * u * v + p2 * (r2 + 2 * u**2)
    down = scale * v + p1 * (r2 + 2 * v**2) + 2 * p2 * u * v
    return sg.stack([focal[0] * across + center[0], focal[1] * down + center[1]], axis=-1)


@sg.function
def slerp(p: sg.Tensor["... 4"], q: sg.Tensor["... 4"], t: sg.Tensor["..."]):
    """Between two unit quaternions along the great circle, t from 0 to 1."""
    apart, together = ((p - q) ** 2).sum(axis=-1), ((p + q) ** 2).sum(axis=-1)
    angle = 2 * sg.atan2(sg.sqrt(apart), sg.sqrt(together))
    sine = sg.sin(angle)
    a, b = sg.sin((1 - t) * angle) / sine, sg.sin(t * angle) / sine
    return a[..., None] * p + b[..., None] * q
