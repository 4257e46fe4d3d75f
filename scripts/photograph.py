#!/usr/bin/env python3
"""Takes pictures of the page that nperf renders, from rows of reports/, into docs/images: page-light.png and page-dark.png, and
page-400.png, page-1280.png and page-1920.png, the top of the page in windows of these widths; and of the pages that `calibrax serve`
shows of a store with made-up runs: store-trend.png, store-runs.png, store-compare.png (dark), store-400.png, store-trace.png,
store-run.png and store-point.png (dark).

usage: scripts/photograph.py NPERF [ROWS.jsonl...]      default: reports/ell_row_softmax.jsonl; calibrax is looked for beside nperf

Headless Chromium draws them; pngquant reduces each to at most 256 colours and 150 kB.
exit status: 0; 2 Chromium or pngquant is missing or failed, nperf failed, or a picture is too large
"""
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_BYTES = 150_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DARK = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]
SHOTS = {"light": (1200, 1500, []), "dark": (1200, 1500, DARK), "400": (400, 1300, []), "1280": (1280, 900, []), "1920": (1920, 1000, [])}
TREND = "trend?metric=time&point=matmul&scenario=train&tag=batch=32&tag=framework=jax"
POINT = "point?run=run0059&point=matmul&scenario=train&tag=batch=32&tag=framework=jax"
STORE_SHOTS = {"trend": (TREND, 1200, 900, []), "runs": ("", 1280, 760, []), "compare": ("compare?a=baseline:main&b=run0059", 1280, 900, DARK), "400": (TREND, 400, 1000, []),
               "trace": ("trace?id=TRACED", 1200, 1120, []), "run": ("run?id=run0059", 1200, 820, []), "point": (POINT, 1200, 760, DARK)}


def take(browser: str, folder: pathlib.Path, url: str, width: int, height: int, flags: list[str], out: pathlib.Path) -> bool:
    """Photographs a page; whether the picture is small enough."""
    # A busy machine must not photograph a page of which parts are not drawn yet.
    subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--run-all-compositor-stages-before-draw",
                    f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=2000", f"--window-size={width},{height}", *flags,
                    f"--screenshot={folder / 'full.png'}", url], check=True, timeout=120, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run(["pngquant", "--force", "--output", str(out), "256", str(folder / "full.png")], check=True)
    print(f"{out.relative_to(ROOT)}: {out.stat().st_size} bytes")
    if out.stat().st_size > MAX_BYTES:
        print(f"photograph: {out.name} is larger than {MAX_BYTES} bytes: photograph less", file=sys.stderr)
    return out.stat().st_size <= MAX_BYTES


def make_store(folder: pathlib.Path) -> None:
    """Sixty runs of kernels; matmul of jax becomes slower, fft faster."""
    rng = random.Random(1)
    (folder / "runs").mkdir(parents=True)
    (folder / "baselines").mkdir()
    for number in range(60):
        points = []
        for i, name in enumerate(("matmul", "softmax", "fft", "sort")):
            for k, framework in enumerate(("jax", "torch", "numpy")):
                value = 1e-3 * (i + 1) * (1 + 0.3 * k) * (1.08 if (name, framework) == ("matmul", "jax") and number > 35 else 0.9 if name == "fft" and number > 45 else 1)
                samples = sorted(value * rng.gauss(1, 0.01) for _ in range(9))
                points.append({"name": name, "scenario": "train", "tags": {"framework": framework, "batch": "32"},
                               "metrics": {"time": {"value": samples[4], "lower": samples[1], "upper": samples[7], "samples": samples}}})
        run = {"id": f"run{number:04d}", "timestamp": f"2026-01-{number // 24 + 1:02d}T{number % 24:02d}:00:00+00:00", "commit": f"{rng.getrandbits(160):040x}",
               "branch": "main" if number % 4 else "feature", "environment": {"machine": "m-abcd"}, "metadata": {},
               "metric_defs": {"time": {"name": "time", "unit": "s", "direction": "lower", "group": "", "priority": "primary", "description": "median time of a call"}},
               "points": points}
        for path in [folder / "runs" / f"run{number:04d}.json"] + [folder / "baselines" / "main.json"] * (number == 30):
            path.write_text(json.dumps(run), encoding="utf-8")


def make_trace(path: pathlib.Path) -> None:
    """A step of a model on two devices, as a profiler writes it: kernels, and gaps where a device waits for the other one."""
    rng = random.Random(2)
    kernels = {"ampere_bf16_gemm_128x256": 310, "flash_attention_fwd": 180, "layer_norm_fused": 42, "gelu_fused": 37, "all_reduce_ring": 120, "adam_fused": 65}
    titles = {1: "/device:GPU:0", 2: "/device:GPU:1", 3: "/host:CPU"}
    events = [{"ph": "M", "name": "process_name", "pid": pid, "args": {"name": title}} for pid, title in titles.items()]
    events += [{"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}} for pid, tid, name in ((1, 7, "stream 7"), (2, 7, "stream 7"), (3, 1, "main"), (3, 2, "dataloader"))]
    for pid in (1, 2):
        at = 0.0
        for _ in range(24):
            for name, us in kernels.items():
                length = us * rng.gauss(1, 0.03) * (1.15 if pid == 2 else 1)
                events.append({"ph": "X", "pid": pid, "tid": 7, "name": name, "ts": round(at, 3), "dur": round(length, 3)})
                at += length + (rng.uniform(100, 300) if name.startswith("all") and pid == 1 else rng.uniform(1, 5))
    for step in range(24):
        events += [{"ph": "X", "pid": 3, "tid": 1, "name": "train_step", "ts": 830.0 * step, "dur": 700.0}, {"ph": "X", "pid": 3, "tid": 1, "name": "cudaLaunchKernel", "ts": 830.0 * step + 20, "dur": 90.0},
                   {"ph": "X", "pid": 3, "tid": 2, "name": "collate", "ts": 830.0 * step + 100, "dur": 400.0}]
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")


def photograph_store(calibrax: pathlib.Path, browser: str, folder: pathlib.Path) -> bool:
    make_store(folder / "kernels")
    make_trace(folder / "step.trace.json")
    done = subprocess.run([str(calibrax), "ingest", "--data", "kernels", "--input", "step.trace.json", "--json"], cwd=folder, check=True, stdout=subprocess.PIPE)
    traced = json.loads(done.stdout)["runs"][0]["id"]
    server = subprocess.Popen([str(calibrax), "serve", "--data", "kernels", "--port", "0"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        return all([take(browser, folder, url + page.replace("TRACED", traced), width, height, flags, ROOT / "docs" / "images" / f"store-{shot}.png")
                    for shot, (page, width, height, flags) in STORE_SHOTS.items()])
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)


def main(argv: list[str]) -> int:
    browser = next((b for b in BROWSERS if shutil.which(b)), None)
    if len(argv) < 2:
        print("usage: scripts/photograph.py NPERF [ROWS.jsonl...]", file=sys.stderr)
        return 2
    if not browser or not shutil.which("pngquant"):
        print("photograph: Chromium or pngquant is missing: apt-get install chromium pngquant", file=sys.stderr)
        return 2
    rows = [str(pathlib.Path(a).resolve()) for a in argv[2:]] or [str(ROOT / "reports" / "ell_row_softmax.jsonl")]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([str(pathlib.Path(argv[1]).resolve()), "--render-from", *rows, "--site", str(folder / "site")], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
        fine = all([take(browser, folder, (folder / "site" / "index.html").as_uri(), width, height, flags, ROOT / "docs" / "images" / f"page-{shot}.png")
                    for shot, (width, height, flags) in SHOTS.items()])
        fine = photograph_store(pathlib.Path(argv[1]).resolve().parents[1] / "calibrax" / "calibrax", browser, folder) and fine
    return 0 if fine else 2


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv))
    except (OSError, subprocess.SubprocessError) as error:
        print(f"photograph: {error}", file=sys.stderr)
        sys.exit(2)
