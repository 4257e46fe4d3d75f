"""Memory of calibrax over a store: a run more costs no command more than a run's share of 64 MB among 10,000."""
import atexit
import functools
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import CALIBRAX, SOURCE, check, equal, has, main, one_sentence, peak_mb

sys.path.insert(0, os.path.join(SOURCE, "tests/pipeline"))
from stores import make_store  # noqa: E402

FEW, MANY = 50, 450
SHARE = 64 / 10000 * (MANY - FEW)  # MB
SLACK = 1.5  # MB: of the allocator, and of what is read ahead

COMMANDS = [
    ["show", "--list"], ["summary"], ["show"], ["check"], ["baseline", "--list"], ["compare", "--diff", "latest", "000000000001"], ["compare", "latest", "000000000001"],
    ["trend"], ["trend", "--metric", "latency"], ["show", "--points"], ["show", "--points", "--metric", "latency"], ["trend", "--changes"],
    ["compare", "--rank", "--all", "--by", "nobody"], ["compare", "--rank", "--all", "--by", "nobody", "--metrics", "latency"],
    ["compare", "--all", "--pareto", "latency,memory"], ["check", "--all", "--target", "latency=1000"],
    ["store", "verify"], ["store", "migrate", "--dry-run"], ["store", "compact", "--dry-run"],
]
EXPORTS = ["csv", "latex", "html", "markdown", "asv", "svg"]


@functools.cache
def stores():
    """Made once, for the tests of this file."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    for n in (FEW, MANY):
        make_store(Path(folder) / f"runs{n}", n, 10, 5)
    return folder


def make_stores(p):
    for n in (FEW, MANY):
        shutil.copytree(os.path.join(stores(), f"runs{n}"), p.file(f"runs{n}"))
        p.run("show", "--list", "--data", f"runs{n}", program=CALIBRAX, expect=0)


def compare(p, why, few, many):
    check(many < few + SHARE + SLACK, f"{why}: {many:.1f} MB for {MANY} runs, {few:.1f} for {FEW}")


def commands_take_a_run_at_a_time(p):
    make_stores(p)
    for command in COMMANDS:
        for form in ([], ["--json"]):
            args = [*command, *form]
            compare(p, " ".join(args), *(peak_mb(p, *args, "--data", f"runs{n}") for n in (FEW, MANY)))


def exports_take_a_run_at_a_time(p):
    make_stores(p)
    for form in EXPORTS:
        compare(p, form, *(peak_mb(p, "export", "--format", form, "--all", "--data", f"runs{n}", "--out", f"{form}{n}") for n in (FEW, MANY)))
        shutil.rmtree(p.file(f"{form}{MANY}"))
    compare(p, "store export", *(peak_mb(p, "store", "export", "--data", f"runs{n}", "--to", f"copy{n}") for n in (FEW, MANY)))
    equal(sorted(os.listdir(p.file(f"copy{MANY}/runs"))), sorted(os.listdir(p.file(f"runs{MANY}/runs"))), "all are there")


def names_of_labels_are_made_once(p):
    """A metric more costs an export of metrics no memory for the labels of every point."""
    points = [{"name": "p", "scenario": "s", "tags": {f"a long name of tag {t}": str(i) for t in range(4)}, "metrics": {f"m{k}": {"value": 1.0 + i} for k in range(20)}} for i in range(3000)]
    path = p.write("labels.json", json.dumps({"id": "labels", "timestamp": "2026-03-01T10:00:00+00:00", "metric_defs": {}, "points": points}))
    for form in ("openmetrics", "otlp"):
        one, all_of_them = (peak_mb(p, "export", "--format", form, "--input", path, "--out", f"{form}{len(args)}", *args) for args in (("-m", "m0"), ()))
        check(all_of_them - one < 6, f"{form}: {one:.1f} MB with a metric, {all_of_them:.1f} MB with 20")


def one_competitor_is_refused_at_once(p):
    make_stores(p)
    one_sentence(p.run("compare", "--rank", "--all", "--data", f"runs{MANY}", program=CALIBRAX, expect=2), "'flax' has two values for 'point0@train{batch=32}:latency'", "calibrax")
    compare(p, "rank", *(peak_mb(p, "compare", "--rank", "--all", "--data", f"runs{n}", expect=2) for n in (FEW, MANY)))


def write_samples(p, name, n):
    with open(p.file(name), "w", encoding="utf-8") as f:
        f.write('{"id": "%s", "timestamp": "2026-01-01T00:00:00+00:00", "environment": {"machine": "m"}, "points": [{"name": "p", "scenario": "s",'
                ' "metrics": {"t": {"value": 1, "samples": [1' % os.path.basename(name).removesuffix(".json"))
        for i in range(n):
            f.write(",\n              1.%06d" % (i * 7919 % 1000003))
        f.write("]}}}]}")


def write_points(p, name, n):
    with open(p.file(name), "w", encoding="utf-8") as f:
        f.write('{"id": "%s", "timestamp": "2026-01-01T00:00:00+00:00", "environment": {"machine": "m"},'
                ' "metric_defs": {"t": {"name": "t", "unit": "s", "direction": "lower"}}, "points": [' % os.path.basename(name).removesuffix(".json"))
        for i in range(n):
            f.write('%s{"name": "point%d", "scenario": "s", "metrics": {"t": {"value": %d}}}' % ("," if i else "", i, i + 1))
        f.write("]}")


WITHOUT_SAMPLES = [["show", "--list"], ["trend"], ["summary"], ["trend", "--changes"], ["store", "verify"], ["store", "migrate", "--dry-run"],
                   ["store", "compact", "--dry-run"]]


def commands_that_need_no_samples_hold_none(p):
    """10^6 samples would be 8 MB as numbers, 24 as text, 40 as a tree."""
    for n, store in ((10, "few"), (1000000, "many")):
        os.makedirs(p.file(store, "runs"))
        write_samples(p, f"{store}/runs/a.json", n)
    for command in WITHOUT_SAMPLES:
        few, many = (peak_mb(p, *command, "--data", store) for store in ("few", "many"))
        check(many < few + 4, f"{' '.join(command)}: {many:.1f} MB for 10^6 samples, {few:.1f} for 10")


def commands_that_need_samples_hold_numbers(p):
    for n, store in ((10, "few"), (1000000, "many")):
        os.makedirs(p.file(store, "runs"))
        for name in ("a", "b"):
            write_samples(p, f"{store}/runs/{name}.json", n)
    # three times the samples, 16 MB, and the code that is read for them
    few, many = (peak_mb(p, "compare", "a", "b", "--data", store) for store in ("few", "many"))
    check(many < few + 50, f"compare: {many:.1f} MB for 2 * 10^6 samples, {few:.1f} for 20")


def the_index_does_not_hold_a_file(p):
    for n, store in ((10, "few"), (100000, "many")):
        os.makedirs(p.file(store, "runs"))
        write_points(p, f"{store}/runs/a.json", n)
    few, many = (peak_mb(p, "show", "--list", "--data", store) for store in ("few", "many"))
    check(many < few + 32, f"{many:.1f} MB for 10^5 points, {few:.1f} for 10")
    few, many = (peak_mb(p, "store", "verify", "--data", store) for store in ("few", "many"))
    check(many < few + 8, f"verify: {many:.1f} MB for 10^5 points, {few:.1f} for 10")


ON_MANY_POINTS = [["show"], ["show", "--points"], ["trend"], ["summary"], ["compare", "--rank", "--all", "--by", "s"], ["trend", "--changes"], ["trend", "--changes", "--json"],
                  ["compare", "--diff", "a", "b"], ["compare", "--diff", "a", "b", "--json"], ["compare", "a", "b"], ["compare", "a", "b", "--json"], ["check", "--baseline", "a", "--run", "b"],
                  ["check", "--baseline", "a", "--run", "b", "--json"], ["show", "--json"], ["summary", "--json"]]


def runs_of_many_points(p):
    """Two runs of 10^5 points: about 150 bytes a point each, and what a command makes of them; less than 64 MB beside the program itself."""
    for n, store in ((10, "few"), (100000, "many")):
        os.makedirs(p.file(store, "runs"))
        for name in ("a", "b"):
            write_points(p, f"{store}/runs/{name}.json", n)
        p.run("baseline", "--data", store, "--run", "a", "--name", "a", program=CALIBRAX, expect=0)
    for command in ON_MANY_POINTS:
        few, many = (peak_mb(p, *command, "--data", store) for store in ("few", "many"))
        check(many < few + 64, f"{' '.join(command)}: {many:.1f} MB for 2 * 10^5 points, {few:.1f} for 20")


def a_huge_point_is_not_held(p):
    """Its 10^6 samples are text of 24 MB, of which an importer may hold 8 times as much."""
    def write(name, n):
        with open(p.file(name), "w", encoding="utf-8") as f:
            f.write('{"id": "%s", "timestamp": "2026-01-01T00:00:00+00:00", "points": [{"name": "p", "scenario": "s", "metrics": {"t": {"value": 1, "samples": [1' % name)
            for i in range(n):
                f.write(",\n              1.%06d" % (i * 7919 % 1000003))
            f.write("]}}}]}")
    write("few", 1000)
    write("many", 1000000)
    few, many = (peak_mb(p, "ingest", "--data", "store", "--input", name) for name in ("few", "many"))
    check(many < few + 8 * 24, f"{many:.1f} MB for 10^6 samples, {few:.1f} for 10^3")
    with open(p.file("store/runs/many.json"), encoding="utf-8") as f:
        has(f.read(), "1.968327\n          ]", "the last one")


def memory_that_ends_is_reported(p):
    """However early memory ends: the exit status is 2, and what is reported is whole lines."""
    os.makedirs(p.file("store", "runs"))
    write_points(p, "store/runs/a.json", 40000)
    for command in (["trend", "--over", "x", "--metric", "t"], ["compare", "a", "a"], ["trend", "--changes"], ["summary"]):
        ended = 0
        for megabytes in range(30, 130, 10):
            done = subprocess.run([CALIBRAX, *command, "--data", p.file("store")], env=p.env, capture_output=True, text=True,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20)))
            if "memory" in done.stderr:
                equal(done.returncode, 2, f"{command} with {megabytes} MB: {done.stderr}")
                check(all(line.startswith("calibrax: ") for line in done.stderr.splitlines()), done.stderr)
                ended += 1
        check(ended > 0, f"{command}: {ended} limits were too low")


main([memory_that_ends_is_reported, commands_that_need_no_samples_hold_none, commands_that_need_samples_hold_numbers, the_index_does_not_hold_a_file, runs_of_many_points, commands_take_a_run_at_a_time, exports_take_a_run_at_a_time, names_of_labels_are_made_once, one_competitor_is_refused_at_once, a_huge_point_is_not_held])
