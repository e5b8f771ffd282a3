"""Bodies that collide."""

import topple

from .ground import GRAVITY, plane


def bouncing_ball(*, height: float = 1.0, restitution: float = 0.9, radius: float = 0.1) -> topple.Scene:
    """A ball whose lowest point starts `height` [m] above a plane.

    Answer: first impact at sqrt(2 h / g); the k-th apex is e^(2k) h; the n-th impact is at
    t_1 (1 + 2 (e + e^2 + ... + e^(n-1))). With e = 0.9, h = 1: 0.4515236 s, Zeno end at 8.578949 s.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(plane(restitution=restitution))
    scene.add(
        topple.Body(
            "ball",
            topple.Sphere(radius),
            mass=1.0,
            position=(0.0, 0.0, height + radius),
            restitution=restitution,
        )
    )
    return scene


def bouncing_balls() -> topple.Scene:
    """49 balls (R = .1 m, 10 kg) at z = 5 m over a plane, e = 1, no friction: 24034.5 J for ever.

    Source: Hwangbo, SimBenchmark, *bouncing*.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(plane(friction=0.0, restitution=1.0))
    for i in range(49):
        scene.add(
            topple.Body(
                f"ball_{i:02}", topple.Sphere(0.1), mass=10.0, position=(i % 7, i // 7, 5.0), restitution=1.0,
                friction=0.0,
            )
        )  # fmt: skip
    return scene


def oblique_sphere(*, friction: float, restitution: float = 0.5, speed: float = 5.0) -> topple.Scene:
    """A ball (R = 0.1 m, 1 kg) that flies at 45 degrees against the wall x = 0; no gravity.

    `speed` [m/s] is each of the normal (-x) and the tangential (+y) velocity; 1 m from the wall.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(plane((1.0, 0.0, 0.0), friction=friction, restitution=restitution))
    scene.add(
        topple.Body(
            "ball",
            topple.Sphere(0.1),
            mass=1.0,
            position=(1.1, 0.0, 0.0),
            linear_velocity=(-speed, speed, 0.0),
            friction=friction,
            restitution=restitution,
        )
    )
    return scene


def head_on_spheres(*, restitution: float, speed: float = 2.0) -> topple.Scene:
    """Two balls (R = 0.1 m; 1 and 3 kg) that meet on the x axis at +-`speed` [m/s]; no gravity."""
    scene = topple.Scene(gravity=(0.0, 0.0, 0.0))
    for name, side, mass in (("left", -1.0, 1.0), ("right", 1.0, 3.0)):
        scene.add(
            topple.Body(
                name,
                topple.Sphere(0.1),
                mass=mass,
                position=(0.5 * side, 0.0, 0.0),
                linear_velocity=(-speed * side, 0.0, 0.0),
                restitution=restitution,
            )
        )
    return scene
