/* An arm of seven joints: y is the place of its hand, and the rotation by rows. */
enum { INPUTS = 7, OUTPUTS = 12, GRADIENTS = 7 };

static const double OFFSET[7] = {0.34, 0.0, 0.4, 0.0, 0.4, 0.0, 0.126};
static const int TWIST[7] = {-1, 1, 1, -1, -1, 1, 0}; /* quarter turns */

typedef struct {
    real a[3], b[3], c[3], place[3]; /* the columns of the rotation, and where it is */
} Frame;

/* behind joint i */
static inline Frame behind(const Frame *f, int i, real angle)
{
    Frame next;
    real s = SIN(angle), c = COS(angle);
    for (int k = 0; k < 3; ++k) {
        real side = f->b[k] * c - f->a[k] * s;
        next.a[k] = f->a[k] * c + f->b[k] * s;
        next.b[k] = TWIST[i] > 0 ? f->c[k] : TWIST[i] < 0 ? -f->c[k] : side;
        next.c[k] = TWIST[i] > 0 ? -side : TWIST[i] < 0 ? side : f->c[k];
        next.place[k] = OFFSET[i] != 0.0 ? f->place[k] + f->c[k] * OFFSET[i] : f->place[k];
    }
    return next;
}

/* frame[0] is the base's, frame[7] the hand's */
static inline void frames(const real *x, Frame *frame)
{
    memset(frame, 0, sizeof *frame);
    frame->a[0] += 1.0;
    frame->b[1] += 1.0;
    frame->c[2] += 1.0;
    _Pragma("GCC unroll 7") for (int i = 0; i < 7; ++i)
    {
        frame[i + 1] = behind(&frame[i], i, x[i]);
    }
}

static inline void forward(const real *x, real *y)
{
    Frame frame[8];
    frames(x, frame);
    for (int k = 0; k < 3; ++k) {
        y[k] = frame[7].place[k];
        y[3 + 3 * k] = frame[7].a[k];
        y[4 + 3 * k] = frame[7].b[k];
        y[5 + 3 * k] = frame[7].c[k];
    }
}

/* A joint turns what is behind it about its axis: its gradient is the axis times the moment of the cotangents there. */
static inline void backward(const real *x, const real *v, real *g)
{
    Frame frame[8];
    frames(x, frame);
    const Frame *hand = &frame[7];
    real moment[3], part[3], column[3];
    cross(hand->place, v, moment);
    for (int j = 0; j < 3; ++j) {
        for (int k = 0; k < 3; ++k) {
            column[k] = v[3 + 3 * k + j];
        }
        cross(j == 0 ? hand->a : j == 1 ? hand->b : hand->c, column, part);
        for (int k = 0; k < 3; ++k) {
            moment[k] += part[k];
        }
    }
    _Pragma("GCC unroll 7") for (int i = 0; i < 7; ++i)
    {
        cross(frame[i].place, v, part);
        for (int k = 0; k < 3; ++k) {
            part[k] = moment[k] - part[k];
        }
        g[i] = dot(frame[i].c, part);
    }
}
