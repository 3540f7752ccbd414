# SPDX-License-Identifier: BSD-3-Clause
"""A program on somebody else's library: its flow is right, and the file counts regions as the program itself does."""
import importlib.util
import json
from collections import Counter

import h5py
import pytest

from heat_run import EXAMPLES, run_python
from runs import assert_all_good

if importlib.util.find_spec("mpi4py_fft") is None:
    pytest.skip("mpi4py-fft is not installed", allow_module_level=True)

SIM = EXAMPLES / "taylor_green" / "sim.py"
STEPS, STAGES = 10, 4


@pytest.fixture(scope="module", params=[0, 1, 2, 3, 4], ids=["alone", "1", "2", "3", "4"])
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(f"taylor_green{request.param}")
    done = run_python(request.param, SIM, "--out", folder / "run.h5", "--counts", folder / "counts.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert_all_good(folder)
    return {"ranks": max(request.param, 1), "done": done, "folder": folder}


def read_calls(path):
    """{(rank, call id): (region, parent id)}"""
    with h5py.File(path, "r") as file:
        names = file["region_table/names"].asstr()[:]
        columns = (file["events"][name][:].tolist() for name in ("ranks", "call_ids", "region_ids", "parent_ids"))
        return {(rank, call): (names[region], parent) for rank, call, region, parent in zip(*columns)}


def test_the_energy_is_the_known_one_on_any_number_of_ranks(run):
    line = f"taylor_green: 32^3 points, 10 steps on {run['ranks']} rank(s): kinetic energy 0.124953117517 at t = 0.1"
    assert line in run["done"].stdout.splitlines()


def test_the_file_counts_each_region_on_each_rank_as_the_program_does(run):
    counts = Counter((rank, region) for (rank, _), (region, _) in read_calls(run["folder"] / "run.h5").items())
    own = json.loads((run["folder"] / "counts.json").read_text())
    assert len(own) == run["ranks"]
    assert counts == {(rank, region): count for rank, of_rank in enumerate(own) for region, count in of_rank.items()}
    assert own[0] == {"plan": 1, "fft": 1 + STAGES * STEPS, "inverse fft": 2 * STAGES * STEPS + 1, "rk4 step": STEPS,
                      "nonlinear": STAGES * STEPS, "projection": STAGES * STEPS, "energy": 1}


def test_every_call_has_the_parent_that_the_program_gives_it(run):
    calls = read_calls(run["folder"] / "run.h5")
    nested = Counter((rank, region, calls[rank, parent][0] if parent != -1 else None)
                     for (rank, _), (region, parent) in calls.items())
    stages = STAGES * STEPS
    one_rank = {("plan", None): 1, ("fft", None): 1, ("rk4 step", None): STEPS, ("nonlinear", "rk4 step"): stages,
                ("inverse fft", "nonlinear"): 2 * stages, ("fft", "nonlinear"): stages,
                ("projection", "rk4 step"): stages, ("energy", None): 1, ("inverse fft", "energy"): 1}
    assert nested == {(rank, *key): count for rank in range(run["ranks"]) for key, count in one_rank.items()}


def test_a_wrong_result_is_an_error(tmp_path):
    source = SIM.read_text()
    assert source.count(" - self.k * pressure") == 1
    broken = tmp_path / "sim.py"
    broken.write_text(source.replace(" - self.k * pressure", ""))
    done = run_python(2, broken, "--n", 16, "--out", tmp_path / "run.h5")
    assert done.returncode != 0
    assert done.stderr.count("taylor_green: wrong result: the energy at t = 0.1 is") == 1
