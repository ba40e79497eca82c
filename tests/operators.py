"""Formulas of the operators: the check must find that every language agrees with them."""

EVERYWHERE = [  # formulas in operators that every language has or can write in others
    "f(x) = exp2(x) + trunc(x)*x",
    "f(x, y) = round(x)*y + heaviside(x, y)*y",
    "f(x, y) = fmod(x, y) + copysign(x, y)",
    "f(x, y) = x % y + (x // y)*x + (x % 2)*y + x % -2",
    "f(x, low, high) = clip(x, low, high)",
    "f(x) = clip(x, -1, 1)**2",
    "f(x, y) = logaddexp(x, y)",
    "f(x) = log(cosh(x)) + sinc(x)",
    "f(x, y) = xlogy(x, y)",
    "f(x) = log1p(x)",
    "f(x) = expi(x)",
    "f(x) = versin(x)*coshm1(x)",
    "f(x) = log1mexp(x) + atanh(x)",
    "f(x) = erf(x) + erfc(x)*ndtr(x)",
    "f(x) = erfcx(x)",
    "f(x) = lgamma(x)",
    "f(x) = tgamma(x)",
    "f(x) = digamma(x)",
    "f(x) = polygamma(2, x)",
    "f(x) = inverse_mills(x)",
    "f(x) = log_erfc(x)",
    "f(x, y) = inversion(x, y)",
    "f(x, y) = cosh_by_cosh(x, y) + sinh_by_cosh(x, y)",
    "f(x, y) = cosh_by_sinh(x, y) - sinh_by_sinh(x, y)",
    "f(x, y) = bd0(x, y)",
    "f(x) = log1pmx(x)",
    "f(x) = log(sigmoid(x))*x - log(1 - sigmoid(x))",
    "f(x[n,m], t[n]: int) = sum[i,j](where(j == t[i], 0, relu(x[i,j])**2))",
    # decided at more bits than the exponent of a double has values
    "f(x, std) = exp(-(x/std)**2/2)/std",
    # two loops of one block read the same rows, also in an inner block
    "f(x[n,c,p]): m[i,j] = mean[k](x[i,j,k]); out[i,j,k] = (x[i,j,k] - m[i,j])**2",
    # a sum without a name of its own, beside a result that is called total
    "f(q[n], k[n]): score[i] = sum[j](q[i]*k[j])/2; total = sum[p](score[p]); out[i] = score[i] + total",
]
SCIPY = [  # formulas in functions that NumPy and C99 lack: of SciPy, and of the printed file
    "f(x) = bessel_i0(x)",
    "f(x) = bessel_i1(x)",
    "f(x) = erfinv(x)",
    "f(x) = ndtri(x)",
]
OF_FILE = [  # and of those, what not both of torch and JAX have
    "f(x) = bessel_j0(x)*x",
    "f(x) = bessel_y1(x)",
    "f(x) = bessel_k0(x)",
    "f(x) = bessel_k1e(x)",
    "f(x) = gammainc(2.5, x)",
    "f(x) = gammaincc(0.5, x)",
]
