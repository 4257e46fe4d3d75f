"""calibrax: its commands, and what the doctor says of settings, backends, devices, topology and libraries."""
import json
import os
import re
import shutil
import subprocess

from harness import BUILD, CALIBRAX, NPERF, check, equal, has, main, one_sentence

FAKE = os.path.abspath(os.path.join(BUILD, "tests/array/device/libfake_cuda.so"))
SHIM = os.path.abspath(os.path.join(BUILD, "tests/array/cuda/libshim_cuda.so"))
NVML = os.path.abspath(os.path.join(BUILD, "tests/profiling/libfake_nvml.so"))
SETTINGS = ["CALIBRAX_BACKEND", "CALIBRAX_USE_GPU", "CALIBRAX_GPU_FALLBACK", "CALIBRAX_GPU_MEMORY_FRACTION"]


def run(p, *args, **more):
    return p.run(*args, program=CALIBRAX, **more)


def report(p, expect=0, env=None):
    document = json.loads(run(p, "doctor", "--json", expect=expect, env=env).stdout)
    equal((document["schema"], document["version"]), ("calibrax-doctor", 1), "schema")
    return document, {(i["group"], i["name"]): i for i in document["items"]}


def usage(p):
    for text in (run(p, expect=2).stdout, run(p, "--help", expect=0).stdout):  # a gate whose words went missing does not pass
        for part in ("doctor", "--version", "--man", "--completion [SHELL]"):
            has(text, part)
    has(run(p, "doctor", "--help", expect=0).stdout, "calibrax doctor")
    for option in ("--help", "-h"):
        text = run(p, "store", option, expect=0).stdout
        for word in ("Usage: calibrax store WORD", "store verify ", "store compact ", "store migrate ", "store export "):
            has(text, word)
    one_sentence(run(p, "store", expect=2), "needs one of these words after it", "calibrax")
    one_sentence(run(p, "docter", "--help", expect=2), "did you mean 'doctor'", "calibrax")
    check(run(p, "--version", expect=0).stdout.startswith("calibrax 0."), "version")
    for args, part in ((["docter"], "did you mean 'doctor'"), (["doctor", "--jsn"], "did you mean '--json'"), (["doctor", "now"], "'now'"), (["--completio"], "did you mean '--completion'")):
        one_sentence(run(p, *args, expect=2), part, "calibrax")


def help_of_a_command(p):
    equal(run(p, "help", "doctor", expect=0).stdout, run(p, "doctor", "--help", expect=0).stdout, "two ways to ask")
    equal(run(p, "help", "store", "verify", expect=0).stdout, run(p, "store", "verify", "--help", expect=0).stdout, "of two words")
    equal(run(p, "help", expect=0).stdout, run(p, "--help", expect=0).stdout, "of all")
    has(p.run("help", "gate", expect=0).stdout, "Usage: nperf gate")
    for text in (run(p, "help", "doctor").stdout, p.run("help", "gate").stdout):
        has(text, "Exit status:")
    one_sentence(run(p, "help", "docter", expect=2), "did you mean 'doctor'", "calibrax")


def numbers_are_decimal(p):
    """Of every option that takes a number, in both programs: hexadecimal, infinite, too large, with blanks, a comma or a sign of percent, empty, or a word."""
    wrong = ["0x10", "0x1p3", "inf", "nan", "1e999", " 1", "1 ", "1,5", "5%", "", "1d3", "--1"]
    for program in (CALIBRAX, NPERF):
        commands = [line.split("\t")[0] for line in p.run("--complete", "", program=program, expect=0).stdout.splitlines()]
        tried = 0
        for command in [c for c in commands if c not in ("help", "store")]:
            text = p.run(command, "--help", program=program, expect=0).stdout
            for option in re.findall(r"^ .*--([a-z0-9-]+) (?:N|X|P|SECONDS|MS|G)$|^ .*--([a-z0-9-]+) (?:N|X|P|SECONDS|MS|G)  ", text, re.M):
                option = option[0] or option[1]
                tried += 1
                for value in wrong if tried < 20 else wrong[:2]:
                    done = p.run(command, f"--{option}={value}", program=program, expect=2)
                    one_sentence(done, f"'--{option}' must be ", os.path.basename(program))
                    has(done.stderr, f"got '{value}'")
        check(tried > 10, f"{tried} options of numbers")


def removed_verbs_name_the_new_form(p):
    """Each of them fails with one sentence, whatever is behind it; the form that it names has help."""
    forms = {"changepoints": "trend --changes", "diff": "compare --diff", "machine": "doctor --machine", "pareto": "compare --pareto", "profile-gpu": "profile --gpu 0 --energy",
             "query": "show --points", "rank": "compare --rank", "runs": "show --list", "scaling": "trend --over", "validate": "check --target"}
    for verb, form in forms.items():
        for more in ([], ["--help"], ["--data", "store", "--json"]):
            one_sentence(run(p, verb, *more, expect=2), f"'calibrax {verb}' has a new name: use 'calibrax {form}'", "calibrax")
        has(run(p, "help", form.split()[0], expect=0).stdout, form.split()[1])
        check(f"calibrax {verb}\n" not in run(p, "--man", expect=0).stdout, "the manual has the new names only")


def values_are_completed(p):
    document = {"id": "first", "timestamp": "2026-03-01T00:00:00+00:00", "environment": {"machine": "m"}, "metadata": {},
                "points": [{"name": "f", "scenario": "s", "tags": {}, "metrics": {"time": {"value": 1}, "tidy": {"value": 2}, "rate": {"value": 3}}}]}
    run(p, "ingest", "--data", "store", "--input", p.write("first.json", json.dumps(document)), expect=0)
    run(p, "baseline", "--data", "store", "--name", "release", expect=0)

    def ask(*words):
        return [line.split("\t")[0] for line in run(p, "--complete", *words, expect=0).stdout.splitlines()]

    for words, wanted in ((["trend", "--data", "store", "--metric", "ti"], ["time", "tidy"]), (["show", "--data", "store", ""], ["latest", "first"]),
                          (["show", "--data", "store", "--run", "f"], ["first"]), (["compare", "--data", "store", "--metrics", "rate,ti"], ["rate,time", "rate,tidy"]),
                          (["check", "--data", "store", "--baseline", ""], ["release"]), (["check", "--format", "j"], ["json", "junit"]), (["trend", "--law", ""], ["power", "amdahl", "gustafson", "usl"]),
                          (["help", "comp"], ["compare"]), (["show", "--data", "nowhere", ""], []), (["trend", "--li"], [])):
        equal(ask(*words), wanted, " ".join(words))
    equal(ask("ingest", "--format", "hyper"), ["hyperfine"], "formats of importers")
    equal(ask("export", "--format", "mark"), ["markdown"], "formats of exporters")


def manual_names_the_settings(p):
    text = run(p, "--man", expect=0).stdout
    has(text, ".TH CALIBRAX 1")
    for name in SETTINGS + ["XPCS_USE_JAX", "XPCS_USE_GPU"]:
        has(text, name, "manual")
    if shutil.which("man"):
        page = p.write("calibrax.1", text)
        done = subprocess.run(["man", "--warnings", "-l", page], text=True, capture_output=True, env=dict(p.env, MANROFFOPT="", COLUMNS="80"))
        equal(done.stderr.strip(), "", "the formatter has nothing to say")
    script = p.write("calibrax.bash", run(p, "--completion", "bash", expect=0).stdout)
    ask = f". {script}; COMP_WORDS=({CALIBRAX} do); COMP_CWORD=1; _calibrax; echo ${{COMPREPLY[*]}}"
    equal(subprocess.run(["bash", "-c", ask], text=True, capture_output=True).stdout.strip(), "doctor", "completion")


def doctor_lists_what_is_available(p):
    document, items = report(p)
    for key in [("settings", name) for name in SETTINGS] + [
            ("backends", "reference"), ("backends", "jit"), ("backends", "chosen backend"), ("machine", "cpu"), ("devices", "cpu"),
            ("devices", "chosen device"), ("topology", "cores"), ("topology", "source"), ("libraries", "OpenBLAS"), ("libraries", "hwloc"),
            ("libraries", "HDF5"), ("libraries", "CUDA driver"), ("libraries", "libgit2")]:
        check(key in items, f"{key} in the report")
    for item in document["items"]:
        check(item["state"] in ("fact", "here", "missing"), item)
        if item["group"] == "libraries" and item["state"] == "missing":
            check("install " in item["remedy"], item)
    equal(document["settings"], {"backend": "auto", "use_gpu": False, "gpu_fallback": True, "gpu_memory_fraction": 0.9}, "defaults")
    check(document["backend"] in ("reference", "jit"), document["backend"])
    cpu = document["devices"][0]
    equal(cpu["kind"], "cpu", "the CPU is always there, and first")
    check(0 < cpu["memory_available_bytes"] < cpu["memory_total_bytes"], cpu)
    text = run(p, "doctor", expect=0).stdout
    for part in ("settings", "backends", "devices", "topology", "libraries", "chosen backend"):
        has(text, part)


def topology_is_this_machines(p):
    topology = report(p)[0]["topology"]
    done = subprocess.run(["lscpu", "-p=cpu,core,socket,node"], capture_output=True, text=True)
    rows = [line.split(",") for line in done.stdout.splitlines() if line and line[0] != "#"]
    equal(topology["threads"], len(rows), "threads")
    equal(topology["cores"], len({(r[1], r[2]) for r in rows}), "cores")
    equal(topology["packages"], len({r[2] for r in rows}), "packages")
    with open("/proc/meminfo", encoding="ascii") as f:
        equal(topology["memory_bytes"], int(f.readline().split()[1]) * 1024, "MemTotal")


def topology_of_another_machine(p):
    document, items = report(p, env={"HWLOC_SYNTHETIC": "pack:2 [numa] l3:1 l2:8 core:1 pu:2"})
    topology = document["topology"]
    equal(topology["source"], "hwloc", "what read it")
    equal((topology["packages"], topology["cores"], topology["threads"], len(topology["nodes"])), (2, 16, 32, 2), "as described")
    check(not topology["this_machine"], "and not this one")
    has(items["topology", "source"]["text"], "a different machine")


def good_settings_are_shown(p):
    document, items = report(p, env={"XPCS_USE_JAX": "No", "CALIBRAX_GPU_MEMORY_FRACTION": "0.25", "XPCS_GPU_FALLBACK": "1"})
    equal(document["settings"], {"backend": "reference", "use_gpu": False, "gpu_fallback": True, "gpu_memory_fraction": 0.25}, "read")
    has(items["settings", "CALIBRAX_BACKEND"]["text"], "by XPCS_USE_JAX", "where it comes from")
    has(items["backends", "chosen backend"]["text"], "named by the settings")


def bad_settings_are_sentences(p):
    asked = [
        ({"CALIBRAX_BACKEND": "numpy"}, "'CALIBRAX_BACKEND' must be auto, reference or jit, got 'numpy'"),
        ({"XPCS_USE_JAX": "2"}, "'XPCS_USE_JAX' must be auto, true, false, 1, 0, yes, no, on or off, got '2'"),
        ({"CALIBRAX_USE_GPU": "maybe"}, "'CALIBRAX_USE_GPU' must be true, false"),
        ({"XPCS_GPU_FALLBACK": "cpu"}, "'XPCS_GPU_FALLBACK' must be true, false"),
        ({"CALIBRAX_GPU_MEMORY_FRACTION": "90%"}, "'CALIBRAX_GPU_MEMORY_FRACTION' must be a number above 0, at most 1, got '90%'"),
        ({"CALIBRAX_USE_GPU": "yes", "XPCS_USE_GPU": "no"}, "'CALIBRAX_USE_GPU' is 'yes' and its alias 'XPCS_USE_GPU' is 'no': unset one of them"),
        ({"CALIBRAX_ISA": "sse2"}, "'CALIBRAX_ISA' must be plain, avx2 or avx512, got 'sse2'"),
        ({"CALIBRAX_JIT_CACHE_BYTES": "1M"}, "'CALIBRAX_JIT_CACHE_BYTES' must be a number of bytes, 0 for no cache, got '1M'"),
    ]
    for env, part in asked:
        done = run(p, "doctor", expect=2, env=env)
        one_sentence(done, part, "calibrax")
        equal(done.stderr.count(next(iter(env))), 1, "the setting is named once")
        document, items = report(p, expect=2, env=env)
        broken = [i for i in document["items"] if i["state"] == "broken"]
        equal(len(broken), 1, f"one fault, found {broken}")
        has(broken[0]["text"], part, "in the report, too")
        one_sentence(p.run("list", expect=2, env=env), part)
        p.run("--version", expect=0, env=env)
    done = run(p, "doctor", expect=2, env={"CALIBRAX_USE_GPU": "x", "CALIBRAX_GPU_FALLBACK": "y"})
    one_sentence(done, "(and 1 more)", "calibrax")


def nperf_doctor_sees_bad_settings(p):
    done = p.run("doctor", "--json", expect=2, env={"CALIBRAX_USE_GPU": "maybe"}, timeout=240)
    broken = [i for i in json.loads(done.stdout)["items"] if i["state"] == "broken"]
    equal([i["name"] for i in broken], ["CALIBRAX_USE_GPU"], "one fault")


def a_gpu_without_fallback(p):
    env = {"CALIBRAX_USE_GPU": "1", "CALIBRAX_GPU_FALLBACK": "0"}
    one_sentence(run(p, "doctor", expect=2, env=env), "a GPU is required without fallback", "calibrax")
    document, items = report(p, env={"CALIBRAX_USE_GPU": "1"})
    has(items["devices", "chosen device"]["text"], "falling back to the CPU", "a warning")


def a_driver_is_found_by_its_name(p):
    """The loader finds the driver that plays NVIDIA's; what it plays comes out."""
    os.makedirs(p.file("lib"))
    shutil.copy(FAKE, p.file("lib/libcuda.so.1"))
    env = {"LD_LIBRARY_PATH": p.file("lib")}
    document, items = report(p, env=env)
    gpus = [d for d in document["devices"] if d["kind"] == "cuda"]
    equal([(g["name"], g["memory_total_bytes"] >> 30, g["memory_available_bytes"] >> 30) for g in gpus],
          [("Fake GPU 0", 16, 12), ("Fake GPU 1", 80, 60)], "both")
    has(items["devices", "cuda 1"]["text"], "capability 9.6, 80.0 GiB, 60.0 GiB available")
    document, items = report(p, env=dict(env, CBX_FAKE_CUDA="full"))
    equal([d["memory_available_bytes"] for d in document["devices"] if d["kind"] == "cuda"], [None, None], "nobody tells")
    has(items["devices", "cuda 0"]["text"], "unknown: 'cuDevicePrimaryCtxRetain' of the CUDA driver failed with error 2: out of memory")
    for role, part in (("old", "11.4"), ("none", "has no device"), ("failing", "error 999")):
        items = report(p, env=dict(env, CBX_FAKE_CUDA=role))[1]
        has(items["devices", "cuda"]["text"], part, role)


def machine_with_its_sheet(p):
    def captured(*models):
        root = p.file("root%d" % len(models))
        for i, model in enumerate(models):
            os.makedirs(f"{root}/proc/driver/nvidia/gpus/{i}")
            with open(f"{root}/proc/driver/nvidia/gpus/{i}/information", "w", encoding="ascii") as f:
                f.write(f"Model: \t\t {model}\n")
        os.makedirs(f"{root}/proc", exist_ok=True)
        with open(f"{root}/proc/cpuinfo", "w", encoding="ascii") as f:
            f.write("processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: A CPU\n")
        return root

    def machine(*args):
        document = json.loads(run(p, "doctor", "--machine", "--json", *args, expect=0).stdout)
        equal((document["schema"], document["version"]), ("calibrax-machine", 1), "schema")
        return document

    sheet = machine("--root", captured("NVIDIA H200", "NVIDIA H200"))["data_sheet"]
    equal((sheet["name"], sheet["count"], sheet["bytes_per_s"]), ("h200", 2, 4.8e12), "two of a kind")
    equal([(m["m"], m["n"], m["k"]) for m in sheet["matrix_shapes"] if m["type"] == "tfloat32"], [(16, 16, 8)], "fragments of a warp")
    equal(machine("--root", captured())["data_sheet"], None, "none")
    sheets = {d["name"]: d for d in json.loads(run(p, "doctor", "--machine", "--sheets", "--json", expect=0).stdout)["devices"]}
    equal((sheets["a100_sxm4_40gb"]["compute_capability"], sheets["tpu_v5p"]["matrix_shapes"]), (8.0, []), "all sheets")
    has(run(p, "doctor", "--machine", "--sheets", expect=0).stdout, "bfloat16 16x16x16 32x8x16 8x32x16")
    has(run(p, "doctor", "--machine", "--root", captured("NVIDIA X900"), expect=0).stdout, "no data sheet for the accelerator 'NVIDIA X900'")
    probe = machine("--probe")["probe"]
    check({"fma", "int add", "int mul"} <= set(probe["pipe_ops_per_s"]), "pipes")
    check(all(pair["32"] > 0 and pair["64"] > 0 for pair in probe["pipe_ops_per_s"].values()), probe)
    check("memory" in [level["name"] for level in probe["levels"]], "levels")
    has(run(p, "doctor", "--machine", "--probe", expect=0).stdout, "One core")
    for args, part in ((["--refresh"], "'--refresh' needs '--probe'"), (["--probe", "--root", p.file("root0")], "exclude each other"),
                       (["--sheets", "--probe"], "'--sheets' and '--probe' exclude each other")):
        one_sentence(run(p, "doctor", "--machine", *args, expect=2), part, "calibrax")


def a_gpu_is_measured(p):
    """On the device and the NVML that are played; without kernels in this build, and without a device, it is skipped with the reason."""
    done = json.loads(run(p, "doctor", "--machine", "--gpu", "0", "--json", expect=0, env={"LD_LIBRARY_PATH": p.file("none")}).stdout)["gpu"]
    if done["status"] == "skipped":  # a machine without a GPU
        check(len(done["reason"]) > 20 and done["index"] == 0, done)
        has(run(p, "doctor", "--machine", "--gpu", "0", expect=0).stdout, "GPU 0: skipped: ")
    for args, part in ((["--plot", "x.svg"], "'--plot' needs '--gpu'"), (["--gpu", "0", "--plot", "x.gif"], "must end with .svg"),
                       (["--gpu", "0", "--root", "/"], "exclude each other"), (["--gpu", "x"], "--gpu")):
        one_sentence(run(p, "doctor", "--machine", *args, expect=2), part, "calibrax")
    if "no kernels for GPUs" in done.get("reason", ""):
        return
    os.makedirs(p.file("played"))
    shutil.copy(SHIM, p.file("played/libcuda.so.1"))
    shutil.copy(NVML, p.file("played/libnvidia-ml.so.1"))
    env, plot = {"LD_LIBRARY_PATH": p.file("played")}, p.file("roofs.svg")
    gpu = json.loads(run(p, "doctor", "--machine", "--gpu", "0", "--json", "--plot", plot, expect=0, env=env).stdout)["gpu"]
    equal((gpu["status"], gpu["name"], gpu["compute_capability"]), ("measured", "shim 7", 9.0), "the device")
    rates = {(r["type"], r["unit"]): r for r in gpu["rates"]}
    check(all(r["measured"] and r["lower"] <= r["median"] <= r["upper"] <= r["flop_per_s"] for r in rates.values()), rates)
    equal(rates["float16", "threads"]["by"], "fma.rn.f16x2", "by what")
    check(gpu["roofs"]["flop_per_s"]["float32, threads"] == rates["float32", "threads"]["flop_per_s"], "the run's form")
    equal(gpu["meanwhile"]["throttle"], ["power limit", "temperature, by driver"], "NVML looked on")
    with open(plot, encoding="utf-8") as f:
        has(f.read(), "measured roofline of shim 7")
    text = run(p, "doctor", "--machine", "--gpu", "0", expect=0, env=env).stdout
    for part in ("bfloat16, tiles", "Tflop/s (median", "L2, read", "memory, streaming triad", "throttled by"):
        has(text, part)
    one_sentence(run(p, "doctor", "--machine", "--gpu", "5", expect=2, env=env), "GPU 5 does not exist", "calibrax")


main([usage, help_of_a_command, numbers_are_decimal, removed_verbs_name_the_new_form, values_are_completed, manual_names_the_settings, doctor_lists_what_is_available, topology_is_this_machines, topology_of_another_machine,
      good_settings_are_shown, bad_settings_are_sentences, nperf_doctor_sees_bad_settings, a_gpu_without_fallback, a_driver_is_found_by_its_name,
      machine_with_its_sheet, a_gpu_is_measured])
