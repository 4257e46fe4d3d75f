/* Inside base: how a context gets its settings. */
#ifndef CALIBRAX_BASE_SETTINGS_INTERNAL_H
#define CALIBRAX_BASE_SETTINGS_INTERNAL_H

#include "calibrax/base/settings.h"

/** Options first, then the environment; opts has every member that this version knows. */
cbx_status cbx__settings_resolve(const cbx_ctx_opts *opts, cbx_settings *out, cbx_err *err);

/**
 * Checks a variable that is no member of cbx_settings, since it is read where it is needed:
 * CALIBRAX_ISA (cpu.h), CALIBRAX_JIT_CACHE_BYTES (docs/jit.md).  A context checks them at its
 * creation, unless its options give all settings.
 * @param i         from 0 on
 * @param variable  its name, a constant string; NULL: i is beyond the last one
 * @return CBX_OK; CBX_EINVAL (its value is not allowed)
 */
cbx_status cbx__setting_check(size_t i, const char **variable, cbx_err *err);

#endif
