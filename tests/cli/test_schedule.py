"""Slots, devices, limits and policies from the command line: what is given out, what is refused."""
import json
import os
import subprocess

from harness import QUICK, SOURCE, TINY, Skip, check, equal, has, main, one_sentence, row_of, sanitized

FAKE = {"NPERF_FAKE_DEVICES": "2"}
OTHER = '{"m":5,"k":5,"n":3,"algebra":"log"}'


def native(p, *more, **kw):
    return p.run("--point", TINY, "--baselines", "stream", *QUICK, *more, **kw)


def bad_input(p):
    cases = [
        (["--gpus", "0"], {}, "GPUs are given, but no platform that has devices"),
        (["--platforms", "fake", "--gpus", "2"], FAKE, "'--gpus' must name devices of platform 'fake', which are 0, 1, got '2'"),
        (["--platforms", "fake", "--gpus", "0,0"], FAKE, "'--gpus' must name device 0 once"),
        (["--platforms", "fake", "--gpus", "x"], FAKE, "'--gpus' must list numbers and ranges of devices, such as 0,2-3, or be all, got 'x'"),
        (["--platforms", "fake", "--gpus", "0"], {}, "'--gpus' must name devices, and platform 'fake' has none"),
        (["--gpu-settle", "-1"], {}, "--gpu-settle"),
        (["--gpu-settle", "soon"], {}, "--gpu-settle"),
        (["--lock-wait", "-1"], {}, "--lock-wait"),
        (["--max-parallel", "-1"], {}, "--max-parallel"),
        (["--max-parallel", "two"], {}, "--max-parallel"),
        (["--cpu-slots", "-2"], {}, "--cpu-slots"),
        (["--memory-limit", "-8G"], {}, "--memory-limit"),
        (["--memory-limit", "1k"], {}, "--memory-limit"),
        (["--memory-limit", "much"], {}, "--memory-limit"),
        (["--threads", "-1"], {}, "--threads"),
        (["--threads", "65"], {}, "'--threads' must be 1 to 64, got 65"),
        (["--matmul-precision", "tf23"], {}, "did you mean 'tf32'?"),
        (["--platforms", "cudda12"], {}, "did you mean 'cuda12'?"),
    ]
    for args, env, said in cases:
        done = native(p, *args, env=env, expect=2)
        one_sentence(done, said)
        check(not os.path.exists(p.file("results/semiring_matmul.jsonl")), f"{args}: nothing is measured")


def more_slots_than_cores(p):
    done = native(p, "--point", OTHER, "--cpu-slots", "1000", expect=0)
    has(done.stderr, "1000 CPU slots were asked for; this process may use", "it is said")
    scheduler = row_of(p.rows(), "stream")["provenance"]["scheduler"]
    cores = [core for r in scheduler["resources"] for core in r["cores"]]
    equal(len(cores), len(set(cores)), "no core twice")
    check(scheduler["cpu_slots"] <= 2, "and no more slots than points")


def devices(p):
    done = native(p, "--point", OTHER, "--platforms", "cpu,fake", "--gpu-settle", "0.01", "--max-parallel", "1", env=FAKE, expect=0)
    rows = p.rows()
    for platform in ("cpu", "fake"):
        equal([r["status"] for r in rows if r["platform"] == platform and r["baseline"] == "stream"], ["ok", "ok"], platform)
    scheduler = row_of(rows, "stream")["provenance"]["scheduler"]
    equal((scheduler["n_gpus"], scheduler["max_parallel"], scheduler["gpu_settle_s"]), (2, 1, 0.01), "what was asked for")
    has(done.stderr, "on device ", "progress names the device")
    with open(p.file("results/semiring_matmul.md"), encoding="utf-8") as f:
        has(f.read(), "--gpu-settle 0.01", "the command that makes the rows again")
    os.remove(p.file("results/semiring_matmul.jsonl"))  # its rows would be kept: a point that is skipped replaces none
    native(p, "--platforms", "fake", expect=2)
    skipped = row_of(p.rows(), "stream", platform="fake")
    equal(skipped["status"], "skipped", "no device")
    has(json.dumps(skipped["failure_detail"]), "NPERF_FAKE_DEVICES", "its reason")


def limits_and_policies(p):
    native(p, "--memory-limit", "512M", "--threads", "1", "--matmul-precision", "bf16", expect=0)
    provenance = row_of(p.rows(), "stream")["provenance"]
    equal(provenance["memory"]["limit_bytes"], 512 * 2**20, "--memory-limit")
    check(provenance["memory"]["limit_by"] in ("watch", "cgroup"), "who holds it")
    equal(provenance["policy"]["precision"], "full", "native code has no other precision")
    equal(provenance["policy"]["precision_asked"], "bf16", "what was asked for is kept")
    equal(provenance["worker"]["policy"]["threads"], {"openmp": 1}, "the worker's own account")
    shown = p.run("doctor", "--json", expect=0)
    names = {i["name"] for i in json.loads(shown.stdout)["items"] if i["group"] == "scheduling"}
    check({"cores", "SMT", "NUMA", "locks", "control groups", "free memory"} <= names, f"nperf doctor: {names}")


def frameworks_are_told_alike(p):
    """With the reference environments that are here: threads and precision as the process itself reads them back."""
    refs = os.environ.get("NPERF_REFS_ENV_DIR") or os.path.expanduser("~/.cache/calibrax/refs")
    here = [name for name in ("numpy", "torch", "jax", "graphblas") if os.path.exists(os.path.join(refs, name, "bin/python"))]
    check(here, "no framework is installed: run scripts/setup-refs.sh numpy")
    worker = os.path.abspath(os.path.join(os.environ.get("CALIBRAX_SOURCE_ROOT", os.path.join(os.path.dirname(__file__), "../..")),
                                          "workers/python/worker.py"))
    ask = ("import sys; sys.path.insert(0, %r); import providers, json; p = providers.create(sys.argv[1], 'cpu'); "
           "p.apply(json.loads(sys.argv[2])); print(json.dumps(p.policy()))") % os.path.dirname(worker)
    settings = {"torch": {"float32_matmul_precision": "high", "num_threads": "1", "num_interop_threads": "1"},
                "jax": {"jax_default_matmul_precision": "tensorfloat32"}, "graphblas": {"nthreads": "1"}}
    for name in here:
        wanted = settings.get(name, {})
        done = subprocess.run([os.path.join(refs, name, "bin/python"), "-c", ask, name, json.dumps(wanted)], text=True, capture_output=True,
                              env=dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NPROC="1"), timeout=300)
        equal(done.returncode, 0, f"{name}: {done.stderr[-400:]}")
        told = json.loads(done.stdout.splitlines()[-1])
        equal({k: told["settings"].get(k) for k in wanted}, wanted, f"{name} reads back what it was told")
        check(all(n == 1 for n in told["threads"].values()), f"{name} has one thread a pool: {told}")


PRODUCTS = """
import sys; sys.path.insert(0, %r)
import cases, jax, numpy as np, providers
p = providers.create("jax", "cpu")
p.open("cpu", 1)
a, w = p.array(np.ones((8, 8), "f4")), p.array(np.ones((3, 3, 4, 4), "f4"))
x = p.array(np.ones((1, 8, 8, 4), "f4"))
square = {"m": 8, "k": 8, "n": 8, "algebra": "real", "dtype": "f32", "seed": 0}
window = dict(square, stride=1, dilation=1, padding="valid", kernel=3, batch=1, height=8, width=8, c_in=4, c_out=4)
for case, name, point, inputs in (("dense_matmul", "jnp-matmul", square, (a, a)), ("dense_matmul", "jnp-einsum", square, (a, a)),
                                  ("semiring_matmul", "jnp-matmul", square, (a, a)), ("semiring_conv", "jax-conv", window, (x, w))):
    texts = []
    for precision in ("highest", "bfloat16"):
        p.apply({"jax_default_matmul_precision": precision})
        texts.append(jax.jit(cases.find(case).baselines[name].prepare(p, point, *inputs)).lower(*inputs).as_text())
    print(case, name, "HIGHEST" in texts[0], "HIGHEST" in texts[1])
"""


def products_have_the_precision_that_was_asked_for(p):
    """A product with a precision of its own would be another one than its row says."""
    refs = os.environ.get("NPERF_REFS_ENV_DIR") or os.path.expanduser("~/.cache/calibrax/refs")
    python = os.path.join(refs, "jax", "bin/python")
    if not os.path.exists(python):
        raise Skip("rival: jax is not installed: run scripts/setup-refs.sh jax")
    done = subprocess.run([python, "-c", PRODUCTS % os.path.join(SOURCE, "workers/python")], text=True, capture_output=True, timeout=300,
                          env=dict(os.environ, OMP_NUM_THREADS="1", NPROC="1"))
    equal(done.returncode, 0, done.stderr[-400:])
    told = [line.split()[2:] for line in done.stdout.splitlines()]
    equal(told, [["True", "False"]] * 4, f"full where it is asked for, and nowhere else: {done.stdout}")


main([bad_input, more_slots_than_cores, devices, limits_and_policies, frameworks_are_told_alike, products_have_the_precision_that_was_asked_for])
