"""Answers of calibrax/metrics/functional/segmentation.c."""

from __future__ import annotations

import numpy as np

from cases.metrics_oracle.classification import binary
from cases.metrics_oracle.common import Long

ORACLE = {
    "iou": binary(lambda tp, fp, fn, tn: tp / (tp + fp + fn)),
    "dice_coefficient": binary(lambda tp, fp, fn, tn: 2 * tp / (2 * tp + fp + fn)),
    "pixel_accuracy": lambda p, t: Long(np.count_nonzero(p == t)) / t.size,
}
TOLERANCE = {1e-15: "iou dice_coefficient pixel_accuracy"}
