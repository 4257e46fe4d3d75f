"""nperf --plugin and nperf new-case: cases from shared objects."""
import json
import os
import shutil
import subprocess

from harness import BUILD, SOURCE, check, equal, has, main, one_sentence

FAULTS = os.path.abspath(os.path.join(BUILD, "tests/cli/libcase_plugin_{}.so"))
RUN = ["--launches", "2", "--repeats", "1", "--warmup", "0", "--json"]


def compiled(p, name):
    """The skeleton as its own head says to compile it, against this build."""
    cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    flags = ["-std=gnu17", "-O3", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fPIC", "-shared"]
    where = ["-I", SOURCE, "-I", BUILD, "-L", BUILD, "-l:libcalibrax.so"]
    subprocess.run([cc, *flags, "-o", p.file(f"{name}.so"), p.file(f"{name}.c"), *where], check=True, timeout=120)
    return f"./{name}.so"


def a_generated_case_runs(p):
    done = p.run("new-case", "my_axpy", expect=0)
    equal(done.stdout, "my_axpy.c\n", "what was written")
    has(done.stderr, "--plugin ./my_axpy.so", "the next step")
    compile = [line[len("next: "):] for line in done.stderr.splitlines() if " -shared " in line]
    equal(len(compile), 1, f"the command that compiles it: {done.stderr}")
    subprocess.run(compile[0], shell=True, cwd=p.path, check=True, timeout=120)
    p.run("list", "--plugin", "./my_axpy.so", expect=0)
    check(len(open(p.file("my_axpy.c"), encoding="utf-8").read().splitlines()) <= 120, "short enough to read")
    plugin = compiled(p, "my_axpy")
    listed = json.loads(p.run("list", "--plugin", plugin, "--json", expect=0).stdout)
    check("my_axpy" in [c["name"] for c in listed["cases"]], "in the list of cases")
    point = '{"n":5000}'
    document = json.loads(p.run("--plugin", plugin, "--case", "my_axpy", "--point", point, *RUN, expect=0).stdout)
    row = document["rows"][0]
    equal((row["baseline"], row["status"]), ("loop", "ok"), "the honest loop")
    check(row["fidelity"]["rel_to_tol"] <= 1, "within its bound")
    # by the variable alone, as a worker is told
    document = p.run("list", "--json", expect=0, env={"NPERF_PLUGINS": p.file("my_axpy.so")}).stdout
    check("my_axpy" in [c["name"] for c in json.loads(document)["cases"]], "by NPERF_PLUGINS")


def its_oracle_rejects_its_mutant(p):
    p.run("new-case", "my_axpy", expect=0)
    plugin = compiled(p, "my_axpy")
    document = json.loads(p.run("selftest", "--mutants", "--plugin", plugin, "--json", expect=0).stdout)  # the plug-in's cases only
    has(p.run("selftest", "--mutants", "--plugin", plugin, expect=0).stdout, "mutants of my_axpy\n", "which are listed")
    wanted = {"mutants": 1, "found": 1, "honest": 1, "honest_ok": 1, "survivors": "", "too_busy": 0, "holds": True}
    equal({key: document["mutants"][key] for key in wanted}, wanted, "score")
    # the check can fail: a mutant that is right survives
    text = open(p.file("my_axpy.c"), encoding="utf-8").read()
    p.write("my_axpy.c", text.replace("    out[n - 1] = y[n - 1];", ""))
    compiled(p, "my_axpy")
    document = json.loads(p.run("selftest", "--mutants", "--plugin", plugin, "--case", "my_axpy", "--json", expect=1).stdout)
    equal(document["mutants"]["found"], 0, "a mutant that is none")


def the_representative_point_is_measured_first(p):
    """A run that is stopped early has measured what matters; the table keeps the order of the case."""
    p.run("new-case", "my_axpy", expect=0)
    done = p.run("--plugin", compiled(p, "my_axpy"), "--case", "my_axpy", *RUN, expect=0)
    labels = list(dict.fromkeys(row["point_label"] for row in json.loads(done.stdout)["rows"]))
    measured = [line[len("measuring "):] for line in done.stderr.splitlines() if line.startswith("measuring ")]
    equal(measured, [labels[1], labels[0], *labels[2:]], "the order of measuring")


def honest_rows_are_counted(p):
    """Idle, beside one busy neighbour and beside two: rows, refused ones, and the bound."""
    p.run("new-case", "my_axpy", expect=0)
    done = p.run("selftest", "--honest", "0", "--quick", "--plugin", compiled(p, "my_axpy"), "--case", "my_axpy", "--json")
    honest = json.loads(done.stdout)["honest"]
    equal([load["neighbours"] for load in honest["loads"]], [0, 1, 2], "neighbours")
    refused = 0
    for load in honest["loads"]:
        refused += load["refused"]
        check(load["refused_trials"] >= 1 and load["refused"] <= load["refused_trials"], f"rows: {load}")
        check(load["refused"] / load["refused_trials"] <= load["refused_upper"] <= 1, f"the bound: {load}")
        equal(len(load["refusals"].splitlines()), load["refused"], "each refusal has its reason")
    equal((honest["verdict"], done.returncode), ("broken", 1) if refused else ("holds", 0), "the verdict")
    one_sentence(p.run("selftest", "--honest", "never", expect=2), "'never'")


# A constructor that exchanges the function that compares, in whichever process loads the plug-in.
PASSES_ALL = r"""
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include "calibrax/perf/launch/launch.h"
static void passes(const cbx_array *o, const cbx_array *a, const cbx_array *b, cbx_fidelity *io)
{
    (void)o, (void)a, (void)b;
    io->checked = io->ok = true;
    io->checks++;
}
__attribute__((constructor)) static void exchange_the_judge(void)
{
    char *judge = dlsym(RTLD_DEFAULT, "cbx_fidelity_compare"), *page = judge - (uintptr_t)judge % 4096;
    void (*mine)(const cbx_array *, const cbx_array *, const cbx_array *, cbx_fidelity *) = passes;
#if defined(__x86_64__)
    const unsigned char jump[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0 }; /* movabs rax; jmp rax */
    const size_t at = 6;
#else
    const unsigned char jump[] = { 0x50, 0, 0, 0x58, 0, 2, 0x1f, 0xd6, 0, 0, 0, 0, 0, 0, 0, 0 }; /* ldr x16; br x16 */
    const size_t at = 8;
#endif
    if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) return;
    memcpy(judge, jump, sizeof jump);
    memcpy(judge + at, &mine, sizeof mine);
    __builtin___clear_cache(judge, judge + sizeof jump);
}
"""


def a_plugin_cannot_change_its_judge(p):
    """Outputs are compared in a process into which no plug-in is loaded; with the comparison made where the plug-in is, its mutant would pass."""
    p.run("new-case", "my_axpy", expect=0)
    text = open(p.file("my_axpy.c"), encoding="utf-8").read()
    p.write("my_axpy.c", "#define _GNU_SOURCE\n" + text + PASSES_ALL)
    plugin = compiled(p, "my_axpy")
    command = ["--plugin", plugin, "--case", "my_axpy", "--point", '{"n":1000}', "--baselines", "loop,mutant-drop-last", *RUN]
    rows = json.loads(p.run(*command, "--in-process").stdout)["rows"]
    equal([row["status"] for row in rows], ["ok", "ok"], "where it is loaded, its wrong baseline passes")
    rows = json.loads(p.run(*command).stdout)["rows"]
    equal([row["status"] for row in rows], ["ok", "fidelity_failed"], "and here it is refused")


def another_oracle_is_another_answer(p):
    """The cache of answers must not outlive the plug-in's code."""
    p.run("new-case", "my_axpy", expect=0)
    plugin = compiled(p, "my_axpy")
    command = ["--plugin", plugin, "--case", "my_axpy", "--point", '{"n":5000}', *RUN]
    p.run(*command, expect=0)
    text = open(p.file("my_axpy.c"), encoding="utf-8").read()
    p.write("my_axpy.c", text.replace("cbx_add(ctx, product, y);", "cbx_subtract(ctx, product, y);"))
    compiled(p, "my_axpy")
    document = json.loads(p.run(*command, expect=2).stdout)
    equal(document["rows"][0]["status"], "fidelity_failed", "held to the new oracle")


def names_are_checked_and_nothing_is_overwritten(p):
    one_sentence(p.run("new-case", expect=2), "takes one name")
    one_sentence(p.run("new-case", "a", "b", expect=2), "takes one name")
    for bad in ("My-Case", "9lives", "../up", "a b", ""):
        one_sentence(p.run("new-case", bad, expect=2), "the name of a case must be")
    one_sentence(p.run("new-case", "x", "--python", "--commands", expect=2), "exclude each other")
    p.write("mine.c", "precious\n")
    one_sentence(p.run("new-case", "mine", expect=2), "'mine.c' exists already")
    equal(open(p.file("mine.c"), encoding="utf-8").read(), "precious\n", "kept")
    one_sentence(p.run("new-case", "mine", "--dir", "no/such/folder", expect=2), "no/such/folder")
    equal(sorted(os.listdir(p.path)), ["mine.c"], "nothing else was written")


def broken_plugins_are_refused(p):
    text = p.write("text.so", "not a shared object\n")
    for name, part in (
        (FAULTS.format("abi"), "is a plug-in of ABI 5, and this program takes 1"),
        (FAULTS.format("table"), "exports no 'cbx_plugin_table'"),
        (FAULTS.format("case"), "another calibrax/perf/case/case.h"),
        (FAULTS.format("name"), "there is a case"),
        (FAULTS.format("empty"), "holds no cases"),
        (FAULTS.format("none"), "case 'broken' needs"),
        (text, "cannot load the plug-in"),
        ("none.so", "'none.so': No such file"),
        (p.path, "cannot load the plug-in"),
    ):
        for command in (["list"], ["--case", "dense_matmul", "--quick"], ["selftest", "--mutants"]):
            one_sentence(p.run(*command, "--plugin", name, expect=2), part)
    one_sentence(p.run("list", expect=2, env={"NPERF_PLUGINS": "/no/such.so"}), "'/no/such.so'")


main([
    a_generated_case_runs,
    its_oracle_rejects_its_mutant,
    a_plugin_cannot_change_its_judge,
    another_oracle_is_another_answer,
    the_representative_point_is_measured_first,
    honest_rows_are_counted,
    names_are_checked_and_nothing_is_overwritten,
    broken_plugins_are_refused,
])
