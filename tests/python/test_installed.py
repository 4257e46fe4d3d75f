"""Runs installed.py on a copy laid out as a wheel lays it out, with an empty environment.  Prints TAP.

What a wheel really holds is held to this by `make python-install`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..")


def lay_out(folder: str, extension: str) -> str:
    package = os.path.dirname(extension)
    build = os.path.dirname(os.path.dirname(package))
    site = os.path.join(folder, "lib", "python3", "site-packages")
    tools = os.path.join(site, "calibrax_c", "tools")
    shutil.copytree(package, os.path.join(site, "calibrax_c"), ignore=shutil.ignore_patterns("*.p", "__pycache__"))
    os.mkdir(tools)
    for name in ("launcher/nperf-launch", "nperf/nperf", "calibrax/calibrax", "workers/nperf-worker"):
        shutil.copy(os.path.join(build, "programs", name), tools)
    shutil.copy(os.path.join(build, "libcalibrax.so.0"), tools)
    shutil.copytree(os.path.join(SOURCE, "workers/python"), tools, dirs_exist_ok=True)
    return site


def main() -> int:
    import calibrax_c

    folder = tempfile.mkdtemp()
    try:
        environment = {name: os.environ[name] for name in ("PATH", "LD_PRELOAD", "ASAN_OPTIONS", "PYTHONMALLOC", "HOME") if name in os.environ}
        environment["PYTHONPATH"] = lay_out(folder, os.path.realpath(calibrax_c.__file__))
        environment["LD_LIBRARY_PATH"] = os.path.join(environment["PYTHONPATH"], "calibrax_c", "tools")  # a wheel is linked for its folder
        environment["CALIBRAX_TEST_SOURCE"] = SOURCE
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        return subprocess.run([sys.executable, os.path.join(HERE, "installed.py")], cwd=folder, env=environment).returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
