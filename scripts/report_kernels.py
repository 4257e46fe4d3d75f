#!/usr/bin/env python3
"""Measures the kernels against their limits and rivals: reports/kernels_matmul and reports/kernels_ell, and the table of goals.

usage: scripts/report_kernels.py NPERF [--only PART] [--dry-run]
       scripts/report_kernels.py --table ROWS...     the table alone, from rows that are there

Every share and ratio is of launches that took turns in one run; a limit is a baseline that does a part of the work that no rival can
leave out (`nperf list`).  About 15 minutes on one core and on two; a machine with other work gives other figures.
exit status: 0; 1 a goal that no bound explains is not reached; 2 nperf failed or has no rows
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLOATS = ("real", "log", "tropical_max_plus", "euclidean")


def product(m, k, n, algebra, dtype, **more):
    return {"m": m, "k": k, "n": n, "algebra": algebra, "dtype": dtype, **more, "seed": 0}


def cube(n, algebra, dtype, **more):
    return product(n, n, n, algebra, dtype, **more)


def odd(algebra, dtype):
    """Tails everywhere."""
    return product(513, 129, 257, algebra, dtype)


def rows_of_b(m, algebra, dtype="f32"):
    return {"m": m, "k": 16, "n": 64, "algebra": algebra, "graph": "uniform", "order": "natural", "dtype": dtype, "seed": 0}


# name, case, points, baselines, threads, launches, epochs
OURS = ["stream", "tiled", "calibrax", "openblas", "pipes", "fed"]
JAX = ["jax-stream", "jax-naive", "jnp-matmul"]
PARTS = [
    # what goals compare, both types of an algebra and the odd shape beside the cube, in turn: clocks differ from minute to minute
    ("shapes", "semiring_matmul",
     [f(a, t) for a in FLOATS for t in ("f64", "f32") for f in (lambda a, t: cube(512, a, t), odd)]
     + [cube(1024, a, t) for a in FLOATS for t in ("f64", "f32")], [*OURS, "jnp-matmul"], 1, 6, 3),
    ("skinny", "semiring_matmul", [product(4096, 64, 64, "real", "f32"), product(7, 5, 3, "real", "f32")],
     [*OURS, "jnp-matmul"], 1, 6, 4),
    ("jax", "semiring_matmul", [cube(512, a, "f32") for a in FLOATS] + [cube(512, "boolean", "bool")],
     ["tiled", *JAX], 1, 6, 2),
    ("graphblas", "semiring_matmul", [cube(n, "tropical_max_plus", "f64") for n in (512, 1024)],
     ["tiled", "graphblas", "pipes"], 1, 6, 2),
    ("boolean", "semiring_matmul", [cube(4096, "boolean", "bool", density=d) for d in ("sparse", "half")],
     ["tiled", "calibrax"], 1, 6, 4),
    ("two", "semiring_matmul", [cube(1024, a, "f64") for a in FLOATS] + [cube(4096, "boolean", "bool", density="half")],
     ["tiled", "calibrax", "openblas"], 2, 6, 3),
    ("ell", "ell_matmul", [rows_of_b(m, a, t) for m, t in ((2048, "f64"), (4096, "f32"), (16384, "f32"), (131072, "f32"))
                           for a in ("real", "tropical_max_plus")],
     ["calibrax", "torch-csr", "scipy-csr", "gather"], 1, 6, 4),
    ("ell-two", "ell_matmul", [rows_of_b(16384, a) for a in ("real", "tropical_max_plus")],
     ["calibrax", "torch-csr", "gather"], 2, 6, 4),
    ("edge", "ell_edge_aggregate", None, ["once", "calibrax", "torch-csr", "scipy-csr", "pyg", "gather"], 1, 6, 3),
]


def label(point):
    return json.dumps(point, sort_keys=True)


class Rows:
    """Good rows by part, point, baseline; of several variants the strongest."""

    def __init__(self):
        self.rows = {}

    def read(self, part, path):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["status"] != "ok" or not row.get("strongest", True):
                continue
            self.rows[part, label(row["param_point"]), row["baseline"]] = row

    def get(self, part, point, baseline):
        return self.rows.get((part, label(point), baseline))

    def time(self, part, point, *baselines):
        """Least of the medians; None without one."""
        found = [r["metrics"]["steady_time"]["median"] for r in (self.get(part, point, b) for b in baselines) if r]
        return min(found) if found else None

    def ratio(self, part, point, ours, theirs):
        a, b = self.time(part, point, *ours), self.time(part, point, *theirs)
        return b / a if a and b else None

    def share(self, part, point, *baselines):
        found = [r["limit"]["share"] for r in (self.get(part, point, b) for b in baselines) if r and r.get("limit")]
        return max(found) if found else None

    def points(self, part):
        return sorted({p for q, p, _ in self.rows if q == part})


def share_of_fma(rows, part, point):
    """Of the rate of fused multiply-adds: the limit of the real product of this shape, over the time of this one."""
    limit = rows.time(part, {**point, "algebra": "real"}, "pipes")
    ours = rows.time(part, point, "tiled")
    return limit / ours if limit and ours else None


class Table:
    def __init__(self):
        self.lines, self.missed = [], 0

    def add(self, what, where, goal, seen, unit="%", bound=None, least=True):
        """goal and seen in `unit`; bound: what the machine allows, where that is less than the goal."""
        if seen is None:
            self.lines.append((what, where, goal, None, bound, "not measured"))
            return
        reached = seen >= goal if least else seen <= goal
        bounded = bound is not None and bound < goal
        word = "reached" if reached else "bounded by the machine" if bounded else "missed"
        self.missed += word == "missed"
        self.lines.append((what, where, f"{'>=' if least else '<='} {goal:g} {unit}", f"{seen:.3g} {unit}",
                           f"{bound:.3g} {unit}" if bound is not None else None, word))

    def markdown(self):
        out = ["| what | where | goal | seen | bound here | |", "|---|---|--:|--:|--:|---|"]
        out += [f"| {a} | {b} | {g} | {s or ''} | {m or ''} | {w} |" for a, b, g, s, m, w in self.lines]
        return "\n".join(out) + "\n"


def percent(x):
    return None if x is None else 100 * x


def add_shares(t, rows):
    for n in (512, 1024):
        for dtype in ("f64", "f32"):
            part, where = "shapes", f"{n}³ {dtype}"
            real, top = cube(n, "real", dtype), cube(n, "tropical_max_plus", dtype)
            own = rows.share(part, top, "tiled")
            fma = share_of_fma(rows, part, top)
            t.add("real, of the FMA limit", where, 85, percent(rows.share(part, real, "tiled")),
                  bound=percent(rows.ratio(part, real, ["fed"], ["pipes"])))
            t.add("real, of the FMA limit with its loads", where, 85, percent(rows.ratio(part, real, ["tiled"], ["fed"])))
            t.add("max-plus, of the FMA limit", where, 65, percent(fma), bound=percent(fma / own) if fma and own else None)
            t.add("max-plus, of its own pipes", where, 85, percent(own))
            t.add("euclidean, of its own pipes", where, 75, percent(rows.share(part, cube(n, "euclidean", dtype), "tiled")))
            t.add("real against the best of OpenBLAS and jnp.matmul", where, 95,
                  percent(rows.ratio(part, real, ["tiled"], ["openblas", "jnp-matmul"])))
            if n >= 1024:
                blas = rows.time(part, real, "openblas")
                log = rows.time(part, cube(n, "log", dtype), "tiled")
                t.add("log, of OpenBLAS's real product", where, 80, percent(blas / log) if blas and log else None)
                t.add("log against streaming", where, 30, rows.ratio(part, cube(n, "log", dtype), ["tiled"], ["stream"]), "×")
        for a in FLOATS:
            wide, narrow = rows.time("shapes", cube(n, a, "f64"), "tiled"), rows.time("shapes", cube(n, a, "f32"), "tiled")
            t.add(f"{a}, f32 over f64", f"{n}³", 1.8, wide / narrow if wide and narrow else None, "×")


def add_shapes(t, rows):
    less = 513 * 129 * 257 / 512**3
    for dtype in ("f32", "f64"):
        for a in FLOATS:
            o, s = rows.time("shapes", odd(a, dtype), "tiled"), rows.time("shapes", cube(512, a, dtype), "tiled")
            rate = less * s / o if o and s else None
            t.add(f"{a}, of the square's rate", f"513×129×257 {dtype}", 70, percent(rate))
        point = odd("real", dtype)
        t.add("real against the best of OpenBLAS and jnp.matmul", f"513×129×257 {dtype}", 95,
              percent(rows.ratio("shapes", point, ["tiled"], ["openblas", "jnp-matmul"])))
    for m, k, n in ((4096, 64, 64), (7, 5, 3)):
        point = product(m, k, n, "real", "f32")
        t.add("real against the best of OpenBLAS and jnp.matmul", f"{m}×{k}×{n} f32", 95,
              percent(rows.ratio("skinny", point, ["tiled"], ["openblas", "jnp-matmul"])))


def add_rivals(t, rows):
    for a, goal in (("log", 40), ("tropical_max_plus", 3.5), ("euclidean", 3.5)):
        t.add(f"{a} against the best of jax", "512³ f32", goal, rows.ratio("jax", cube(512, a, "f32"), ["tiled"], JAX), "×")
    t.add("boolean against the best of jax", "512³", 10, rows.ratio("jax", cube(512, "boolean", "bool"), ["tiled"], JAX), "×")
    for n in (512, 1024):
        t.add("max-plus against GraphBLAS", f"{n}³ f64", 15,
              rows.ratio("graphblas", cube(n, "tropical_max_plus", "f64"), ["tiled"], ["graphblas"]), "×")
    for d, words in (("sparse", "1 % ones"), ("half", "half ones")):
        time_s = rows.time("boolean", cube(4096, "boolean", "bool", density=d), "tiled")
        t.add("boolean, 10¹² bit-steps a second", f"4096³, {words}", 2, 4096**3 / time_s * 1e-12 if time_s else None, "")


def add_threads(t, rows):
    for a in (*FLOATS, "boolean"):
        p = cube(1024, a, "f64") if a != "boolean" else cube(4096, "boolean", "bool", density="half")
        gain = rows.ratio("two", p, ["calibrax"], ["tiled"])
        t.add(f"{a}, two threads over one", "1024³ f64" if a != "boolean" else "4096³, half ones", 1.7, gain, "×")


def add_ell(t, rows):
    for m, dtype, level in ((2048, "f64", "L2"), (4096, "f32", "L2"), (16384, "f32", "L3"), (131072, "f32", "memory")):
        for a, words in (("real", "sum"), ("tropical_max_plus", "max")):
            p = rows_of_b(m, a, dtype)
            t.add(f"ELL {words}, of the gather", f"{m} rows {dtype}, {level}", 80, percent(rows.share("ell", p, "calibrax")))
        p = rows_of_b(m, "real", dtype)
        t.add("ELL sum against the best CSR product", f"{m} rows {dtype}, {level}", 1,
              rows.ratio("ell", p, ["calibrax"], ["torch-csr", "scipy-csr"]), "×")
    for a, words in (("real", "sum"), ("tropical_max_plus", "max")):
        t.add(f"ELL {words}, of the gather, two threads", "16384 rows f32", 80,
              percent(rows.share("ell-two", rows_of_b(16384, a), "calibrax")))
    for text in rows.points("edge"):
        p = json.loads(text)
        where = f"{p['n']}×{p['k']}, {p['d_in']} to {p['d_out']}, {p['graph']} {p['order']} {p['dtype']}"
        if p["algebra"] == "real":
            t.add("edge sum against the best CSR product", where, 1,
                  rows.ratio("edge", p, ["calibrax"], ["torch-csr", "scipy-csr"]), "×")
        else:
            t.add("edge max against PyG", where, 4, rows.ratio("edge", p, ["calibrax"], ["pyg"]), "×")


def table_of(rows):
    t = Table()
    for add in (add_shares, add_shapes, add_rivals, add_threads, add_ell):
        add(t, rows)
    return t


def command(nperf, part, folder):
    name, case, points, baselines, threads, launches, epochs = part
    out = [nperf, "--case", case, "--baselines", ",".join(baselines), "--launches", str(launches), "--warmup", "1",
           "--repeats", str(epochs), "--variants", "tuned", "--threads", str(threads), "--out", str(folder / f"{name}.jsonl"),
           "--report", str(folder / f"{name}.md"), "--resume"]
    for point in points or []:
        out += ["--point", json.dumps(point)]
    return out


def measure(nperf, parts, folder, dry_run):
    for part in parts:
        words = command(nperf, part, folder)
        print(f"# {part[0]}: {len(part[2] or []) or 'all'} points, {part[4]} thread(s)", file=sys.stderr, flush=True)
        if dry_run:
            print(" ".join(f"'{w}'" if "{" in w else w for w in words))
            continue
        started = time.monotonic()
        if subprocess.run(words, cwd=ROOT, stdout=subprocess.DEVNULL).returncode not in (0,):
            return False
        print(f"# {part[0]}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return True


def write_report(nperf, name, files, t):
    """Rows of some parts as one file, rendered, with the table of goals in front."""
    rows = "".join(f.read_text(encoding="utf-8") for f in files if f.exists())
    jsonl, markdown = ROOT / "reports" / f"{name}.jsonl", ROOT / "reports" / f"{name}.md"
    jsonl.write_text(rows, encoding="utf-8")
    done = subprocess.run([nperf, "--render-from", str(jsonl), "--report", str(markdown)], cwd=ROOT, stdout=subprocess.DEVNULL)
    if done.returncode:
        return False
    head, rest = markdown.read_text(encoding="utf-8").split("\n\n", 1)
    goals = ("## Goals\n\nGoal, what was seen (ratios of medians; shares are paired with the limit, launch by launch), and what the\n"
             "machine allows where that is less than the goal. Made by `make report-kernels`.\n\n")
    lines = [x for x in t.lines if x[0].startswith(("ELL", "edge")) == (name == "kernels_ell")]
    part = Table()
    part.lines = lines
    markdown.write_text(f"{head}\n\n{goals}{part.markdown()}\n{rest}", encoding="utf-8")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nperf", nargs="?")
    parser.add_argument("--only", action="append", choices=[p[0] for p in PARTS], help="a part; may be repeated")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "report-kernels")
    parser.add_argument("--dry-run", action="store_true", help="print the commands")
    parser.add_argument("--table", action="store_true", help="measure nothing: the table from the folder's rows")
    args = parser.parse_args()
    parts = [p for p in PARTS if not args.only or p[0] in args.only]
    args.folder.mkdir(parents=True, exist_ok=True)
    if not args.table:
        if not args.nperf:
            parser.error("name the program nperf")
        if not measure(str(pathlib.Path(args.nperf).resolve()), parts, args.folder, args.dry_run):
            return 2
    if args.dry_run:
        return 0
    rows = Rows()
    for part in PARTS:
        path = args.folder / f"{part[0]}.jsonl"
        if path.exists():
            rows.read(part[0], path)
    if not rows.rows:
        print("report_kernels: no rows are there: run it without --table first", file=sys.stderr)
        return 2
    t = table_of(rows)
    print(t.markdown())
    if args.nperf and not args.only:
        nperf = str(pathlib.Path(args.nperf).resolve())
        of = lambda case: [args.folder / f"{p[0]}.jsonl" for p in PARTS if p[1] == case]
        if not write_report(nperf, "kernels_matmul", of("semiring_matmul"), t):
            return 2
        if not write_report(nperf, "kernels_ell", of("ell_matmul") + of("ell_edge_aggregate"), t):
            return 2
    return 1 if t.missed else 0


if __name__ == "__main__":
    sys.exit(main())
