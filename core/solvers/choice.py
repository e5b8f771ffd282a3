"""Which solver: the names for the two, or an object with its settings."""

from typing import Literal

from ..errors import SolverError, shown
from .analytic import AnalyticSolver
from .impulse import ImpulseSolver

Solver = ImpulseSolver | AnalyticSolver
SolverChoice = Literal["impulse", "analytic"] | Solver


def resolve_solver(solver: SolverChoice) -> Solver:
    """The solver object for a name, or the object itself."""
    if isinstance(solver, Solver):
        return solver
    if solver == "impulse":
        return ImpulseSolver()
    if solver == "analytic":
        return AnalyticSolver()
    raise SolverError(f"solver must be 'impulse', 'analytic' or a solver object, not {shown(solver)}")
