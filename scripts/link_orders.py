#!/usr/bin/env python3
"""How much the order of the linker is worth here: a bound on the one layout factor that nperf does not draw.

Links the library and the native worker again from the objects of a build, in orders drawn from a seed, and measures one point with each in turn,
ROUNDS times. Objects are the same in all of them; functions stand elsewhere. For each baseline: the spread of the orders' medians, beside the
spread of rounds of one and the same order, from which it must be distinguished.

usage: scripts/link_orders.py BUILD [--orders 8] [--rounds 3] [--seed 0] [--json] -- NPERF ARGUMENTS
       scripts/link_orders.py build/release -- --case dense_matmul --baselines loops,tiled --launches 11
"""
import argparse
import json
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


def members(build: Path, archive: str) -> list[str]:
    """Objects of a thin archive, as paths from the build folder."""
    return subprocess.run(["ar", "t", archive], cwd=build, capture_output=True, text=True, check=True).stdout.split()


def command_of(build: Path, target: str) -> list[str]:
    """The linker's command for a target, as the build has it."""
    printed = subprocess.run(["ninja", "-t", "commands", target], cwd=build, capture_output=True, text=True, check=True).stdout
    return shlex.split(printed.strip().splitlines()[-1])


def link(build: Path, command: list[str], archive: str, out: Path, rng: random.Random, swap: dict[str, str]) -> None:
    """The same command with the archive's members named one by one, in another order."""
    objects = members(build, archive)
    rng.shuffle(objects)
    response = out.with_suffix(".objects")
    response.write_text("\n".join(shlex.quote(name) for name in objects) + "\n", encoding="utf-8")
    words = [f"@{response}" if word == archive else swap.get(word, word) for word in command]
    words[words.index("-o") + 1] = str(out)
    subprocess.run([*words, f"-Wl,-rpath,{out.parent}"], cwd=build, check=True)


def make_order(build: Path, folder: Path, seed: str) -> Path:
    rng = random.Random(seed)
    library = next(path.name for path in build.glob("libcalibrax.so.*.*.*") if path.is_file() and path.suffix != ".symbols")
    folder.mkdir()
    link(build, command_of(build, library), "libcalibrax_all.a", folder / library, rng, {})
    (folder / "libcalibrax.so.0").symlink_to(library)
    worker = folder / "nperf-worker"
    link(build, command_of(build, "programs/workers/nperf-worker"), "suites/libcalibrax_suites.a", worker, rng, {library: str(folder / library)})
    return worker


def measure(build: Path, worker: Path, place: Path, arguments: list[str]) -> dict[str, float]:
    """Median of each baseline that has a good row."""
    env = {**os.environ, "NPERF_WORKER": str(worker), "LD_LIBRARY_PATH": str(worker.parent)}
    done = subprocess.run([str(build / "programs/nperf/nperf"), *arguments, "--json"], cwd=place, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"link_orders: nperf failed: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}")
    rows = [row for row in json.loads(done.stdout)["rows"] if row["status"] == "ok"]
    return {f"{row['baseline']} {json.dumps(row['param_point'])}": row["metrics"]["steady_time"]["median"] for row in rows}


def spread(values: list[float]) -> float:
    """Largest over smallest, less one."""
    return max(values) / min(values) - 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--orders", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--json", action="store_true")
    own, arguments = (sys.argv[1:] + ["--"])[: (sys.argv[1:] + ["--"]).index("--")], sys.argv[1:]
    arguments = arguments[arguments.index("--") + 1 :] if "--" in arguments else ["--case", "dense_matmul", "--baselines", "loops,tiled"]
    args = parser.parse_args(own)
    build = args.build.resolve()
    with tempfile.TemporaryDirectory(prefix="link-orders-") as scratch:
        place = Path(scratch)
        workers = [make_order(build, place / str(i), f"{args.seed}/{i}") for i in range(args.orders)]
        seen: dict[str, list[list[float]]] = {}
        for round_ in range(args.rounds):
            turn = list(range(args.orders))
            random.Random(f"{args.seed}/round {round_}").shuffle(turn)
            for i in turn:
                for name, median in measure(build, workers[i], place, arguments).items():
                    seen.setdefault(name, [[] for _ in workers])[i].append(median)
    found = []
    for name, by_order in seen.items():
        complete = [values for values in by_order if len(values) == args.rounds]
        if len(complete) < 2:
            continue
        found.append({"row": name, "orders": len(complete), "rounds": args.rounds,
                      "between_orders": spread([statistics.median(values) for values in complete]),
                      "within_an_order": statistics.median(spread(values) for values in complete)})
    if args.json:
        print(json.dumps({"schema": "nperf-link-orders", "version": 1, "seed": args.seed, "rows": found}, indent=1))
    for row in [] if args.json else found:
        print(f"{row['row']}: {100 * row['between_orders']:.2f} % between the medians of {row['orders']} orders, "
              f"{100 * row['within_an_order']:.2f} % between rounds of one order")
    return 0 if found else 2


if __name__ == "__main__":
    sys.exit(main())
