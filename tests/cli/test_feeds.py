"""What is made of rows for others: bundle, op_matrix feed, coverage, growth, and the drift manifest."""
import json
import math

import made_rows
from harness import Skip, check, equal, has, main, one_sentence, sanitized
from made_rows import row

POINT = {"m": 64, "n": 64, "alg": "log", "seed": 0}


def matmul(run=0, baseline="stream", seconds=1e-3, point=None, vs="stream", ratio=None, **more):
    return row(run, case="semiring_matmul", baseline=baseline, seconds=seconds, noise=0.0, point=point or POINT, representative=True,
               ratio={"vs": vs, "metric": "min", "value": ratio} if ratio else None, **more)


def rows(p, *all_rows, name="rows.jsonl"):
    return p.write(name, made_rows.text(all_rows))


def bundle(p):
    rows(p, matmul(0, ratio=1.0), matmul(0, "tiled", 2e-4, ratio=0.2), matmul(1, ratio=1.0), matmul(1, "tiled", 1e-4, ratio=0.1),
         matmul(2, "tiled", status="timeout"), matmul(1, "tiled", 9.0, point=dict(POINT, m=128)),
         matmul(1, "tiled", 9.0, machine="x" * 32, point=POINT | {"seed": 7}), matmul(3, "stream", point=POINT | {"seed": 7}, ratio=1.0))
    b = json.loads(p.run("bundle", "--from", "rows.jsonl", "--report", "b.md", "--point", json.dumps(POINT), "--machine", "mmm", expect=0).stdout)
    equal((b["schema"], b["version"], b["recommendation"], b["ratio_reference"]), ("nperf-bundle", 1, None, "stream"), "head")
    equal(b["op"], "nitrix.semiring.semiring_matmul", "operation")
    equal(b["point"], {"m": 64, "n": 64, "alg": "log"}, "no seed")
    tiled = b["platforms"]["cpu"]["baselines"]["tiled"]
    equal((tiled["status"], tiled["ratio_vs_reference"]), ("ok", 0.1), "the newest good row, not the failed one")
    equal(tiled["within_fidelity_threshold"], True, "0.1 of its bound")
    equal([t["ratio_vs_reference"] for t in b["platforms"]["cpu"]["trend"]["tiled"]], [0.2, 0.1], "oldest first, good ones only")
    equal(len(b["platforms"]["cpu"]["trend"]["stream"]), 3, "whatever the seed")
    with open(p.file("b.md"), encoding="utf-8") as f:
        has(f.read(), "- tiled: 0.2, 0.1", "markdown")
    both = p.run("bundle", "--from", "rows.jsonl", "--point", json.dumps(POINT), "--machine", "mmm", "--bundle-out", "b.json", "--json", expect=0).stdout
    with open(p.file("b.json"), encoding="utf-8") as f:
        equal((json.load(f), json.loads(both)), (b, b), "to a file and to standard output")
    done = p.run("bundle", "--from", "rows.jsonl", "--machine", "mmm", expect=0)
    has(done.stderr, "those of 1 other (xxxxxxxxxxxx) are left out; --machine selects another", "the other machine is not passed over in silence")
    one_sentence(p.run("bundle", "--from", "rows.jsonl", "--point", '{"m":3}', expect=2), 'at the point {"m":3}')
    one_sentence(p.run("bundle", "--from", "rows.jsonl", "--point", "{", expect=2), "is not a JSON object")
    one_sentence(p.run("bundle", "--from", "rows.jsonl", "--case", "none", expect=2), "no row is of the case 'none'")
    one_sentence(p.run("bundle", "--from", "rows.jsonl", "--machine", "zz", expect=2), "machine 'zz'")


def feed(p):
    rows(p, matmul(0, ratio=1.0), matmul(0, "naive-dense", 4e-3, ratio=4.0), matmul(0, "torch-dense", 8e-3),
         matmul(0, "stream", 2e-3, platform="cuda12", ratio=1.0), matmul(0, "naive-dense", platform="cuda12", status="oom"))
    done = p.run("feed", "--from", "rows.jsonl", expect=0)
    has(done.stderr, "the library's side is 'stream', the reference of the rows' ratios; --primary names another", "it is told")
    f = json.loads(done.stdout)["nitrix.semiring.semiring_matmul"]
    equal((f["perf_cpu_baseline"], f["perf_cpu_ratio"]), ("naive-dense", 0.25), "below 1: the library is faster")
    equal((f["perf_gpu_baseline"], f["perf_gpu_ratio"]), (None, None), "a side that failed")
    equal(f["_meta"]["notes"], {"gpu": "'naive-dense' is oom"}, "and why")
    equal((f["_meta"]["primary"], f["_meta"]["reference"]), ("stream", "naive-dense"), "the two sides")
    f = json.loads(p.run("feed", "--from", "rows.jsonl", "--reference", "torch-dense", expect=0).stdout)["nitrix.semiring.semiring_matmul"]
    equal(f["perf_cpu_ratio"], 0.125, "another reference")
    done = p.run("feed", "--from", "rows.jsonl", "--primary", "torch-dense", "--json", expect=0)
    check("library's side" not in done.stderr, "who names it knows")
    d = json.loads(done.stdout)
    equal((d["schema"], d["version"], d["case"], d["applied_to"], d["out"]), ("nperf-feed", 1, "semiring_matmul", None, None), "head")
    f = d["fragment"]["nitrix.semiring.semiring_matmul"]
    equal((f["perf_cpu_ratio"], f["_meta"]["primary"], f["_meta"]["primary_rule"]), (2.0, "torch-dense", "as named"), "another primary")

    matrix = {"host": "h", "ops": [{"qualname": "other", "perf_cpu_ratio": 9}, {"qualname": "nitrix.semiring.semiring_matmul", "jit": True}]}
    p.write("matrix.json", json.dumps(matrix))
    d = json.loads(p.run("feed", "--from", "rows.jsonl", "--apply", "matrix.json", "--out", "new.json", "--json", expect=0).stdout)
    equal((d["applied_to"], d["unknown_ops"], d["out"]), ("matrix.json", 0, "new.json"), "what became of it")
    with open(p.file("new.json"), encoding="utf-8") as g:
        new = json.load(g)
    equal(new["ops"][0], matrix["ops"][0], "others are as they were")
    equal(new["ops"][1], {"qualname": "nitrix.semiring.semiring_matmul", "jit": True, "perf_cpu_baseline": "naive-dense", "perf_cpu_ratio": 0.25,
                          "perf_gpu_baseline": None, "perf_gpu_ratio": None}, "perf_ fields alone")
    one_sentence(p.run("feed", "--from", "rows.jsonl", "--apply", "matrix.json", expect=2), "--out")
    p.write("bad.json", '{"ops": 3}')
    has(p.run("feed", "--from", "rows.jsonl", "--apply", "bad.json", "--out", "x.json", expect=2).stderr, "ops", "no list")

    fast = {"coverage_mode": "fast"}
    rows(p, matmul(0, ratio=1.0), matmul(0, "naive-dense", 4e-3), matmul(1, "naive-dense", 9e-3, provenance=fast), name="mixed.jsonl")
    f = json.loads(p.run("feed", "--from", "mixed.jsonl", expect=0).stdout)["nitrix.semiring.semiring_matmul"]
    equal(f["perf_cpu_ratio"], 0.25, "a fast run does not count")
    rows(p, matmul(0, provenance=fast), name="fast.jsonl")
    one_sentence(p.run("feed", "--from", "fast.jsonl", expect=2), "runs that skip slow baselines")


def growing(baseline, exponent, sizes, declared=3.0, bump=1.0, **more):
    out = []
    for n in sizes:
        t = 1e-9 * float(n * n) ** (exponent / 2) * (bump if n == max(sizes) else 1)
        r = matmul(0, baseline, t, point={"m": n, "n": n, "alg": "log", "seed": 0}, **more)
        r["metrics"]["work"] = {"gmac_per_s": 1e-9 * float(n * n) ** (declared / 2) / t, "gflop_per_s": None, "gbyte_per_s": None,
                                "roofline_share": None, "bound_s": None}
        out.append(r)
    return out


def growth(p):
    """Work is m n, so a time that grows with n^3 has the exponent 1.5."""
    sizes = [32, 64, 128, 256, 512]
    rows(p, *growing("good", 3, sizes), *growing("few", 3, sizes[:3]), *growing("four", 3, sizes[:4]), *growing("other", 4, sizes),
         *growing("odd", 3, sizes, bump=5))
    lines = {x["baseline"]: x for x in json.loads(p.run("growth", "--from", "rows.jsonl", "--json", expect=0).stdout)["lines"]}
    good = lines["good"]
    check(abs(good["exponent"]["value"] - 1.5) < 0.02 and good["exponent"]["lower"] <= good["exponent"]["upper"], good)
    check(abs(good["declared_exponent"] - 1.5) < 1e-6 and good["trust"] == "validated", good)
    measured = 1e-9 * 512.0 ** 3
    check(math.isclose(good["projected_s"]["value"], measured * 100 ** 1.5, rel_tol=0.2), "a hundred times the work")
    equal({n: lines[n]["trust"] for n in ("few", "four", "other", "odd")},
          {"few": "too few sizes", "four": "untested", "other": "diverges", "odd": "misses"}, "what is not trusted, and why")
    check(all(lines[n]["projected_s"] is None for n in ("few", "four", "other", "odd")), "is not projected")
    done = p.run("growth", "--from", "rows.jsonl", expect=0)
    has(done.stdout, "validated:", "text")
    graph = [row(0, case="g", baseline="b", seconds=1e-9 * n * 16, noise=0.0, point={"n": n, "k": k, "alg": "log"}) for n in sizes for k in (16, 8)]
    rows(p, *graph, *(row(0, case="g", baseline="b", seconds=1e-9 * 99, noise=0.0, point={"n": 99, "k": 3, "alg": "log"}) for _ in range(1)), name="graph.jsonl")
    lines = json.loads(p.run("growth", "--from", "graph.jsonl", "--json", expect=0).stdout)["lines"]
    equal(sorted((x["grows"] or "", x["sizes"]) for x in lines), [("", 1), ("n", 5), ("n", 5)], "one parameter grows, and a point on its own")
    check(all(abs(x["exponent"]["value"] - 1) < 0.02 for x in lines if x["grows"]), lines)
    has(p.run("growth", "--from", "graph.jsonl", expect=0).stdout, "g b, log, by n", "text")
    one_sentence(p.run("growth", "--from", "rows.jsonl", "--level", "1.5", expect=2), "level")


def coverage(p):
    rows(p, matmul(0, ratio=1.0), matmul(0, "naive-dense", 4e-3), row(0, case="strong", baseline="lib", ratio={"vs": "lib", "metric": "min", "value": 1}),
         row(0, case="strong", baseline="torch-op", framework="torch", seconds=1e-4),
         row(0, case="strong", baseline="lib", platform="cuda12", point={"m": 640, "n": 64, "alg": "real", "dtype": "f64", "seed": 0}))
    p.write("ops.json", json.dumps({"ops": [{"qualname": "nitrix.semiring.semiring_matmul"}, {"qualname": "nitrix.semiring.lost"}]}))
    c = json.loads(p.run("coverage", "--from", "rows.jsonl", "--op-matrix", "ops.json", "--json", expect=0).stdout)
    ops = {o["case"]: o for o in c["ops"]}
    equal([ops["semiring_matmul"][k] for k in ("platforms", "reference", "precision", "scale")],
          ["cpu_only", "floor_only", "f32_only", "one_size"], "one point on the CPU against a naive rival")
    equal([ops["strong"][k] for k in ("platforms", "reference", "precision", "scale")],
          ["multiplatform", "strong_ref", "multi_dtype", "declared"], "two platforms and types against another framework")
    equal(ops["strong"]["deficits"], ["cpu_lagging"], "ten times slower than torch")
    check(0.05 < ops["strong"]["worst_ratio"]["cpu"] < 0.15, "by its median")
    equal(ops["array_ops"]["platforms"], "unmeasured", "a case without rows")
    equal(c["unmeasured"], ["nitrix.semiring.lost"], "an operation without a case")
    check("strong" in c["orphans"], "a case without an operation")
    has(p.run("coverage", "--from", "rows.jsonl", expect=0).stdout, "no_strong_reference", "text")


def large_case_does_not_drift(p):
    """The largest case, all of its points and baselines, against itself; its kernels under a sanitizer are the suites' tests."""
    if sanitized():
        raise Skip("sanitizer: the same words under a sanitizer come from the small case")
    p.run("drift", "--case", "semiring_matmul", "--update", "--manifest", "d.json", expect=0, timeout=200)
    has(p.run("drift", "--case", "semiring_matmul", "--manifest", "d.json", expect=0, timeout=200).stdout, "SAME", "nothing drifted")


def drift(p):
    """Every fault that may stand in a manifest, at a case that takes no time."""
    one_sentence(p.run("drift", "--case", "dense_matmul", expect=2, timeout=200), "--update")
    p.run("drift", "--case", "dense_matmul", "--update", "--manifest", "d.json", expect=0, timeout=200)
    has(p.run("drift", "--case", "dense_matmul", "--manifest", "d.json", expect=0, timeout=200).stdout, "SAME", "nothing drifted")
    with open(p.file("d.json"), encoding="utf-8") as f:
        kept = json.load(f)
    one = kept["cases"]["dense_matmul"]
    points = one["points"]
    first, second, third = list(points)[:3]
    one["signature"] += "x"
    name = next(iter(points[first]))
    points[first][name][0]["l1"] *= 1.01
    points[second][name][0]["nan"] += 1
    points[third]["vanished"] = points[third][name]
    points[third][name][0]["l2_squared"] *= 1 + 1e-6
    p.write("d.json", json.dumps(kept))
    done = p.run("drift", "--case", "dense_matmul", "--manifest", "d.json", expect=1, timeout=200)
    for part in ("the signature is", "l1 is", "nan is 0, was 1", "vanished: is in the manifest", "DRIFTED: 4 differences"):
        has(done.stdout, part, "what drifted, and not what is within the tolerance")
    d = json.loads(p.run("drift", "--case", "dense_matmul", "--manifest", "d.json", "--json", expect=1, timeout=200).stdout)
    equal((d["schema"], d["version"], d["drifted"], len(d["findings"])), ("nperf-drift-findings", 1, 4, 4), "the same for programs")
    found = {f["what"]: f for f in d["findings"]}
    equal(sorted(found), ["l1", "nan", "presence", "the signature"], "what")
    equal((found["nan"]["is"], found["nan"]["was"], found["nan"]["output"], found["nan"]["point"]), (0, 1, 0, second), "where")
    equal([f["sentence"] for f in d["findings"]], done.stdout.splitlines()[:4], "in the same words")
    one_sentence(p.run("drift", "--case", "semiring_matmull", expect=2), "semiring_matmull")
    p.write("d.json", json.dumps(dict(kept, cases={})))
    has(p.run("drift", "--case", "dense_matmul", "--manifest", "d.json", expect=1, timeout=200).stdout,
        "dense_matmul: is not in the manifest", "a case that nothing was kept of does not pass")
    p.write("d.json", json.dumps(dict(kept, schema="x")))
    has(p.run("drift", "--case", "dense_matmul", "--manifest", "d.json", expect=2, timeout=200).stderr, "is not a manifest", "foreign")


main([bundle, feed, growth, coverage, large_case_does_not_drift, drift])
