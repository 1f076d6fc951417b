"""Tests of the harness: python3 -m unittest discover -s bench. They time nothing and need no peer."""

import json
import pathlib
import sys
import tempfile
import tomllib
import types
import unittest
from unittest import mock
from xml.etree import ElementTree

import driver
from harness import federation, fleet, machine, plan, plots, process, race, report, roofline, softmax, spread, sweep, targets, trainer

FAKE_PEER = """
import json, sys
print(json.dumps({"peer": "fake", "version": "1", "seconds": 2.0, "loss": LOSS, "threads": 1, "details": {"form": "f"}}))
"""


class FakeMfl:
    def train(self, steps, **options):
        return {"wall_seconds": 0.5, "final": {"train_loss": 0.25}}, types.SimpleNamespace(peak_kib=2048)


def race_with(folder, loss, same_trajectory=True):
    (folder / "fake.py").write_text(FAKE_PEER.replace("LOSS", loss))
    everyone = [race.Contender("mfl-f32", "mfl", steps=4),
                race.Contender("numpy-f32", "fake", "mfl-f32", "fake.py", same_trajectory=same_trajectory, steps=4)]
    return race.Race(FakeMfl(), sys.executable, folder, folder, everyone)


class RaceTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def test_equal_loss_is_timed(self):
        contest = race_with(self.folder, "0.25 * (1 + 9e-7)")
        contest.prove_and_choose()
        contest.run(3)
        self.assertEqual(contest.ratio(contest.by_key["numpy-f32"]).median, 4.0)
        text = report.race_part(contest, 3, 4)
        self.assertIn("4.00 (4.00..4.00)", text)
        self.assertIn("+9.0e-07", text)

    def test_loss_that_is_off_stops_before_timing(self):
        for loss in ("0.25 * (1 + 2e-6)", "0.25 * (1 - 2e-6)", "float('nan')"):
            contest = race_with(self.folder, loss)
            with self.assertRaisesRegex(process.Failed, "fake: loss .* differs from mfl's 0.25"):
                contest.prove_and_choose()
            self.assertEqual(contest.by_key["numpy-f32"].seconds, [])

    def test_solver_of_the_same_problem_may_end_lower_but_not_higher(self):
        race_with(self.folder, "0.2", same_trajectory=False).prove_and_choose()
        with self.assertRaises(process.Failed):
            race_with(self.folder, "0.26", same_trajectory=False).prove_and_choose()

    def test_slow_forms_get_no_further_trial(self):
        contest = race_with(self.folder, "0.25")
        peer = contest.by_key["numpy-f32"]
        peer.variants = ["near", "far", "fastest"]
        taken = {"near": iter([1.9, 0.8, 1.9]), "far": iter([2.1]), "fastest": iter([1.0, 1.0, 1.0])}
        contest.once = lambda contender, variant: (next(taken[variant]), 0.25, 0)
        contest.choose(peer, [next(taken[variant]) for variant in peer.variants], 3)
        self.assertEqual((peer.trials, peer.chosen), ([("near", 0.8), ("far", 2.1), ("fastest", 1.0)], "near"))

    def test_contender_with_fewer_repeats_is_paired_with_the_first_ones(self):
        contest = race_with(self.folder, "0.25")
        contest.by_key["numpy-f32"].most = 2
        contest.prove_and_choose(1)
        contest.run(5)
        self.assertEqual([len(c.seconds) for c in contest.everyone], [5, 2])
        self.assertEqual(contest.ratio(contest.by_key["numpy-f32"]).median, 4.0)

    def test_other_models_try_only_forms_near_the_fastest_of_the_first(self):
        everyone = race.contenders(4, "numpy")
        contest = race.Race(None, "", None, None, everyone)
        taken = {"nodes": 1.0, "copies": 2.1, "stacked": 1.9, "pool": 3.0}
        tried = {}

        def once(contender, variant):
            tried.setdefault(contender.key, set()).add(variant.get("form"))
            return taken.get(variant.get("form"), 0.1), 0.25, 0

        contest.once = once
        with mock.patch.object(race, "say"):
            contest.prove_and_choose(1)
        self.assertEqual(tried["numpy-svm-f32"], set(taken))
        for model in race.MODELS[1:]:
            self.assertEqual(tried[f"numpy-{model}-f64"], {"nodes", "stacked"})

    def test_mean_over_models_needs_all_of_them_and_is_the_row_of_readme(self):
        contest = race.Race(None, "", None, None, race.contenders(4, "numpy"))
        for contender in contest.everyone:
            contender.losses, contender.peaks, contender.seconds = [0.25], [1], [1.0, 1.0]
        self.assertEqual(contest.mean_over_models("numpy", "f32"), 1.0)
        for model, seconds in zip(race.MODELS, (8.0, 4.0, 2.0, 4.0)):
            contest.by_key[f"numpy-{model}-f32"].seconds = [seconds, seconds]
        self.assertAlmostEqual(contest.mean_over_models("numpy", "f32"), 4.0)
        text = report.race_part(contest, 2, 4)
        self.assertIn("| NumPy f32 | 8.00 | 4.00 | 2.00 | 4.00 | 4.00 |", text)
        self.assertIn("| **4.00** times as fast as NumPy |", text)
        self.assertIn("over the paper's four models, 2.00 to 8.00;", text)
        judged = {t.key: t.verdict for t in targets.judge(contest, None, None)}
        self.assertEqual((judged["numpy-mean"], judged["numpy-squared-svm-f32"], judged["numpy-logistic-f64"], judged["torch-svm-f32"]),
                         ("missed by 27.3 %", "missed by 11.1 %", "missed by 66.7 %", "not measured"))
        contest.by_key["numpy-linear-f32"].seconds = []
        self.assertIsNone(contest.mean_over_models("numpy", "f32"))

    def test_only_keeps_a_peer_and_its_mfl(self):
        self.assertEqual([c.key for c in race.contenders(1000, "flower")], ["mfl-rounds", "flower-f32"])


class SweepAndRooflineTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def fake_mfl(self, sweep_data):
        return types.SimpleNamespace(
            scratch=self.folder, binary="mfl", verbs=lambda: {"sweep"},
            answer=lambda command: (sweep_data, types.SimpleNamespace(elapsed=6.0)),
            train=lambda steps, **options: ({"wall_seconds": 1.0, "digest": "ab"}, types.SimpleNamespace(elapsed=2.0)))

    def test_sweep_takes_one_clock_for_both(self):
        timed = sweep.measure(self.fake_mfl({"wall_seconds": 7.0, "runs": [{"digest": "ab"}]}), 2)
        self.assertEqual([(o.ratio.median, o.clock, o.same_digest) for o in timed], [(7.0, "wall_seconds", "yes")] * 3)
        whole = sweep.measure(self.fake_mfl({}), 1)
        self.assertEqual((whole[0].ratio.median, whole[0].clock), (3.0, "whole process"))
        self.assertIn("7.00..7.00", report.sweep_part(timed))
        judged = {t.key: t.verdict for t in targets.judge(None, timed, None)}
        self.assertEqual([judged[key] for key in ("sweep-5000", "sweep-60000", "sweep-smooth")],
                         ["reached", "missed by 40.0 %", "missed by 40.0 %"])

    def test_experiment_is_toml_with_sixteen_gammas(self):
        self.assertEqual(len(tomllib.loads(sweep.experiment("svm", 5000, 100))["algorithm"]["gamma"]), 16)

    def test_roofline(self):
        program = self.folder / "mfl_bench"
        self.assertIsNone(roofline.measure(program, self.folder))
        program.write_text('#!/bin/sh\nprintf \'{"limits": {}}\' > "$2"\n')
        program.chmod(0o755)
        with self.assertRaisesRegex(process.Failed, "no 'kernels'"):
            roofline.measure(program, self.folder)


class SoftmaxTest(unittest.TestCase):
    def contest(self, loss):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        folder = pathlib.Path(holder.name)
        for script, seconds in (("softmax_loops.py", 1.0), ("flower_softmax.py", 10.0)):
            (folder / script).write_text(f"""
import json, sys
loss = 0.5 if "loss" in sys.argv else {loss}
print(json.dumps({{"version": "1", "seconds": {seconds}, "loss": loss}}))
""")
        mfl = types.SimpleNamespace(scratch=folder, store="s", binary="mfl", answer=lambda command: ({"wall_seconds": 0.1}, None))
        return softmax.measure(mfl, sys.executable, folder, folder, 2, 1.0, lambda module: module != "torch")

    def test_ratios_are_per_round_and_a_peer_may_be_absent(self):
        outcome = self.contest("0.5 * (1 + 9e-6)")
        self.assertEqual([(p.key, round(p.ratio.median, 6)) for p in outcome.peers], [("softmax-numpy", 10.0), ("softmax-flower", 1000.0)])
        verdicts = {t.key: t.verdict for t in targets.judge(None, None, None, softmax=outcome)}
        self.assertEqual((verdicts["softmax-numpy"], verdicts["softmax-torch"], verdicts["softmax-flower"]),
                         ("reached", "not measured", "reached"))
        self.assertIn("| 10.0 (10.0..10.0) | +9.0e-06 |", report.softmax_part(outcome))

    def test_loss_that_is_off_stops_before_timing(self):
        for loss in ("0.51", "float('nan')"):
            with self.assertRaisesRegex(process.Failed, "NumPy, 1 thread: loss .* differs from mfl's 0.5"):
                self.contest(loss)


class FleetTest(unittest.TestCase):
    def test_law(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            program = folder / "mfl_bench"
            self.assertIsNone(fleet.measure(None, program, folder, 1))
            kernels = [{"name": f"node of {n} x 784, {part}", "seconds": 1e-6} for n in (1, 10)
                       for part in ("its data", "its gradients and updates", "its exact accumulation")]
            program.write_text("#!/bin/sh\ncat > \"$2\" << 'END'\n" + json.dumps({"limits": {}, "kernels": kernels}) + "\nEND\n")
            program.chmod(0o755)

            def train(steps, **options):  # 4 us for each node that takes part
                participants = options["nodes"] * float(options.get("fraction-train", 1))
                return ({"bytes_up": steps // 4 * participants * 2 * 784 * 4, "wall_seconds": steps // 4 * participants * 4e-6},
                        types.SimpleNamespace(peak_kib=50 * 1024))

            laws = fleet.measure(types.SimpleNamespace(train=train), program, folder, 2)
            self.assertEqual([p.nodes for p in laws[0].points], [1000, 10000, 100000, 1000000])
            self.assertAlmostEqual(laws[0].worst, 4 / 3)
            self.assertAlmostEqual(laws[1].worst, 2)
            verdicts = {t.key: t.verdict for t in targets.judge(None, None, None, laws)}
            self.assertEqual((verdicts["fleet"], verdicts["fleet-mnist"], verdicts["fleet-memory"]),
                             ("reached", "missed by 33.3 %", "reached"))
            self.assertIn("| 1,000,000 | 4.00", report.fleet_part(laws, folder / "plots"))
            self.assertTrue((folder / "plots" / "fleet-mnist.svg").exists())


class ProcessTest(unittest.TestCase):
    def test_failure_is_one_line(self):
        with self.assertRaisesRegex(process.Failed, "exit code 3: .*: broken$"):
            process.run([sys.executable, "-c", "import sys; print('broken', file=sys.stderr); sys.exit(3)"])

    def test_time_limit(self):
        with self.assertRaisesRegex(process.Failed, "still running after"):
            process.run(["sleep", "30"], time_limit=0.2)

    def test_peak_is_the_program_s_own(self):
        held = bytearray(b"1" * 64_000_000)
        self.assertLess(process.run(["true"]).peak_kib, 16 * 1024)
        del held

    def test_output_without_json(self):
        with self.assertRaisesRegex(process.Failed, "no JSON line"):
            process.last_json("hello\n", ["x"])


class NumbersTest(unittest.TestCase):
    def test_spread(self):
        found = spread.spread_of([3.0, 1.0, 2.0, 10.0, 2.5])
        self.assertEqual((found.median, found.least, found.most, found.deviation), (2.5, 1.0, 10.0, 0.5))

    def test_ratio_pairs_the_repeats(self):
        self.assertEqual(spread.ratios([10.0, 40.0], [1.0, 4.0]).deviation, 0.0)

    def test_line(self):
        line = spread.fit_line([1, 2, 4], [3.0, 5.0, 9.0])
        self.assertAlmostEqual(line.offset, 1.0)
        self.assertAlmostEqual(line.slope, 2.0)
        self.assertAlmostEqual(line.worst, 0.0)

    def test_verdicts(self):
        self.assertEqual(targets.Target("k", "t", 10, False, 10.0).verdict, "reached")
        self.assertEqual(targets.Target("k", "t", 10, False, 9.0).verdict, "missed by 10.0 %")
        self.assertEqual(targets.Target("k", "t", 8, True, 10.0).verdict, "missed by 25.0 %")
        self.assertEqual(targets.Target("k", "t", 8, True, None).verdict, "not measured")

    def test_kernel_share(self):
        data = {"limits": {"memory_gbs": 10.0}, "kernels": [
            {"name": "fused bytes", "seconds": 1e-6, "flops": 1.0, "bytes": 1.0, "bound": "fma", "share": 0.8},
            {"name": "fused f32 large", "seconds": 1e-6, "flops": 1.0, "bytes": 1.0, "bound": "memory", "share": 0.6},
            {"name": "fused f32 small", "seconds": 1e-6, "flops": 1.0, "bytes": 1.0, "bound": "L2", "share": 0.1}]}
        judged = {t.key: t.value for t in targets.judge(None, None, data)}
        self.assertEqual([judged[key] for key, *_ in targets.KERNELS], [0.8, 0.1, 0.6, None])
        self.assertIn("| fused bytes | 1.00 |", report.roofline_part(data))

    def test_sweep_digest(self):
        self.assertEqual(sweep.digest_found({"runs": [{"digest": "ab"}]}, "ab"), "yes")
        self.assertEqual(sweep.digest_found({"runs": [{"digest": "ab"}]}, "cd"), "NO")
        self.assertEqual(sweep.digest_found({}, "cd"), "not listed")
        self.assertEqual(len(set(sweep.GAMMAS)), 16)

    def test_plot_is_xml(self):
        drawn = plots.line_plot("a < b", "x", "y", [(1, 2.0, 1.9, 2.1), (1000, 9.0, 8.0, 10.0)], lambda x: 2.0 + x / 100)
        self.assertTrue(ElementTree.fromstring(drawn).tag.endswith("svg"))


class FederationTest(unittest.TestCase):
    def outcome(self):
        s = spread.spread_of
        return federation.Outcome(100, s([0.001]), s([0.002, 0.003]), s([0.004]), s([2.0]), "flower 1", -3e-8, s([800.0]),
                                  {"tcp": s([0.8]), "bare": s([1.0]), "memory": s([1.5]), "disk": s([2.5])},
                                  {"tcp": s([1.25]), "memory": s([0.66]), "disk": s([0.4])})

    def test_page_and_targets(self):
        text = report.federation_part(self.outcome())
        self.assertIn("| mfl server and 4 mfl node, TLS | 250 | 4.000 | 4.000..4.000 | 0.000 | 3.000 |", text)
        self.assertIn("| federation, rounds committed to disk | 2.500 | 2.500..2.500 | 0.000 | 40 % |", text)
        judged = {t.key: t.verdict for t in targets.judge(None, None, None, federation=self.outcome())}
        self.assertEqual((judged["federation-flower"], judged["federation-stream"]), ("reached", "missed by 42.9 %"))
        self.assertEqual({t.verdict for t in targets.judge(None, None, None)}, {"not measured"})

    def test_rounds_are_timed_by_the_servers_log(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            peers = federation.Peers(None, folder, None, 3, False)
            line = '{{"time":"2024-01-01T00:00:0{}.500Z","level":"info","event":"{}","round":"{}"}}\n'
            log = [line.format(0, "serving", 0), line.format(1, "round", 1), line.format(2, "round", 2)]
            (folder / "server.err").write_text("".join(log))
            with self.assertRaisesRegex(process.Failed, "round 2 of 3 last"):
                peers.seconds_per_round()
            (folder / "server.err").write_text("".join([*log, line.format(5, "round", 3)]))
            self.assertEqual(peers.seconds_per_round(), 2.0)


class PageTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.reasons = self.folder / "missed.toml"
        self.reasons.write_text('[sweep-5000]\nrun = "2026-01-02 abc"\nwhy = "of this run"\n[kernel-f32]\nrun = "2026-01-01 abc"\nwhy = "of another"\n')

    def page(self, run="2026-01-02 abc", partial=()):
        one = spread.spread_of([1.0])
        sweeps = [sweep.Outcome("5,000", "sweep-5000", 8.0, 100, one, one, spread.spread_of([9.0]), "wall_seconds", "yes")]
        kernels = {"limits": {}, "kernels": [{"name": "fused f32", "seconds": 1.0, "flops": 1.0, "bytes": 1.0, "bound": "memory", "share": 0.5}]}
        found = report.Page({"run": run}, list(partial), [plan.Taken("sweep", 60, 90)], 5, 1000, {"sweep": sweeps, "roofline": kernels})
        found.write(self.folder, self.reasons)
        return (self.folder / "RESULTS.md").read_text()

    def test_reasons_of_other_runs_are_left_out(self):
        text = self.page()
        self.assertIn("- 16 gammas in runs of one setting, data in cache: of this run\n", text)
        self.assertIn("binds it: no reason has been written for this run.\n", text)
        self.assertNotIn("of another", text)
        self.assertNotIn("of this run", self.page("2026-01-02 abd"))

    def test_page_names_its_run_and_how_long_it_took(self):
        text = self.page()
        self.assertIn("Every figure on this page is from one run, 2026-01-02 abc (date and commit)", text)
        self.assertIn("| sweep | 1.0 min | 1.5 min |", text)
        self.assertNotIn("not complete", text)
        self.assertIn("**This run is not complete, or its commit not known (--only, --quick)", self.page(partial=["--only", "--quick"]))

    def test_reasons_written_after_a_run_change_nothing_else(self):
        before = self.page()
        self.reasons.write_text('[kernel-f32]\nrun = "2026-01-02 abc"\nwhy = "written later"\n')
        report.renew_reasons(self.folder / "RESULTS.md", self.reasons)
        after = (self.folder / "RESULTS.md").read_text()
        self.assertEqual(after, before.replace("binds it: no reason has been written for this run.", "binds it: written later")
                         .replace("of this run", "no reason has been written for this run."))
        (self.folder / "RESULTS.md").write_text(before.replace("| run |", "| day |"))
        with self.assertRaisesRegex(process.Failed, "does not name the run"):
            report.renew_reasons(self.folder / "RESULTS.md", self.reasons)

    def test_reason_for_an_unknown_target_is_refused(self):
        self.reasons.write_text('[numpi]\nrun = "2026-01-02 abc"\nwhy = "x"\n')
        with self.assertRaisesRegex(process.Failed, "no target is called numpi"):
            self.page()

    def test_plots_of_an_earlier_run_are_removed(self):
        (self.folder / "plots").mkdir()
        (self.folder / "plots" / "old.svg").write_text("")
        self.page()
        self.assertEqual(list((self.folder / "plots").iterdir()), [])

    def test_reasons_in_the_repository_are_well_formed(self):
        targets.reasons(driver.HERE / "missed.toml", "")

    def test_commit(self):
        self.assertEqual(machine.commit_of(self.folder), "unknown")


class DriverTest(unittest.TestCase):
    def test_only_a_recorded_run_writes_into_bench(self):
        self.assertEqual(driver.parse_arguments([]).out, driver.HERE.parent / "results" / "bench")
        self.assertEqual(driver.parse_arguments(["--quick"]).out, driver.HERE.parent / "results" / "bench")
        recorded = driver.parse_arguments(["--record", "--repeats", "9"])
        self.assertEqual((recorded.out, recorded.partial), (driver.HERE, []))

    def test_incomplete_run_is_not_recorded(self):
        for words in (["--quick"], ["--only", "sweep"], ["--steps", "100"], ["--repeats", "4"], ["--out", "x"]):
            with mock.patch("sys.stderr"), self.assertRaises(SystemExit, msg=words):
                driver.parse_arguments(["--record", *words])
        with mock.patch.dict("os.environ", BENCH_MFL="x"), mock.patch("sys.stderr"), self.assertRaises(SystemExit):
            driver.parse_arguments(["--record"])

    def test_plan_has_every_part_once_and_takes_half_an_hour_at_most(self):
        arguments = driver.parse_arguments([])
        names = [name for names in driver.measurements(arguments, types.SimpleNamespace(scratch=None)) for name in names]
        self.assertEqual(names, [part.name for part in plan.PARTS])
        self.assertLess(sum(part.seconds(plan.REPEATS) for part in plan.PARTS), 30 * 60)
        self.assertEqual(plan.text(plan.chosen("sweep"), 5).count("min"), 2)

    def test_clock_keeps_what_each_part_took(self):
        clock = plan.Clock(plan.chosen(None), 5)
        with mock.patch.object(race, "say") as said, clock.part(*plan.PEERS):
            pass
        self.assertEqual((len(clock.taken), said.call_count), (1, 2))
        self.assertEqual(clock.taken[0].estimate, sum(part.seconds(5) for part in plan.PARTS[:4]))


class TrainerTest(unittest.TestCase):
    def test_page_and_target(self):
        outcome = trainer.Outcome(8, trainer.Side("mfl"), trainer.Side("Flower"), 2e-5)
        outcome.own.add([2.2, 2.3, 2.4], [2.0, 2.0, 2.0])
        outcome.flower.add([12.0], [2.0])
        self.assertAlmostEqual(outcome.own.share.median, 0.15)
        text = report.trainer_part(outcome)
        self.assertIn("| mfl | 2.300 | 2.000 | 0.300 | 15.0 % (15.0..15.0) |", text)
        self.assertIn("| Flower | 12.000 | 2.000 | 10.000 | 500.0 % (500.0..500.0) |", text)
        self.assertIn("+2.0e-05 relative", text)
        judged = {t.key: t for t in targets.judge(None, None, None, trainer=outcome)}
        self.assertAlmostEqual(judged["trainer"].value, 0.15)

    def test_rounds_and_trainings_are_paired(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            peers = trainer.Trainers(None, folder, None, None, 3)
            line = '{{"time":"2024-01-01T00:00:0{}.500Z","level":"info","event":"round","round":"{}"}}\n'
            for node in range(4):
                (folder / f"seconds-{node}").write_text(f"1 9.0\n2 0.{node}\n3 1.{node}\n")
            (folder / "server.err").write_text("".join(line.format(2 * round_, round_) for round_ in (1, 2)))
            with self.assertRaisesRegex(process.Failed, "2 of 3 rounds"):
                peers.durations()
            (folder / "server.err").write_text("".join(line.format(2 * round_, round_) for round_ in (1, 2, 3)))
            self.assertEqual(peers.durations(), ([2.0, 2.0], [0.3, 1.3]))


if __name__ == "__main__":
    unittest.main()
