"""The scenes of Baraff's papers by the analytic solver: a trajectory and a plot of each, in out/papers."""

import sys
from pathlib import Path

import scenes
import topple
from topple.plot import plot
from topple.verification import PENETRATION_TOLERANCE

FOLDER = Path("out") / "papers"
SCENES = {
    "overbalanced_stack": (scenes.overbalanced_stack, 0.6),
    "dominoes": (scenes.dominoes, 2.0),
    "contacts_of_all_kinds": (scenes.contacts_of_all_kinds, 0.2),
    "billiard_balls": (scenes.billiard_balls, 1.0),
    "heavy_onto_light": (lambda: scenes.heavy_onto_light(gap=0.2), 0.5),
    "sliding_block": (lambda: scenes.block_with_thruster(force=8.0), 1.0),
    "leaning_block": (lambda: scenes.block_with_thruster(force=8.0, height=0.4), 0.5),
}


def main() -> int:
    """Bake, check and plot every scene; 1 where bodies overlap."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    worst = 0.0
    for name, (build, seconds) in SCENES.items():
        scene = build()
        trajectory = topple.simulate(scene, seconds=seconds, fps=120, solver="analytic")
        report = topple.verify(scene, trajectory)
        worst = max(worst, report.max_penetration)
        trajectory.save(FOLDER / f"{name}.npz")
        plot(trajectory, FOLDER / f"{name}.png", scene=scene)
        print(f"{name:<22} {len(trajectory.events):3} collisions, penetration {report.max_penetration:.1e} m")
    print(f"wrote {len(SCENES)} trajectories and plots to {FOLDER}")
    return int(worst > PENETRATION_TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
