"""Scores of videos by the tools that their users have."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile


def _escaped(value: str) -> str:
    """A value of a filter's option: first for the option, then for the graph of filters (ffmpeg-filters, filtergraph escaping)."""
    return re.sub(r"([\\'\[\],;])", r"\\\1", re.sub(r"([\\':])", r"\\\1", value))


def _path(name: str, path: str | os.PathLike[str]) -> str:
    text = os.path.abspath(os.fspath(path))
    if not os.path.isfile(text):
        raise FileNotFoundError(f"vmaf_score: '{name}' does not exist: {text}")
    return f"file:{text}"  # else a name with a colon would be a protocol


def vmaf_score(reference: str | os.PathLike[str], distorted: str | os.PathLike[str], *, model: str | None = None) -> float:
    """Video multi-method assessment fusion, by FFmpeg with libvmaf: the mean over the frames, 0 to 100, higher is better.

    reference, distorted: paths of videos of one size and rate
    model: libvmaf's words for a model, "version=vmaf_v0.6.1"; None: its default

    Raises FileNotFoundError (a path), RuntimeError (FFmpeg is not installed, has no libvmaf, or fails: its last words are in the
    message), ValueError (its log has no score).  Source: Li, Aaron, Katsavounidis, Moorthy & Manohara, Netflix (2016).
    """
    inputs = [_path("distorted", distorted), _path("reference", reference)]
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise RuntimeError("vmaf_score: 'ffmpeg' is not on PATH: install FFmpeg with libvmaf")
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "vmaf.json")
        options = {"log_fmt": "json", "log_path": log, **({} if model is None else {"model": model})}
        graph = "libvmaf=" + ":".join(f"{k}={_escaped(v)}" for k, v in options.items())
        command = [ffmpeg, "-hide_banner", "-nostdin", "-i", inputs[0], "-i", inputs[1], "-lavfi", graph, "-f", "null", "-"]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
        if done.returncode:
            words = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            raise RuntimeError(f"vmaf_score: ffmpeg ended with status {done.returncode}: {words[-1] if words else 'it gives no reason'}")
        try:
            with open(log, encoding="utf-8") as file:
                return float(json.load(file)["pooled_metrics"]["vmaf"]["mean"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError("vmaf_score: the log of libvmaf has no mean score") from error
