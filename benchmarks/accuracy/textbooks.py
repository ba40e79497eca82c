# ruff: noqa: E501  # a formula is a line
"""More formulas as people write them: what FPBench and Herbie collect, of textbooks, libraries and papers.

FPBENCH is FPBench's chapter of Hamming's *Numerical Methods for Scientists and Engineers* (its examples, problems and
sections by number), and what else people ask of it: looked at while rules were written. KEPT is drawn from Herbie's
benchmarks by a hash of their text, among those that are not in FPBENCH: no rule was written for one of them, and nobody
looks at them by name. A row is a name, its arguments with the domains that formulas.py lists, and the formula.

Both collections are public, under the MIT license: github.com/FPBench/FPBench, github.com/herbie-fp/herbie.
"""

from __future__ import annotations

from formulas import Formula, row

FPBENCH_TEXT = """
sqrt(1 + x^2) - 1 | x | sqrt(1 + x**2) - 1
log of a length | x y | log(x**2 + y**2)/2
x^4/(1 + x^4) | x | x**4/(1 + x**4)
inverse softplus | x:positive | log(exp(x) - 1)
acosh | x:large | log(x + sqrt(x**2 - 1))
log cosh | x | log(cosh(x))
1/(x + 1) - 1/x | x:positive | 1/(x + 1) - 1/x
(1 + 1/n)^n | n:positive | (1 + 1/n)**n
KL of two coins | p:unit q:unit | p*log(p/q) + (1 - p)*log((1 - p)/(1 - q))
cross entropy of a logit | x t:unit | log(1 + exp(x)) - x*t
hypot | x y | sqrt(x**2 + y**2)
example 3.1 | x:positive | sqrt(x + 1) - sqrt(x)
example 3.3 | x e | sin(x + e) - sin(x)
example 3.4 | x | (1 - cos(x))/sin(x)
example 3.5 | N:positive | atan(N + 1) - atan(N)
example 3.6 | x:positive | 1/sqrt(x) - 1/sqrt(x + 1)
problem 3.3.2 | x e | tan(x + e) - tan(x)
problem 3.3.3 | x | 1/(x + 1) - 2/x + 1/(x - 1)
problem 3.3.4 | x:positive | (x + 1)**(1/3) - x**(1/3)
problem 3.3.5 | x e | cos(x + e) - cos(x)
problem 3.3.6 | N:positive | log(N + 1) - log(N)
problem 3.3.7 | x | exp(x) - 2 + exp(-x)
p42 minus | a:positive b c | (-b - sqrt(b**2 - 4*a*c))/(2*a)
problem 3.2.1 plus | a:positive b c | (-b + sqrt(b**2 - a*c))/a
example 3.7 | x | exp(x) - 1
example 3.8 | N:positive | (N + 1)*log(N + 1) - N*log(N) - 1
example 3.9 | x | 1/x - 1/tan(x)
example 3.10 | x:signed | log(1 - x)/log(1 + x)
problem 3.4.1 | x | (1 - cos(x))/x**2
problem 3.4.2 | a b e | e*(exp((a + b)*e) - 1)/((exp(a*e) - 1)*(exp(b*e) - 1))
problem 3.4.3 | e:signed | log((1 - e)/(1 + e))
problem 3.4.4 | x | sqrt((exp(2*x) - 1)/(exp(x) - 1))
problem 3.4.5 | x | (x - sin(x))/(x - tan(x))
problem 3.4.6 | x:positive n:positive | (x + 1)**(1/n) - x**(1/n)
section 3.5 | a x | exp(a*x) - 1
section 3.11 | x | exp(x)/(exp(x) - 1)
sinh | x | (exp(x) - exp(-x))/2
sech | x | 2/(exp(x) + exp(-x))
asinh | x | log(x + sqrt(x**2 + 1))
atanh | x:signed | log((1 + x)/(1 - x))/2
asech | x:unit | log(1/x + sqrt(1 - x**2)/x)
logistic 2 | x y | log(1 + exp(x)) - x*y
Garg | x | 2/(1 + exp(-2*x)) - 1
Excel | a b | a/(1 - b) - a
NMSE 6.1 B | a b | pi/2*(1/(b**2 - a**2))*(1/a - 1/b)
radiative | x y | x**4 - y**4
x/(x^2+1) | x | x/(x**2 + 1)
squares | a b | a**2 - b**2
compound | i:positive n:positive | 100*((1 + i/n)**n - 1)/(i/n)
cdiv re | a b c d | (a*c + b*d)/(c**2 + d**2)
arccos | x:signed | 2*atan(sqrt((1 - x)/(1 + x)))
bug323 | x:unit | acos(1 - x)
bug333 | x:signed | sqrt(1 + x) - sqrt(1 - x)
bug366 | x y z | sqrt(x**2 + y**2 + z**2)
bug366 b | a b | sqrt(a**2 - b**2)
bug500 | x | sin(x) - x
bug500 b | x:positive | log(sinh(x)/x)
sqrt A | x | sqrt(x**2 + x**2)
rsin | r a b | r*sin(b)/cos(a + b)
ccos im | r i | sin(r)*(exp(-i) - exp(i))/2
ccos re | r i | cos(r)*(exp(-i) + exp(i))/2
doppler | u v t | -t*v/((t + u)**2)
rosa | x | 0.954929658551372*x - 0.12900613773279798*x**3
turbine | v w r | 3 + 2/r**2 - 0.125*(3 - 2*v)*w**2*r**2/(1 - v) - 4.5
tanh x | x | (exp(x) - exp(-x))/(exp(x) + exp(-x))
mixedcos | x c s | cos(2*x)/(c**2*(x*s**2*x))
triangle | a:positive b:positive c:positive | sqrt((a + b + c)/2*((b + c - a)/2)*((a + c - b)/2)*((a + b - c)/2))
"""

KEPT_TEXT = """
gerg-sinh-tanh-2 | n theta Tci_over_Tr tau | (-n)*(theta*Tci_over_Tr*(theta*Tci_over_Tr))/(sinh(theta*Tci_over_Tr*tau)*sinh(theta*Tci_over_Tr*tau))
Trigonometry B | x | (1 - tan(x)*tan(x))/(1 + tan(x)*tan(x))
Graphics.Rendering.Chart.Plot.Pie:renderPie from Chart-1.5.3 | x y | x + y - x
Diagrams.Solve.Tridiagonal:solveTriDiagonal from diagrams-solve-0.1, B | x y z t | x/(y - z*t)
exact-forward-tanCe | Cn lam | sin(lam)*cos(Cn)/sqrt(sin(Cn)*sin(Cn) + cos(Cn)*(cos(Cn)*(cos(lam)*cos(lam))))
inverse-phipp | y kR:positive | 2*(atan(exp(y/kR)) - pi/4)
Commute and associate | x y z | x + y + z - (x + (y + z))
seraz0-fc-c1 | mult h xj s | mult*(s*(h + xj)/sqrt(xj*xj + s*s))
Jmat.Real.lambertw, newton loop step | wj x | wj - (wj*exp(wj) - x)/(exp(wj) + wj*exp(wj))
Diagrams.Solve.Polynomial:quartForm  from diagrams-solve-0.1, A | x y | x - 3/8*y
Numeric.SpecFunctions:$slogFactorial from math-functions-0.1.5.2, A | x | 1/(x*x)
Graphics.Rendering.Plot.Render.Plot.Legend:renderLegendOutside from plot-0.2.3.4, B | x y z t | x*(y + z + z + y + t) + y*5
Octave 3.8, jcobi/2 | alpha:-1.0.. beta:-1.0.. i:positive | ((alpha + beta)*(beta - alpha)/(alpha + beta + 2*i)/(alpha + beta + 2*i + 2) + 1)/2
Optimisation.CirclePacking:place from circle-packing-0.1.0.4, H | x y z | (x + y)*(1 - z)
gerg-sinh-log | n theta Tci_over_Tr tau | n*log(abs(sinh(theta*Tci_over_Tr*tau)))
ab-angle->ABCF B | a b angle | 2*(b**2 - a**2)*sin(pi*(angle/180))*cos(pi*(angle/180))
Data.Colour.CIE:cieLABView from colour-2.3.3, A | x | 841/108*x + 4/29
Diagrams.Color.HSV:lerp  from diagrams-contrib-1.3.0.5 | x y z | (1 - x)*y + x*z
Diagrams.Solve.Polynomial:cubForm  from diagrams-solve-0.1, D | x y z t | 1/3*acos(3*(x/(y*27))/(z*2)*sqrt(t))
Linear.Quaternion:$c/ from linear-1.19.1.3, C | x y z | x*y + y*y - y*z - y*y
VandenBroeck and Keller, Equation (24) | B x | -(x*(1/tan(B))) + 1/sin(B)
Logarithmic Transform | c x y | c*log(1 + (exp(1)**x - 1)*y)
forward-phipp | phip cosp0 sinp0 lamp | asin(cosp0*sin(phip) - sinp0*(cos(phip)*cos(lamp)))
Diagrams.Trail:splitAtParam  from diagrams-lib-1.3.0.3, B | x y | x*y/(y + 1)
Disney BSSRDF, sample scattering profile, lower | s:0.0..256.0 u:2.328306437e-10..0.25 | s*log(1/(1 - 4*u))
Bouland and Aaronson, Equation (26) | a b | (a*a + b*b)**2 + 4*(b*b) - 1
Rust f64::acosh | x:large | log(x + sqrt(x*x - 1))
Linear.Projection:inversePerspective from linear-1.19.1.3, B | x y | (x - y)/(x*2*y)
forward-v | U ArB | 0.5*(ArB*log((1 - U)/(1 + U)))
rVec_x | r AN theta i | r*(cos(AN)*cos(theta) - sin(AN)*sin(theta)*cos(i))
normal distribution | u1:unit u2:unit | 1/6*((-2)*log(u1))**0.5*cos(2*pi*u2) + 0.5
init-alpha-from-gamma0 | gamma0 D | asin(D*sin(gamma0))
Example from Robby | eh ew t | abs(ew*sin(t)*cos(atan(eh/ew/tan(t))) + eh*cos(t)*sin(atan(eh/ew/tan(t))))
Linear.Quaternion:$c/ from linear-1.19.1.3, D | x y z | x*y - y*y + y*y - y*z
Rosa's DopplerBench | u v t1 | (-t1)*v/((t1 + u)*(t1 + u))
Complex division, imag part | a b c d | (b*c - a*d)/(c*c + d*d)
bug366 (missed optimization) | x y z | sqrt(x*x + (y*y + z*z))
f2H | f e:large | 2*atanh(sqrt((e - 1)/(e + 1))*tan(f/2))
UniformSampleCone, y | ux:2.328306437e-10..1.0 uy:2.328306437e-10..1.0 maxCos:unit | sin(uy*2*pi)*sqrt(1 - (1 - ux + ux*maxCos)*(1 - ux + ux*maxCos))
setup-w | es ca rone_es:positive | (1 - es*(ca*ca))*rone_es*((1 - es*(ca*ca))*rone_es) - 1
UniformSampleCone, x | ux:2.328306437e-10..1.0 uy:2.328306437e-10..1.0 maxCos:unit | cos(uy*2*pi)*sqrt(1 - (1 - ux + ux*maxCos)*(1 - ux + ux*maxCos))
UniformSampleCone, z | ux:2.328306437e-10..1.0 uy:2.328306437e-10..1.0 maxCos:unit | 1 - ux + ux*maxCos
Diagrams.Solve.Tridiagonal:solveCyclicTriDiagonal from diagrams-solve-0.1, A | x y z | x*y/z
setup-k | u0 phi0 alpha:positive g:positive | tan(0.5*u0 + pi/4)*g/tan(0.5*phi0 + pi/4)**alpha
Data.Colour.CIE:lightness from colour-2.3.3 | x | x*116 - 16
Graphics.Rasterific.Shading:$sgradientColorAt from Rasterific-0.6.1 | x y z | (x - y)/(z - y)
ENA, Section 1.4, Mentioned, A | x:-0.01..0.01 | 1 - cos(x)
Diagrams.Segment:$catParam from diagrams-lib-1.3.0.3, C | x | x*x*x
Diagrams.TwoD.Layout.CirclePacking:approxRadius from diagrams-contrib-1.3.0.5 | x y | tan(x/(y*2))/sin(x/(y*2))
Linear.Quaternion:$ccosh from linear-1.19.1.3 | x y | sin(x)*sinh(y)/x
SynthBasics:oscSampleBasedAux from YampaSynth-0.2 | x y z | x + y*(z - x)
Optimisation.CirclePacking:place from circle-packing-0.1.0.4, B | x y z t | (x + y - z)/(t*2)
init-v-pole-n | ArB gamma0 | ArB*log(tan(pi/4 - 0.5*gamma0))
Numeric.Signal.Multichannel:$cget from hsignal-0.2.7.1 | x y z t | x/y*(z - t) + t
math.log/1 on complex, imaginary part | re im | atan2(im, re)
Numeric.Integration.TanhSinh:simpson  from integration-0.2.1 | x y | x*(y + y)
ABCF->ab-angle b | A B C F | (-sqrt(2*((B**2 - 4*A*C)*F)*(A + C - sqrt((A - C)**2 + B**2))))/(B**2 - 4*A*C)
spherical-fwd-y-cos-quotient | phi lam | cos(phi)*cos(lam)/sqrt(1 - cos(phi)*sin(lam)*(cos(phi)*sin(lam)))
Numeric.Signal.Multichannel:$cput from hsignal-0.2.7.1 | x y z t | (x - y)/(z - y)*t
forward-rho | rho0:positive s n:positive | rho0*tan(0.5*1.37008346281555 + pi/4)**n/tan(0.5*s + pi/4)**n
Data.Colour.RGBSpace.HSV:hsv from colour-2.3.3, J | x y z | x*(1 - (1 - y)*z)
Numeric.SpecFunctions:invIncompleteBetaWorker from math-functions-0.1.5.2, G | x y z | x + exp(y*log(y/(z + y)))/y
inverse-phidp | fac | 2*(atan(fac) - pi/4)
Diagrams.Solve.Polynomial:cubForm  from diagrams-solve-0.1, H | x y z t | x - y/(z*3) + t/(z*3*y)
"""


def _read(text: str) -> tuple[Formula, ...]:
    return tuple(row(*line.split(" | ")) for line in text.strip().splitlines())


FPBENCH, KEPT = _read(FPBENCH_TEXT), _read(KEPT_TEXT)
