"""What the coming steps of the impulse solver depend on: snapshots are made of it."""

from typing import Any

from ..collision.contact_set import contact_geometry
from ..dynamics.contact_rows import empty_rows
from .impulse_islands import recall_solve, remembered

RESPONSES = "K_nn", "friction", "slot", "place", "look"  # of the rows: not found anew for what hardly moves
RELEASE_CHANGES = "kind", "inv_mass", "inv_inertia"  # of the model, where an animated body is released


def memory_of(pipeline) -> dict[str, Any]:
    """The arrays that the coming steps depend on (not copies)."""
    return {
        "state": pipeline.state,
        "model": [getattr(pipeline.model, name) for name in RELEASE_CHANGES],
        "released": pipeline.paths.released,
        "pairs": pipeline.broad_phase.pairs,
        "boxes": pipeline.broad_phase.boxes,
        "time": pipeline.time,
        "step_length": pipeline.step_length,
        "forced_steps": pipeline.drive.steps,
        "way_is_bent": pipeline.drive.is_bent,
        "plan": pipeline.plan,
        "reach": pipeline.reach,
        "solve": remembered(pipeline.solve),
        "trace": pipeline.trace,
        "rows": [getattr(pipeline.rows, name) for name in RESPONSES],
        "contacts": pipeline.contacts,
        "contact_count": pipeline.contact_count,
        "log": pipeline.log.memory(),
    }


def recall(pipeline, memory: dict[str, Any]) -> None:
    """Take over what `memory_of` returned earlier; the arrays become the pipeline's."""
    for old, new in zip(pipeline.state, memory["state"], strict=True):
        old[:] = new
    for name, column in zip(RELEASE_CHANGES, memory["model"], strict=True):
        getattr(pipeline.model, name)[:] = column
    pipeline.paths.recall(memory["released"])
    pipeline.broad_phase.pairs, pipeline.broad_phase.boxes = memory["pairs"], memory["boxes"]
    pipeline.time, pipeline.step_length = memory["time"], memory["step_length"]
    pipeline.drive.steps, pipeline.drive.is_bent = memory["forced_steps"], memory["way_is_bent"]
    pipeline.plan, pipeline.forgives = memory["plan"], True
    pipeline.reach[:] = memory["reach"]
    pipeline.rows = empty_rows(0)
    pipeline.resize(len(memory["contacts"].slot))
    for name, column in zip(RESPONSES, memory["rows"], strict=True):
        getattr(pipeline.rows, name)[:] = column
    recall_solve(pipeline.solve, memory["solve"])
    pipeline.log.recall(memory["log"])
    pipeline.trace = memory["trace"]
    pipeline.contacts, pipeline.contact_count = memory["contacts"], memory["contact_count"]
    pipeline.geometry = contact_geometry(pipeline.contacts)
