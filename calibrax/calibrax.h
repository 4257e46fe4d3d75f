/**
 * Calibrax for C: everything public.  Include single headers where compile time matters.
 */
#ifndef CALIBRAX_CALIBRAX_H
#define CALIBRAX_CALIBRAX_H

#include "calibrax/base/api.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/ctx.h"
#include "calibrax/base/file.h"
#include "calibrax/base/hash.h"
#include "calibrax/base/json.h"
#include "calibrax/base/library.h"
#include "calibrax/base/pool.h"
#include "calibrax/base/rng.h"
#include "calibrax/base/status.h"
#include "calibrax/base/text.h"
#include "calibrax/base/vcs.h"
#include "calibrax/base/version.h"

#include "calibrax/core/adapters.h"
#include "calibrax/core/machine.h"
#include "calibrax/core/metadata.h"
#include "calibrax/core/metric.h"
#include "calibrax/core/protocols.h"
#include "calibrax/core/registry.h"
#include "calibrax/core/result.h"
#include "calibrax/core/run.h"

#include "calibrax/statistics/estimate.h"
#include "calibrax/statistics/significance.h"

#include "calibrax/array/array.h"
#include "calibrax/array/backend.h"
#include "calibrax/array/dtype.h"
#include "calibrax/array/io/npy.h"
#include "calibrax/array/kernels/semiring.h"
#include "calibrax/array/kernels/vmath.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/primitive.h"
#include "calibrax/array/promote.h"
#include "calibrax/array/scope.h"

#include "calibrax/storage/row.h"

#include "calibrax/analysis/verdict.h"

#include "calibrax/perf/case.h"
#include "calibrax/perf/doctor.h"
#include "calibrax/perf/exec.h"
#include "calibrax/perf/failure.h"
#include "calibrax/perf/launch.h"
#include "calibrax/perf/measure.h"
#include "calibrax/perf/params.h"
#include "calibrax/perf/report.h"
#include "calibrax/perf/worker.h"

#endif
