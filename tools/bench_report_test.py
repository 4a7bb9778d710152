#!/usr/bin/env python3
"""Tests of bench_report.py. Run it without arguments."""
import contextlib
import copy
import io
import json
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

import bench_plot
import bench_report


def result(competitor, metric, median, ratio):
    return {"competitor": competitor, "metric": metric, "median": median, "best": median * 0.9,
            "ratio": {"low": ratio * 0.9, "median": ratio, "high": ratio * 1.1}, "samples": [median]}


def beside(found, peer, ratio):
    return {**found, "best_peer": {"name": peer, "low": ratio * 0.9, "median": ratio, "high": ratio * 1.1}}


def sample(values=(1000,)):
    cases = [{"parameters": {"pending": value},
              "results": [result("naive", "cancel", 200.0, 1.0),
                          beside(result("takt::x<int>", "cancel", 50.0, 4.0), "naive", 4.0)]}
             for value in values]
    return {"format": 2, "rounds": 7, "quick": False,
            "environment": {"takt": "0.1.0", "compiler": "GCC", "peers": {"asio": "1.22.1", "JDK": "17"}, "cpu": "some", "cores": 2,
                            "kernel": "Linux", "date": "2000-01-01T00:00:00Z", "load": 0.5},
            "workloads": [{"id": "churn", "title": "A & B", "reference": "naive",
                           "metrics": [{"name": "cancel", "unit": "ns", "better": "lower"}],
                           "competitors": ["naive", "takt::x<int>", "asio"],
                           "skipped": {"asio": "not found"}, "cases": cases,
                           "bars": [{"text": "ahead", "measured": True, "held": False, "ratio": 4.0}]}]}


def parse(data):
    return bench_report.parse(json.dumps(data))


class Markdown(unittest.TestCase):
    def test_states_figures_ratio_skip_and_bar(self):
        text = bench_report.markdown(parse(sample()))
        self.assertIn("| 1k | naive | 200 | 180 | 1 |  |", text)
        self.assertIn("| 1k | takt::x<int> | 50.0 | 45.0 | **4.00** | 3.60 to 4.40 |", text)
        self.assertIn("asio was skipped: not found", text)
        self.assertIn("bar **missed** (4.00x): ahead", text)
        self.assertNotIn("trial run", text)

    def test_names_the_versions_of_the_peers(self):
        self.assertIn("Peers: asio 1.22.1, JDK 17.", bench_report.markdown(parse(sample())))

    def test_sets_takt_beside_the_best_peer(self):
        text = bench_report.markdown(parse(sample()))
        self.assertIn("| churn | pending = 1k | cancel, ns | takt::x<int> | 50.0 | 45.0 | naive | 200 | 180 | **4.00** | "
                      "3.60 to 4.40 |", text)

    def test_a_best_peer_without_ratio_has_empty_cells(self):
        data = sample()
        data["workloads"][0]["cases"][0]["results"][1]["best_peer"] = {"name": "naive"}
        self.assertIn("| naive | 200 | 180 |  |  |", bench_report.markdown(parse(data)))

    def test_shows_the_plots_of_the_run_that_there_are(self):
        self.assertNotIn("growth.svg", bench_report.markdown(parse(sample())))
        text = bench_report.markdown(parse(sample((1000, 10_000_000))))
        self.assertIn("](growth.svg)", text)
        self.assertNotIn("lateness.svg", text)

    def test_marks_a_quick_run(self):
        data = sample()
        data["quick"] = True
        self.assertIn("trial run", bench_report.markdown(parse(data)))

    def test_a_result_without_ratio_has_empty_cells(self):
        data = sample()
        for each in data["workloads"][0]["cases"][0]["results"]:
            del each["ratio"]
        self.assertIn("| 1k | naive | 200 | 180 |  |  |", bench_report.markdown(parse(data)))

    def test_numbers_keep_three_digits(self):
        self.assertEqual([bench_report.number(x) for x in (0, 0.01234, 9.876, 98.76, 98765.4, -2.5)],
                         ["0", "0.0123", "9.88", "98.8", "98765", "-2.50"])


class Plot(unittest.TestCase):
    def drawn(self, data):
        return xml.fromstring(bench_plot.svg(parse(data)["workloads"][0]))

    def count(self, root, tag):
        return len(root.findall(f".//{{http://www.w3.org/2000/svg}}{tag}"))

    def test_bars_for_few_settings(self):
        root = self.drawn(sample())
        self.assertEqual(self.count(root, "polyline"), 0)
        self.assertEqual(self.count(root, "rect"), 1 + 2)  # the page, two bars

    def test_lines_for_four_settings(self):
        root = self.drawn(sample((1000, 10000, 100000, 1000000)))
        self.assertEqual(self.count(root, "polyline"), 2)
        self.assertEqual(self.count(root, "circle"), 8)

    def test_figures_that_are_zero_or_below_do_not_break_it(self):
        data = sample()
        for each in data["workloads"][0]["cases"][0]["results"]:
            each["median"] = each["best"] = -1.0
        self.drawn(data)

    def test_no_cases(self):
        data = sample(())
        self.drawn(data)
        bench_report.markdown(parse(data))


class Overview(unittest.TestCase):
    """The plots of a whole run."""
    SVG = "{http://www.w3.org/2000/svg}"

    def drawn(self, draw, data):
        text = draw(parse(data)["workloads"])
        return None if text is None else xml.fromstring(text)

    def words(self, root):
        return [t.text for t in root.iter(f"{self.SVG}text")]

    def points(self, root):
        return [[tuple(map(float, p.split(","))) for p in line.get("points").split()]
                for line in root.iter(f"{self.SVG}polyline")]

    def test_throughput_is_the_inverse_of_time(self):
        data = sample()
        data["workloads"][0]["metrics"][0]["unit"] = "ns/task"
        words = self.words(self.drawn(bench_plot.throughput, data))
        self.assertIn("churn in million tasks per second", words)
        self.assertIn("5", words)             # 200 ns
        self.assertIn("20   (4.00x)", words)  # 50 ns
        self.assertIsNone(self.drawn(bench_plot.throughput, sample()), "its unit is no task")

    def test_the_mark_of_the_best_is_left_of_the_figure_and_not_cut_off(self):
        data = sample()
        data["workloads"][0]["metrics"][0]["unit"] = "ns/task"
        root = self.drawn(bench_plot.throughput, data)
        marks = [float(e.get("x1")) for e in root.iter(f"{self.SVG}line") if e.get("class") == "best"]
        bars = [float(e.get("x")) + float(e.get("width")) for e in root.iter(f"{self.SVG}rect") if e.get("x")]
        labels = [float(e.get("x")) for e in root.iter(f"{self.SVG}text") if e.text in ("5", "20   (4.00x)")]
        self.assertEqual(len(labels), 2)
        for bar, mark, label in zip(bars, marks, labels):
            self.assertLess(bar, mark)
            self.assertLess(mark, label)

    def test_throughput_leaves_out_what_took_no_time(self):
        data = sample()
        data["workloads"][0]["metrics"][0]["unit"] = "ns/task"
        data["workloads"][0]["cases"][0]["results"][0]["median"] = 0.0
        self.assertNotIn("naive", self.words(self.drawn(bench_plot.throughput, data)))

    def test_growth_begins_at_one_for_each(self):
        data = sample((1000, 10_000_000))
        data["workloads"][0]["cases"][1]["results"][1]["median"] = 150.0  # three times as much
        root = self.drawn(bench_plot.growth, data)
        naive, takt = self.points(root)
        self.assertEqual(naive[0], takt[0])
        self.assertEqual(naive[0][1], naive[1][1])
        base = max(float(line.get("y1")) for line in root.iter(f"{self.SVG}line") if line.get("class") == "grid")
        self.assertAlmostEqual((base - takt[1][1]) / (base - takt[0][1]), 3, places=2)
        self.assertIn("10M", self.words(root))
        self.assertNotIn("asio", self.words(root), "it was skipped")
        self.assertIsNone(self.drawn(bench_plot.growth, sample()), "one setting does not grow")

    def test_growth_is_of_the_workload_that_goes_furthest(self):
        data = sample((1000, 2000))
        data["workloads"] += sample((1000, 5000))["workloads"] + sample((1000, 3000))["workloads"]
        self.assertIn("5k", self.words(self.drawn(bench_plot.growth, data)))

    def late(self):
        data = sample()
        workload = data["workloads"][0]
        workload["metrics"] = [{"name": n, "unit": "us", "better": "lower"} for n in ("p50", "p99", "p99.9", "minimum")]
        workload["cases"][0]["results"] = [
            result(name, metric, value, 1.0) for name, values in (("naive", (1, 10, 100, 0)), ("takt::x<int>", (10,) * 4))
            for metric, value in zip(("p50", "p99", "p99.9", "minimum"), values)]
        return data

    def test_lateness_is_logarithmic_from_minimum_to_the_tail(self):
        root = self.drawn(bench_plot.lateness, self.late())
        naive, takt = self.points(root)
        self.assertEqual(len(naive), 4)
        self.assertEqual(naive[0][1], naive[1][1], "none at all is drawn at the bottom")
        self.assertAlmostEqual(naive[1][1] - naive[2][1], naive[2][1] - naive[3][1], places=1)
        self.assertEqual(len({y for _, y in takt}), 1)
        words = self.words(root)
        self.assertEqual([w for w in words if w in bench_plot.QUANTILES], ["minimum", "p50", "p99", "p99.9"])
        self.assertIsNone(self.drawn(bench_plot.lateness, sample()))

    def test_no_figure_at_all_breaks_nothing(self):
        data = self.late()
        data["workloads"][0]["cases"][0]["results"] = []
        self.drawn(bench_plot.lateness, data)

    def test_lines_of_one_colour_differ(self):
        names = ["naive", "takt::a", "takt::b", "p", "q", "r", "s", "t"]
        workload = {"competitors": names, "reference": "naive"}
        self.assertEqual(len({bench_plot.stroke(workload, name) for name in names}), len(names))


class Malformed(unittest.TestCase):
    def refuses(self, text, message):
        with self.assertRaises(bench_report.BadInput) as caught:
            bench_report.parse(text)
        self.assertIn(message, str(caught.exception))

    def changed(self, change):
        data = copy.deepcopy(sample())
        change(data)
        return json.dumps(data)

    def test_not_json(self):
        self.refuses('{"format": 1,', "not JSON")

    def test_not_an_object(self):
        self.refuses("[]", "top: expected an object")

    def test_other_format(self):
        self.refuses(self.changed(lambda d: d.update(format=1)), "format 1, but this program reads format 2")

    def test_missing_member(self):
        self.refuses(self.changed(lambda d: d["workloads"][0].pop("cases")), "(churn): 'cases' is missing")

    def test_wrong_kind(self):
        def change(data):
            data["workloads"][0]["cases"][0]["results"][1]["median"] = "fast"
        self.refuses(self.changed(change), "cases[0].results[1].median: expected a number, found 'fast'")

    def test_not_finite(self):
        self.refuses(self.changed(lambda d: d["environment"].update(load=float("nan"))), "environment.load")

    def test_unknown_competitor(self):
        def change(data):
            data["workloads"][0]["cases"][0]["results"][0]["competitor"] = "nobody"
        self.refuses(self.changed(change), "unknown competitor 'nobody'")


    def test_versions_are_text(self):
        self.refuses(self.changed(lambda d: d["environment"].update(peers={"asio": 1})), "environment.peers")

    def test_a_best_peer_that_was_not_measured(self):
        self.refuses(self.changed(lambda d: d["workloads"][0]["cases"][0]["results"].pop(0)),
                     "the best peer, 'naive', has no figure")


class Program(unittest.TestCase):
    def run_main(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.json"
            if text is not None:
                path.write_text(text, encoding="utf-8")
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
                code = bench_report.main([str(path)])
            return code, errors.getvalue(), sorted(p.name for p in Path(folder).iterdir())

    def test_writes_the_report_and_a_plot_per_workload(self):
        self.assertEqual(self.run_main(json.dumps(sample())),
                         (0, "", ["churn.svg", "report.md", "results.json"]))

    def test_writes_the_plots_of_the_run(self):
        self.assertEqual(self.run_main(json.dumps(sample((1000, 2000)))),
                         (0, "", ["churn.svg", "growth.svg", "report.md", "results.json"]))

    def test_malformed_input_is_a_message_and_exit_1(self):
        code, errors, files = self.run_main("nonsense")
        self.assertEqual((code, files), (1, ["results.json"]))
        self.assertIn("bench_report: results.json: not JSON", errors)

    def test_missing_file_is_a_message_and_exit_1(self):
        code, errors, _ = self.run_main(None)
        self.assertEqual(code, 1)
        self.assertIn("bench_report:", errors)


if __name__ == "__main__":
    unittest.main()
