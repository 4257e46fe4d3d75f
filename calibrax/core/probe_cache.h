/**
 * Inside the library: a probe as JSON.
 */
#ifndef CALIBRAX_CORE_PROBE_CACHE_H
#define CALIBRAX_CORE_PROBE_CACHE_H

#include "calibrax/base/json.h"
#include "calibrax/core/probe.h"

/** Schema "calibrax.probe", version 1, with revision and build of this library; NULL: out of
 * memory. */
cbx_json *cbx__probe_to_json(const cbx_probe *p);
/** false, and out untouched: of another version or build, or a rate is missing, not finite or not
 * above 0. */
bool cbx__probe_from_json(const cbx_json *v, cbx_probe *out);

#endif
