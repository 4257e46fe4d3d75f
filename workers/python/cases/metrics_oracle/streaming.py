"""Answers of calibrax/metrics/functional/streaming.c."""

from __future__ import annotations

from cases.metrics_oracle.classification import auc
from cases.metrics_oracle.common import precision_sum
from cases.metrics_oracle.general import middle

ORACLE = {
    "streaming_quantile": middle,
    "streaming_roc_auc": auc,
    "streaming_average_precision": precision_sum,
}
TOLERANCE = {0.01: "streaming_quantile streaming_roc_auc streaming_average_precision"}
