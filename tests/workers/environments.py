"""Which interpreter has a framework: the one NPERF_PYTHON_<FW> names, or the environment scripts/setup-refs.sh built."""

from __future__ import annotations

import os
import subprocess


def interpreter(framework: str, module: str | None = None) -> str | None:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.environ.get("NPERF_REFS_ENV_DIR") or os.path.join(cache, "calibrax", "refs")
    for path in (os.environ.get(f"NPERF_PYTHON_{framework.upper()}"), os.path.join(folder, framework, "bin", "python")):
        if path and os.access(path, os.X_OK) and _has(path, module or framework):
            return path
    return None


def _has(path: str, module: str) -> bool:
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{module}') is None)"
    return subprocess.run([path, "-c", code], stderr=subprocess.DEVNULL).returncode == 0
