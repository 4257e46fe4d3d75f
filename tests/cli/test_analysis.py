"""calibrax compare, diff, rank, pareto, scaling, changepoints: against the answers of the Python package and of ruptures, and on their own."""
import copy
import json
import os
import pty
import re
import subprocess

from harness import CALIBRAX, SOURCE, check, equal, has, main, one_sentence, peak_mb

with open(os.path.join(SOURCE, "tests/cli/fixtures/analysis.json"), encoding="utf-8") as answers:
    ANSWERS = json.load(answers)
RUN, LONE, OTHER = ANSWERS["runs"]
GOLDEN = 0.6180339887


def run(p, *args, **more):
    return p.run(*args, program=CALIBRAX, **more)


def ask(p, command, *args, expect=0, version=1):
    document = json.loads(run(p, command, *args, "--json", expect=expect).stdout)
    modes = {"--rank": "ranking", "--diff": "diff", "--pareto": "pareto", "--changes": "changepoints", "--over": "scaling", "--target": "validation", "--list": "runs"}
    schema = next((modes[a] for a in args if a in modes), {"compare": "comparison"}.get(command, command))
    equal((document["schema"], document["version"]), ("calibrax-" + schema, version), "schema")
    return document


def write(p, name, document, **members):
    return p.write(name, json.dumps(dict(copy.deepcopy(document), **members)))


def near(found, wanted, why, rel=1e-12):
    check(abs(found - wanted) <= rel * abs(wanted), f"{why}: found {found!r}, wanted {wanted!r}")


def samples(base, spread, n=12, at=0):
    """Low-discrepancy noise: the same on every machine."""
    return [base * (1 + spread * ((k + at) * GOLDEN % 1 - 0.5)) for k in range(1, n + 1)]


def terminal(p, *args, **env):
    """What a terminal would show."""
    leader, follower = pty.openpty()
    done = subprocess.run([CALIBRAX, *args], cwd=p.path, env=dict(p.env, LC_ALL="C.UTF-8", TERM="xterm", **env), stdout=follower, stderr=subprocess.PIPE, timeout=60)
    os.close(follower)
    text = b""
    try:
        while chunk := os.read(leader, 65536):
            text += chunk
    except OSError:  # the follower's end is closed
        pass
    os.close(leader)
    equal(done.returncode, 0, done.stderr)
    return text.decode()


# --- rank ---

def ranks_as_the_package_has_them(p):
    document = ask(p, "compare", "--rank", "--input", write(p, "r.json", RUN), "--score", "min-max", "--weight", "latency=2")
    for metric, wanted in ANSWERS["ranks"].items():
        row = next(r for r in document["rows"] if r["metric"] == metric)
        equal([(r["label"], r["rank"]) for r in row["ranks"]], [(label, rank) for label, rank, _ in wanted], metric)
        for found, (_, _, percent) in zip(row["ranks"], wanted):
            near(100 * found["delta"], percent, metric, 1e-9)
    for found in document["scores"]:
        near(found["score"], ANSWERS["scores"][found["label"]], found["label"], 1e-9)
    equal(document["rows_scored"], 3, "all rows count")


def ranks_and_chance(p):
    """Two competitors that their samples hardly tell apart, and one that is far behind."""
    def point(name, base, at):
        x = samples(base, 0.2, 15, at)
        return {"name": "f", "scenario": "s", "tags": {"framework": name}, "metrics": {"t": {"value": sorted(x)[7], "samples": x}}}
    points = [point("near", 1.0, 0), point("far", 2.0, 3), point("close", 1.004, 5)]
    path = write(p, "r.json", RUN, points=points, metric_defs={"t": {"name": "t", "unit": "s", "direction": "lower"}})
    document = ask(p, "compare", "--rank", "--input", path, "--draws", "400")
    shares = {r["label"]: r["shares"] for r in document["rows"][0]["ranks"]}
    equal(shares["far"], [0.0, 0.0, 1.0], "far is always last")
    check(0.1 < shares["near"][0] < 0.9, f"chance decides between the two that are near: {shares}")
    check(all(abs(sum(s) - 1) < 1e-12 for s in shares.values()), "shares of all ranks")
    equal(ask(p, "compare", "--rank", "--input", path, "--draws", "400"), document, "the same seed, the same shares")
    check("shares" not in ask(p, "compare", "--rank", "--input", path, "--draws", "0")["rows"][0]["ranks"][0], "no draws, no shares")
    has(run(p, "compare", "--rank", "--input", path, expect=0).stdout, "100.0 % of draws")


def ranks_of_equals_and_of_nothing(p):
    def points(*values):
        return [{"name": "f", "scenario": "s", "tags": {"framework": n}, "metrics": {"t": {"value": v}}} for n, v in zip("abc", values)]
    defs = {"t": {"name": "t", "unit": "s", "direction": "lower"}}
    document = ask(p, "compare", "--rank", "--input", write(p, "r.json", RUN, points=points(2.0, 1.0, 1.0), metric_defs=defs))
    equal([(r["label"], r["rank"]) for r in document["rows"][0]["ranks"]], [("b", 1), ("c", 1), ("a", 3)], "equals share a rank")
    document = ask(p, "compare", "--rank", "--input", write(p, "r.json", RUN, points=points(2.0, float("nan"), 1.0), metric_defs=defs), expect=2)
    equal([(r["label"], r["rank"]) for r in document["rows"][0]["ranks"]], [("c", 1), ("a", 2), ("b", None)], "no number is no rank")
    equal((document["scores"], document["rows_scored"]), ([], 0), "no row that all have, no score")
    done = run(p, "compare", "--rank", "--input", p.file("r.json"), expect=2)
    has(done.stdout, "No score")
    one_sentence(done, "'b' has the value nan in 'f@s{}:t', which cannot be ranked", "calibrax")
    one_sentence(run(p, "compare", "--rank", "--input", write(p, "i.json", RUN, points=points(1, 2, 3), metric_defs={}), expect=2), "no metric has a direction", "calibrax")
    one_sentence(run(p, "compare", "--rank", "--input", write(p, "n.json", RUN, points=points(-1.0, 2.0, 3.0), metric_defs=defs), expect=2), "'a' has -1 in 'f@s{}:t': use --score min-max", "calibrax")
    one_sentence(run(p, "compare", "--rank", "--input", p.file("n.json"), "--score", "sum", expect=2), "geometric or min-max", "calibrax")
    one_sentence(run(p, "compare", "--rank", "--input", p.file("n.json"), "--draws", "2000000", expect=2), "--draws", "calibrax")
    one_sentence(run(p, "compare", "--rank", "--input", p.file("n.json"), "--weight", "u=1", expect=2), "'u'", "calibrax")
    one_sentence(run(p, "compare", "--rank", "--input", p.file("n.json"), "--weight", "u", expect=2), "METRIC=X", "calibrax")
    one_sentence(run(p, "compare", "--rank", "--input", write(p, "one.json", RUN, points=points(1)), expect=2), "two", "calibrax")
    one_sentence(run(p, "compare", "--rank", expect=2), "there is no store '.calibrax'", "calibrax")


def a_failed_measurement_is_not_ranked_by_its_samples(p):
    def point(name, value, base):
        return {"name": "f", "scenario": "s", "tags": {"framework": name}, "metrics": {"t": {"value": value, "samples": samples(base, 0.1)}}}
    points = [point("sound", 2.0, 2.0), point("failed", float("nan"), 1.0), point("other", 3.0, 3.0)]
    path = write(p, "r.json", RUN, points=points, metric_defs={"t": {"name": "t", "unit": "s", "direction": "lower"}})
    for score in ("geometric", "min-max"):
        document = ask(p, "compare", "--rank", "--input", path, "--score", score, expect=2)
        found = document["rows"][0]["ranks"]
        equal([(r["label"], r["rank"]) for r in found], [("sound", 1), ("other", 2), ("failed", None)], "its samples are finite, its value is none")
        check(not any("shares" in r for r in found), "and its samples draw no ranks")
    one_sentence(run(p, "compare", "--rank", "--input", path, expect=2), "'failed' has the value nan", "calibrax")
    run(p, "compare", "--rank", "--input", write(p, "two.json", RUN, points=[points[0], points[2]], metric_defs={"t": {"name": "t", "unit": "s", "direction": "lower"}}), expect=0)


def many_runs_of_one_competitor_are_refused_early(p):
    """Two values for one cell stand in the first two runs: the others are not read for that, however many they are."""
    os.makedirs(p.file("store/runs"))
    points = [{"name": f"f{k}", "scenario": "s", "tags": {"framework": "ours"}, "metrics": {"t": {"value": 1.0 + k}}} for k in range(500)]
    points.append(dict(points[0], tags={"framework": "theirs"}))
    for i in range(300):
        with open(p.file(f"store/runs/r{i:03d}.json"), "w", encoding="utf-8") as f:
            json.dump({"id": f"r{i:03d}", "timestamp": f"2026-01-01T00:{i // 60:02d}:{i % 60:02d}+00:00", "environment": {"machine": "m"},
                       "metric_defs": {"t": {"name": "t", "unit": "s", "direction": "lower"}}, "points": points}, f)
    one_sentence(run(p, "compare", "--rank", "--data", "store", "--all", expect=2), "'ours' has two values for 'f0@s{}:t'", "calibrax")
    few, all_runs = peak_mb(p, "compare", "--rank", "--data", "store", "--run", "r000,r001", expect=2), peak_mb(p, "compare", "--rank", "--data", "store", "--all", expect=2)
    check(all_runs < few + 10, f"{all_runs:.1f} MB for 300 runs, {few:.1f} for two")


def memory_does_not_follow_the_number_of_runs(p):
    """Commands over all runs of a store take them one after the other."""
    os.makedirs(p.file("store/runs"))
    values = [1 + k / 1000 for k in range(3000)]
    for i in range(200):
        points = [{"name": "f", "scenario": "s", "tags": {"n": str(2 ** (i % 6))}, "metrics": {"t": {"value": 1.0 + i, "samples": [v + i for v in values]}, "m": {"value": 209.0 - i}}}]
        with open(p.file(f"store/runs/r{i:03d}.json"), "w", encoding="utf-8") as f:
            json.dump({"id": f"r{i:03d}", "timestamp": f"2026-01-01T00:{i // 60:02d}:{i % 60:02d}+00:00", "environment": {"machine": "m"},
                       "metric_defs": {k: {"name": k, "unit": "s", "direction": "lower"} for k in "tm"}, "points": points}, f)
    for command in (["compare", "--pareto", "t,m"], ["check", "--target", "t=1000"], ["trend", "--metric", "t", "--over", "n"], ["export", "--format", "csv", "--out", "out"],
                    ["compare", "--rank", "--by", "none", "--draws", "0"]):
        few, all_runs = peak_mb(p, *command, "--data", "store", "--run", "r000,r006,r001,r002,r003"), peak_mb(p, *command, "--data", "store", "--all")
        check(all_runs < few + 8, f"{command[0]}: {all_runs:.1f} MB for 200 runs, {few:.1f} for five")
    front = ask(p, "compare", "--data", "store", "--all", "--pareto", "t,m")
    equal((len(front["points"]), front["front"], front["missing"]), (200, 200, 0), "every run is a point, none beaten")
    equal([front["points"][k][m] for k in (0, 199) for m in ("run", "name")], ["r000", "f", "r199", "f"], "in order of time")
    document = ask(p, "check", "--data", "store", "--all", "--target", "t=1000", "--target", "m=1000")
    equal((len(document["accuracy"]), document["passed"], document["convergence"], document["violations"]), (400, True, [], []), "each run by each target")


# --- compare ---

def compares_as_the_package_does(p):
    document = ask(p, "compare", write(p, "a.json", LONE), write(p, "b.json", OTHER))
    equal((document["labels"], document["reference"]), (["first", "second"], "first"), "labels")
    for row in document["rows"]:
        factors = ANSWERS["compared"][row["metric"]]
        near(row["cells"][1]["speedup"]["value"], factors["first"] / factors["second"], row["key"])
        equal([c["rank"] for c in row["cells"]], [1, 2] if factors["first"] == 1 else [2, 1], row["key"])


def speed_ups_have_intervals_and_remarks(p):
    def document(name, base, at, machine="m1"):
        x = samples(base, 0.04, 12, at)
        return dict(RUN, id=name, environment={"machine": machine} if machine else {}, metric_defs={"t": {"name": "t", "unit": "ms", "direction": "lower"}},
                    points=[{"name": "f", "scenario": "s", "tags": {}, "metrics": {"t": {"value": sorted(x)[5], "samples": x}}}])
    a, b, c = (write(p, f"{n}.json", document(n, base, at)) for n, base, at in (("old", 10.0, 0), ("new", 5.0, 4), ("same", 10.0, 7)))
    found = ask(p, "compare", a, b, c)
    speedup = [cell["speedup"] for cell in found["rows"][0]["cells"]]
    check(1.9 < speedup[1]["lower"] < 2 < speedup[1]["upper"] < 2.1 and speedup[1]["level"] >= 0.95, speedup[1])
    check(speedup[2]["lower"] < 1 < speedup[2]["upper"], speedup[2])
    has(json.dumps(found["remarks"]), "contain 1: these show no difference", "a remark on rule 7")
    equal([r["rule"] for r in found["remarks"]], [1, 7], "rules")
    equal(ask(p, "compare", a, b, "--reference", "new")["rows"][0]["cells"][0]["speedup"]["value"] < 1, True, "the other way round")
    text = run(p, "compare", a, b, expect=0).stdout
    for part in ("Measured", "2.00447x [", "Best on t: new", "rule 1: speed-ups refer to 'old'"):
        has(text, part)
    other, unknown = write(p, "o.json", document("other", 10.0, 1, "m2")), write(p, "u.json", document("unknown", 10.0, 1, None))
    one_sentence(run(p, "compare", a, b, "--metrics", "t,latancy", expect=2), "no point has the metric 'latancy'", "calibrax")
    one_sentence(run(p, "compare", a, other, expect=2), "--allow-other-machine", "calibrax")
    one_sentence(run(p, "compare", a, unknown, expect=2), "'unknown' does not name its machine", "calibrax")
    done = run(p, "compare", "--allow-other-machine", a, other, expect=0)
    has(done.stdout, "rule 9: 1 of 2 runs were measured on a different machine")
    one_sentence(done, "note: runs 'old' and 'other' are of different machines", "calibrax")
    painted = terminal(p, "compare", a, b)
    has(painted, "\033[32m2.00447x")
    check("\033" not in terminal(p, "compare", a, b, NO_COLOR="1"), "NO_COLOR")
    check("\033" not in text, "plain when piped")


def compare_within_runs_and_faults(p):
    path = write(p, "r.json", RUN)
    found = ask(p, "compare", "--by", "framework", path, "--reference", "numpy", "--metrics", "rate")
    equal((found["labels"], [r["key"] for r in found["rows"]]), ([q["tags"]["framework"] for q in RUN["points"]], ["step@train{}:rate"]), "values of a tag")
    for args, part in (([path], "two runs or more"), (["--by", "framework"], "there is no store '.calibrax'"), ([path, "none.json"], "none.json"), ([path, path], "two"),
                       (["--by", "framework", path, "--reference", "nobody"], "nobody"), (["--data", "nowhere", "a", "b"], "nowhere")):
        one_sentence(run(p, "compare", *args, expect=2), part, "calibrax")
    run(p, "ingest", "--data", "store", "--input", path, write(p, "b.json", OTHER), expect=0)
    equal(ask(p, "compare", "--data", "store", "fir", "sec")["labels"], ["first", "second"], "of a store, by the beginnings of ids")
    one_sentence(run(p, "compare", "--data", "store", "first", "third", expect=2), "third", "calibrax")


# --- diff ---

def differences_of_every_kind(p):
    new = copy.deepcopy(RUN)
    new.update(id="later", branch="dev", environment={"machine": "m2", "os": {"kernel": "6.1"}}, metadata={"note": "x"})
    gone = new["points"].pop()
    new["points"].append(dict(copy.deepcopy(RUN["points"][0]), name="other"))
    metrics = new["points"][0]["metrics"]
    metrics["latency"]["value"] *= 1.5
    metrics["rate"]["value"] *= 1.5
    metrics["extra"] = {"value": 1}
    del metrics["memory"]
    new["points"][1]["metrics"]["latency"]["value"] = float("nan")
    a, b = write(p, "a.json", RUN), write(p, "b.json", new)
    found = ask(p, "compare", "--diff", a, b)
    equal((found["points_dropped"], found["points_added"]), (["step@train{framework=tinygrad}"], ["other@train{framework=flax}"]), "points")
    equal((found["metrics_dropped"], found["metrics_added"]), (["step@train{framework=flax}:memory"], ["step@train{framework=flax}:extra"]), "metrics")
    changed = {c["key"].split("=")[1]: c for c in found["changed"]}
    equal(sorted(changed), ["flax}:latency", "flax}:rate", "jax}:latency"], "values")
    near(changed["flax}:latency"]["change"], 0.5, "change")
    equal(changed["jax}:latency"]["new"], "NaN", "what is no number now")
    equal(found["unchanged"], 6 * 3 - 3 - 1, "of the points that both have")
    facts = {f["path"]: (f["old"], f["new"]) for f in found["facts"]}
    equal(facts, {"branch": (None, "dev"), "environment.machine": ("m1", "m2"), "environment.os": (None, {"kernel": "6.1"}), "metadata.note": (None, "x")}, "facts")
    text = run(p, "compare", "--diff", a, b, expect=0).stdout
    for part in ("- step@train{framework=tinygrad}\n", "+ other@train{framework=flax}\n", "+50.0 %  worse", "+50.0 %  better", 'environment.machine: "m1" -> "m2"'):
        has(text, part)
    equal(ask(p, "compare", "--diff", a, b, "--values", "--threshold", "0.6")["facts"], [], "values only")
    equal([c["key"] for c in ask(p, "compare", "--diff", a, b, "--threshold", "0.6")["changed"]], ["step@train{framework=jax}:latency"], "what is more than the threshold")
    run(p, "compare", "--diff", a, b, "--exit-code", expect=1)
    check(gone["tags"]["framework"] == "tinygrad", "as said")


def no_differences(p):
    a, b = write(p, "a.json", RUN), write(p, "b.json", RUN, id="again")
    found = ask(p, "compare", "--diff", a, b)
    equal([found[k] for k in ("points_dropped", "points_added", "metrics_dropped", "metrics_added", "changed", "facts")], [[]] * 6, "none")
    run(p, "compare", "--diff", a, b, "--exit-code", expect=0)
    bare = sized([(1, 1.0)])
    bare["points"][0]["tags"] = {}
    more = copy.deepcopy(bare)
    more["points"][0]["metrics"]["u"] = {"value": 1}
    found = ask(p, "compare", "--diff", write(p, "bare.json", bare), write(p, "more.json", more, id="more"))
    equal((found["metrics_added"], found["points_added"]), (["f@s{}:u"], []), "of a point without tags")
    redefined = copy.deepcopy(RUN["metric_defs"])
    redefined["rate"]["unit"] = "1/h"
    c = write(p, "c.json", RUN, id="third", metric_defs=redefined)
    equal({q["outcome"] for q in ask(p, "compare", "--diff", a, c)["changed"]}, {"definitions-differ"}, "another unit is another thing")
    has(run(p, "compare", "--diff", a, c, expect=0).stdout, "defined differently")
    for args, part in (([], "there is no store '.calibrax'"), ([a], "got 1"), ([a, b, c], "got 3"), ([a, "no.json"], "no.json")):
        one_sentence(run(p, "compare", "--diff", *args, expect=2), part, "calibrax")


# --- pareto ---

def front(document):
    return [q["tags"]["framework"] for q in document["points"] if q["on_front"]]


def fronts_as_the_package_has_them(p):
    path = write(p, "r.json", RUN)
    equal(front(ask(p, "compare", "--input", path, "--pareto", "latency,memory")), ANSWERS["front"], "both lower")
    document = ask(p, "compare", "--input", path, "--pareto", "rate", "--pareto", "latency")
    equal(front(document), ANSWERS["front_up"], "one higher")
    equal([(o["metric"], o["direction"], o["unit"]) for o in document["objectives"]], [("rate", "higher", "1/s"), ("latency", "lower", "ms")], "objectives")
    all_three = ask(p, "compare", "--input", path, "--pareto", "latency,memory,rate")

    def beats(a, b):
        worse = [(a["metrics"][m]["value"] - b["metrics"][m]["value"]) * s for m, s in (("latency", 1), ("memory", 1), ("rate", -1))]
        return max(worse) <= 0 and min(worse) < 0
    equal(front(all_three), [a["tags"]["framework"] for a in RUN["points"] if not any(beats(b, a) for b in RUN["points"])], "three objectives")
    turned = front(ask(p, "compare", "--input", path, "--pareto", "rate=lower,latency"))
    equal(turned, ["tinygrad"], "the command line turns a direction round")
    text = run(p, "compare", "--input", path, "--pareto", "latency,memory", "--front-only", expect=0).stdout
    equal(text.count("\n*"), len(ANSWERS["front"]), text)
    has(text, f"{len(ANSWERS['front'])} of 7 points are on the front")


def what_lacks_an_objective(p):
    holed = copy.deepcopy(RUN)
    del holed["points"][3]["metrics"]["memory"]
    holed["points"][4]["metrics"]["memory"]["value"] = float("nan")
    holed["metric_defs"]["rate"]["direction"] = "info"
    path = write(p, "r.json", holed)
    document = ask(p, "compare", "--input", path, "--pareto", "latency,memory")
    equal((document["missing"], len(document["points"])), (2, 7), "counted, and shown")
    check(not {"numpy", "ours"} & set(front(document)), "on no front")
    has(run(p, "compare", "--input", path, "--pareto", "latency,memory", expect=0).stdout, "2 lack an objective")
    for args, part in ((["latency,rate"], "give it as rate=lower or rate=higher"), (["latency"], "two metrics or more"), (["latency,latency"], "twice"),
                       (["latency,speed"], "no point has the metric 'speed'"), (["latency=up,memory"], "METRIC=lower"), (["a=lower,b=lower"], "no point has the metric 'a'"), (["latency,memory", "--point", "nobody"], "no point has the objectives"),
                       (["latency,memory", "--tag", "framework=numpy"], "every objective"), (["latency,memory", "--point", "x"], "no point")):
        one_sentence(run(p, "compare", "--input", path, "--pareto", *args, expect=2), part, "calibrax")


# --- scaling ---

def sized(values, tag="n", direction="lower", metric="t"):
    points = [{"name": "f", "scenario": "s", "tags": {tag: str(x), "framework": "ours"}, "metrics": {metric: {"value": y}}} for x, y in values]
    return dict(RUN, points=points, metric_defs={metric: {"name": metric, "unit": "s", "direction": direction}})


def growth_as_the_package_has_it(p):
    wanted = ANSWERS["scaling"]
    path = write(p, "r.json", sized(list(zip(wanted["sizes"], wanted["times"]))))
    document = ask(p, "trend", "--input", path, "--metric", "t", "--over", "n")
    s = document["series"][0]
    equal((s["series"], s["order"]), ("f@s{framework=ours}", wanted["complexity"]), "order")
    check(abs(s["exponent"]["value"] - wanted["exponent"]) < 0.02, f"they fit another sum of squares: {s['exponent']}")
    check(s["exponent"]["lower"] < 1.5 < s["exponent"]["upper"] and s["exponent"]["level"] == 0.95, s["exponent"])
    near(sum(s["weights"].values()), 1, "weights", 1e-9)
    text = run(p, "trend", "--input", path, "--metric", "t", "--over", "n", expect=0).stdout
    for part in ("order     O(n^1.5)", "exponent  1.49", "(95 % interval)"):
        has(text, part)
    check("▁" in terminal(p, "trend", "--input", path, "--metric", "t", "--over", "n"), "bars on a terminal")


def laws_of_workers(p):
    workers = (1, 2, 4, 8, 16, 32)
    serial = 0.08
    noise = [1 + 0.004 * (k * GOLDEN % 1 - 0.5) for k in range(6)]
    amdahl = write(p, "a.json", sized([(w, 10 * (serial + (1 - serial) / w) * e) for w, e in zip(workers, noise)], "workers"))
    s = ask(p, "trend", "--input", amdahl, "--metric", "t", "--over", "workers", "--law", "amdahl")["series"][0]
    check(s["s"]["lower"] < serial < s["s"]["upper"] and s["s"]["upper"] - s["s"]["lower"] < 0.01, s["s"])
    near(s["scale"], 10, "T1", 0.01)
    has(run(p, "trend", "--input", amdahl, "--metric", "t", "--over", "workers", "--law", "amdahl", expect=0).stdout, "limit     12.")
    rates = sized([(w, 100 * (serial + (1 - serial) * w) * e) for w, e in zip(workers, noise)], "workers", "higher", "rate")
    gustafson = write(p, "g.json", rates)
    s = ask(p, "trend", "--input", gustafson, "--metric", "rate", "--over", "workers", "--law", "gustafson")["series"][0]
    check(s["s"]["lower"] < serial < s["s"]["upper"], s["s"])
    usl = write(p, "u.json", sized([(w, 100 * w / (1 + 0.05 * (w - 1) + 0.002 * w * (w - 1)) * e) for w, e in zip(workers, noise)], "workers", "higher", "rate"))
    s = ask(p, "trend", "--input", usl, "--metric", "rate", "--over", "workers", "--law", "usl")["series"][0]
    check(s["a"]["lower"] < 0.05 < s["a"]["upper"] and s["b"]["lower"] < 0.002 < s["b"]["upper"], s)
    near(s["peak_workers"], (0.95 / 0.002) ** 0.5, "where more workers are slower", 0.05)
    one_sentence(run(p, "trend", "--input", amdahl, "--metric", "t", "--over", "workers", "--law", "usl", expect=2), "fits a throughput", "calibrax")
    one_sentence(run(p, "trend", "--input", usl, "--metric", "rate", "--over", "workers", "--law", "amdahl", expect=2), "fits a time", "calibrax")


def names_that_no_run_has(p):
    path = write(p, "r.json", RUN)
    one_sentence(run(p, "compare", "--input", path, "--pareto", "latency,latancy", expect=2), "no point has the metric 'latancy'", "calibrax")
    one_sentence(run(p, "compare", "--rank", "--input", path, "--by", "framwork", expect=2), "no point has the tag 'framwork'", "calibrax")


def scaling_faults(p):
    few = write(p, "r.json", sized([(1, 1.0), (2, 2.0), (4, 4.0), (0, 1.0), (8, float("nan"))]))
    for args, part in ((["--over", "n"], "'--over' needs '--metric'"), (["--metric", "t", "--over", "n"], "3 different values"),
                       (["--metric", "u", "--over", "n"], "'u'"), (["--metric", "t", "--over", "framework"], "'framework'"),
                       (["--metric", "t", "--over", "n", "--law", "moore"], "'moore'"), (["--metric", "t", "--over", "n", "--law", "amdahl", "--level", "2"], "level")):
        one_sentence(run(p, "trend", "--input", few, *args, expect=2), part, "calibrax")
    other = sized([(8, 8000.0)])
    other["metric_defs"]["t"]["unit"] = "ms"
    one_sentence(run(p, "trend", "--input", few, "--input", write(p, "ms.json", other), "--metric", "t", "--over", "n", expect=2), "different units, 's' and 'ms'", "calibrax")
    document = ask(p, "trend", "--input", few, "--metric", "t", "--over", "n", "--law", "amdahl")
    equal(document["left_out"], 2, "points that no logarithm takes")


# --- both spellings of one option ---

def metric_and_metrics(p):
    path = write(p, "r.json", RUN)
    run(p, "ingest", "--data", "store", "--input", path, expect=0)
    sizes = write(p, "n.json", sized([(n, 1.0 * n) for n in (1, 2, 4, 8)]))
    for printed, other, *args in (("metrics", "metric", "compare", "--rank", "--input", path, "latency"), ("metrics", "metric", "compare", "--by", "framework", path, "rate"),
                               ("metrics", "metric", "export", "-f", "csv", "--input", path, "--out", "out", "rate"),
                               ("metric", "metrics", "trend", "--over", "n", "--input", sizes, "t"), ("metric", "metrics", "trend", "--data", "store", "rate"),
                               ("metric", "metrics", "show", "--points", "--data", "store", "rate"), ("metric", "metrics", "trend", "--changes", "--data", "store", "rate")):
        answers = [run(p, *args[:-1], "--" + spelling, args[-1]) for spelling in (printed, other)]
        equal(answers[1].stdout, answers[0].stdout, args[0])
        equal(answers[1].returncode, answers[0].returncode, args[0])
        text = run(p, args[0], "--help", expect=0).stdout
        check(f"--{printed} " in text and f"--{other} " not in text, f"one of them is told: {text}")
    for shell in ("bash", "zsh", "fish"):
        check("(null)" not in run(p, "--completion", shell, expect=0).stdout, shell)
    check("(null)" not in run(p, "--man", expect=0).stdout, "manual")
    one_sentence(run(p, "compare", "--rank", "--metrc", "rate", expect=2), "did you mean '--metrics'?", "calibrax")


# --- changepoints ---

def keep(p, values, store="store", metric="t", direction="lower", first=0, machine="m"):
    os.makedirs(p.file(store, "runs"), exist_ok=True)
    for i, v in enumerate(values, first):
        document = dict(RUN, id=f"r{i:04d}", environment={"machine": machine} if machine else {}, timestamp=f"2026-01-{1 + i // 24:02d}T{i % 24:02d}:00:00+00:00", commit=f"{i:040x}",
                        metric_defs={metric: {"name": metric, "unit": "s", "direction": direction}} if direction else {},
                        points=[{"name": "f", "scenario": "s", "tags": {}, "metrics": {metric: {"value": v}}}])
        p.write(f"{store}/runs/r{i:04d}.json", json.dumps(document))


def levels(*parts):
    """Parts of (level, length), with 2 % of noise."""
    at = 0
    values = []
    for level, n in parts:
        values += samples(level, 0.02, n, at)
        at += n
    return values


def changes(document):
    return [(c["run"], c["new"], c["for"]) for c in document["series"][0]["changes"]]


def changes_as_ruptures_has_them(p):
    keep(p, ANSWERS["changes"]["x"])
    for method, wanted in ANSWERS["changes"]["found"].items():
        document = ask(p, "trend", "--changes", "--data", "store", "--method", method, "--penalty", str(ANSWERS["changes"]["penalty"]))
        equal([c["index"] for c in document["series"][0]["changes"]], wanted, method)
    equal([c["index"] for c in ask(p, "trend", "--changes", "--data", "store")["series"][0]["changes"]], ANSWERS["changes"]["found"]["pelt"], "the detector")
    for method in ("window", "e-divisive"):
        document = ask(p, "trend", "--changes", "--data", "store", "--method", method)
        found = [c["index"] for c in document["series"][0]["changes"]]
        check(document["exploratory"] and not ask(p, "trend", "--changes", "--data", "store")["exploratory"], "the plain methods are marked")
        has(run(p, "trend", "--changes", "--data", "store", "--method", method, expect=0).stdout, "; exploratory: this method has no bound on false alarms")
        check(any(abs(i - 30) <= 3 for i in found), f"{method} sees the greatest: {found}")


def changes_are_of_one_machine(p):
    keep(p, levels((10, 20)), machine="m1")
    keep(p, levels((12, 12)), first=20, machine="m2")
    one_sentence(run(p, "trend", "--changes", "--data", "store", "--check", expect=2), "--machine", "calibrax")
    run(p, "trend", "--changes", "--data", "store", "--check", "--machine", "m1", expect=0)
    one_sentence(run(p, "trend", "--data", "store", expect=2), "'f@s{}:t' has values of different machines: choose one with --machine", "calibrax")
    equal(len(ask(p, "trend", "--data", "store", "--machine", "m2")["series"][0]["points"]), 12, "one machine")
    done = run(p, "trend", "--data", "store", "--allow-other-machine", expect=0)
    one_sentence(done, "note: 'f@s{}:t' has values of different machines", "calibrax")
    equal(done.stdout.count("2026-"), 32, "values of both")
    has(run(p, "trend", "--changes", "--data", "store", "--check", "--allow-other-machine", expect=1).stderr, "note: 'f@s{}:t' has values of different machines")


def runs_that_name_no_machine(p):
    """As the Python package writes them: taken, and said once; beside runs that name one they are of another."""
    keep(p, levels((10, 12)), machine=None)
    keep(p, levels((10, 12)), metric="u", first=12, machine=None)
    for command in (("trend",), ("trend", "--changes")):
        one_sentence(run(p, *command, "--data", "store", expect=0), "note: no run of 'f@s{}:t' names its machine", "calibrax")
    keep(p, levels((10, 1)), first=24)
    one_sentence(run(p, "trend", "--data", "store", "--metric", "t", expect=2), "different machines", "calibrax")
    equal(len(ask(p, "trend", "--data", "store", "--metric", "t", "--machine", "-")["series"][0]["points"]), 12, "those that name none")


def tendencies(p):
    keep(p, [10 * (1 + 0.02 * i) + 0.05 * (i % 4) for i in range(30)])
    for direction, word in (("lower", "degrading"), ("higher", "improving"), (None, "rising")):
        keep(p, [10 * 1.6], first=30, direction=direction)
        found = ask(p, "trend", "--data", "store", "--tendency")["series"][0]["tendency"]
        equal((found["word"], found["kind"], found["values"]), (word, "rising", 31), "by the direction that the newest run says")
        check(0 < found["lower"] <= found["slope"] <= found["upper"] < 0.03, found)
    has(run(p, "trend", "--data", "store", "--tendency", expect=0).stdout, "Tendency: rising, +1.")
    check("tendency" not in ask(p, "trend", "--data", "store")["series"][0], "not asked for")
    (path,) = run(p, "trend", "--data", "store", "--figure", "svg", "-o", "figures", expect=0).stdout.splitlines()
    check(path.startswith("figures/convergence-") and path.endswith(".svg") and "<svg" in open(p.file(path), encoding="utf-8").read(), path)
    run(p, "trend", "--data", "store", "--figure", "svg", "-o", "figures", expect=0)  # the same again is no conflict
    keep(p, [10, 11, 12, 11], store="dated")
    (path,) = run(p, "trend", "--data", "dated", "--figure", "svg", "-o", "dated-figures", expect=0).stdout.splitlines()
    drawn = open(p.file(path), encoding="utf-8").read()
    check(re.search(r'class="tick-x"[^>]*>01-01 \d\d:\d\d<', drawn) and ">time of the run (UTC)<" in drawn, f"dates along x: {drawn}")
    check(re.search(r'class="label-y"[^>]*>t \[s\]<', drawn), f"the unit along y: {drawn}")
    one_sentence(run(p, "trend", "--data", "store", "--figure", "csv", expect=2), "'--figure' must be svg, pdf or png, got 'csv'", "calibrax")
    one_sentence(run(p, "trend", "--data", "store", "--figure", "svg", "--json", expect=2), "exclude each other", "calibrax")
    one_sentence(run(p, "trend", "--data", "store", "-o", "x", expect=2), "needs '--figure'", "calibrax")


def an_ambiguous_newest_run(p):
    """A gate on the newest value must know that it is the newest."""
    keep(p, levels((10, 30)))
    gate = ("trend", "--changes", "--data", "store", "--check")
    equal(run(p, *gate, expect=0).stderr, "", "nothing to say")
    p.write("store/runs/torn.json", '{"id": "torn", "timest')
    has(run(p, *gate, expect=2).stderr, "it may be the latest run: repair it or remove it")
    run(p, *gate[:-1], expect=0)
    os.remove(p.file("store/runs/torn.json"))
    keep(p, [10.0], first=40, metric="other")
    has(run(p, *gate, expect=2).stderr, "1 of 2 series have no value in the newest run, 'r0040': 'f@s{}:t'; choose")
    reported = run(p, *gate, "--allow-dropped", expect=0).stderr
    has(reported, "note: 1 of 2 series have no value in the newest run, ")
    has(reported, "note: 'f@s{}:other' has 1 of the 16 values that an alarm needs")
    one_sentence(run(p, *gate[:-1], "--allow-dropped", expect=2), "'--allow-dropped' needs '--check'", "calibrax")
    has(run(p, *gate, "--metric", "other", expect=3).stderr, "'f@s{}:other' has 1 of the 16 values that an alarm needs")
    keep(p, [10.0], first=41)
    with open(p.file("store/runs/r0041.json"), encoding="utf-8") as f:
        text = f.read()
    p.write("store/runs/r0041.json", text.replace("2026-01-02", "9026-01-02"))
    has(run(p, *gate, expect=2).stderr, "in the future: correct it")


def a_change_to_no_number(p):
    keep(p, levels((10, 20)) + [float("nan")])
    has(run(p, "trend", "--changes", "--data", "store", "--check", expect=1).stderr, "not a finite number in the newest run")
    keep(p, [10.0], first=21)
    run(p, "trend", "--changes", "--data", "store", "--check", expect=0)


def a_change_without_a_definition(p):
    keep(p, levels((10, 20), (12, 12)), direction=None)
    one_sentence(run(p, "trend", "--changes", "--data", "store", "--check", expect=2), "no definition", "calibrax")
    run(p, "trend", "--changes", "--data", "store", expect=0)


def what_is_new_since_the_last_look(p):
    keep(p, levels((10, 20), (12, 12)))
    look = ["--data", "store", "--state", "kept/state.json"]
    equal(changes(ask(p, "trend", "--changes", *look)), [("r0020", True, "worse")], "the first look")
    equal(changes(ask(p, "trend", "--changes", *look)), [("r0020", False, "worse")], "the second")
    run(p, "trend", "--changes", *look, "--check", expect=0)
    keep(p, levels((12, 20), (9, 12)), first=32)
    document = ask(p, "trend", "--changes", *look, "--new-only")
    equal((changes(document), document["series"][0]["unseen"]), ([("r0052", True, "better")], 32), "what was received")
    has(run(p, "trend", "--changes", *look, "--new-only", expect=0).stdout, "0 new, 0 values since the last check")
    with open(p.file("kept/state.json"), encoding="utf-8") as f:
        whole = f.read()
    for cut in range(len(whole) - 1):
        p.write("kept/state.json", whole[:cut])
        one_sentence(run(p, "trend", "--changes", *look, expect=2), "state.json", "calibrax")
    os.remove(p.file("kept/state.json"))
    run(p, "trend", "--changes", *look, "--check", expect=1)
    for text, part in (('{"schema"', "state.json"), ('{"schema":"x"}', "not a state file of changes: name another"), ('{"schema":"calibrax-changepoints-state","version":2}', "the newer program"),
                       ('{"schema":"calibrax-changepoints-state","version":1,"series":[]}', "'series'")):
        p.write("kept/state.json", text)
        one_sentence(run(p, "trend", "--changes", *look, expect=2), part, "calibrax")
        with open(p.file("kept/state.json"), encoding="utf-8") as f:
            equal(f.read(), text, "it stays")


def a_series_of_two_units(p):
    keep(p, levels((10, 20)))
    for i in range(20, 32):
        document = dict(RUN, id=f"r{i:04d}", environment={"machine": "m"}, timestamp=f"2026-01-{1 + i // 24:02d}T{i % 24:02d}:00:00+00:00",
                        metric_defs={"t": {"name": "t", "unit": "ms", "direction": "lower"}}, points=[{"name": "f", "scenario": "s", "tags": {}, "metrics": {"t": {"value": 11000.0 + i}}}])
        p.write(f"store/runs/r{i:04d}.json", json.dumps(document))
    for command in (["trend", "--changes", "--check"], ["trend", "--metric", "t"], ["watch", "--metric", "t", "--error", "1e6", "--for", "0"]):
        one_sentence(run(p, *command, "--data", "store", expect=2), "is in 's' in run 'r0000' and in 'ms' in run 'r0020'", "calibrax")
    run(p, "trend", "--changes", "--check", "--data", "store", "--until", "2026-01-01T20:00:00Z", expect=0)
    has(run(p, "trend", "--metric", "t", "--n-runs", "3", "--data", "store", expect=0).stdout, "11031")


def a_fresh_measurement_confirms(p):
    keep(p, levels((10, 20), (11, 12)))

    def fresh(name, base, n=12, **more):
        x = samples(base, 0.02, n)
        document = dict(RUN, id=name, timestamp="2025-01-01T00:00:00+00:00", branch="anew",
                        points=[{"name": "f", "scenario": "s", "tags": {}, "metrics": {"t": {"value": x[0], "samples": x}}}])
        p.write(f"store/runs/{name}.json", json.dumps(dict(document, **more)))
        return name
    before, slower, same, few = fresh("fine", 10), fresh("slower", 11), fresh("same", 10.001), fresh("few", 11, 1)
    look = ["--data", "store", "--since", "2026-01-01", "--check"]
    for after, status, word in ((slower, 1, "confirmed"), (same, 0, "refuted"), (few, 3, "undecided")):
        found = ask(p, "trend", "--changes", *look, "--threshold", "0.02", "--before", before, "--after", after, expect=status)["series"][0]["changes"][0]["confirmation"]
        equal(found["verdict"], word, after)
        has(run(p, "trend", "--changes", *look, "--threshold", "0.02", "--before", before, "--after", after, expect=status).stdout, word)
    found = ask(p, "trend", "--changes", *look, "--before", before, "--after", slower, expect=1)["series"][0]["changes"][0]["confirmation"]
    check(found["lower"] < 0.1 < found["upper"], found)
    one_sentence(run(p, "trend", "--changes", *look, "--before", before, expect=2), "'--before' needs '--after'", "calibrax")
    one_sentence(run(p, "trend", "--changes", *look, "--before", before, "--after", "nobody", expect=2), "nobody", "calibrax")
    one_sentence(run(p, "trend", "--changes", *look, "--before", before, "--after", f"{slower},{before}", expect=2), "is in both --before and --after", "calibrax")
    elsewhere = fresh("elsewhere", 11, environment={"machine": "cbx1-other"})
    one_sentence(run(p, "trend", "--changes", *look, "--before", before, "--after", elsewhere, expect=2), "different machines", "calibrax")
    has(run(p, "trend", "--changes", *look, "--allow-other-machine", "--before", before, "--after", elsewhere, expect=1).stderr, "note: ")
    unit = fresh("unit", 11, metric_defs={"t": dict(RUN["metric_defs"].get("t", {"name": "t", "direction": "lower"}), unit="us")})
    one_sentence(run(p, "trend", "--changes", *look, "--before", before, "--after", unit, expect=2), "measure again in one unit", "calibrax")


def an_unknown_order_is_refused(p):
    """Two values of one run merge into no series, and a gate knows the order and the direction of the runs that it judges."""
    def put(store, i, **members):
        with open(p.file(f"{store}/runs/r{i:04d}.json"), encoding="utf-8") as f:
            document = json.load(f)
        p.write(f"{store}/runs/r{i:04d}.json", json.dumps(dict(document, **members)))
    step = levels((10, 20), (12, 12))
    keep(p, step, "twice")
    point = {"name": "f", "scenario": "s", "tags": {}, "metrics": {"t": {"value": 10.0}}}
    put("twice", 7, points=[point, point])
    for args in ([], ["--check"]):
        one_sentence(run(p, "trend", "--changes", "--data", "twice", *args, expect=2), "run 'r0007' has two points of 'f@s{}:t'", "calibrax")
    keep(p, step, "equal")
    for i in range(32):
        put("equal", i, timestamp="2026-01-01T00:00:00+00:00")
    run(p, "trend", "--changes", "--data", "equal", expect=0)
    one_sentence(run(p, "trend", "--changes", "--data", "equal", "--check", expect=2), "so their order is unknown", "calibrax")
    keep(p, step, "turned")
    put("turned", 31, metric_defs={"t": {"name": "t", "unit": "s", "direction": "higher"}})
    one_sentence(run(p, "trend", "--changes", "--data", "turned", "--check", expect=2), "has direction 'lower' in run 'r0000' and 'higher' in run 'r0031'", "calibrax")
    for method in ("pelt", "binary", "window", "e-divisive"):
        one_sentence(run(p, "trend", "--changes", "--data", "twice", "--method", method, "--check", expect=2), "exclude each other", "calibrax")


def alarms_and_proposals(p):
    """A lone last value is no change; a step is proposed first, and an alarm, new once, when it is sure."""
    keep(p, levels((10, 39)) + [15.0], "lone")
    equal(ask(p, "trend", "--changes", "--data", "lone", "--check")["series"][0]["changes"], [], "50 % more in the last run")
    keep(p, levels((10, 40)), "step")
    look = ["--data", "step", "--check", "--state", p.file("seen.json")]
    status = []
    for i, v in enumerate(samples(11, 0.02, 10, 40)):
        keep(p, [v], "step", first=40 + i)
        done = run(p, "trend", "--changes", *look, "--json", expect=None)
        status.append(done.returncode)
        for c in json.loads(done.stdout)["series"][0]["changes"]:
            check(c["alarm"] or not status[-1], "only alarms fail")
    equal((status[0], status.count(1), status[-1]), (0, 1, 0), f"one failure: {status}")


def changepoint_text_and_faults(p):
    keep(p, levels((10, 20), (12, 12)) + [float("nan")])
    for args, part in ((["--threshold", "0.1", "--check"], "'--threshold' needs '--before'"), (["--level", "0.9"], "'--level' needs '--over' or '--before'"), (["--window", "5"], "--method window"),
                       (["--alpha", "0.1"], "--method e-divisive"), (["--method", "pelt", "--seed", "2"], "--method e-divisive"), (["--method", "e-divisive", "--penalty", "3"], "'--penalty' needs '--method pelt'")):
        one_sentence(run(p, "trend", "--changes", "--data", "store", *args, expect=2), part, "calibrax")
    text = run(p, "trend", "--changes", "--data", "store", expect=0).stdout
    for part in ("f@s{}:t", "1 change in 1 of 1 series; 1 value is not finite", "r0020", "00000000", "+20.", "worse"):
        has(text, part)
    check("▁" not in text and "\033" not in text, "plain when piped")
    painted = terminal(p, "trend", "--changes", "--data", "store")
    has(painted, "▁")
    has(painted, "\033[1;31m+20")
    keep(p, levels((10, 30)), "quiet")
    has(run(p, "trend", "--changes", "--data", "quiet", "--check", expect=0).stdout, "no change")
    keep(p, levels((10, 20), (12, 12)), "up", "rate", "higher")
    run(p, "trend", "--changes", "--data", "up", "--check", expect=0)
    keep(p, levels((10, 20), (12, 12)), "info", "note", "info")
    equal(changes(ask(p, "trend", "--changes", "--data", "info")), [("r0020", True, None)], "without a better side")
    for args, part in ((["--method", "guess"], "'guess'"), (["--cost", "mean"], "'--cost' needs '--method pelt', '--method binary' or '--method window'"), (["--method", "pelt", "--cost", "x"], "'x'"), (["--metric", "u"], "no series in"),
                       (["--new-only"], "--state"), (["--min-segment", "0"], "segment")):
        one_sentence(run(p, "trend", "--changes", "--data", "store", *args, expect=2), part, "calibrax")


main([a_series_of_two_units, names_that_no_run_has, ranks_as_the_package_has_them, ranks_and_chance, ranks_of_equals_and_of_nothing, a_failed_measurement_is_not_ranked_by_its_samples, many_runs_of_one_competitor_are_refused_early, memory_does_not_follow_the_number_of_runs, compares_as_the_package_does, speed_ups_have_intervals_and_remarks,
      compare_within_runs_and_faults, differences_of_every_kind, no_differences, fronts_as_the_package_has_them, what_lacks_an_objective,
      growth_as_the_package_has_it, laws_of_workers, scaling_faults, metric_and_metrics, changes_as_ruptures_has_them, changes_are_of_one_machine, runs_that_name_no_machine, tendencies, a_change_to_no_number, an_ambiguous_newest_run, a_change_without_a_definition, what_is_new_since_the_last_look,
      a_fresh_measurement_confirms, an_unknown_order_is_refused, alarms_and_proposals, changepoint_text_and_faults])
