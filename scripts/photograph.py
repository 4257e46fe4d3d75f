#!/usr/bin/env python3
"""Takes pictures of the page that nperf renders, from rows of reports/, into docs/images: page-light.png and page-dark.png, and
page-400.png, page-1280.png and page-1920.png, the top of the page in windows of these widths.

usage: scripts/photograph.py NPERF [ROWS.jsonl...]      default: reports/ell_row_softmax.jsonl

Headless Chromium draws them; pngquant reduces each to at most 256 colours and 150 kB.
exit status: 0; 2 Chromium or pngquant is missing or failed, nperf failed, or a picture is too large
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_BYTES = 150_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DARK = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]
SHOTS = {"light": (1200, 1500, []), "dark": (1200, 1500, DARK), "400": (400, 1300, []), "1280": (1280, 900, []), "1920": (1920, 1000, [])}


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
        for shot, (width, height, flags) in SHOTS.items():
            out = ROOT / "docs" / "images" / f"page-{shot}.png"
            subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                            f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=2000", f"--window-size={width},{height}", *flags,
                            f"--screenshot={folder / 'full.png'}", (folder / "site" / "index.html").as_uri()],
                           check=True, timeout=120, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            subprocess.run(["pngquant", "--force", "--output", str(out), "256", str(folder / "full.png")], check=True)
            print(f"{out.relative_to(ROOT)}: {out.stat().st_size} bytes")
            if out.stat().st_size > MAX_BYTES:
                print(f"photograph: {out.name} is larger than {MAX_BYTES} bytes: photograph less", file=sys.stderr)
                return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv))
    except (OSError, subprocess.SubprocessError) as error:
        print(f"photograph: {error}", file=sys.stderr)
        sys.exit(2)
