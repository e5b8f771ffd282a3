"""The demo's scene: what stands where, of which material, and what flies at it.

Units are metres. The ball comes along +x and breaks through a brick wall that stands along y; behind
it wait barrels, cones and dice, and rocks and monkeys fall out of the air.
"""

import math
from collections.abc import Iterable

import bpy
import materials
import meshes
import numpy as np

FPS, FRAMES = 24, 84
BRICK = (0.24, 0.5, 0.2)
COURSES, BRICKS_IN_COURSE = 8, 6
BALL_RADIUS, BALL_SPEED = 0.45, 9.0
DIE = 0.3


def build_scene() -> None:
    """Fill the open, empty file with the demo's objects, all bodies added, none baked."""
    scene = bpy.context.scene
    scene.render.fps = FPS
    scene.frame_start, scene.frame_end = 1, 1 + FRAMES
    _add_floor()
    _add_wall()
    _add_ball()
    _add_barrels()
    _add_cones()
    _add_dice()
    _add_rocks()
    _add_monkeys()
    _add_light()
    _add_camera()
    bpy.context.view_layer.update()


def _add_floor() -> None:
    floor = _place("floor", meshes.square("floor", 120.0), (0.0, 0.0, 0.0))
    floor.data.materials.append(materials.tiled("tiles", (0.62, 0.57, 0.49), (0.52, 0.48, 0.42), tile=1.0))
    _make_bodies([floor], kind="STATIC", friction=0.6)


def _add_wall() -> None:
    """A wall in running bond; every second course ends in half bricks."""
    clay = materials.varied("clay", (0.42, 0.07, 0.035), (0.62, 0.17, 0.07))
    mortar = materials.plain("mortar", (0.72, 0.68, 0.6), roughness=0.9)
    depth, width, height = BRICK
    whole = meshes.brick("brick", BRICK, 0.014)
    half = meshes.brick("half brick", (depth, width / 2.0, height), 0.014)
    for mesh in (whole, half):
        mesh.materials.append(clay)
        mesh.materials.append(mortar)
    bricks = []
    for course in range(COURSES):
        z = (course + 0.5) * height
        first = -(BRICKS_IN_COURSE - 1) / 2.0
        if course % 2 == 0:
            row = [(whole, first + k) for k in range(BRICKS_IN_COURSE)]
        else:
            row = [(whole, first + k + 0.5) for k in range(BRICKS_IN_COURSE - 1)]
            row = [(half, first - 0.25), *row, (half, -first + 0.25)]
        bricks += [_place("brick", mesh, (0.0, step * width, z)) for mesh, step in row]
    _make_bodies(bricks, density=1900.0, friction=0.6)


def _add_ball() -> None:
    """A steel ball that rolls without slipping."""
    mesh = meshes.ball("ball", BALL_RADIUS)
    mesh.materials.append(materials.plain("steel", (0.08, 0.12, 0.2), roughness=0.18, metallic=0.9))
    mesh.materials.append(materials.plain("stripe", (0.95, 0.55, 0.06), roughness=0.35))
    ball = _place("ball", mesh, (-4.6, 0.12, BALL_RADIUS), turn=(math.radians(90), 0.3, 0.0))
    _make_bodies([ball], shape="SPHERE", density=7800.0, friction=0.4)
    ball.topple.linear_velocity = (BALL_SPEED, 0.0, 0.0)
    ball.topple.angular_velocity = (0.0, BALL_SPEED / BALL_RADIUS, 0.0)


def _add_barrels() -> None:
    """Three barrels and one on top of them."""
    profile = [(0.25, 0.0), (0.3, 0.18), (0.31, 0.28), (0.325, 0.4), (0.31, 0.52), (0.3, 0.62), (0.25, 0.8)]
    mesh = meshes.turned("barrel", [(r, z - 0.4) for r, z in profile], (0, 1, 0, 0, 1, 0))
    mesh.materials.append(materials.plain("barrel", (0.03, 0.32, 0.38), roughness=0.35))
    mesh.materials.append(materials.plain("band", (0.85, 0.83, 0.78), roughness=0.4))
    places = [(2.5, -0.36, 0.4), (2.5, 0.36, 0.4), (3.13, 0.0, 0.4), (2.72, 0.0, 1.2)]
    _make_bodies([_place("barrel", mesh, place) for place in places], density=350.0, friction=0.5)


def _add_cones() -> None:
    profile = [(0.27, 0.0), (0.27, 0.04), (0.19, 0.2), (0.135, 0.36), (0.05, 0.6)]
    mesh = meshes.turned("cone", [(r, z - 0.2) for r, z in profile], (0, 0, 1, 0))
    mesh.materials.append(materials.plain("cone", (0.9, 0.2, 0.02), roughness=0.4))
    mesh.materials.append(materials.plain("reflector", (0.92, 0.92, 0.9), roughness=0.3))
    places = [(1.3, -1.35, 0.2), (2.2, -1.75, 0.2), (3.1, -1.35, 0.2), (4.2, -0.55, 0.2), (4.3, 0.75, 0.2)]
    _make_bodies([_place("cone", mesh, place) for place in places], density=250.0, friction=0.5)


def _add_dice() -> None:
    """Dice on top of the wall and in the air."""
    mesh, pips = meshes.die("die", DIE), meshes.pips("pips", DIE)
    mesh.materials.append(materials.plain("ivory", (0.88, 0.86, 0.78), roughness=0.25))
    pips.materials.append(materials.plain("pip", (0.02, 0.02, 0.025), roughness=0.3))
    top = COURSES * BRICK[2] + DIE / 2.0
    places = [(0.0, -1.2, top), (0.0, -0.7, top), (0.0, 1.1, top), (0.9, -0.9, 2.1), (3.6, 0.9, 2.5)]
    dice = [_place("die", mesh, place, turn=(0.0, 0.0, 0.4 * k)) for k, place in enumerate(places)]
    for die in dice:
        _place("pips", pips, (0.0, 0.0, 0.0)).parent = die
    for die in dice[3:]:
        die.rotation_euler = (0.6, 0.5, 0.2)
        die.topple.angular_velocity = (3.0, 5.0, 1.0)
    _make_bodies(dice, density=700.0, friction=0.4, restitution=0.35)


def _add_rocks() -> None:
    """Rocks of all sizes, falling one after the other."""
    stone = materials.varied("stone", (0.12, 0.13, 0.15), (0.34, 0.33, 0.31), roughness=0.9)
    random = np.random.default_rng(4)
    rocks = []
    for k in range(12):
        mesh = meshes.rock("rock", random.uniform(0.13, 0.29), seed=k)
        mesh.materials.append(stone)
        angle = 2.4 * k  # the golden angle keeps neighbours in height apart
        place = (1.9 + 1.15 * math.cos(angle), -0.2 + 1.15 * math.sin(angle), 2.2 + 0.33 * k)
        rock = _place("rock", mesh, place, turn=random.uniform(-3.0, 3.0, 3))
        rock.scale = random.uniform(0.8, 1.2, 3)
        rock.topple.angular_velocity = random.uniform(-3.0, 3.0, 3)
        rocks.append(rock)
    _make_bodies(rocks, density=2600.0, friction=0.6)


def _add_monkeys() -> None:
    """Monkeys, one of them on the wall; their hulls are those of the subdivided mesh."""
    mesh = meshes.monkey("monkey", 0.42)
    mesh.materials.append(materials.varied("monkey", (0.95, 0.5, 0.02), (0.8, 0.1, 0.22), roughness=0.35))
    places = [(0.0, 0.2, 2.1), (0.9, 1.9, 2.7), (3.9, -1.2, 3.0), (0.7, -1.7, 3.4), (3.6, 1.6, 4.0)]
    monkeys = []
    for k, place in enumerate(places):
        monkey = _place("monkey", mesh, place, turn=(-0.5, 0.3 * k, 0.9 + 0.8 * k))
        monkey.modifiers.new("subdivision", "SUBSURF").render_levels = 1
        if k > 0:
            monkey.topple.angular_velocity = (2.0, -2.0 + k, 1.0)
        monkeys.append(monkey)
    _make_bodies(monkeys, density=600.0, friction=0.5, restitution=0.2)


def _add_light() -> None:
    sun = bpy.data.lights.new("sun", "SUN")
    sun.energy, sun.angle, sun.color = 3.4, math.radians(3.0), (1.0, 0.93, 0.82)
    _place("sun", sun, (0.0, 0.0, 8.0), turn=(math.radians(44.0), 0.0, math.radians(22.0)))
    world = bpy.data.worlds.new("sky")
    world.use_nodes = True
    background = world.node_tree.nodes["Background"]
    background.inputs["Color"].default_value = (0.5, 0.66, 0.9, 1.0)
    background.inputs["Strength"].default_value = 0.5
    bpy.context.scene.world = world


def _add_camera() -> None:
    camera = bpy.data.cameras.new("camera")
    camera.lens = 34.0
    _place("camera", camera, (7.2, -8.0, 4.2))
    holder = bpy.data.objects["camera"]
    target = bpy.data.objects.new("camera target", None)
    target.location = (1.35, -0.2, 0.95)
    bpy.context.collection.objects.link(target)
    aim = holder.constraints.new("TRACK_TO")
    aim.target = target
    bpy.context.scene.camera = holder


def _place(
    name: str, data: bpy.types.ID, location: Iterable[float], *, turn: Iterable[float] = (0.0, 0.0, 0.0)
) -> bpy.types.Object:
    """An object in the scene; names that are taken get a number."""
    obj = bpy.data.objects.new(name, data)
    obj.location, obj.rotation_euler = tuple(location), tuple(turn)
    bpy.context.collection.objects.link(obj)
    return obj


def _make_bodies(objects: list[bpy.types.Object], *, kind: str = "DYNAMIC", **settings: object) -> None:
    """Press Add for these objects, as an artist would, then set what the panel shows."""
    bpy.context.view_layer.update()
    bpy.ops.object.select_all(action="DESELECT")
    for obj in objects:
        obj.select_set(True)
    bpy.ops.topple.add_bodies(kind=kind)
    for obj in objects:
        for setting, value in settings.items():
            setattr(obj.topple, setting, value)
