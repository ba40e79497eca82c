/* What tests/aero.py has, in C. */
#include <math.h>

static const double mach_at[] = {0.0, 0.3, 0.7, 1.1, 2.0, 5.0};
static const double drag_at[] = {0.2, 0.22, 0.3, 0.6, 0.45, 0.4};

static int place(double mach)
{
    int k = 0;
    while (k < 4 && mach >= mach_at[k + 1]) {
        ++k;
    }
    return k;
}

static double slope_at(int k)
{
    return (drag_at[k + 1] - drag_at[k]) / (mach_at[k + 1] - mach_at[k]);
}

double lookup_drag(double mach)
{
    if (!(mach > 0.0)) {
        return drag_at[0];
    }
    if (mach >= 5.0) {
        return drag_at[5];
    }
    const int k = place(mach);
    return drag_at[k] + (mach - mach_at[k]) * slope_at(k);
}

double lookup_drag_slope(double mach)
{
    return mach < 0.0 || mach >= 5.0 ? 0.0 : slope_at(place(mach));
}

double thrust(double v, double h) { return 3.0 * exp(-h / 8.0) / (1.0 + v * v); }

double logistic(double x) { return 0.5 * (1.0 + tanh(x / 2.0)); }

float lookup_dragf(float mach) { return (float)lookup_drag((double)mach); }
float lookup_drag_slopef(float mach) { return (float)lookup_drag_slope((double)mach); }
float thrustf(float v, float h) { return (float)thrust((double)v, (double)h); }
float logisticf(float x) { return (float)logistic((double)x); }
