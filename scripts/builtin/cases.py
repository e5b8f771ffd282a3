"""The cases: what Blender's own rigid bodies do, what Topple does, what is right."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import bpy
import numpy as np

from .stage import RELEASE, Settings, Thing, build, run_builtin, run_topple, seconds

G = 9.81
FLOOR = Thing("floor", scale=(20, 20, 1), at=(0, 0, -0.5), active=False, shape="BOX", restitution=1.0)
Run = Callable[..., dict[str, np.ndarray]]


class Row(NamedTuple):
    """One line of the table; smaller errors are better."""

    case: str
    builtin: str
    topple: str
    exact: str
    builtin_error: float
    topple_error: float


def both(measure: Callable[[Run], float]) -> tuple[float, float]:
    """A number measured with each solver."""
    return measure(run_builtin), measure(run_topple)


def row(case: str, unit: str, exact: float, values: tuple[float, float]) -> Row:
    builtin, own = values
    errors = [abs(value - exact) for value in values]
    texts = (f"{value:.4g} {unit}".strip() for value in (builtin, own, exact))
    return Row(case, *texts, *errors)


def height(path: np.ndarray) -> np.ndarray:
    return path[:, 2, 3]


def apex(restitution: tuple[float, float], substeps: int = 10) -> Callable[[Run], float]:
    """Height of the first bounce of a ball dropped from 2 m, by a parabola through three frames [m]."""

    def measure(run: Run) -> float:
        floor = replace(FLOOR, restitution=restitution[1])
        ball = Thing("ball", "ball", (0.1, 0.1, 0.1), (0, 0, 2.1), shape="SPHERE", restitution=restitution[0])
        z = height(run([floor, ball], Settings(frames=50, fps=24, substeps=substeps))["ball"]) - 0.1
        falling = np.diff(z) < 0
        bounce = int(np.argmax(~falling)) if (~falling).any() else len(z) - 1
        after = z[bounce : bounce + 30]
        top = int(after.argmax())
        if not 0 < top < len(after) - 1:
            return float(after.max())
        low, mid, high = after[top - 1 : top + 2]
        bend = low - 2 * mid + high
        return float(mid - (high - low) ** 2 / (8 * bend)) if bend else float(mid)

    return measure


def stack(count: int, edge: float, shape: str, own: str | None = None) -> Callable[[Run], float]:
    """How far the top of a stack moves in 4 s [m]."""

    def measure(run: Run) -> float:
        cubes = [
            Thing(
                f"cube {i:02}",
                scale=(edge,) * 3,
                at=(0, 0, edge * (i + 0.5)),
                shape=shape,
                topple={"shape": own or shape},
            )
            for i in range(count)
        ]
        path = run([replace(FLOOR, restitution=0.0), *cubes], Settings(frames=96))[cubes[-1].name]
        return float(np.linalg.norm(path[-1, :3, 3] - path[0, :3, 3]))

    return measure


def rest_gap(edge: float, shape: str = "BOX", own: str | None = None) -> Callable[[Run], float]:
    """Gap under a box on a mesh floor [m]."""

    def measure(run: Run) -> float:
        floor = Thing("floor", "sheet", (20, 20, 1), active=False, shape="MESH")
        box = Thing(
            "box", scale=(edge,) * 3, at=(0, 0, 0.5 * edge + 0.1), shape=shape, topple={"shape": own or shape}
        )
        return float(height(run([floor, box], Settings(frames=72))["box"])[-1] - 0.5 * edge)

    return measure


def tunnelling(speed: float) -> Callable[[Run], float]:
    """How far behind a 2 cm plate a 10 cm cube gets [m]; 0 where it stays in front."""

    def measure(run: Run) -> float:
        plate = Thing("plate", scale=(0.02, 2, 2), at=(2, 0, 0), active=False, shape="BOX")
        cube = Thing("cube", scale=(0.1,) * 3, shape="BOX", velocity=(speed, 0, 0))
        path = run([plate, cube], Settings(frames=24))["cube"]
        return float(max(path[:, 0, 3].max() - 1.99, 0.0))

    return measure


def order(run: Run) -> float:
    """Difference between the same heap made in two orders [m]."""
    random = np.random.default_rng(2)
    cubes = [
        Thing(
            f"cube {i}",
            at=(*random.uniform(-1.5, 1.5, 2), 1.0 + 1.3 * i),
            turned=tuple(random.uniform(0, 3, 3)),
        )
        for i in range(20)
    ]
    floor = replace(FLOOR, restitution=0.0)
    one = run([floor, *cubes], Settings())
    other = run([floor, *cubes[::-1]], Settings())
    return max(float(np.abs(one[cube.name] - other[cube.name]).max()) for cube in cubes)


def off_centre(run: Run) -> float:
    """Tilt after 3 s of a cube whose mesh lies beside its origin [degrees]."""
    cube = Thing("cube", at=(0, 0, 0.5), offset=(0.9, 0, 0))
    end = run([replace(FLOOR, restitution=0.0), cube], Settings(frames=72))["cube"][-1]
    return float(np.degrees(np.arccos(np.clip(end[2, 2], -1, 1))))


def flat_ball(run: Run) -> float:
    """Height at rest of a ball scaled to half its height [m]."""
    ball = Thing("ball", "ball", (1, 1, 0.5), (0, 0, 1.2), shape="SPHERE")
    return float(height(run([replace(FLOOR, restitution=0.0), ball], Settings(frames=96))["ball"])[-1])


def overlap(run: Run) -> float:
    """Fastest motion of two cubes that overlap by 30 % [m/s]."""
    cubes = [Thing(f"cube {i}", at=(0.7 * i, 0, 0.5), shape="BOX") for i in range(2)]
    paths = run([replace(FLOOR, restitution=0.0), *cubes], Settings(frames=24))
    return max(
        float(np.linalg.norm(np.diff(paths[c.name][:, :3, 3], axis=0), axis=1).max()) * 24 for c in cubes
    )


def jump(run: Run) -> float:
    """Fall after a jump from frame 1 to frame 13, half a second [m]."""
    cube = Thing("cube", builtin={"linear_damping": 0.0})
    z = height(run([cube], Settings(frames=12), jump=True)["cube"])
    return float(z[0] - z[-1])


def free_fall(run: Run) -> float:
    """Free fall in 2 s at the defaults [m]."""
    z = height(run([Thing("cube")], Settings(frames=48))["cube"])
    return float(z[0] - z[-1])


def wobble(run: Run) -> float:
    """Largest tilt of the axis of a spinning pyramid from where it was let go [degrees].

    The axis goes round the angular momentum I w, at the angle atan(I_x w_x / (I_z w_z)) to it; for a pyramid
    of edge 1 and height 2, I_x = m (1/20 + 3/20) and I_z = m/10. The largest tilt is twice that angle.
    """
    still = {"linear_damping": 0.0, "angular_damping": 0.0}
    top = Thing("top", "pyramid", (1, 1, 2), spin=(2, 0, 2), builtin=still)
    axis = run([top], Settings(frames=240))["top"][RELEASE - 1 :, :3, 2]
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    return float(np.degrees(np.arccos(np.clip(axis @ axis[0], -1, 1))).max())


def hand_over(run: Run) -> float:
    """Speed of a body thrown at 20 m/s, measured a few frames later [m/s]."""
    cube = Thing("cube", velocity=(20, 0, 0), builtin={"linear_damping": 0.0})
    x = run([cube], Settings(frames=12))["cube"][:, 0, 3]
    return float((x[10] - x[6]) / 4 * 24)


def ramp(run: Run) -> float:
    """Creep in a second on a ramp of 30 degrees with a friction of 0.6 > tan 30 [m]; pairs have 0.6 in both.

    A second before it is for the crate to settle on the ramp, by less than the solver's tolerance.
    """
    angle = np.radians(30)
    mu = 0.6 if run is run_topple else np.sqrt(0.6)  # the built-in multiplies
    slope = Thing("slope", scale=(10, 10, 1), turned=(0, angle, 0), active=False, shape="BOX", friction=mu)
    up = np.array([np.sin(angle), 0, np.cos(angle)])
    crate = Thing("crate", at=tuple(up * 1.0), turned=(0, angle, 0), shape="BOX", friction=mu)
    path = run([slope, crate], Settings(frames=48))["crate"]
    return float(np.linalg.norm(path[-1, :3, 3] - path[24, :3, 3]))


def heavy_on_light(run: Run) -> float:
    """How far a crate of 1000 kg moves in 4 s that rests on one of 1 kg [m]."""
    light = Thing("light", at=(0, 0, 0.5), shape="BOX")
    heavy = Thing("heavy", at=(0, 0, 1.5), shape="BOX", mass=1000.0)
    path = run([replace(FLOOR, restitution=0.0), light, heavy], Settings(frames=96))["heavy"]
    return float(np.linalg.norm(path[-1, :3, 3] - path[0, :3, 3]))


def keyframes() -> list[Row]:
    """Whether keyframes of 400 boxes over 50 frames can be written without a window, and how long it takes.

    Blender's operator cannot, so its time is that of what it calls: a keyframe inserted for each frame.
    """
    boxes = [Thing(f"box {i}", at=(1.5 * (i % 20), 1.5 * (i // 20), 1), shape="BOX") for i in range(400)]
    frames = 50
    run_builtin(boxes, Settings(frames=frames))
    objects = [bpy.data.objects[box.name] for box in boxes]
    for obj in objects:
        obj.select_set(True)
    try:
        bpy.ops.rigidbody.bake_to_keyframes(frame_start=1, frame_end=frames + 1)
        builtin_keys = keys_of(objects, frames)
    except RuntimeError:  # Blender's way to say that it needs a window
        builtin_keys = 0
    builtin_time = seconds(lambda: insert_keyframes(objects, frames))

    build(boxes, Settings(frames=frames))
    objects = [bpy.data.objects[box.name] for box in boxes]
    for obj in objects:
        obj.topple.enabled = True
    bpy.ops.topple.bake(keyframes=False)
    own_time = seconds(bpy.ops.topple.write_keyframes)
    shares = builtin_keys / len(boxes), keys_of(objects, frames) / len(boxes)
    return [
        row("B18 keyframes of 400 boxes without a window, share written", "", 1.0, shares),
        row("B19 writing these keyframes", "s", 0.0, (builtin_time, own_time)),
    ]


def insert_keyframes(objects: list[bpy.types.Object], frames: int) -> None:
    for frame in range(1, frames + 2):
        bpy.context.scene.frame_set(frame)
        for obj in objects:
            obj.keyframe_insert("location")
            obj.keyframe_insert("rotation_euler")


def keys_of(objects: list[bpy.types.Object], frames: int) -> int:
    """How many objects have a keyframe at every frame in all six channels."""
    count = 0
    for obj in objects:
        animation = obj.animation_data
        if animation is None or animation.action is None:
            continue
        curves = animation.action.layers[0].strips[0].channelbag(animation.action_slot).fcurves
        count += len(curves) == 6 and all(len(curve.keyframe_points) == frames + 1 for curve in curves)
    return count


CASES: dict[str, Callable[[], list[Row]]] = {
    "B1": lambda: [row("B1 first apex, e = 1, drop of 2 m", "m", 2.0, both(apex((1, 1))))],
    "B2": lambda: [row("B2 the same at 30 substeps", "m", 2.0, both(apex((1, 1), 30)))],
    "B3": lambda: [
        row("B3 e = 0.5 and 0.5", "m", 0.5, both(apex((0.5, 0.5)))),
        row("B3 e = 0.8 and 0.8", "m", 1.28, both(apex((0.8, 0.8)))),
    ],
    "B4": lambda: [
        row(f"B4 gap under a box of {edge} m on a mesh", "m", 0.0, both(rest_gap(edge)))
        for edge in (1.0, 0.1, 0.02)
    ],
    "B5": lambda: [
        row("B5 gap under a MESH cube on a mesh", "m", 0.0, both(rest_gap(1.0, "MESH", own="CONVEX_PARTS"))),
        row("B5 ten MESH cubes, drift in 4 s", "m", 0.0, both(stack(10, 1.0, "MESH", own="CONVEX_PARTS"))),
    ],
    "B6": lambda: [
        row("B6 ten boxes of 5 cm, drift in 4 s", "m", 0.0, both(stack(10, 0.05, "BOX"))),
        row("B6 ten hulls of 5 cm, drift in 4 s", "m", 0.0, both(stack(10, 0.05, "CONVEX_HULL"))),
        row("B6 ten boxes of 1 m, drift in 4 s", "m", 0.0, both(stack(10, 1.0, "BOX"))),
    ],
    "B7": lambda: [
        row(f"B7 cube at {speed} m/s, way behind a 2 cm plate", "m", 0.0, both(tunnelling(speed)))
        for speed in (5, 20, 60)
    ],
    "B10": lambda: [row("B10 difference by the order of objects", "m", 0.0, both(order))],
    "B11": lambda: [row("B11 tilt of a cube beside its origin", "degrees", 0.0, both(off_centre))],
    "B12": lambda: [row("B12 rest height of a sphere scaled by 0.5 along z", "m", 0.5, both(flat_ball))],
    "B13": lambda: [row("B13 speed of two cubes overlapping by 30 %", "m/s", 0.0, both(overlap))],
    "B14": lambda: [row("B14 fall seen after a jump of 12 frames", "m", 0.125 * G, both(jump))],
    "B15": lambda: [row("B15 free fall in 2 s", "m", 2 * G, both(free_fall))],
    "B16": lambda: [
        row("B16 tilt of a spinning pyramid's axis", "degrees", 2 * np.degrees(np.arctan(2)), both(wobble))
    ],
    "B17": lambda: [
        row("B17 speed after a throw at 20 m/s", "m/s", 20.0, both(hand_over)),
        row("B17 creep on a ramp of 30 degrees, friction 0.6", "m", 0.0, both(ramp)),
        row("B17 drift of 1000 kg on 1 kg in 4 s", "m", 0.0, both(heavy_on_light)),
    ],
    "B18": keyframes,
}
