"""Writes RESULTS.md and its plots from the measurements of one run; a part that was not measured says so."""

import dataclasses
import os
import re

from . import plan, plots, process, spread, targets
from .race import FLOWER_REPEATS, MODELS, TAU

NOT_MEASURED = "Not measured.\n"


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def seconds(value):
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}"


def times(value):
    return f"{value:.1f}" if value >= 9.95 else f"{value:.2f}"


def spread_cells(found, show):
    return [show(found.median), f"{show(found.least)}..{show(found.most)}", show(found.deviation)]


def machine_part(machine, contenders):
    rows = list(machine.items())
    rows += [("peer", version) for version in sorted({c.version for c in contenders if c.version})]
    return table(["item", "value"], rows)


def run_part(machine, partial, readme):
    """Which run the page is of, so that no figure is taken for that of another one."""
    text = (f"Written by `./bench.sh`. Every figure on this page is from one run, {machine['run']} (date and commit), on the machine and beside the load below. "
            f"[bench/README.md]({readme}) describes what each peer does and why the comparison is fair.\n")
    return text + (f"\n**This run is not complete, or its commit not known ({', '.join(partial)}): do not cite its figures.**\n" if partial else "")


def duration_part(taken):
    return table(["part", "estimated", "took"], [[t.title, plan.minutes(t.estimate), plan.minutes(t.seconds)] for t in taken])


def target_part(judged, why):
    """`why` holds the reasons that were written for this run."""
    rows = []
    for target in judged:
        limit = f"{'at most' if target.at_most else 'at least'} {target.limit:g}"
        value = "-" if target.value is None else f"{target.value:.2f}"
        rows.append([target.text, limit, value, target.verdict])
    missed = [(t.key, t.text) for t in judged if "missed" in t.verdict]
    return table(["figure", "target", "median", "verdict"], rows) + reasons_text(missed, why)


def reasons_text(missed, why):
    lines = [f"- {text}: {why.get(key, 'no reason has been written for this run.')}" for key, text in missed]
    return "\nWhy targets are missed:\n\n" + "\n".join(lines) + "\n" if lines else ""


def renew_reasons(page_file, reasons_file):
    """Writes the reasons of missed.toml for the run of a page into it; nothing else changes."""
    page = page_file.read_text()
    run = re.search(r"^\| run \| (\d{4}-\d\d-\d\d [^|]+) \|$", page, re.MULTILINE)
    part = re.search(r"^## Targets\n.*?(?=^## )", page, re.MULTILINE | re.DOTALL)
    if run is None or part is None:
        raise process.Failed(f"{page_file.name} does not name the run that it belongs to; record one with --record")
    keys = {target.text: target.key for target in targets.judge(None, None, None)}
    rows = [line.strip("| ").split(" | ") for line in part[0].splitlines() if line.startswith("| ")]
    missed = [(keys[row[0]], row[0]) for row in rows if row[0] in keys and "missed" in row[-1]]
    head = part[0].partition("\nWhy targets are missed:")[0].rstrip("\n")
    text = head + "\n" + reasons_text(missed, targets.reasons(reasons_file, run[1])) + "\n"
    page_file.write_text(page[:part.start()] + text + page[part.end():])


def race_part(race, repeats, steps):
    if race is None or not race.everyone:
        return NOT_MEASURED
    rows, compared = [], []
    for contender in race.everyone:
        own = race.by_key.get(contender.against)
        ratio = "-" if own is None else "{} ({}..{})".format(*(times(v) for v in ratio_values(race, contender)))
        rows.append([contender.title, contender.form or "-", *spread_cells(spread.spread_of(contender.seconds), seconds),
                     ratio, f"{max(contender.peaks) / 1024:.0f}"])
        compared.append([contender.title, f"{contender.losses[0]:.12f}", loss_distance(race, contender)])
    fewer = f" (Flower: {FLOWER_REPEATS})" if "flower-f32" in race.by_key and repeats > FLOWER_REPEATS else ""
    return (means_text(race)
            + "MFL, MNIST, 5,000 x 784, 4 nodes (contiguous), eta 0.002, gamma 0.5, tau 4, lambda 0.3 (both SVMs) or 0, "
            f"T = {steps}, unless the row says otherwise; {repeats} repeat{'s' if repeats != 1 else ''}{fewer}, one contender after the other. "
            "Seconds cover the training loop only. mfl's time has no warm-up and includes the run store and two evaluations of F, "
            "before the first step and after the last; a peer's clock starts after a warm-up and covers no evaluation. The ratio is "
            "the median over the repeats, with its range. Peak memory is that of the largest process; Flower also has worker "
            "processes.\n\n"
            + table(["contender", "form", "median s", "range", "MAD", "times mfl's", "peak MiB"], rows)
            + "\nLosses, compared before anything was timed (relative distance at most 1e-6; a solver of the same problem may "
            "end lower):\n\n" + table(["contender", "final loss", "relative distance to mfl's"], compared)
            + "\n" + peer_notes(race) + choices_text(race))


def means_text(race):
    """The peers over the paper's models, and the row of the main README."""
    rows = []
    for peer, title in (("numpy", "NumPy"), ("torch", "PyTorch")):
        for precision in ("f32", "f64"):
            ratios = race.over_models(peer, precision)
            if ratios:
                mean = times(race.mean_over_models(peer, precision))
                rows.append([f"{title} {precision}", *(times(ratios[model]) for model in MODELS), mean])
    if not rows:
        return ""
    text = ("How many times as long each peer takes in its fastest form, two threads, medians over the repeats:\n\n"
            + table(["peer", *MODELS, "geometric mean"], rows) + "\n")
    ratios = race.over_models("numpy", "f32")
    if ratios:
        text += ("The row of README.md:\n\n    | **{}** times as fast as NumPy | MFL, 1,000 steps on 5,000 MNIST samples and 4 nodes, f32, 2 threads: the "
                 "geometric mean over the paper's four models, {} to {}; NumPy in the fastest of its forms for each |\n\n"
                 .format(*(times(v) for v in (race.mean_over_models("numpy", "f32"), min(ratios.values()), max(ratios.values())))))
    return text


def ratio_values(race, contender):
    ratio = race.ratio(contender)
    return ratio.median, ratio.least, ratio.most


def loss_distance(race, contender):
    own = race.by_key.get(contender.against)
    if own is None:
        return "-"
    worst = max(((loss - own.losses[0]) / own.losses[0] for loss in contender.losses), key=abs)
    return f"{worst:+.1e}"


def peer_notes(race):
    notes = []
    flower = race.by_key.get("flower-f32")
    if flower:
        own = race.by_key[flower.against]
        rounds = flower.steps // TAU
        notes.append("Flower takes {:.1f} ms per round, mfl {:.3f} ms. Flower's engine polls for messages every 0.1 s, a lower bound "
                     "on its rounds whatever the clients compute: the ratio holds only for models as small as this one."
                     .format(*(1e3 * spread.spread_of(c.seconds).median / rounds for c in (flower, own))))
    if any(not contender.same_trajectory for contender in race.everyone):
        notes.append("scikit-learn minimises the same F by another method (dual coordinate descent, L-BFGS) with all samples in "
                     "one place: its row is the time to reach the loss of mfl's last step, not the time for the same steps. A "
                     "ratio below 1 means that a solver with the data in one place is faster than T steps of gradient descent.")
    return "".join(note + "\n\n" for note in notes)


def choices_text(race):
    rows = []
    for contender in race.everyone:
        if len(contender.trials) > 1:
            for variant, taken in sorted(contender.trials, key=lambda trial: trial[1]):
                mark = "yes" if variant == contender.chosen else ""
                rows.append([contender.title, variant["form"], variant["threads"], seconds(taken), mark])
    if not rows:
        return ""
    return ("Every form of each peer was tried once, and those near the fastest again, in turn; the fastest was used for the comparison. "
            "Of models other than svm only the forms near the fastest of svm were tried:\n\n"
            + table(["peer", "form", "BLAS threads", "best s", "chosen"], rows))


def sweep_part(outcomes):
    if not outcomes:
        return NOT_MEASURED
    rows = [[o.title, o.steps, seconds(o.single.median), seconds(o.sweep.median), times(o.ratio.median),
             f"{times(o.ratio.least)}..{times(o.ratio.most)}", f"{o.limit:g}", o.clock, o.same_digest] for o in outcomes]
    return table(["data", "T", "one run s", "16 gammas s", "ratio", "range", "at most", "clock", "same digest as a single run"], rows)


def roofline_part(data):
    if data is None:
        return NOT_MEASURED
    limits = table(["limit", "measured"], [[name, f"{value:.1f}"] for name, value in data["limits"].items()])
    rows = []
    for kernel in data["kernels"]:
        share = kernel.get("share")
        rows.append([kernel["name"], f"{kernel['seconds'] * 1e6:.2f}", f"{kernel['flops'] / kernel['seconds'] / 1e9:.1f}",
                     f"{kernel['bytes'] / kernel['seconds'] / 1e9:.1f}", kernel.get("bound", "-"),
                     "-" if share is None else f"{100 * share:.0f} %"])
    return limits + "\n" + table(["kernel", "us", "GFLOP/s", "GB/s", "bound by", "share"], rows)


def engine_part(data):
    """The engine's overhead over the arithmetic of a round, for a growing number of nodes on the same samples."""
    seconds = {kernel["name"]: kernel["seconds"] for kernel in data["kernels"]} if data else {}
    rows = []
    for name, bare in seconds.items():
        found = re.fullmatch(r"round of (\d+) nodes, bare", name)
        engine = seconds.get(name.replace("bare", "engine"))
        if found and engine:
            rows.append((int(found[1]), bare, engine))
    if not rows:
        return NOT_MEASURED
    intro = ("4,096 x 784 bytes, squared hinge, tau 4, one thread: a round run by the engine, and the same round as bare arithmetic "
             "(gradients, one update of d and w per node and step, one exact accumulation per node and vector).\n\n")
    return intro + table(["nodes", "arithmetic us", "engine us", "engine's share"],
                         [[f"{n:,}", f"{bare * 1e6:.0f}", f"{engine * 1e6:.0f}", f"{100 * (1 - bare / engine):.1f} %"]
                          for n, bare, engine in sorted(rows)])


def curve_part(curve, plot_folder):
    rows = [[f"{p.x:,}", *spread_cells(p.milliseconds, times_ms), f"{p.peak_mib:.1f}"] for p in curve.points]
    text = f"### {curve.title}\n\n{curve.setting}.\n\n"
    text += table([curve.label, "ms per step", "range", "MAD", "peak MiB"], rows)
    reference = None
    if curve.linear:
        line = curve.line()
        text += (f"\nFitted line (dashed in the plot): {line.offset:.4g} ms + {line.slope * 1000:.4g} ms per thousand {curve.label}; "
                 f"the farthest point is {100 * line.worst:.1f} % away.\n")

        def reference(x):
            return line.offset + line.slope * x
    elif len({p.digest for p in curve.points}) == 1:
        text += "\nAll runs end with the same digest.\n"
    else:
        text += "\nTHE DIGESTS DIFFER.\n"
    drawn = [(p.x, p.milliseconds.median, p.milliseconds.least, p.milliseconds.most) for p in curve.points]
    plot = plots.line_plot(f"Cost against {curve.title.lower()}", curve.label, "ms per step", drawn, reference)
    (plot_folder / f"{curve.key}.svg").write_text(plot)
    return text + f"\n![{curve.title}](plots/{curve.key}.svg)\n"


def times_ms(value):
    return f"{value:.3f}"


def plotted(intro, found, part, plot_folder):
    """`intro`, then one part per item found, each with its plot in `plot_folder`."""
    if not found:
        return NOT_MEASURED
    plot_folder.mkdir(parents=True, exist_ok=True)
    return f"{intro}\n\n" + "\n".join(part(each, plot_folder) for each in found)


def scaling_part(curves, plot_folder):
    return plotted("`mfl run` of MFL on the hinge SVM; wall seconds divided by steps, including the evaluations before the first and "
                   "after the last step.", curves, curve_part, plot_folder)


def softmax_part(outcome):
    if outcome is None:
        return NOT_MEASURED
    intro = (f"MNIST, 784 x 10 and an intercept, 1,000 nodes of 60 images, 10 of them per round, one local epoch in batches of 10, eta 0.03, {outcome.rounds} "
             "rounds; one process after the other, the ratio taken within a repeat. Every peer takes the nodes and batches that mfl draws; the distance is "
             "that of F in f64 on all images after the last round.\n\n")
    rows = [["mfl, 1 thread", outcome.rounds, *spread_cells(spread.spread_of(outcome.own), milliseconds), "-", "-"]]
    for peer in outcome.peers:
        rows.append([f"{peer.title} ({peer.version})", peer.rounds, *spread_cells(spread.spread_of(peer.per_round), milliseconds),
                     f"{times(peer.ratio.median)} ({times(peer.ratio.least)}..{times(peer.ratio.most)})", f"{peer.off:+.1e}"])
    return intro + table(["contender", "rounds", "median ms per round", "range", "MAD", "times mfl's", "loss relative to mfl's"], rows)


def milliseconds(value):
    return f"{1e3 * value:.3f}"


def trainer_part(outcome):
    if outcome is None:
        return NOT_MEASURED
    sides = [side for side in (outcome.own, outcome.flower) if side is not None]
    intro = ("The CNN of the FedAvg paper (1,663,370 parameters) on MNIST, 4 nodes of 600 images in processes of their own on loopback, MFL with w and d, one local epoch in batches "
             f"of 50 on one thread each, {outcome.rounds} rounds, the first not counted. All trainers share the machine's cores. Beyond training is the duration of a round minus "
             "the time of its slowest trainer for its own work" +
             (f"; on the same batches Flower's loss differs from mfl's by {outcome.distance:+.1e} relative" if outcome.flower else "") + ".\n\n")
    rows = [[side.title, *(f"{spread.spread_of(values).median:.3f}" for values in (side.round, side.training, side.beyond)),
             f"{100 * side.share.median:.1f} % ({100 * side.share.least:.1f}..{100 * side.share.most:.1f})"] for side in sides]
    return intro + table(["what", "s per round", "slowest training", "beyond training", "in % of training"], rows)


def mpi_part(outcome):
    if outcome is None:
        return NOT_MEASURED
    intro = (f"{outcome.parameters:,} parameters over {outcome.ranks} processes of this machine, each holding the vector of one node; "
             "the result was first checked against that of one process. The time covers everything from each rank's exact sum to the "
             "rounded mean on every rank, and is that of the slowest rank.\n\n")
    rows = [["MPI_Allreduce of doubles", *spread_cells(outcome.allreduce, seconds), "1"]]
    for precision in ("f32", "f64"):
        ratio = outcome.ratio[precision]
        rows.append([f"exact mean, {precision}", *spread_cells(outcome.mean[precision], seconds),
                     f"{times(ratio.median)} ({times(ratio.least)}..{times(ratio.most)})"])
        rows.append([f"adding one node's vector, {precision}", *spread_cells(outcome.add[precision], seconds), "-"])
    rows.append([f"a round of FL in f32: {outcome.rows} dense rows per node, tau 4", *spread_cells(outcome.round, seconds), "-"])
    return (intro + table(["what", "median s", "range", "MAD", "times MPI_Allreduce"], rows)
            + f"\nThe mean over ranks is {100 * outcome.share:.0f} % of that round.\n")


def law_part(law, plot_folder):
    rows = [[f"{p.nodes:,}", *spread_cells(p.microseconds, times_us), f"{p.microseconds.median / law.whole:.2f}", f"{p.peak_mib:.1f}"]
            for p in law.points]
    parts = ", ".join(f"{name} {value:.2f} us" for name, value in law.parts.items())
    drawn = [(p.nodes, p.microseconds.median, p.microseconds.least, p.microseconds.most) for p in law.points]
    plot = plots.line_plot(f"{law.title}: cost of a node", "nodes", "us per participating node", drawn, lambda nodes: law.whole)
    (plot_folder / f"{law.key}.svg").write_text(plot)
    return (f"### {law.title}\n\n{law.setting}.\n\nParts of a node, measured by mfl_bench: {parts}; total {law.whole:.2f} us "
            "(dashed in the plot).\n\n"
            + table(["nodes", "us per node", "range", "MAD", "relative to the parts", "peak MiB"], rows)
            + f"\n![{law.title}](plots/{law.key}.svg)\n")


def times_us(value):
    return f"{value:.2f}"


def fleet_part(laws, plot_folder):
    return plotted("Wall seconds of `mfl run` divided by rounds and participating nodes, including the run store and the digest of "
                   "every round.", laws, law_part, plot_folder)


def federation_part(found):
    if found is None:
        return NOT_MEASURED
    simulated = found.simulation.median
    rows = [["mfl run, 2 threads", found.simulation], ["mfl server and 4 mfl node, plaintext", found.plaintext],
            ["mfl server and 4 mfl node, TLS", found.tls]]
    if found.flower:
        rows.append([f"Flower's SuperLink and 4 SuperNodes, insecure ({found.flower_version})", found.flower])
    text = (f"784 parameters, 4 nodes, MFL as above, {found.rounds:,} rounds (Flower: a few, after a warm-up); one process per node, all on this "
            "machine. Before anything was timed, the digest over the network was checked to equal the simulation's"
            + (f"; Flower's loss differs from mfl's by {found.flower_distance:+.1e} relative. " if found.flower else ". ")
            + "Every round of mfl's federation is committed to disk (SQLite, synchronous FULL) while the next one is computed, before that one is committed.\n\n"
            + table(["what", "rounds/s", "ms per round", "range", "MAD", "ms over simulation"],
                    [[title, f"{1 / s.median:,.4g}", *spread_cells(s, lambda value: f"{1e3 * value:,.3f}"),
                      f"{1e3 * (s.median - simulated):,.3f}"] for title, s in rows]))
    if found.stream:
        names = {"tcp": "plain TCP, a thread per connection", "bare": "bare stream over the same transport", "memory": "federation, rounds kept in memory",
                 "disk": "federation, rounds committed to disk"}
        rows = [[names[name], *spread_cells(s, lambda value: f"{value:.3f}"),
                 f"{100 * found.stream_share[name].median:.0f} %" if name in found.stream_share else "-"]
                for name, s in found.stream.items()]
        text += ("\nA State of 40 MB down to 16 nodes and 16 updates of 40 MB up, plaintext, without training. The bare stream has the same HTTP/2 transport, "
                 "messages, chunks and connections, and nothing looks into a message or keeps it; plain TCP has no messages either (`mfl_transport`); the mean that came back was checked:\n\n"
                 + table(["what", "s per round", "range", "MAD", "share of bare"], rows))
    return text


@dataclasses.dataclass
class Page:
    """RESULTS.md of one run. `found` has an entry per measured part: race, softmax, sweep, roofline, federation, trainer, mpi, scaling, fleet."""

    machine: dict
    partial: list  # options that make the run incomplete
    taken: list  # plan.Taken of every part
    repeats: int
    steps: int
    found: dict

    def judged(self):
        get = self.found.get
        return targets.judge(get("race"), get("sweep"), get("roofline"), get("fleet"), get("federation"), get("mpi"), get("softmax"), get("trainer"))

    def text(self, reasons, plot_folder, readme):
        get = self.found.get
        contest = get("race")
        return "\n".join([
            "# Benchmark results\n", run_part(self.machine, self.partial, readme),
            "## Machine and versions\n", machine_part(self.machine, contest.everyone if contest else []),
            "## Targets\n", target_part(self.judged(), reasons),
            "## mfl and its peers\n", race_part(contest, self.repeats, self.steps),
            "## Softmax regression with minibatches\n", softmax_part(get("softmax")),
            "## Sweep of 16 gammas\n", sweep_part(get("sweep")),
            "## Kernels and the roofline\n", roofline_part(get("roofline")),
            "## The engine's own cost\n", engine_part(get("roofline")),
            "## A federation on loopback\n", federation_part(get("federation")),
            "## A PyTorch model over trainers\n", trainer_part(get("trainer")),
            "## The mean over processes\n", mpi_part(get("mpi")),
            "## Cost against size\n", scaling_part(get("scaling"), plot_folder),
            "## Fleets\n", fleet_part(get("fleet"), plot_folder),
            "## How long the run took\n", duration_part(self.taken),
        ])

    def write(self, folder, reasons_file):
        """The targets, judged. A plot of an earlier run does not stay beside this page."""
        plot_folder = folder / "plots"
        for old in plot_folder.glob("*.svg"):
            old.unlink()
        folder.mkdir(parents=True, exist_ok=True)
        readme = os.path.relpath(reasons_file.with_name("README.md"), folder)
        text = self.text(targets.reasons(reasons_file, self.machine["run"]), plot_folder, readme)
        (folder / "RESULTS.md").write_text(text)
        return self.judged()
