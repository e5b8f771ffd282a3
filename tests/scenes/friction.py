"""Bodies that slide, stick and roll."""

import math

import topple

from .ground import GRAVITY, plane


def sliding_block(*, speed: float, friction: float, direction: float = 0.0) -> topple.Scene:
    """A block of 1 x 1 x 0.5 m at rest on a plane, pushed off at `speed` [m/s].

    `direction` [rad] turns the velocity about z; the block stays aligned with x and y, so that a
    friction cone that is really a pyramid shows. Answer: stops after v^2 / (2 mu g).
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(plane(friction=friction))
    scene.add(
        topple.Body(
            "block",
            topple.Box((1.0, 1.0, 0.5)),
            mass=1.0,
            position=(0.0, 0.0, 0.25),
            linear_velocity=(speed * math.cos(direction), speed * math.sin(direction), 0.0),
            friction=friction,
        )
    )
    return scene


def block_on_ramp(
    *, angle: float, friction: float, size: tuple[float, float, float] = (1.0, 1.0, 0.25)
) -> topple.Scene:
    """A block at rest on a plane that falls at `angle` [rad] towards +x; flat, if no size is given.

    A flat one slides before it tips (b / h = 4). Answer: sticks if and only if angle < atan(mu); else it
    slides down with a = g (sin(angle) - mu cos(angle)). One with b / h < mu tips at atan(b / h).
    """
    normal = (math.sin(angle), 0.0, math.cos(angle))
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(plane(normal, friction=friction))
    scene.add(
        topple.Body(
            "block",
            topple.Box(size),
            mass=1.0,
            position=(0.5 * size[2] * normal[0], 0.0, 0.5 * size[2] * normal[2]),
            orientation=(math.cos(angle / 2), 0.0, math.sin(angle / 2), 0.0),
            friction=friction,
        )
    )
    return scene


def driven_box(*, direction: tuple[float, float]) -> topple.Scene:
    """A box of 20 x 20 x 1 m, 10 kg, driven by 150 N over a plane (mu = .4), with 25 balls on it (mu = .8).

    Balls have R = .5 m and 1 kg. Source: Hwangbo, SimBenchmark, *rolling*. Answer, from
    F - mu M g = m a + 25 f, f = m_b a_b, and no slip, a = 7/2 a_b: a = (150 - .4 * 35 g) / (10 + 50/7) =
    .7385, a_b = .2110 m/s^2.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(plane(friction=0.4))
    scene.add(
        topple.Body("box", topple.Box((20.0, 20.0, 1.0)), mass=10.0, position=(0, 0, 0.5), friction=0.4)
    )
    for k in range(25):
        place = (2.0 * (k % 5) - 4.0, 2.0 * (k // 5) - 4.0, 1.5)
        # The geometric mean of 1.6 and .4 is .8.
        scene.add(topple.Body(f"ball_{k:02}", topple.Sphere(0.5), mass=1.0, position=place, friction=1.6))
    x, y = direction
    scene.add(topple.UniformField(acceleration=(15.0 * x, 15.0 * y, 0.0), bodies=("box",)))
    return scene


def pool_ball(*, speed: float = 2.0, friction: float = 0.2) -> topple.Scene:
    """A ball (R = 28.6 mm, 0.17 kg) set sliding along x without spin.

    Answer: rolls from t = 2 v / (7 mu g) on, at x = 12 v^2 / (49 mu g), with 5/7 v.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(plane(friction=friction))
    scene.add(
        topple.Body(
            "ball",
            topple.Sphere(0.0286),
            mass=0.17,
            position=(0.0, 0.0, 0.0286),
            linear_velocity=(speed, 0.0, 0.0),
            friction=friction,
        )
    )
    return scene
