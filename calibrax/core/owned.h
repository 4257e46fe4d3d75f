/* Pointers that are freed where their block ends: CBX_OWNED(cbx_run) *run = NULL. */
#ifndef CALIBRAX_CORE_OWNED_H
#define CALIBRAX_CORE_OWNED_H

#include "calibrax/base/idioms.h"
#include "calibrax/base/json.h"
#include "calibrax/core/run.h"

CBX_FREED_BY(cbx_json, cbx_json_unref)
CBX_FREED_BY(cbx_run, cbx_run_free)
CBX_FREED_BY(cbx_run_builder, cbx_run_builder_free)

#endif
