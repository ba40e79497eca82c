/* A step of Runge and Kutta's; x: position 3, velocity 3, quaternion 4, spin 3, thrust 4; y is the state after it. */
enum { INPUTS = 17, OUTPUTS = 13, GRADIENTS = 17 };

static const double MASS = 0.8, LENGTH = 0.2, YAW = 0.05, DRAG = 0.1, STEP = 0.02, GRAVITY = 9.81;
static const double IX = 0.005, IY = 0.006, IZ = 0.009;
#define EACH _Pragma("GCC unroll 13") for (int i = 0; i < 13; ++i)

/* the derivative of the state by time */
static inline void motion(const real *s, const real *u, real *d)
{
    const real *velocity = s + 3, *q = s + 6, *w = s + 10;
    real lift = (u[0] + u[1] + u[2] + u[3]) * (1.0 / MASS);
    real drag = SQRT(dot(velocity, velocity) + 1e-3) * (DRAG / MASS);
    for (int i = 0; i < 3; ++i) {
        d[i] = velocity[i];
    }
    d[3] = 2.0 * (q[1] * q[3] + q[0] * q[2]) * lift - drag * velocity[0];
    d[4] = 2.0 * (q[2] * q[3] - q[0] * q[1]) * lift - drag * velocity[1];
    d[5] = (1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2])) * lift - drag * velocity[2] - GRAVITY;
    d[6] = -0.5 * (q[1] * w[0] + q[2] * w[1] + q[3] * w[2]);
    d[7] = 0.5 * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]);
    d[8] = 0.5 * (q[0] * w[1] - q[1] * w[2] + q[3] * w[0]);
    d[9] = 0.5 * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]);
    d[10] = (LENGTH * (u[1] - u[3]) - (IZ - IY) * w[1] * w[2]) * (1.0 / IX);
    d[11] = (LENGTH * (u[2] - u[0]) - (IX - IZ) * w[2] * w[0]) * (1.0 / IY);
    d[12] = (YAW * (u[0] - u[1] + u[2] - u[3]) - (IY - IX) * w[0] * w[1]) * (1.0 / IZ);
}

/* of_state is J^T g by the state; of_thrust is added to */
static inline void motion_back(const real *s, const real *u, const real *g, real *of_state, real *of_thrust)
{
    const real *velocity = s + 3, *q = s + 6, *w = s + 10;
    real lift = (u[0] + u[1] + u[2] + u[3]) * (1.0 / MASS);
    real speed = SQRT(dot(velocity, velocity) + 1e-3), drag = speed * (DRAG / MASS);
    real of_drag = -dot(g + 3, velocity) * (DRAG / MASS) / speed;
    for (int i = 0; i < 3; ++i) {
        of_state[i] = (real){0};
        of_state[3 + i] = g[i] - drag * g[3 + i] + of_drag * velocity[i];
    }
    real a = 2.0 * lift * g[3], b = 2.0 * lift * g[4], c = 4.0 * lift * g[5];
    real h0 = 0.5 * g[6], h1 = 0.5 * g[7], h2 = 0.5 * g[8], h3 = 0.5 * g[9];
    of_state[6] = a * q[2] - b * q[1] + h1 * w[0] + h2 * w[1] + h3 * w[2];
    of_state[7] = a * q[3] - b * q[0] - c * q[1] - h0 * w[0] - h2 * w[2] + h3 * w[1];
    of_state[8] = a * q[0] + b * q[3] - c * q[2] - h0 * w[1] + h1 * w[2] - h3 * w[0];
    of_state[9] = a * q[1] + b * q[2] - h0 * w[2] - h1 * w[1] + h2 * w[0];
    real e0 = g[10] * (1.0 / IX), e1 = g[11] * (1.0 / IY), e2 = g[12] * (1.0 / IZ);
    real c0 = (IZ - IY) * e0, c1 = (IX - IZ) * e1, c2 = (IY - IX) * e2;
    of_state[10] = h1 * q[0] - h0 * q[1] + h2 * q[3] - h3 * q[2] - c1 * w[2] - c2 * w[1];
    of_state[11] = h2 * q[0] - h0 * q[2] - h1 * q[3] + h3 * q[1] - c0 * w[2] - c2 * w[0];
    of_state[12] = h3 * q[0] - h0 * q[3] + h1 * q[2] - h2 * q[1] - c0 * w[1] - c1 * w[0];
    real of_lift = 2.0 * (q[1] * q[3] + q[0] * q[2]) * g[3] + 2.0 * (q[2] * q[3] - q[0] * q[1]) * g[4];
    of_lift = (of_lift + (1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2])) * g[5]) * (1.0 / MASS);
    real k0 = LENGTH * e0, k1 = LENGTH * e1, k2 = YAW * e2;
    of_thrust[0] += of_lift - k1 + k2;
    of_thrust[1] += of_lift + k0 - k2;
    of_thrust[2] += of_lift + k1 + k2;
    of_thrust[3] += of_lift - k0 - k2;
}

/* the states at which motion is asked for, from the second on, and the state after them before it is normalised */
static inline void stages(const real *x, real (*at)[13], real *after)
{
    const real *u = x + 13;
    real k1[13], k2[13], k3[13], k4[13];
    motion(x, u, k1);
    EACH at[0][i] = x[i] + 0.5 * STEP * k1[i];
    motion(at[0], u, k2);
    EACH at[1][i] = x[i] + 0.5 * STEP * k2[i];
    motion(at[1], u, k3);
    EACH at[2][i] = x[i] + STEP * k3[i];
    motion(at[2], u, k4);
    EACH after[i] = x[i] + (STEP / 6.0) * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]);
}

static inline void forward(const real *x, real *y)
{
    real at[3][13];
    stages(x, at, y);
    real inverse = 1.0 / SQRT(dot(y + 6, y + 6) + y[9] * y[9]);
    for (int i = 6; i < 10; ++i) {
        y[i] *= inverse;
    }
}

static inline void backward(const real *x, const real *v, real *g)
{
    const real *u = x + 13;
    real at[3][13], y[13], of_y[13], of_k[13], of_stage[13];
    stages(x, at, y);
    real inverse = 1.0 / SQRT(dot(y + 6, y + 6) + y[9] * y[9]);
    real along = (dot(y + 6, v + 6) + y[9] * v[9]) * inverse;
    EACH of_y[i] = v[i];
    for (int i = 6; i < 10; ++i) {
        of_y[i] = inverse * (v[i] - y[i] * inverse * along);
    }
    EACH g[i] = of_y[i];
    for (int i = 13; i < 17; ++i) {
        g[i] = (real){0};
    }
    EACH of_k[i] = (STEP / 6.0) * of_y[i];
    motion_back(at[2], u, of_k, of_stage, g + 13);
    EACH g[i] += of_stage[i];
    EACH of_k[i] = (STEP / 3.0) * of_y[i] + STEP * of_stage[i];
    motion_back(at[1], u, of_k, of_stage, g + 13);
    EACH g[i] += of_stage[i];
    EACH of_k[i] = (STEP / 3.0) * of_y[i] + 0.5 * STEP * of_stage[i];
    motion_back(at[0], u, of_k, of_stage, g + 13);
    EACH g[i] += of_stage[i];
    EACH of_k[i] = (STEP / 6.0) * of_y[i] + 0.5 * STEP * of_stage[i];
    motion_back(x, u, of_k, of_stage, g + 13);
    EACH g[i] += of_stage[i];
}
