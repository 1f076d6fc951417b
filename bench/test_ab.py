"""Tests of bench/ab.py: python3 -m unittest discover -s bench. They time nothing and need no binary of mfl."""

import contextlib
import io
import json
import pathlib
import random
import statistics
import struct
import sys
import tempfile
import unittest
from unittest import mock

import ab
from harness import compare, generated, spread, workloads


class IntervalTest(unittest.TestCase):
    def test_ranks_and_coverage_are_those_of_published_tables(self):
        for n, k, coverage in ((6, 1, 0.96875), (7, 1, 0.984375), (8, 1, 0.9921875), (9, 2, 0.9609375), (15, 4, 0.9648438), (20, 6, 0.9586105)):
            found = spread.median_interval([float(i) for i in range(1, n + 1)])
            self.assertEqual((found.low, found.high), (k, n + 1 - k), n)
            self.assertAlmostEqual(found.coverage, coverage, 6)

    def test_few_values_give_their_range_and_say_how_little_it_covers(self):
        self.assertEqual(spread.median_interval([3.0]), spread.Interval(3.0, 3.0, 0.0))
        self.assertEqual(spread.median_interval([2.0, 9.0, 1.0]), spread.Interval(1.0, 9.0, 0.75))
        self.assertLess(spread.median_interval([1.0] * 5).coverage, 0.95)

    def test_other_confidence(self):
        self.assertEqual(spread.median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 0.85), spread.Interval(2.0, 6.0, 0.875))

    def test_one_outlier_of_nine_does_not_reach_the_interval(self):
        self.assertEqual(spread.median_interval([1.0, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 1.01, 500.0]).high, 1.1)

    def test_covers_the_median_of_a_skewed_distribution_as_often_as_it_says(self):
        draw, trials, covered = random.Random(7), 4000, 0
        for _ in range(trials):
            found = spread.median_interval([draw.expovariate(1.0) for _ in range(9)])
            covered += found.low <= 0.6931471805599453 <= found.high
        self.assertAlmostEqual(covered / trials, found.coverage, delta=0.01)  # three standard deviations


def ratio(low, high, coverage=0.98):
    return compare.Ratio((low + high) / 2, spread.Interval(low, high, coverage))


class CompareTest(unittest.TestCase):
    def test_verdict_needs_the_whole_interval(self):
        for low, high, verdict in ((0.99, 1.02, "no slower"), (0.5, 1.03, "no slower"), (0.8, 0.9, "faster"), (1.04, 1.2, "slower"),
                                   (1.01, 1.05, "unclear"), (0.9, 1.1, "unclear")):
            self.assertEqual(ratio(low, high).verdict(0.03), verdict, (low, high))
        self.assertEqual(ratio(1.04, 1.2).verdict(0.05), "unclear")
        self.assertEqual(ratio(1.5, 1.6, 0.75).verdict(0.03), "too few pairs")

    def test_ratio_is_new_over_old_within_a_pair(self):
        found = compare.ratio_of([1.0, 10.0, 100.0], [2.0, 20.0, 200.0])
        self.assertEqual((found.median, found.interval.low, found.interval.high), (2.0, 2.0, 2.0))

    def test_pairs_are_interleaved_after_an_untimed_run_of_each(self):
        order = []

        def run(side):
            order.append(side)
            return compare.Sample({"old": 1.0, "new": 1.5}[side], {"old": 2.0, "new": 1.0}[side], "ab")

        found = compare.compare("x", run, 3)
        self.assertEqual(order, ["old", "new", "old", "new", "new", "old", "old", "new"])
        self.assertEqual((found.ratio("seconds").median, found.ratio("cpu").median), (1.5, 0.5))
        self.assertEqual(len(found.samples["old"]), 3)

    def test_other_result_is_not_timed(self):
        calls = []
        found = compare.compare("x", lambda side: calls.append(side) or compare.Sample(1.0, 1.0, side), 3)
        self.assertEqual((len(calls), found.samples), (2, {"old": [], "new": []}))
        self.assertIn("results differ, nothing was timed: old old, new new", found.failure)
        self.assertEqual(compare.as_json(found)["failure"], found.failure)
        self.assertIn("| x        | -     |", compare.table([found], 0.03))

    def test_result_that_changes_while_timed_is_a_failure(self):
        results = iter("aaaab")
        found = compare.compare("x", lambda side: compare.Sample(1.0, 1.0, next(results)), 3)
        self.assertIn("new changed from run to run: b instead of a", found.failure)

    def test_table_and_json(self):
        seconds = iter([9.0, 9.0] + [1.0, 1.02, 1.02, 1.0] * 4)
        found = compare.compare("svm", lambda side: compare.Sample(next(seconds), 1.0, "ab"), 7)
        row = compare.table([found], 0.03).splitlines()[2]
        self.assertIn("| svm      | 1.000 | 1.020 | 1.020 (1.020..1.020) | no slower |", row)
        self.assertAlmostEqual(json.loads(json.dumps(compare.as_json(found)))["ratio"]["interval"]["coverage"], 0.984375)


class WorkloadTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def test_only_keeps_the_order_and_refuses_unknown_names(self):
        self.assertEqual([w.name for w in ab.chosen("predict,svm")], ["svm", "predict"])
        self.assertEqual(len({w.name for w in ab.chosen(None)}), len(workloads.WORKLOADS))
        with self.assertRaises(KeyError):
            ab.chosen("svm,nothing")
        with mock.patch.object(sys, "argv", ["ab.sh", "--list"]), contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(ab.main(), 0)
        self.assertEqual(len(out.getvalue().splitlines()), len(workloads.WORKLOADS))

    def test_images_are_idx_and_about_a_fifth_is_set(self):
        generated.images(self.folder / "a", 500)
        generated.images(self.folder / "b", 500)
        images, labels = ((self.folder / "a" / name).read_bytes() for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"))
        self.assertEqual(struct.unpack(">IIII", images[:16]), (0x803, 500, 28, 28))
        self.assertEqual((len(images), len(labels), set(labels[8:])), (16 + 500 * 784, 8 + 500, set(range(10))))
        self.assertAlmostEqual(1 - images[16:].count(0) / (500 * 784), 0.2, delta=0.05)
        self.assertEqual(images, (self.folder / "b" / "train-images-idx3-ubyte").read_bytes())

    def test_csv_has_the_rows_asked_for(self):
        file = self.folder / "t.csv"
        with mock.patch.object(generated, "DISTINCT_LINES", 50):
            generated.csv(file, 120, 3)
        header, *lines = file.read_text().splitlines()
        self.assertEqual((header, len(lines)), ("x0,x1,x2,label", 120))
        self.assertEqual({line.rpartition(",")[2] for line in lines}, {"no", "yes"})
        self.assertLess(abs(statistics.mean(float(line.split(",")[0]) for line in lines)), 0.5)

    def test_libsvm_has_every_class_and_the_last_column(self):
        generated.libsvm(self.folder / "t.svm", 12, 1000, 5, 4, 1)
        lines = [line.split() for line in (self.folder / "t.svm").read_text().splitlines()]
        self.assertEqual({line[0] for line in lines}, {"0", "1", "2", "3", "4"})
        for _, *pairs in lines:
            at = [int(pair.split(":")[0]) for pair in pairs]
            self.assertEqual((at, at[-1], len(at)), (sorted(set(at)), 1000, 4))


if __name__ == "__main__":
    unittest.main()
