#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs eindecomp-plan as users do: what it prints, what it writes and how it ends.

    eindecomp_plan_test.py PROGRAM
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
TOOL = sys.argv[1]

# The golden totals of the paper's cost that the planner's own tests hold too.
EXACT_TOTALS = {
    "matmul": {16: 448},
    "chain": {4: 14680064, 8: 20971520, 16: 27262976, 64: 45088768},
    "attention": {2: 2557952, 4: 3082240, 8: 3672064, 16: 4593664},
}

MEMBERS = ["strategy", "workers", "cost", "words", "peak_bytes", "lower_bound_ratio", "optimal", "gap",
           "plan_seconds", "statements"]


def run(*arguments, text=None):
    return subprocess.run([TOOL, *map(str, arguments)], input=text, capture_output=True, text=True,
                          timeout=60, check=False)


def program(name):
    return PROGRAMS / f"{name}.json"


class Plans(unittest.TestCase):
    def plan(self, *arguments):
        done = run("--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def test_golden_totals(self):
        for name, totals in EXACT_TOTALS.items():
            for workers, total in totals.items():
                plan = self.plan(program(name), "--workers", workers, "--strategy", "exact")
                with self.subTest(name=name, workers=workers):
                    self.assertEqual(plan["cost"]["total"], total)
                    self.assertEqual(sum(plan["cost"].values()), 2 * total)
                    self.assertTrue(plan["optimal"])
                    self.assertEqual(plan["gap"], 0)

    def test_members_of_the_json(self):
        plan = self.plan(program("network"), "--workers", 4, "--strategy", "k_cut")
        self.assertEqual(list(plan), [*MEMBERS, "cuts"])
        self.assertEqual(plan["workers"], 4)
        self.assertEqual(len(plan["cuts"]), 2)
        self.assertEqual([s["name"] for s in plan["statements"]], ["H", "R", "Y", "best"])
        for statement in plan["statements"]:
            self.assertEqual(list(statement), ["name", "partition", "cost", "words", "peak_bytes"])
            self.assertEqual(statement["partition"].get("k", 1), 1)
        self.assertEqual(list(plan["statements"][0]["partition"]), ["b", "i", "j"])
        self.assertEqual(sum(s["words"] for s in plan["statements"]), plan["words"]["total"])

    def test_the_cost_chooses_the_strategy(self):
        self.assertEqual(self.plan(program("matmul"), "--workers", 4)["strategy"], "placed")
        by_cost = self.plan(program("matmul"), "--workers", 4, "--cost", "paper")
        self.assertEqual(by_cost["strategy"], "exact")

    def test_all_strategies_are_ranked(self):
        by_words = self.plan(program("attention"), "--workers", 8, "--strategy", "all")
        names = [plan["strategy"] for plan in by_words]
        self.assertEqual(len(names), len(set(names)))
        # No label is the batch.
        self.assertEqual(set(names), {"ein_decomp", "exact", "linearized", "square", "k_cut",
                                      "model_parallel", "megatron", "sequence", "attention",
                                      "placed"})
        words = [plan["words"]["busiest_worker"] for plan in by_words]
        self.assertEqual(words, sorted(words))
        self.assertEqual(words[names.index("placed")], words[0])
        by_cost = self.plan(program("attention"), "--workers", 8, "--strategy", "all", "--cost",
                            "paper")
        costs = [plan["cost"]["total"] for plan in by_cost]
        self.assertEqual(costs, sorted(costs))
        self.assertEqual(costs[0], 3672064)

    def test_any_number_of_workers(self):
        plan = self.plan(program("chain"), "--workers", 12, "--strategy", "exact")
        for statement in plan["statements"]:
            calls = 1
            for parts in statement["partition"].values():
                calls *= parts
            self.assertEqual(calls, 12)

    def test_max_idle_lets_workers_rest(self):
        all_work = run(program("matmul"), "--workers", 7, "--strategy", "all", "--max-idle", 0)
        some_rest = run(program("matmul"), "--workers", 7, "--strategy", "all", "--max-idle", 50)
        def in_use(text):
            return {line.split()[0]: line.split()[1] for line in text.splitlines()[2:]}
        self.assertEqual(in_use(all_work.stdout)["placed"], "7")
        self.assertLess(int(in_use(some_rest.stdout)["placed"]), 7)
        self.assertEqual(in_use(some_rest.stdout)["exact"], "7")

    def test_a_machine_gives_times(self):
        plan = self.plan(program("chain"), "--workers", 16, "--machine", program("cluster"))
        times = plan["run_seconds"]
        self.assertLessEqual(times["overlapped"], times["as_run"])
        self.assertLessEqual(times["as_run"], times["in_turn"])
        self.assertAlmostEqual(sum(s["run_seconds"] for s in plan["statements"]), times["in_turn"])
        # Three products of 1024^3 and a sum on 16 workers of 1e12 operations per second.
        self.assertGreater(times["in_turn"], 3 * 1024**3 / 16 / 1e12)

    def test_plans_by_time_are_the_fastest(self):
        options = ("--workers", 16, "--machine", program("cluster"), "--cost", "time")
        ranked = self.plan(program("chain"), "--strategy", "all", *options)
        times = [plan["run_seconds"]["in_turn"] for plan in ranked]
        self.assertEqual(times, sorted(times))
        chosen = self.plan(program("chain"), *options)
        self.assertEqual(chosen["strategy"], "placed")
        self.assertEqual(chosen["run_seconds"]["in_turn"], times[0])

    def test_memory_is_a_limit(self):
        options = (program("chain"), "--workers", 16, "--strategy")
        ranked = self.plan(*options, "all")
        peaks = {plan["strategy"]: plan["peak_bytes"] for plan in ranked}
        # Less than any plan holds by itself: operands come in panels, where that is enough.
        limit = sum(peaks.values()) // len(peaks) // 2
        self.assertLess(limit, min(peaks.values()))
        left = self.plan(*options, "all", "--memory", limit)
        self.assertLess(len(left), len(ranked))
        for plan in left:
            self.assertLessEqual(plan["peak_bytes"], limit)
        fitting = [plan["strategy"] for plan in left]
        self.assertIn("placed", fitting)
        for strategy in peaks:
            refused = run(*options, strategy, "--memory", limit).returncode == 2
            self.assertEqual(refused, strategy not in fitting, strategy)

    def test_every_vector_has_its_reason(self):
        plan = self.plan(program("matmul"), "--workers", 16, "--strategy", "exact", "--explain")
        why = plan["statements"][0]["why"]
        self.assertEqual(why["cut"], ["i", "j", "k"])
        self.assertEqual(why["chosen"]["partition"], {"i": 4, "j": 2, "k": 2})
        self.assertEqual(why["chosen"]["cost"]["total"], 448)
        # (2, 4, 2) costs as much.
        self.assertEqual(why["runner_up"]["cost"]["total"], 448)
        self.assertNotEqual(why["runner_up"]["partition"], why["chosen"]["partition"])

    def test_rewriting_is_an_option(self):
        text = json.dumps({"inputs": {"A": [64, 2], "B": [2, 64], "C": [64, 2]}, "statements": [
            {"name": "D", "einsum": "ij,jk,kl->il", "operands": ["A", "B", "C"]}]})
        for options, statements in (([], 1), (["--rewrite"], 2)):
            done = run("-", "--workers", 4, "--json", *options, text=text)
            self.assertEqual(len(json.loads(done.stdout)["statements"]), statements)


class Texts(unittest.TestCase):
    def test_one_plan_is_reported(self):
        done = run(program("matmul"), "--workers", 16, "--strategy", "exact")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith("Plan by exact for 16 workers on 16 ranks\n"))
        self.assertIn("i:4 j:2 k:2", done.stdout)

    def test_all_plans_are_one_table(self):
        done = run(program("chain"), "--workers", 4, "--strategy", "all")
        lines = done.stdout.splitlines()
        self.assertTrue(lines[0].startswith("strategy "))
        self.assertEqual(len(lines), 2 + 6)
        self.assertEqual({len(line.split("  ")[0].split()) for line in lines[2:]}, {1})

    def test_a_report_with_time_and_reasons(self):
        done = run(program("matmul"), "--workers", 16, "--strategy", "exact", "--machine",
                   program("cluster"), "--explain")
        self.assertIn("\nA run takes 0.0000", done.stdout)
        self.assertIn("\nZ cuts i, j and k\n", done.stdout)

    def test_help_names_every_option(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        for option in ("--workers", "--strategy", "--cost", "--machine", "--memory", "--json",
                       "--dot", "--svg", "--max-idle", "--rewrite", "--explain", "--save",
                       "--load", "--trace"):
            self.assertIn(option, done.stdout)


class Pictures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_picture_in_both_forms(self):
        dot, svg = self.folder / "plan.dot", self.folder / "plan.svg"
        done = run(program("network"), "--workers", 4, "--dot", dot, "--svg", svg)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("digraph plan {", dot.read_text())
        root = xml.etree.ElementTree.parse(svg).getroot()
        texts = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertTrue(any("b:4" in (text or "") for text in texts))
        self.assertEqual(sorted(self.folder.iterdir()), [dot, svg])

    def test_what_cannot_be_written_leaves_nothing(self):
        for option in ("--dot", "--svg"):
            done = run(program("matmul"), "--workers", 4, option, self.folder / "none" / "plan")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stdout, "")
            self.assertIn("cannot write", done.stderr)
        wrong = self.folder / "wrong.json"
        wrong.write_text("{}")
        run(wrong, "--workers", 4, "--dot", self.folder / "plan.dot")
        self.assertEqual(list(self.folder.iterdir()), [wrong])


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "chain.plan"
        done = run(program("chain"), "--workers", 16, "--strategy", "exact", "--save", self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.report = done.stdout

    def test_a_plan_is_saved_and_loaded(self):
        for options in ((), ("--workers", 16), ("--strategy", "exact")):
            done = run(program("chain"), "--load", self.file, *options)
            self.assertEqual((done.returncode, done.stdout), (0, self.report), done.stderr)
        again = self.file.with_name("again.plan")
        run(program("chain"), "--load", self.file, "--save", again)
        self.assertEqual(again.read_text(), self.file.read_text())
        timed = run(program("chain"), "--load", self.file, "--machine", program("cluster"))
        self.assertIn("\nA run takes 0.0", timed.stdout)

    def test_a_wrong_file_is_one_line(self):
        text = self.file.read_text()
        for edited, message in (
            (text[:-100], "chain.plan: this is not JSON"),
            (text.replace('"version": 1', '"version": 9'), "chain.plan: the file has version 9"),
            (text.replace('"ranks": 16', '"ranks": 8'), "chain.plan: the file was changed"),
        ):
            self.file.write_text(edited)
            done = run(program("chain"), "--load", self.file)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        self.file.write_text(text)
        small = self.file.with_name("small.json")
        small.write_text(json.dumps({**json.loads(program("cluster").read_text()), "memory": 1}))
        for arguments, message in (
            ((program("matmul"),), "chain.plan: the plan is of another program (its tensor number 0"),
            ((program("chain"), "--workers", 8), "chain.plan: the plan is for 16 workers"),
            ((program("chain"), "--strategy", "placed"), "the plan is by the strategy exact"),
            ((program("chain"), "--memory", 1), "bytes on a worker; leave out --memory"),
            ((program("chain"), "--machine", small), "small.json has 1); plan anew"),
            ((program("chain"), "--cost", "time"), "--cost time requires --machine"),
            ((program("chain"), "--max-idle", 5), "--max-idle"),
        ):
            done = run(*arguments, "--load", self.file)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(message, done.stderr)

    def test_a_trace_in_both_forms(self):
        options = ("--load", self.file, "--machine", program("cluster"), "--trace")
        trace, picture = self.file.with_name("trace.json"), self.file.with_name("trace.svg")
        for path in (trace, picture):
            self.assertEqual(run(program("chain"), *options, path).returncode, 0)
        events = json.loads(trace.read_text())["traceEvents"]
        sent = [e for e in events if e.get("cat") == "send" and e["pid"] == 0]
        received = [e for e in events if e.get("cat") == "receive" and e["pid"] == 0]
        self.assertEqual(sum(e["args"]["words"] for e in sent),
                         sum(e["args"]["words"] for e in received))
        self.assertEqual(len({e["tid"] for e in events if e["ph"] == "X" and e["pid"] == 0} - {
            3 * rank + row for rank in range(16) for row in range(3)}), 0)
        bars = list(xml.etree.ElementTree.parse(picture).getroot().iter(
            "{http://www.w3.org/2000/svg}rect"))
        self.assertGreater(len(bars), len(sent))

    def test_a_full_disk_is_one_line(self):
        machine = ("--machine", program("cluster"))
        for option, what in (("--save", "plan"), ("--trace", "trace"), ("--dot", "plan")):
            done = run(program("chain"), "--workers", 16, *machine, option, "/dev/full")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"cannot write the {what} to /dev/full (No space left on device)",
                          done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        self.assertTrue(pathlib.Path("/dev/full").is_char_device())
        with open("/dev/full", "w") as full:
            for extra in ((), ("--strategy", "all", "--json", "--explain")):
                command = [TOOL, program("attention"), "--workers", "16", *extra]
                done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual((done.returncode, done.stderr),
                                 (1, "eindecomp-plan: the output could not be written\n"))


class Refusals(unittest.TestCase):
    def refused(self, *arguments, text=None):
        done = run(*arguments, text=text)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith("eindecomp-plan: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def test_wrong_options(self):
        good = program("matmul")
        for arguments, message in (
            ((), "program is required"),
            ((good,), "--workers is required"),
            ((good, "--workers", "0"), "--workers"),
            ((good, "--workers", "-3"), "--workers"),
            ((good, "--workers", "2.5"), "--workers"),
            ((good, "--workers", "many"), "--workers"),
            ((good, "--workers", "99999999999999999999"), "--workers"),
            ((good, "--workers", "65537"), "--workers"),
            ((good, "--workers", "4", "--cost", "euro"), "--cost"),
            ((good, "--workers", "4", "--max-idle", "101"), "--max-idle"),
            ((good, "--workers", "4", "--max-idle", "nan"), "max_idle is a share in percent"),
            ((good, "--workers", "4", "--stratgy", "exact"), "--stratgy"),
            ((good, "--workers", "4", "--strategy", "best"), "there is no strategy 'best'"),
            ((good, "--workers", "4", "--strategy", "megatron"), "no label of the program has the"),
            (("nowhere.json", "--workers", "4"), "nowhere.json: the file cannot be read"),
            ((PROGRAMS, "--workers", "4"), "programs: the file cannot be read"),
            ((good, "--workers", "4", "--memory", "0"), "--memory"),
            ((good, "--workers", "4", "--memory", "1e3"), "--memory"),
            ((good, "--workers", "4", "--memory", "100"), "more than the 100 that a rank may hold"),
            ((good, "--workers", "4", "--cost", "time"), "machine"),
            ((good, "--workers", "4", "--trace", "t.json"), "--trace requires --machine"),
            ((good, "--workers", "4", "--machine", "nowhere.json"), "nowhere.json: the file cannot"),
            ((good, "--workers", "4", "--machine", good), 'matmul.json: "inputs" means nothing'),
            ((good, "--workers", "32", "--machine", program("cluster")), "machine"),
        ):
            with self.subTest(arguments=arguments):
                self.assertIn(message, self.refused(*arguments))

    def test_wrong_programs_by_their_place(self):
        for text, message in (
            ("{", "standard input: this is not JSON: parse error at line 1, column 2"),
            ('{"inputs": {"A": [0]}}', "standard input: inputs.A[0]: 0 is not positive"),
            ('{"inputs": {"A": [4]}, "statements": [{"name": "C", "einsum": "ij->i", '
             '"operands": ["A"]}]}', "standard input: statements[0].einsum: tensor A has rank 1"),
            ('{"inputs": {"A": [4000000000000000000]}, "statements": [{"name": "C", "einsum": '
             '"i->i", "operands": ["A"]}]}', "inputs.A: tensor A of 4000000000000000000 has more "
             "elements than are counted"),
        ):
            with self.subTest(text=text):
                self.assertIn(message, self.refused("-", "--workers", "4", text=text))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
