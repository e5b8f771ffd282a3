"""The LCP and the friction cone against quadratic programs, and against their own conditions."""

import time

import numpy as np
import pytest
import scenes
from topple.compilation import compile_kernels
from topple.solvers.analytic import AnalyticSolver, build_pipeline
from topple.solvers.analytic_contacts import build_system, relative_acceleration
from topple.solvers.friction_cone import cone_residual, solve_cone
from topple.solvers.lcp import natural_residual, part_of, solve_by_linear_programs, solve_lcp

RESIDUAL = 1e-10  # natural map, relative to |b|: what issue 4 asks


def random_problem(m, rank, seed):
    """A positive semidefinite A of a given rank and a b for which forces exist: b = J a with slack."""
    random = np.random.default_rng(seed)
    J = random.normal(size=(m, rank))
    f, w = np.maximum(random.normal(size=(2, m)), 0.0)
    w[f > 0.0] = 0.0
    return J @ J.T, w - J @ (J.T @ f)


@pytest.mark.parametrize(("m", "rank"), [(1, 1), (5, 3), (40, 12), (80, 80), (200, 60)])
@pytest.mark.parametrize("seed", range(4))
def test_conditions_hold(m, rank, seed):
    """A f + b >= 0, f >= 0, f . (A f + b) = 0 (Baraff 1997, 9-14 to 9-16), singular A included."""
    A, b = random_problem(m, rank, seed)
    solution = solve_lcp(A, b)
    assert natural_residual(A, b, solution.f) < RESIDUAL
    assert (solution.f >= 0.0).all()
    np.testing.assert_allclose(solution.w, A @ solution.f + b, atol=1e-12 * np.abs(b).max())


@pytest.mark.parametrize("seed", range(4))
def test_effect_is_that_of_the_quadratic_program(seed):
    """Forces may differ where A is singular; what they do, A f, is that of min f'A f / 2 + b'f, f >= 0."""
    clarabel = pytest.importorskip("clarabel")
    from scipy.sparse import csc_matrix, identity, triu

    A, b = random_problem(60, 25, seed)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
        setattr(settings, name, 1e-14)
    program = clarabel.DefaultSolver(
        csc_matrix(triu(A)),
        b,
        csc_matrix(-identity(60)),
        np.zeros(60),
        [clarabel.NonnegativeConeT(60)],
        settings,
    )
    expected = A @ np.array(program.solve().x)
    found = A @ solve_lcp(A, b).f
    assert np.abs(found - expected).max() < 1e-9 * np.abs(b).max()


def test_guess_changes_only_the_work():
    """From the solution itself nothing has to be moved, and the answer is the same."""
    A, b = random_problem(40, 40, 0)
    first = solve_lcp(A, b)
    again = solve_lcp(A, b, guess=first.f)
    assert again.pivots == 0
    np.testing.assert_allclose(again.f, first.f, atol=1e-12 * first.f.max())


def test_equality_rows():
    """Free rows hold A f + b = 0 with forces of any sign, beside inequalities: Baraff 1989, section 7."""
    A, b = random_problem(30, 30, 3)
    free = np.arange(30) < 8
    solution = solve_lcp(A, b, free=free)
    assert np.abs(solution.w[free]).max() < 1e-10 * np.abs(b).max()
    assert natural_residual(A, b, solution.f, free) < RESIDUAL
    assert (solution.f[free] < 0.0).any()


def test_no_solution_is_seen():
    """Both ends of a rigid rod pushed towards walls that are too near: no f, and the residual says so."""
    A = np.array([[1.0, -1.0], [-1.0, 1.0]])
    b = np.array([-1.0, -1.0])
    assert solve_lcp(A, b).residual > 0.1
    f, wrong = solve_by_linear_programs(A, b)
    assert wrong == 2
    assert np.isnan(f).all()


def test_linear_programs_guess_as_in_1989():
    """Right at first where nothing vanishes, else one wrong guess (Baraff 1989, section 6)."""
    A = np.array([[2.0, 1.0], [1.0, 2.0]])
    f, wrong = solve_by_linear_programs(A, np.array([-3.0, -3.0]))
    assert wrong == 0
    np.testing.assert_allclose(f, [1.0, 1.0], atol=1e-12)
    f, wrong = solve_by_linear_programs(A, np.array([-4.0, 1.0]))
    assert wrong == 1
    np.testing.assert_allclose(f, [2.0, 0.0], atol=1e-12)


def resting_system(scene, count=None):
    """A and b of a scene at its start, rows (n, t1, t2)."""
    compile_kernels("analytic")
    pipeline, _ = build_pipeline(scene, AnalyticSolver())
    pipeline.start()
    contacts = pipeline.contacts if count is None else pipeline.contacts.select(slice(0, count))
    a, alpha, _ = pipeline.mover.free_acceleration(pipeline.state, 0.0)
    b = relative_acceleration(contacts, pipeline.state, a, alpha)
    return build_system(contacts, pipeline.model, pipeline.state), b, contacts


@pytest.mark.parametrize("friction", [0.0, 0.6])
def test_wall_of_four_hundred_contacts(friction):
    """One island of 400 contacts, overdetermined many times over, under the residual asked."""
    A, b, _ = resting_system(scenes.brick_wall(6, 7), 400)
    normal = np.arange(0, 3 * len(b), 3)
    assert len(b) == 400
    if friction == 0.0:
        N = part_of(A, normal)
        solution = solve_lcp(N, b[:, 0])
        assert natural_residual(N, b[:, 0], solution.f) < RESIDUAL
    else:
        solution = solve_cone(A, b, np.full(len(b), friction))
        assert cone_residual(A, b, np.full(len(b), friction), solution.f) < RESIDUAL


@pytest.mark.slow
def test_four_hundred_contacts_take_fifty_milliseconds():
    """LCP of 400 contacts in one island: best of five."""
    A, b, _ = resting_system(scenes.brick_wall(6, 7), 400)
    normal = np.arange(0, 3 * len(b), 3)
    N = part_of(A, normal)
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        solve_lcp(N, b[:, 0])
        seconds.append(time.perf_counter() - begin)
    assert min(seconds) < 0.05


@pytest.mark.slow
def test_two_thousand_contacts_at_all():
    """A wall with more than 2000 contacts in one island is solved to the same residual."""
    A, b, _ = resting_system(scenes.brick_wall(14, 16))
    normal = np.arange(0, 3 * len(b), 3)
    assert len(b) >= 2000
    N = part_of(A, normal)
    assert solve_lcp(N, b[:, 0]).residual < RESIDUAL


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("friction", [0.1, 0.5])
def test_cone_conditions(seed, friction):
    """|f_t| <= mu f_n; where w_t != 0, f_t = -mu f_n w_t / |w_t|; and the three conditions of the normals."""
    A, b, _ = resting_system(scenes.stack(4))
    random = np.random.default_rng(seed)
    # What forces of that size would bring about: pushed together, and about, so that some contacts slip.
    pushes = np.abs(random.normal(size=b.shape)) * [-1.0, 0.5, 0.5]
    b = (A @ pushes.ravel()).reshape(b.shape)
    solution = solve_cone(A, b, np.full(len(b), friction))
    f, w = solution.f, solution.w
    scale = np.abs(b).max()
    assert (f[:, 0] >= 0.0).all()
    assert (w[:, 0] >= -1e-9 * scale).all()
    assert np.abs(f[:, 0] * w[:, 0]).max() < 1e-9 * scale * f.max()
    size, slip = np.hypot(f[:, 1], f[:, 2]), np.hypot(w[:, 1], w[:, 2])
    assert (size <= friction * f[:, 0] * (1 + 1e-9) + 1e-9 * f.max()).all()
    slips = (slip > 1e-6 * scale) & (f[:, 0] > 1e-6 * f.max())
    np.testing.assert_allclose(
        f[slips, 1:], -friction * f[slips, :1] * w[slips, 1:] / slip[slips, None], atol=1e-6 * f.max()
    )
