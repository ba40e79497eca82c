/* The residual of ADBench; x: rotation 3, centre 3, focal, principal 2, distortion 2, point 3, weight, seen 2. */
enum { INPUTS = 17, OUTPUTS = 3, GRADIENTS = 15 };

typedef struct {
    real angle, sin, cos, axis[3], away[3], turned[3], along, u, v, depth, r, radial, error[2];
} View;

static inline View seen_by(const real *x)
{
    View s;
    s.angle = SQRT(dot(x, x));
    s.sin = SIN(s.angle);
    s.cos = COS(s.angle);
    real inverse = 1.0 / s.angle;
    for (int i = 0; i < 3; ++i) {
        s.axis[i] = x[i] * inverse;
        s.away[i] = x[11 + i] - x[3 + i];
    }
    cross(s.axis, s.away, s.turned);
    s.along = dot(s.axis, s.away);
    real place[3], bend = s.along * (1.0 - s.cos);
    for (int i = 0; i < 3; ++i) {
        place[i] = s.away[i] * s.cos + s.turned[i] * s.sin + s.axis[i] * bend;
    }
    s.depth = 1.0 / place[2];
    s.u = place[0] * s.depth;
    s.v = place[1] * s.depth;
    s.r = s.u * s.u + s.v * s.v;
    s.radial = 1.0 + s.r * (x[9] + x[10] * s.r);
    s.error[0] = s.u * s.radial * x[6] + x[7] - x[15];
    s.error[1] = s.v * s.radial * x[6] + x[8] - x[16];
    return s;
}

/* of the two errors, weighed by v and w */
static inline void gradient_of_errors(const real *x, const View *s, real v, real w, real *g)
{
    const real *axis = s->axis, *away = s->away;
    g[14] = v * s->error[0] + w * s->error[1];
    v *= x[14];
    w *= x[14];
    g[7] = v;
    g[8] = w;
    real both = v * s->u + w * s->v, of_radial = both * x[6];
    g[6] = both * s->radial;
    g[9] = of_radial * s->r;
    g[10] = g[9] * s->r;
    real of_r = 2.0 * of_radial * (x[9] + 2.0 * x[10] * s->r), scale = x[6] * s->radial;
    real of_u = v * scale + s->u * of_r, of_v = w * scale + s->v * of_r;
    real of_place[3] = {of_u * s->depth, of_v * s->depth, -(of_u * s->u + of_v * s->v) * s->depth};

    real of_bend = dot(of_place, axis), bent = of_bend * (1.0 - s->cos), straight = s->along * (1.0 - s->cos);
    real of_turned[3], of_axis[3];
    cross(of_place, axis, of_turned);
    cross(away, of_place, of_axis);
    for (int i = 0; i < 3; ++i) {
        real of_away = of_place[i] * s->cos + of_turned[i] * s->sin + axis[i] * bent;
        g[11 + i] = of_away;
        g[3 + i] = -of_away;
        of_axis[i] = of_axis[i] * s->sin + of_place[i] * straight + away[i] * bent;
    }
    real inverse = 1.0 / s->angle;
    real of_angle = s->cos * dot(of_place, s->turned) + s->sin * (s->along * of_bend - dot(of_place, away));
    of_angle -= dot(of_axis, axis) * inverse;
    for (int i = 0; i < 3; ++i) {
        g[i] = of_axis[i] * inverse + axis[i] * of_angle;
    }
}

static inline void forward(const real *x, real *y)
{
    View s = seen_by(x);
    y[0] = x[14] * s.error[0];
    y[1] = x[14] * s.error[1];
    y[2] = 1.0 - x[14] * x[14];
}

static inline void backward(const real *x, const real *v, real *g)
{
    View s = seen_by(x);
    gradient_of_errors(x, &s, v[0], v[1], g);
    g[14] -= 2.0 * x[14] * v[2];
}

#ifndef BATCH
static inline void jacobian(const real *x, real *y, real *g)
{
    View s = seen_by(x);
    y[0] = x[14] * s.error[0];
    y[1] = x[14] * s.error[1];
    y[2] = 1.0 - x[14] * x[14];
    gradient_of_errors(x, &s, 1.0, 0.0, g);
    gradient_of_errors(x, &s, 0.0, 1.0, g + GRADIENTS);
    memset(g + 2 * GRADIENTS, 0, 14 * sizeof *g);
    g[2 * GRADIENTS + 14] = -2.0 * x[14];
}
#define HAS_JACOBIAN
#endif
