/* Inside base: how a context gets its settings. */
#ifndef CALIBRAX_BASE_SETTINGS_INTERNAL_H
#define CALIBRAX_BASE_SETTINGS_INTERNAL_H

#include "calibrax/base/settings.h"

/** Options first, then the environment; opts has every member that this version knows. */
cbx_status cbx__settings_resolve(const cbx_ctx_opts *opts, cbx_settings *out, cbx_err *err);

#endif
