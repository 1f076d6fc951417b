"""The exact mean over processes against a bare MPI_Allreduce of doubles, as mpi_bench measures it under mpirun."""

import dataclasses
import json
import os
import shutil

from . import process, spread

RANKS = 4


@dataclasses.dataclass
class Outcome:
    parameters: int
    ranks: int
    rows: int
    allreduce: spread.Spread
    mean: dict      # by precision
    add: dict       # accumulating one node's vector, by precision
    ratio: dict     # mean over allreduce, by precision, repeat by repeat
    round: spread.Spread
    share: float    # of the mean in a round of f32


def outcome_of(data):
    return Outcome(data["parameters"], data["ranks"], data["rows_per_node"], spread.spread_of(data["allreduce"]),
                   {p: spread.spread_of(data[f"mean_{p}"]) for p in ("f32", "f64")},
                   {p: spread.spread_of(data[f"add_{p}"]) for p in ("f32", "f64")},
                   {p: spread.ratios(data[f"mean_{p}"], data["allreduce"]) for p in ("f32", "f64")},
                   spread.spread_of(data["round"]),
                   spread.spread_of(data["mean_f32"]).median / spread.spread_of(data["round"]).median)


def measure(program, scratch, repeats):
    """The outcome, or None if mpi_bench was not built or mpirun is not installed."""
    launcher = shutil.which("mpirun")
    if launcher is None or not program.exists():
        return None
    file = scratch / "mpi.json"
    # Open MPI refuses to run as root, as in a container, unless both variables are set.
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    process.run([launcher, "-n", RANKS, "--oversubscribe", program, "--repeats", repeats, "--json", file], as_root)
    return outcome_of(json.loads(file.read_text()))
