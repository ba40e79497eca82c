"""Formulas of physics, chemistry, biology and finance, and steps of differential equations."""

from .. import declare as sg


@sg.function
def lennard_jones(r, *, epsilon: float = 1.0, sigma: float = 1.0):
    """4 epsilon ((sigma/r)^12 - (sigma/r)^6)."""
    s = (sigma / r) ** 6
    return 4 * epsilon * (s**2 - s)


@sg.function
def morse_potential(r, *, depth: float = 1.0, width: float = 1.0, center: float = 1.0):
    """depth (1 - exp(-width (r - center)))^2."""
    return depth * (1 - sg.exp(-width * (r - center))) ** 2


@sg.function
def coulomb_energy(position: sg.Tensor["n 3"], charge: sg.Tensor["n"]):
    """The sum over pairs of charge[i] charge[j] / |position[i] - position[j]|."""
    i, j, k = sg.indices("i j k")
    square = sg.sum[k]((position[i, k] - position[j, k]) ** 2)
    return sg.sum[i, j](sg.where(j > i, charge[i] * charge[j] / sg.sqrt(square), 0))


@sg.function
def planck(wavelength: sg.Real["> 0"], temperature: sg.Real["> 0"], *, c1: float = 1.0, c2: float = 1.0):
    """c1 / wavelength^5 / (exp(c2 / (wavelength temperature)) - 1)."""
    return c1 / wavelength**5 / (sg.exp(c2 / (wavelength * temperature)) - 1)


@sg.function
def arrhenius(temperature, energy, factor, *, gas_constant: float = 8.314):
    """factor exp(-energy / (gas_constant temperature))."""
    return factor * sg.exp(-energy / (gas_constant * temperature))


@sg.function
def van_der_waals(volume, temperature, *, a: float = 1.0, b: float = 0.1, gas_constant: float = 8.314):
    """gas_constant temperature / (volume - b) - a / volume^2."""
    return gas_constant * temperature / (volume - b) - a / volume**2


@sg.function
def relativistic_energy(mass, velocity):
    """mass / sqrt(1 - velocity^2), where light has velocity 1."""
    return mass / sg.sqrt(1 - velocity**2)


@sg.function
def michaelis_menten(substrate, rate, half):
    """rate substrate / (half + substrate)."""
    return rate * substrate / (half + substrate)


@sg.function
def hill(x: sg.Real["> 0"], half: sg.Real["> 0"], n):
    """1 / (1 + (half / x)^n)."""
    return 1 / (1 + (half / x) ** n)


@sg.function
def logistic_map(x, r):
    """r x (1 - x)."""
    return r * x * (1 - x)


@sg.function
def lotka_volterra(prey, predator, *, a: float = 1.1, b: float = 0.4, c: float = 0.1, d: float = 0.4):
    """The rates of change of prey and predators."""
    prey_rate = a * prey - b * prey * predator
    predator_rate = c * prey * predator - d * predator
    return prey_rate, predator_rate


@sg.function
def lorenz_step(x, y, z, *, sigma: float = 10.0, rho: float = 28.0, beta: float = 8 / 3, dt: float = 0.01):
    """One Euler step of the Lorenz system."""
    dx = sigma * (y - x)
    dy = x * (rho - z) - y
    dz = x * y - beta * z
    new_x = x + dt * dx
    new_y = y + dt * dy
    new_z = z + dt * dz
    return new_x, new_y, new_z


@sg.function
def pendulum_step(angle, velocity, *, g: float = 9.81, length: float = 1.0, dt: float = 0.01):
    """One symplectic Euler step of a pendulum."""
    new_velocity = velocity - dt * g / length * sg.sin(angle)
    new_angle = angle + dt * new_velocity
    return new_angle, new_velocity


@sg.function
def rk4_logistic(x, rate, *, dt: float = 0.1):
    """One step of the classical Runge-Kutta method for x' = rate x (1 - x)."""
    k1 = rate * x * (1 - x)
    x2 = x + dt / 2 * k1
    k2 = rate * x2 * (1 - x2)
    x3 = x + dt / 2 * k2
    k3 = rate * x3 * (1 - x3)
    x4 = x + dt * k3
    k4 = rate * x4 * (1 - x4)
    return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@sg.function
def heat_step(u: sg.Tensor["n"], *, rate: float = 0.1):
    """One step of the heat equation on a ring."""
    i = sg.indices("i")
    n = u.shape[0]
    return sg.tensor[i](u[i] + rate * (u[(i + 1) % n] - 2 * u[i] + u[(i + n - 1) % n]))


@sg.function
def black_scholes_call(spot, strike, time, volatility, *, rate: float = 0.05):
    """The price of a European call."""
    spread = volatility * sg.sqrt(time)
    d1 = (sg.log(spot / strike) + (rate + volatility**2 / 2) * time) / spread
    return spot * sg.ndtr(d1) - strike * sg.exp(-rate * time) * sg.ndtr(d1 - spread)


@sg.function
def gaussian_pdf(x, mean, std):
    """exp(-((x - mean) / std)^2 / 2) / (std sqrt(2 pi))."""
    return sg.exp(-(((x - mean) / std) ** 2) / 2) / (std * sg.sqrt(2 * sg.pi))


@sg.function
def gaussian_logpdf(x, mean, std):
    """log(gaussian_pdf(x, mean, std))."""
    return -(((x - mean) / std) ** 2) / 2 - sg.log(std) - sg.log(2 * sg.pi) / 2


@sg.function
def cauchy_logpdf(x, center, width):
    """-log(pi width (1 + ((x - center) / width)^2))."""
    return -sg.log(sg.pi * width * (1 + ((x - center) / width) ** 2))


@sg.function
def laplace_logpdf(x, center, width):
    """-|x - center| / width - log(2 width)."""
    return -abs(x - center) / width - sg.log(2 * width)
