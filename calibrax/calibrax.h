/**
 * Calibrax for C: the whole API.  Include single headers where compile time matters.
 */
#ifndef CALIBRAX_CALIBRAX_H
#define CALIBRAX_CALIBRAX_H

#include "calibrax/base/allocator.h"
#include "calibrax/base/api.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/ctx.h"
#include "calibrax/base/hash.h"
#include "calibrax/base/json.h"
#include "calibrax/base/rng.h"
#include "calibrax/base/status.h"
#include "calibrax/base/text.h"
#include "calibrax/base/version.h"

#include "calibrax/core/machine.h"
#include "calibrax/core/metric.h"
#include "calibrax/core/probe.h"
#include "calibrax/core/protocols.h"
#include "calibrax/core/result.h"
#include "calibrax/core/run.h"

#include "calibrax/array/aot.h"
#include "calibrax/array/array.h"
#include "calibrax/array/dtype.h"
#include "calibrax/array/ell.h"
#include "calibrax/array/fft.h"
#include "calibrax/array/fn.h"
#include "calibrax/array/io/csv.h"
#include "calibrax/array/io/dlpack.h"
#include "calibrax/array/io/hdf5.h"
#include "calibrax/array/io/npy.h"
#include "calibrax/array/io/npz.h"
#include "calibrax/array/linalg.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/primitive.h"
#include "calibrax/array/random.h"
#include "calibrax/array/scope.h"
#include "calibrax/array/semiring.h"
#include "calibrax/array/sets.h"
#include "calibrax/array/transform.h"

#include "calibrax/plot/charts.h"
#include "calibrax/plot/plot.h"

#include "calibrax/statistics/bootstrap.h"
#include "calibrax/statistics/effect.h"
#include "calibrax/statistics/estimate.h"
#include "calibrax/statistics/test.h"

#include "calibrax/analysis/changepoint.h"
#include "calibrax/analysis/regression.h"
#include "calibrax/analysis/verdict.h"

#include "calibrax/metrics/bootstrap.h"
#include "calibrax/metrics/compose.h"
#include "calibrax/metrics/learning/loss.h"
#include "calibrax/metrics/metrics.h"
#include "calibrax/metrics/plugin.h"
#include "calibrax/metrics/stateful/state.h"
#include "calibrax/metrics/tokens.h"

#include "calibrax/profiling/energy.h"
#include "calibrax/profiling/flops.h"
#include "calibrax/profiling/gpu.h"
#include "calibrax/profiling/memory.h"
#include "calibrax/profiling/resources.h"
#include "calibrax/profiling/timing.h"
#include "calibrax/profiling/tracing.h"

#include "calibrax/storage/store.h"

#include "calibrax/perf/case/case.h"
#include "calibrax/perf/case/params.h"
#include "calibrax/perf/case/plugin.h"

#include "calibrax/exporters/exporter.h"

#endif
