"""calibrax profile: commands and functions, as text, JSON, trace and run."""
import concurrent.futures
import csv
import glob
import itertools
import json
import math
import os
import statistics
import subprocess
import sys

from harness import BUILD, CALIBRAX, SOURCE, check, equal, fake_gpu, has, main, one_sentence

PLUGIN = os.path.abspath(os.path.join(BUILD, "tests/cli/libprofile_plugin.so"))
TRACE_RULES = os.path.join(SOURCE, "tests/profiling/check_trace.py")


def run(p, *args, **more):
    return p.run("profile", *args, program=CALIBRAX, **more)


def report(p, *args, **more):
    document = json.loads(run(p, "--json", *args, expect=0, **more).stdout)
    equal((document["schema"], document["version"]), ("calibrax-profile", 1), "schema")
    return document


def a_command(p):
    document = report(p, "-n", "6", "--", "sleep", "0.1")
    metrics = document["metrics"]
    wall = metrics["wall_time"]
    equal((document["kind"], document["subject"], document["samples"]), ("command", "sleep 0.1", 6), "what was run")
    equal((len(wall["samples"]), wall["unit"], wall["direction"]), (6, "s", "lower"), "wall time")
    check(0.1 <= wall["lower"] <= wall["value"] <= wall["upper"], wall)
    check(metrics["cpu_percent"]["value"] < 50, "it slept")
    check(0 < metrics["max_rss"]["value"] < 50, metrics["max_rss"])
    equal({metrics[name]["direction"] for name in ("cpu_user", "cpu_system", "major_faults")}, {"info"}, "0 as a rule, and no baseline for a ratio")
    check(all(m["value"] > 0 for m in metrics.values() if m["direction"] == "lower"), "what a check will hold later runs against")


def what_was_not_sampled_is_missing(p):
    """A process that ends before a second sample: its memory is unknown, not the page that it began with."""
    metrics = report(p, "-n", "2", "-w", "0", "--sample-ms", "3000000", "--", "true")["metrics"]
    check("wall_time" in metrics and "peak_rss" not in metrics, sorted(metrics))
    has(" ".join(report(p, "-n", "2", "-w", "0", "--sample-ms", "3000000", "--", "true")["remarks"]), "2 of 2 runs ended before the second sample")
    check("max_rss" not in metrics or metrics["max_rss"]["value"] > 0.1, metrics.get("max_rss"))


def the_tree_is_counted(p):
    program = p.write("family.py", "import subprocess, sys, time\n"
                      "subprocess.run([sys.executable, '-S', '-c', 'import time; x = bytearray(b\"1\") * (70 << 20); s = sum(range(3000000)); time.sleep(0.5)'])\n")
    metrics = report(p, "-n", "1", "-w", "0", "--", os.path.realpath(sys.executable), "-S", program)["metrics"]
    check(metrics["max_rss"]["value"] > 70, "memory of the child")
    check(metrics["cpu_user"]["value"] + metrics["cpu_system"]["value"] > 0.02, "CPU time of the child")
    equal(metrics["cpu_time"]["value"], metrics["cpu_user"]["value"] + metrics["cpu_system"]["value"], "of one run, the sum")
    check(metrics["peak_processes"]["value"] >= 2, "both")


def groups_of(samples):
    """Sizes of the groups of more than one, by the rule of statistics/series.h: gaps of logarithms above 3 Qn, 6 Qn beside fewer than three."""
    at = [math.log(x) for x in sorted(samples)]
    n, h = len(at), len(at) // 2 + 1
    gaps = sorted(b - a for a, b in itertools.combinations(at, 2))
    scale = max(gaps[h * (h - 1) // 2 - 1] / (math.sqrt(2) * statistics.NormalDist().inv_cdf(0.625)), 1e-3)
    sizes, start = [], 0
    for i in range(1, n + 1):
        few = i - start < 3 or n - i < 3
        if i == n or at[i] - at[i - 1] > (6 if few else 3) * scale:
            sizes.append(i - start)
            start = i
    return [size for size in sizes if size > 1]


def groups_are_reported(p):
    """The remark agrees with the samples, however busy the machine was: with quiet ones, that they are 5 and 5."""
    equal(groups_of([0.03, 0.03003, 0.03006, 0.03003, 0.03, 0.3, 0.3003, 0.30015, 0.3, 0.30006]), [5, 5], "a quiet machine")
    program = p.write("two.sh", 'n=$(cat n 2> /dev/null || echo 0); echo $((n + 1)) > n; if [ $((n % 2)) = 0 ]; then sleep 0.3; else sleep 0.03; fi\n')
    document = report(p, "-n", "10", "-w", "0", "--", "sh", program)
    times = sorted(document["metrics"]["wall_time"]["samples"])
    check(len(times) == 10 and times[0] >= 0.03 and times[5] >= 0.3, f"half of them slept for 0.3 s: {times}")
    groups = groups_of(times)
    printed = [remark for remark in document["remarks"] if " groups: " in remark]
    equal(len(printed), len(groups) > 1, f"said if there are groups: {groups} of {times}, {document['remarks']}")
    if printed:
        has(printed[0], f"has {len(groups)} groups: {groups[0]} of 10 about", f"{times}")


def text(p):
    out = run(p, "-n", "6", "--", "sh", "-c", "echo out; echo err >&2; sleep 0.3", expect=0)
    has(out.stdout, "6 runs")
    for part in ("time", "memory, one process", "page faults", "[95 % interval]"):
        has(out.stdout, part)
    check("out\n" not in out.stdout, "the command's own output is not in it")
    equal(out.stderr.count("err"), 7, "its errors are, the warm-up's too")
    has(run(p, "-n", "1", "--show-output", "--", "echo", "seen", expect=0).stdout, "seen\n")


def a_trace(p):
    path = p.file("trace.json")
    run(p, "-n", "2", "--trace", path, "--", "sleep", "0.05", expect=0)
    done = subprocess.run([sys.executable, TRACE_RULES, path], capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""), "rules of the format")
    with open(path, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    equal([e["name"] for e in spans], ["sleep", "sleep"], "a span a run")
    check(all(50e3 <= e["dur"] < 600e6 for e in spans), f"microseconds: {spans}")
    check({"resident", "CPU", "threads"} <= {e["name"] for e in events if e["ph"] == "C"}, "counters")


def a_run_in_a_store(p):
    store = p.file("store")
    document = report(p, "-n", "6", "--data", store, "--name", "nap", "--", "sleep", "0.01")
    files = os.listdir(os.path.join(store, "runs"))
    equal(files, [document["run"] + ".json"], "one run")
    with open(os.path.join(store, "runs", files[0]), encoding="utf-8") as f:
        kept = json.load(f)
    point = kept["points"][0]
    equal((point["name"], point["scenario"], point["tags"]), ("nap", "profile", {"kind": "command"}), "point")
    equal(point["metrics"]["wall_time"]["samples"], document["metrics"]["wall_time"]["samples"], "samples")
    equal(set(point["metrics"]), set(kept["metric_defs"]), "each metric is defined")
    equal((kept["metric_defs"]["wall_time"]["direction"], kept["metric_defs"]["wall_time"]["priority"]), ("lower", "primary"), "definition")
    check("machine" in kept["environment"], "machine")
    report(p, "-n", "1", "--data", store, "--", "true")
    equal(len(os.listdir(os.path.join(store, "runs"))), 2, "a second one")


def a_function(p):
    document = report(p, "--plugin", PLUGIN, "--function", "add_up", "-n", "9")
    metrics = document["metrics"]
    equal((document["kind"], document["samples"]), ("function", 9), "samples")
    check(document["calls_per_sample"] > 1, "many calls a window")
    check(1000 * 0.1e-9 < metrics["call_time"]["value"] < 0.1, f"seconds: {metrics['call_time']}")
    check(metrics["clock_share"]["value"] < 1, "per cent")
    has(run(p, "--plugin", PLUGIN, "--function", "add_up", "-n", "9", expect=0).stdout, "samples of ")


def work_of_a_function(p):
    document = report(p, "--plugin", PLUGIN, "--function", "add_up", "-n", "6", "--flops")
    metrics = document["metrics"]
    remark = " ".join(document["remarks"])
    check(any("work: by " + source in remark for source in ("declared", "papi", "perf_event")), remark)
    check(document["work"]["source"] in remark, "the same for programs")
    check("by declared" not in remark or "no better source" in remark, "why it is only declared")
    equal(metrics["bytes"]["value"], 16, "as declared")
    check(900 <= metrics["flop"]["value"] <= 1200, metrics["flop"])
    rate = metrics["flop"]["value"] / metrics["call_time"]["value"]
    check(abs(metrics["flop_per_s"]["value"] / rate - 1) < 1e-9, "of the steady call")
    remark = " ".join(report(p, "--plugin", PLUGIN, "--function", "add_up", "-n", "6", "--flops", "--roofline")["remarks"])
    check("bound by" in remark, remark)
    done = run(p, "--plugin", PLUGIN, "--function", "add_up", "-n", "2", "--flops", "--roofline", "--dtype", "bfloat16", "--json")
    if done.returncode:  # a CPU without such instructions
        one_sentence(done, "no roof of 'bfloat16': ", "calibrax")
    else:
        check(any("bound by" in r or "no roofline" in r for r in json.loads(done.stdout)["remarks"]), done.stdout)


def work_of_arrays(p):
    document = report(p, "--plugin", PLUGIN, "--function", "product", "--shapes", "float32:64x32,float32:32x48", "-n", "6")
    metrics = document["metrics"]
    equal(metrics["flop"]["value"], 2 * 64 * 32 * 48, "2 M N K")
    equal(metrics["transcendental"]["value"], 64 * 48, "an exp each")
    equal(metrics["bytes_least"]["value"], 4 * (64 * 32 + 32 * 48 + 64 * 48), "operands and result")
    equal(document["work"], {"source": "trace", "nominal": False, "at_least": False, "dearest_branch": False}, "and where it comes from")
    check("work: by trace" in document["remarks"], document["remarks"])
    check("roofline" not in document, "not asked for")
    placed = report(p, "--plugin", PLUGIN, "--function", "product", "--shapes", "float32:64x32,float32:32x48", "-n", "6", "--roofline", "--data", "store")
    roof = placed["roofline"]
    equal((roof["bound"] in ("memory", "compute"), roof["alignment"], placed["metrics"]["alignment"]["value"]), (True, 0.8, 0.8), "rows of 32")
    equal(["try: " + hint for hint in roof["recommendations"]], [r for r in placed["remarks"] if r.startswith("try: ")], "what to try")
    check(any("rows of 32 elements" in hint for hint in roof["recommendations"]) or roof["beyond_roof"], roof)
    check(abs(100 * roof["efficiency"] / placed["metrics"]["efficiency"]["value"] - 1) < 1e-12, roof)
    with open(p.file("store", "runs", placed["run"] + ".json"), encoding="utf-8") as f:
        equal(json.load(f)["metadata"]["roofline"], roof, "in the run")
    check(metrics["max_rss"]["value"] > 0, "memory")


def a_compiled_function(p):
    args = ["--plugin", PLUGIN, "--function", "product", "--shapes", "float32:64x32,float32:32x48", "-n", "6", "--graph"]
    document = report(p, *args)
    graph, metrics = document["graph"], document["metrics"]
    check("matmul" in graph["operations"] and graph["operations"].startswith("product(%0:float32 (64, 32)"), graph["operations"])
    equal({w["primitive"]: (w["calls"], w["flop"], w["transcendental"]) for w in graph["primitives"] if w["primitive"] != "reshape"},
          {"matmul": (1, 2 * 64 * 32 * 48, 0), "exp": (1, 0, 64 * 48)}, "the work of each primitive")
    last = graph["steps"][-1]
    equal((last["kernel"], last["transcendental"], last["bytes_read"], last["bytes_written"]), (True, 64 * 48, 4 * 64 * 48, 4 * 64 * 48), "the kernel behind the product")
    equal(len(graph["steps"]), metrics["steps"]["value"], "steps")
    equal(sum(step["kernel"] for step in graph["steps"]), metrics["kernels"]["value"], "kernels")
    equal(sum(step["bytes_read"] + step["bytes_written"] for step in graph["steps"]), metrics["bytes_fused"]["value"], "bytes")
    check(-1e-15 < metrics["predicted_time"]["value"] - sum(step["predicted_s"] for step in graph["steps"]) < 1e-4, "predicted time: all steps, and the call")
    equal(metrics["peak_live_bytes"]["value"], 4 * (64 * 32 + 32 * 48 + 2 * 64 * 48), "operands, the product and the result")
    stages = ["trace_s", "simplify_s", "plan_s", "kernels_s", "code_s"]
    check(all(graph["compile"][stage] > 0 for stage in stages), graph["compile"])
    check(abs(sum(graph["compile"][stage] for stage in stages) / metrics["compile_time"]["value"] - 1) < 1e-9, "stages sum up")
    if graph["compile"]["emitter"] == "llvm":
        check(graph["compile"]["code_bytes"] > 100, "machine code")
    printed = run(p, *args, expect=0).stdout
    for part in ("operations, simplified", "by primitive, traced", "step, compiled", "machine code", "kernel over (3072)"):
        has(printed, part)
    document = report(p, *args, env={"CALIBRAX_BACKEND": "reference"})
    check("graph" not in document and any("does not compile functions" in r for r in document["remarks"]), document["remarks"])


def a_python_function(p):
    p.write("work.py", "import sys\n\ndef f():\n    print('words')\n    return sum(range(2000))\n\ndef bad():\n    raise KeyError('x')\n")
    document = report(p, "--module", "work", "--function", "f", "-n", "8", "--data", "store", "--trace", "t.json")
    metrics = document["metrics"]
    equal((document["kind"], document["subject"], document["samples"]), ("function", "f", 8), "what was timed")
    check(document["calls_per_sample"] > 1 and metrics["call_time"]["value"] > metrics["empty_call"]["value"], metrics)
    equal(len(metrics["call_time"]["samples"]), 8, "samples")
    check(metrics["max_rss"]["value"] > 3, "the interpreter's memory")
    with open(p.file("store", "runs", document["run"] + ".json"), encoding="utf-8") as f:
        kept = json.load(f)
    equal((kept["metadata"]["trace"], kept["metric_defs"]["call_time"]["direction"]), ("t.json", "lower"), "where the spans are, and a definition")
    has(run(p, "--module", p.file("work.py"), "--function", "f", "-n", "2", expect=0).stdout, "samples of ")
    for args, part in ((["--module", "work", "--function", "bad"], "'bad' raised KeyError: 'x' (work.py:8)"), (["--module", "work", "--function", "g"], "no function 'g'"),
                       (["--module", "nothing", "--function", "g"], "cannot import 'nothing'"), (["--module", "work"], "'--module' needs '--function'"),
                       (["--module", "work", "--function", "f", "--python", "no-python"], "no-python"), (["--python", "python3", "--", "true"], "'--python' needs '--module'"),
                       (["--module", "work", "--function", "f", "--sizes", "1,2,3,4"], "'--module' and '--sizes' exclude each other"), (["--name", "x", "--", "true"], "'--name' needs '--data'"),
                       (["--results", "3", "--", "true"], "'--results' needs '--shapes'"), (["-i", "--module", "work", "--function", "f"], "'--ignore-failure' and '--module' exclude each other")):
        one_sentence(run(p, *args, expect=2), part, "calibrax")
    p.write("needs.py", "import no_such_module_at_all\n")
    for module, ends in (("nothing", "No module named 'nothing'\n"), ("needs", "No module named 'no_such_module_at_all' (needs.py:1)\n")):
        printed = run(p, "--module", module, "--function", "f", expect=2).stderr
        check(printed.endswith(ends), f"the place is the user's, or none: {printed}")
    printed = " ".join(report(p, "--module", "work", "--function", "f", "-n", "2", "--flops")["remarks"])
    check("no jax" in printed or "work: by xla" in printed or "XLA cannot compile" in printed, printed)


def readable_rapl():
    return any(os.access(path, os.R_OK) for path in glob.glob("/sys/class/powercap/*/energy_uj"))


def emissions(p):
    """With a device that is played: lines that codecarbon reads, one more each time; without energy to tell, a reason and no file."""
    env = fake_gpu(p)
    args = ("--gpu", "0", "--energy", "-n", "1", "-w", "0", "--emissions")
    p.write("odd.csv", "nonsense\n1\n")
    asked = [("emissions.csv", "--country", "FRA"), ("regions.csv", "--country", "usa", "--region", "california"), ("odd.csv", "--country", "FRA")]
    with concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:  # the device reports its energy once a second: each waits for it
        done = list(pool.map(lambda words: run(p, *args, *words, "--", "sleep", "2.5", env=env), asked))
    equal([d.returncode for d in done], [0, 0, 2], f"{[d.stderr for d in done]}")
    run(p, *args, "emissions.csv", "--intensity", "1000", "--", "sleep", "2.5", expect=0, env=env)
    with open(p.file("emissions.csv"), newline="", encoding="utf-8") as f:
        lines = list(csv.DictReader(f))
    equal([line["country_iso_code"] for line in lines], ["FRA", ""], "two lines")
    check(all(float(line["duration"]) >= 2.5 and float(line["gpu_energy"]) > 0 for line in lines), lines)
    with open(p.file("regions.csv"), newline="", encoding="utf-8") as f:
        line = next(csv.DictReader(f))
    equal((line["country_iso_code"], line["country_name"], line["region"]), ("USA", "United States", "California"), "where")
    check(abs(float(line["emissions"]) / float(line["energy_consumed"]) / 0.1791 - 1) < 1e-3, "394.8 pounds per MWh")
    energy = float(lines[1]["energy_consumed"])
    check(abs(float(lines[1]["emissions"]) / energy - 1) < 1e-9, "kg by kWh: 1000 g/kWh")
    one_sentence(done[2], "odd.csv", "calibrax")
    with open(p.file("odd.csv"), encoding="utf-8") as f:
        equal(f.read(), "nonsense\n1\n", "what is not understood is not written over")
    if not readable_rapl():
        short = run(p, *args, "none.csv", "--country", "FRA", "--json", "--", "true", expect=2, env=env)
        has(short.stderr, "no line for 'none.csv', since no energy could be measured")
        check(json.loads(short.stdout)["metrics"] and not os.path.exists(p.file("none.csv")), "what was measured is printed, and no file is made")
    one_sentence(run(p, "--energy", "--emissions", "e.csv", "--", "true", expect=2), "'--emissions' needs '--country', '--region' or '--intensity'", "calibrax")


def a_device(p):
    """Temperature and why it is throttled, of a command and of a function: as text, as JSON, in the run."""
    env = fake_gpu(p)
    reasons = ["power limit", "temperature, by driver"]
    for args in (("--", "sleep", "0.1"), ("--plugin", PLUGIN, "--function", "add_up")):
        document = json.loads(run(p, "--gpu", "1", "-n", "2", "-w", "0", "--data", "store", "--json", *args, expect=0, env=env).stdout)
        equal(document["gpu"], {"name": "Fake GPU 1", "slowed": True, "throttle_reasons": reasons}, "the device")
        found = {name: document["metrics"][name]["value"] for name in ("peak_gpu_temperature", "gpu_slowed", "peak_gpu_mem", "peak_gpu_tree_mem", "mean_gpu_util")}
        equal(found, {"peak_gpu_temperature": 61, "gpu_slowed": 100, "peak_gpu_mem": 4096, "peak_gpu_tree_mem": 0, "mean_gpu_util": 75}, "what it told")
        check(any(remark == "GPU: 'Fake GPU 1' was throttled at times: power limit, temperature, by driver" for remark in document["remarks"]), document["remarks"])
        with open(p.file("store", "runs", document["run"] + ".json"), encoding="utf-8") as f:
            equal(json.load(f)["metadata"]["gpu"], document["gpu"], "in the run")
    found = json.loads(p.run("profile", "--gpu", "0", "--energy", "--gpu-index", "1", "-n", "1", "-w", "0", "--json", "--", "sleep", "2.5", program=CALIBRAX, expect=0, env=env).stdout)
    equal(found["gpu"]["name"], "Fake GPU 1", "the command of the Python package")
    check(found["metrics"]["gpu_energy"]["value"] > 0 and found["metrics"]["peak_gpu_temperature"]["value"] == 61, found["metrics"].keys())
    first = json.loads(p.run("profile", "--gpu", "0", "--energy", "-n", "1", "-w", "0", "--json", "--", "true", program=CALIBRAX, expect=0, env=env).stdout)
    equal(first["gpu"]["name"], "Fake GPU 0", "the first device")
    text = run(p, "--gpu", "1", "-n", "2", "-w", "0", "--", "sleep", "0.1", expect=0, env=env).stdout
    for part in ("GPU temperature", "61 C", "GPU throttled", "100 %", "power limit"):
        has(text, part)
    text = run(p, "--gpu", "1", "-n", "2", "-w", "0", "--", "sleep", "0.1", expect=0, env=dict(env, CBX_FAKE_NVML="mute")).stdout
    check("GPU temperature" not in text and "slowed" not in text, "nothing is printed that the device does not report")


def grids(p):
    for args, part in ((["--region", "US-CX"], "'US-CA' (California)"), (["--country", "USA", "--region", "carolina"], "similar names are 'US-NC' (North Carolina), 'US-SC' (South Carolina)"),
                       (["--country", "FRA", "--region", "Bretagne"], "no grid intensity for parts of 'FRA': leave the region out, which gives 67 g/kWh"),
                       (["--region", "nowhere at all"], "use a code such as 'US-CA'"), (["--country", "CAN", "--region", "quebek"], "'CA-QC' (Quebec)")):
        one_sentence(run(p, "--energy", *args, "--", "true", expect=2), part, "calibrax")
    one_sentence(run(p, "--region", "SE3", "--", "true", expect=2), "'--region' needs '--energy'", "calibrax")
    done = run(p, "--gpu", "0", "--energy", "--region", "SE3", "-n", "1", "-w", "0", "--", "sleep", "2.5", expect=0, env=fake_gpu(p))
    has(done.stdout, "carbon: 27 g/kWh, South-central Sweden, includes Stockholm, SWE 2025, codecarbon")


def memory_of_a_call(p):
    document = report(p, "--plugin", PLUGIN, "--function", "hoards", "--memory", "-n", "2", "-w", "0", "--sample-ms", "1")
    metrics = document["metrics"]
    check(6 < metrics["memory_usage"]["value"] < 40, metrics["memory_usage"])
    check(6 < metrics["memory_retained"]["value"] < 40, metrics["memory_retained"])
    check(any("retains" in remark for remark in document["remarks"]), document["remarks"])


def complexity(p):
    store = p.file("store")
    sizes = "64,128,256,512,1024"
    done = run(p, "--json", "--plugin", PLUGIN, "--function", "squares", "--sizes", sizes, "-n", "6", "--data", store)
    document = json.loads(done.stdout)
    equal((document["schema"], document["version"]), ("calibrax-complexity", 1), "schema")
    equal([point["size"] for point in document["points"]], [64, 128, 256, 512, 1024], "sizes")
    equal(done.returncode, 0 if document["decided"] else 3, "undecided has its own exit status")
    check(document["decided"] or document["why"], "and a reason")
    check(abs(sum(document["weights"].values()) - 1) < 1e-9, "weights")
    with open(os.path.join(store, "runs", document["run"] + ".json"), encoding="utf-8") as f:
        points = json.load(f)["points"]
    equal([point["tags"]["size"] for point in points], sizes.split(","), "a point a size")
    equal(points[0]["metrics"]["call_time"]["value"], document["points"][0]["time_s"]["value"], "its time")
    text = run(p, "--plugin", PLUGIN, "--function", "squares", "--sizes", sizes, "-n", "6").stdout
    check("O(n" in text and "exponent" in text, text)
    script = "import sys; [None for i in range(int(sys.argv[1]))]"
    done = run(p, "--json", "-n", "1", "-w", "0", "--sizes", "10,1000,20000,300000", "--", sys.executable, "-S", "-c", script, "{}")
    check(done.returncode in (0, 3), done.stderr)
    check(json.loads(done.stdout)["points"][3]["size"] == 300000, "a command has its size at {}")


def compilation(p):
    log = p.file("launches.log")
    document = report(p, "--plugin", PLUGIN, "--function", "compiles", "--compile", "--launches", "6", "-n", "2", "--cache-env", "PLUGIN_CACHE",
                      env={**p.env, "PLUGIN_LOG": log})
    metrics = document["metrics"]
    equal((document["kind"], document["samples"]), ("launches", 6), "launches")
    with open(log, encoding="utf-8") as f:
        equal(f.read().split(), ["cold"] * 7 + ["warm"] * 6, "six cold ones, one that fills the cache, six warm ones")
    for name in ("compile_time", "first_call", "call_time", "warm_compile_time", "warm_first_call", "warm_call_time"):
        equal(len(metrics[name]["samples"]), 6, name)
    check(metrics["call_time"]["value"] >= 0.001, "it waits that long")
    check("cache_saving" in metrics, "saving")
    metrics = report(p, "--compile", "--launches", "2", "--cache-env", "SOME_CACHE", "--", "sh", "-c", 'test -d "$SOME_CACHE"')["metrics"]
    equal(set(metrics), {"cold_launch", "warm_launch", "cache_saving"}, "of a command")
    one_sentence(run(p, "--plugin", PLUGIN, "--function", "dies", "--compile", "--launches", "1", expect=2), "was killed by signal 6", "calibrax")


def commands_of_the_manual(p):
    with open(os.path.join(SOURCE, "docs/how-to/profiling.md"), encoding="utf-8") as f:
        blocks = f.read().split("```sh\n")[1:]
    commands = [line for block in blocks for line in block.split("```")[0].splitlines()]
    check(len(commands) > 5 and all(line.startswith("calibrax profile ") for line in commands), commands)
    os.symlink(PLUGIN, p.file("plugin.so"))
    path = os.path.dirname(os.path.abspath(CALIBRAX)) + ":" + p.env["PATH"]
    for line in commands:
        done = subprocess.run(["sh", "-c", line], cwd=p.path, env={**p.env, "PATH": path}, capture_output=True, text=True, timeout=120)
        check(done.returncode == 0 or (done.returncode == 3 and "--sizes" in line), f"{line}: {done.returncode}, {done.stderr}")
        check(done.stdout, line)


def missing_energy_has_a_reason(p):
    document = report(p, "-n", "1", "-w", "0", "--energy", "--", "true")
    check("energy" in document["metrics"] or document["remarks"], "a value or a reason")


def faults_are_sentences(p):
    for args, part in [
            ([], "'calibrax profile' needs COMMAND, '--plugin' or '--module'"),
            (["--plugin", PLUGIN], "'--plugin' needs '--function'"),
            (["--plugin", PLUGIN, "--function", "add_up", "--", "true"], "exclude each other"),
            (["--plugin", PLUGIN, "--function", "no_such"], "has no function 'no_such'"),
            (["--plugin", "none.so", "--function", "f"], "cannot load 'none.so'"),
            (["--plugin", PLUGIN, "--function", "nothing"], "too short to time"),
            (["--", "no-such-program"], "cannot run 'no-such-program'"),
            (["-n", "2", "--", "false"], "'false' ended with status 1"),
            (["--flops", "--", "true"], "'--flops' needs '--plugin' or '--module'"),
            (["--roofline", "--plugin", PLUGIN, "--function", "add_up"], "'--roofline' needs '--flops' or '--shapes'"),
            (["--flops", "--roofline", "--dtype", "int4", "--plugin", PLUGIN, "--function", "add_up"], "'--dtype' must be float64, float32, float16, bfloat16 or int8"),
            (["--shapes", "float32:3x,float32:3", "--plugin", PLUGIN, "--function", "product"], "got 'float32:3x'"),
            (["--shapes", "real:3", "--plugin", PLUGIN, "--function", "product"], "real"),
            (["--shapes", "float32:4x3,float32:4x3", "--plugin", PLUGIN, "--function", "product"], "(4, 3)"),
            (["--graph", "--plugin", PLUGIN, "--function", "product"], "'--graph' needs '--shapes'"),
            (["--memory", "--", "true"], "'--memory' needs '--plugin'"),
            (["--sizes", "1,2,3", "--plugin", PLUGIN, "--function", "squares"], "needs four sizes or more"),
            (["--sizes", "1,2,3,0", "--plugin", PLUGIN, "--function", "squares"], "got '0'"),
            (["--sizes", "1,2,4,8", "--plugin", PLUGIN, "--function", "add_up"], "has no 'void *add_up_setup_size"),
            (["--sizes", "1,2,4,8", "--", "true"], "is replaced by the size"),
            (["--sizes", "5,5,5,5", "-n", "1", "--", "sh", "-c", "true {}"], "different sizes"),
            (["--compile", "--", "true"], "'--compile' needs '--plugin' or '--cache-env'"),
            (["--launches", "3", "--", "true"], "needs '--compile'"),
            (["--compile", "--sizes", "1,2,3,4", "--plugin", PLUGIN, "--function", "squares"], "exclude each other"),
            (["--compile", "--energy", "--plugin", PLUGIN, "--function", "compiles"], "exclude each other"),
            (["--country", "FRA", "--", "true"], "'--country' needs '--energy'"),
            (["--energy", "--country", "Germny", "--", "true"], "did you mean 'Germany'"),
            (["--sample-ms", "0.1", "--", "true"], "must be between 0.001 and 3600, got 0.0001"),
            (["--trace", "/proc/no/trace.json", "--", "true"], "/proc/no"),
            (["--data", "/proc/no/store", "-n", "1", "--", "true"], "/proc/no"),
            (["--gpu", "7", "--", "true"], "GPU" if os.path.exists("/dev/nvidia0") else "install NVIDIA's driver"),
    ]:
        one_sentence(run(p, *args, expect=2), part, "calibrax")
    report(p, "-i", "-n", "1", "--", "false")


def interrupted(p):
    started = subprocess.Popen([CALIBRAX, "profile", "-n", "1000", "--", "sh", "-c", "echo here >&2; sleep 0.2"], cwd=p.path, env=p.env,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(3):
        equal(started.stderr.readline(), "here\n", "a run")
    started.terminate()
    started.communicate(timeout=120)
    equal(started.returncode, 130, "exit status")


main([a_command, what_was_not_sampled_is_missing, the_tree_is_counted, groups_are_reported, text, a_trace, a_run_in_a_store, a_function, work_of_a_function, work_of_arrays, a_compiled_function, a_python_function, emissions, grids, a_device, memory_of_a_call, complexity, compilation, commands_of_the_manual, missing_energy_has_a_reason, faults_are_sentences, interrupted])
