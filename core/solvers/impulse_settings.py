"""What can be chosen of the time-stepping solver."""

from dataclasses import dataclass, field

from ..errors import SolverError, is_number, shown


@dataclass(frozen=True, kw_only=True)
class ImpulseSolver:
    """Settings of the time-stepping solver.

    Attributes:
        time_step: Longest step [s]; frames are divided into equal steps no longer than this.
        tolerance: Largest penetration the solver leaves [m]. Small bodies get a smaller one, so
            that dice and boulders behave alike.
        max_iterations: Bound on the sweeps over one island in one step. What they do not settle goes to
            Newton's method, heaps only if this is more than 1000; what that does not settle is reported.
        shock_propagation: Sweep each island from the ground up. Changes how fast the solution is
            found, not the solution.
        sleeping: Leave bodies that are held at rest alone until something about them changes. A heap at
            rest then costs next to nothing, and moves no more than it would otherwise: not at all.
        event_impulse: Where given, pairs that stay in touch are events, too, in each step in which the
            impulse between them is at least so much [N s]; None notes only who begins and ceases to touch.
        threads: How many threads share the work of large steps, with the same result to the bit; None: as
            many as pay, of the processors this process may use.
    """

    time_step: float = 1.0 / 240.0
    tolerance: float = 1e-4
    max_iterations: int = 4000
    shock_propagation: bool = True
    sleeping: bool = True
    event_impulse: float | None = None
    threads: int | None = field(default=None, repr=False, compare=False)  # no input of the motion

    def __post_init__(self) -> None:
        for name in ("time_step", "tolerance"):
            value = getattr(self, name)
            if not (is_number(value) and value > 0.0):
                raise SolverError(f"ImpulseSolver: {name} must be a positive number, not {shown(value)}")
        impulse, threads, most = self.event_impulse, self.threads, self.max_iterations
        if impulse is not None and not (is_number(impulse) and impulse >= 0.0):
            raise SolverError(
                f"ImpulseSolver: event_impulse must be None or not negative, not {shown(impulse)}"
            )
        if threads is not None and not (isinstance(threads, int) and threads >= 1):
            raise SolverError(
                f"ImpulseSolver: threads must be None or a whole number from 1 on, not {shown(threads)}"
            )
        if not (is_number(most) and most >= 1):
            raise SolverError(f"ImpulseSolver: max_iterations must be at least 1, not {shown(most)}")
