"""Help, version, manual, completion, lists, and every way to ask for what is not there."""
import json
import os
import re
import shutil
import subprocess

from harness import CALIBRAX, NPERF, SOURCE, check, equal, has, main, one_sentence

COMMANDS = ["exec", "list", "doctor", "selftest"]
FLAGS = ("--case --platforms --warmup --repeats --launches --budget --quick --point --baselines --skip-baselines --skip-slow --in-process "
         "--cpu-slots --worker-timeout --out --report --site --store --render-from --latest --resume --seed --json --list --threads "
         "--memory-limit --variants --gpus --gpu-settle --max-parallel --lock-wait --matmul-precision --precision --decide").split()


def help_names_every_flag(p):
    text = p.run("--help-all", expect=0).stdout
    for flag in FLAGS + COMMANDS + ["--version", "--man", "--completion [SHELL]"]:
        has(text, flag, "help")
    for command in COMMANDS:
        has(p.run(command, "--help", expect=0).stdout, f"nperf {command}", "help of a command")
        equal(p.run("help", command, expect=0).stdout, p.run(command, "--help", expect=0).stdout, "the other way round")
    short = p.run("--help", expect=0).stdout
    options = [line for line in short.splitlines() if line.lstrip(" -nqcbptolsh,").startswith(("-", "a")) or line.startswith(("      --", "  -"))]
    check(20 <= len([line for line in options if "--" in line]) <= 26, "the usual options")
    check("--gpu-settle" not in short and "--help-all" in short, "the rest is behind --help-all")


def every_command_has_its_help(p):
    """Both programs, each of their commands: nothing in its help or in the manual is missing."""
    for program, count in ((NPERF, 10), (CALIBRAX, 20)):
        manual = p.run("--man", program=program, expect=0).stdout
        short = os.path.basename(program)
        words = re.findall(rf"^(?:\.br\n)?\\fB{short} ?([^\\]*)\\fR", manual[:manual.index(".SH \"COMMANDS")], re.M)
        check(len(words) >= count and "" in words, words)
        for command in words:
            text = p.run(*command.split(), "--help", program=program, expect=0).stdout
            has(text.splitlines()[0] + " ", f"Usage: {short} {command} ".replace("  ", " "), "its first line")
            check("(null)" not in text and len(text.splitlines()[2]) > 20, f"{command}: {text[:200]!r}")
        check("(null)" not in manual, "the manual")


def old_names_name_the_new_ones(p):
    for old, new in (("compare", "ab"), ("scaling", "growth")):
        one_sentence(p.run(old, "x", expect=2), f"use 'nperf {new}'")


def nothing_asked_measures_nothing(p):
    done = p.run(expect=2)
    has(done.stdout, "Usage: nperf", "the help")
    one_sentence(done, "'nperf --quick'")
    equal(os.listdir(p.path), [], "nothing was written")


def version(p):
    lines = p.run("--version", expect=0).stdout.splitlines()
    check(lines[0].startswith("nperf 0."), lines[0])
    has(lines[1], "revision ")
    has(lines[2], "build ")


def manual_is_roff(p):
    text = p.run("--man", expect=0).stdout
    has(text, ".TH NPERF 1")
    for heading in (".SH NAME", ".SH SYNOPSIS", ".SH \"EXIT STATUS\"", ".SH \"ENVIRONMENT\""):
        has(text, heading)
    for flag in FLAGS:
        has(text, flag.replace("-", "\\-"), "manual")
    if shutil.which("man"):
        page = p.write("nperf.1", text)
        done = subprocess.run(["man", "--warnings", "-l", page], text=True, capture_output=True, env=dict(p.env, MANROFFOPT="", COLUMNS="80"))
        equal(done.stderr.strip(), "", "the formatter has nothing to say")


def completion_completes(p):
    script = p.write("nperf.bash", p.run("--completion", "bash", expect=0).stdout)
    ask = f". {script}; COMP_WORDS=({NPERF} --sk); COMP_CWORD=1; _nperf; echo ${{COMPREPLY[*]}}; COMP_WORDS=({NPERF} exec --no); COMP_CWORD=2; _nperf; echo ${{COMPREPLY[*]}}"
    done = subprocess.run(["bash", "-c", ask], text=True, capture_output=True)
    equal(done.stdout.split("\n")[:2], ["--skip-baselines --skip-slow", "--no-shell"], f"completions ({done.stderr})")
    ask = f". {script}; COMP_WORDS=({NPERF} --case dense); COMP_CWORD=2; _nperf; echo ${{COMPREPLY[*]}}; COMP_WORDS=({NPERF} list --case ell_m); COMP_CWORD=3; _nperf; echo ${{COMPREPLY[*]}}"
    done = subprocess.run(["bash", "-c", ask], text=True, capture_output=True)
    equal(done.stdout.split("\n")[:2], ["dense_matmul", "ell_matmul"], f"values ({done.stderr})")
    p.run("--completion", "fishh", expect=2)


def list_for_programs(p):
    document = json.loads(p.run("--list", "--json", expect=0).stdout)
    equal(document, json.loads(p.run("list", "--json", expect=0).stdout), "two ways to say it")
    equal((document["schema"], document["version"]), ("nperf-list", 1), "schema")
    case = [c for c in document["cases"] if c["name"] == "semiring_matmul"][0]
    names = [b["name"] for b in case["baselines"]]
    equal(names[0], "stream", "the reference comes first")
    check({"tiled", "naive-dense", "openblas", "numpy", "jax-stream", "torch-dense"} <= set(names), names)
    equal(sum(q["representative"] for q in case["points"]), 1, "one representative point")
    check(case["mutants"] and all(m["mutant_reason"] for m in case["mutants"]), "planted faults, each with its reason")
    check({"algebra", "m", "k", "n"} <= {q["name"] for q in case["params"]}, "parameters")
    equal([q["name"] for q in document["platforms"]], ["cpu", "cuda12"], "platforms")
    check("native" in [q["name"] for q in document["providers"]], "providers")
    one = json.loads(p.run("list", "--case", "dense_matmul", "--json", expect=0).stdout)
    equal(one, dict(document, cases=[c for c in document["cases"] if c["name"] == "dense_matmul"]), "a case alone")
    equal(json.loads(p.run("--list", "--case", "dense_matmul", "--json", expect=0).stdout), one, "said the other way")
    check("semiring_matmul" not in p.run("list", "--case", "dense_matmul", expect=0).stdout, "for people too")
    for c in document["cases"]:
        if c["name"] not in ("array_ops", "array_qmap", "metrics"):
            check(len(c["series"]) >= 5, f"{c['name']} has points that grow")


def what_measures_nothing_takes_no_option_of_measuring(p):
    for given in (["--case", "semiring_matmul"], ["--launches", "3"], ["--quick"], ["--point", "{}"], ["--points", "series"], ["--baselines", "a"],
                  ["--skip-slow"], ["--budget", "3"], ["--out", "x"], ["--store"], ["--sandbox", "off"], ["--seed", "1"], ["--warmup", "0"], ["--resume"]):
        one_sentence(p.run("--render-from", "rows.jsonl", *given, expect=2), f"'--render-from' and '{given[0]}' exclude each other")


def list_for_people(p):
    text = p.run("--list", expect=0).stdout
    for part in ("semiring_matmul", "tiled", "(representative)", "cpu"):
        has(text, part)


def unknown_names(p):
    asked = [
        (["--bogus"], "unknown option '--bogus'"),
        (["--basline", "x"], "did you mean '--baselines'"),
        (["--launches"], "'--launches' needs a value"),
        (["--launches", "many"], "'many'"),
        (["--budget", "-1"], "--budget"),
        (["--memory-limit", "12Q"], "12Q"),
        (["exce"], "did you mean 'exec'"),
        (["doctor", "now"], "unexpected argument 'now'"),
        (["doctor", "--man"], "option '--man' must be the only one: 'nperf --man'"),
        (["--case", "semiring_matmull"], "did you mean 'semiring_matmul'"),
        (["--case", "zzz"], "unknown case 'zzz'"),
        (["--baselines", "tilde"], "did you mean 'tiled'"),
        (["--skip-baselines", "nothing-like-it"], "known: stream"),
        (["--platforms", "cpi"], "did you mean 'cpu'"),
        (["--variants", "tunned"], "must be all, default or tuned, got 'tunned'"),
        (["--point", '{"m":7,"k":5,"n":3,"algebra":"lag"}'], "'lag'"),
        (["--point", '{"m":7,"k":5,"n":3,"algebbra":"log"}'], "algebbra"),
        (["--point", '{"m":7,'], "--point"),
        (["--point", "[1]"], "--point"),
        (["--points", "serious"], "'--points' must be default or series, got 'serious'"),
        (["--points", "series", "--quick"], "exclude each other"),
        (["--points", "series", "--case", "array_ops"], "case 'array_ops' has no series"),
        (["list", "--case", "dense_matmull"], "did you mean 'dense_matmul'"),
        (["--latest"], "--render-from"),
    ]
    for args, part in asked:
        done = p.run(*args, expect=2)
        one_sentence(done, part)
        equal(done.stdout, "", "nothing on standard output")
    check(not os.path.exists(p.file("results/semiring_matmul.jsonl")), "nothing was measured")


def full_standard_output(p):
    with open("/dev/full", "w") as full:
        done = p.run("list", stdout=full, expect=2)
    one_sentence(done, "standard output")


def installed_texts_are_built(p):
    folder = os.path.dirname(os.path.dirname(NPERF))
    for name, part in (("nperf.1", ".TH NPERF 1"), ("nperf.bash", "-F _nperf nperf")):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            has(f.read(), part, name)


def named_packages_exist(p):
    """Each package that a sentence of the programs names can be installed here, on Debian with its lists."""
    packages = set()
    for folder in ("calibrax", "programs"):
        for parent, _, names in os.walk(os.path.join(SOURCE, folder)):
            for name in names:
                if name.endswith((".c", ".h")):
                    with open(os.path.join(parent, name), encoding="utf-8") as f:
                        for found in re.findall(r"apt-get install ((?:[a-z0-9.+-]+ ?)+)", f.read()):
                            packages.update(found.split())
    check("libhwloc15" in packages, "found in the sources")
    if not shutil.which("apt-get") or subprocess.run(["apt-get", "install", "-s", "gcc"], capture_output=True).returncode:
        return
    done = subprocess.run(["apt-get", "install", "-s", *sorted(packages)], capture_output=True, text=True)
    equal(done.returncode, 0, done.stderr)


main([named_packages_exist, help_names_every_flag, every_command_has_its_help, old_names_name_the_new_ones, nothing_asked_measures_nothing, version, manual_is_roff, completion_completes, list_for_programs, what_measures_nothing_takes_no_option_of_measuring, list_for_people, unknown_names,
      full_standard_output, installed_texts_are_built])
