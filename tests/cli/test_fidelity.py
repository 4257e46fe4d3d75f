"""Arithmetic that is less exact than was asked for: refused by its numbers in a real run, kept with its times, and distinguished from what was allowed."""
import json
import os
import shutil

from harness import SOURCE, Skip, check, equal, has, main, row_of, sanitized

POINT = '{"m":96,"k":128,"n":64,"dtype":"f32"}'
REFS = os.environ.get("NPERF_REFS_ENV_DIR") or os.path.expanduser("~/.cache/calibrax/refs")
SHORT = ("--launches", "2", "--repeats", "2", "--warmup", "0")


def products(p, names, *more, expect=0, **env):
    """The run and its rows; an exit status that is not expected is reported with the reason of each row."""
    done = p.run("--case", "dense_matmul", "--point", POINT, "--baselines", names, *SHORT, *more, env=dict({"NPERF_REFS_ENV_DIR": REFS}, **env))
    rows = p.rows("results/dense_matmul.jsonl")
    reasons = [(row["baseline"], row["variant"], row["status"], row.get("failure_detail")) for row in rows]
    equal(done.returncode, expect, f"exit status; {done.stderr[-600:]}; rows: {reasons}")
    return done, rows


def here(framework):
    if not os.path.exists(os.path.join(REFS, framework, "bin/python")):
        raise Skip(f"rival: {framework} is not installed: run scripts/setup-refs.sh {framework}")
    return framework


def refused(done, p, rows, name):
    """The row is there with its reason, its error and its times; it takes no part in the ranking, and the report says why."""
    row = row_of(rows, name)
    equal((row["status"], row["failure_detail"]["reason"]), ("fidelity_failed", "outside_bound"), name)
    has(row["failure_detail"]["message"], "elements are outside their bound", name)
    check(row["fidelity"]["rel_to_tol"] > 1 and row["fidelity"]["n_mismatched"] > 0, f"{name}: {row['fidelity']}")
    check(row["metrics"]["steady_time"]["median"] > 0, f"{name} keeps its times")
    for text in (done.stdout, open(p.file("results/dense_matmul.md"), encoding="utf-8").read()):
        check(any(name in line and ("refused" in line or "FAILED" in line) for line in text.splitlines()), f"{name} in the table")


def narrow_factors_are_refused(p):
    """Ours: 8 and 11 bits in place of 24. The same loops with all of them pass."""
    done, rows = products(p, "loops,mutant-bf16,mutant-tf32")
    equal(row_of(rows, "loops")["status"], "ok", "float32")
    for name in ("mutant-bf16", "mutant-tf32"):
        refused(done, p, rows, name)
    tf32, bf16 = (row_of(rows, n)["fidelity"]["rel_to_tol"] for n in ("mutant-tf32", "mutant-bf16"))
    check(bf16 > 3 * tf32, f"three bits fewer make a larger error: {bf16}, {tf32}")


def alone_they_are_no_result(p):
    done, _ = products(p, "mutant-bf16", expect=2)
    has(done.stderr, "no good row", "and the program says so")


def jax_in_bf16_is_refused(p):
    here("jax")
    done, rows = products(p, "loops,jnp-matmul,jnp-bf16")
    equal(row_of(rows, "jnp-matmul")["status"], "ok", "at the highest precision")
    refused(done, p, rows, "jnp-bf16")


def torch_in_bf16_is_refused(p):
    here("torch")
    done, rows = products(p, "loops,torch-matmul,torch-bf16")
    equal(row_of(rows, "torch-matmul")["status"], "ok", "at the highest precision")
    refused(done, p, rows, "torch-bf16")


WORDS = {"torch": ("torch-matmul", "float32_matmul_precision", {"full": "highest", "tf32": "high", "bf16": "medium"}),
         "jax": ("jnp-matmul", "jax_default_matmul_precision", {"full": "highest", "tf32": "tensorfloat32", "bf16": "bfloat16"})}


def what_is_allowed_is_read_back(p):
    """Each word of --matmul-precision, in the framework's own, as the row has it and as the worker's process read it back."""
    frameworks = [name for name in WORDS if os.path.exists(os.path.join(REFS, name, "bin/python"))]
    if not frameworks:
        raise Skip("rival: neither torch nor jax is installed: run scripts/setup-refs.sh torch jax")
    for name in frameworks:
        baseline, setting, words = WORDS[name]
        for word, wanted in words.items():
            done = p.run("--case", "dense_matmul", "--point", POINT, "--baselines", f"loops,{baseline}", *SHORT, "--matmul-precision", word, "--json",
                         env={"NPERF_REFS_ENV_DIR": REFS}, expect=0)
            provenance = row_of(json.loads(done.stdout)["rows"], baseline)["provenance"]
            equal(provenance["policy"]["precision"], word, f"{name}: what was asked for")
            equal(provenance["policy"]["settings"][setting], wanted, f"{name}: what it was told")
            equal(provenance["worker"]["policy"]["settings"][setting], wanted, f"{name}: what it read back")


def a_policy_that_is_not_kept_is_refused(p):
    """A provider that changes a setting, and reports it: refused when the plan is loaded, before anything is clocked, so that the machine's load plays no part."""
    found = [name for name in WORDS if os.path.exists(os.path.join(REFS, name, "bin/python"))]
    if not found:
        raise Skip("rival: neither torch nor jax is installed: run scripts/setup-refs.sh torch jax")
    for framework in found:
        baseline, setting, words = WORDS[framework]
        workers = p.file("workers-" + framework)
        shutil.copytree(os.path.join(SOURCE, "workers/python"), workers, ignore=shutil.ignore_patterns("__pycache__"))
        with open(os.path.join(workers, f"providers/{framework}_provider.py"), "a", encoding="utf-8") as f:
            f.write(f"\n\n_apply = Framework.apply\n\n\ndef _less(self, settings):\n    _apply(self, {{**settings, {setting!r}: {words['bf16']!r}}})\n\n\n"
                    "Framework.apply = _less\n")
        _, rows = products(p, baseline, expect=2, NPERF_WORKERS_PYTHON=workers)
        for row in (r for r in rows if r["baseline"] == baseline):
            equal((row["status"], row["failure_detail"]["reason"]), ("refused", "policy_not_kept"), baseline)
            has(row["failure_detail"]["message"], f"'{setting}' back as '{words['bf16']}', but was given '{words['full']}'", "the sentence")


main([narrow_factors_are_refused, alone_they_are_no_result, jax_in_bf16_is_refused, torch_in_bf16_is_refused, what_is_allowed_is_read_back,
      a_policy_that_is_not_kept_is_refused])
