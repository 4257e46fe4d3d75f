/*
 * Where the project's own programs are: nperf-launch, nperf-worker, workers/python/worker.py,
 * call.py and wandb_files.py.
 */
#ifndef CALIBRAX_BASE_PROGRAMS_H
#define CALIBRAX_BASE_PROGRAMS_H

#include "calibrax/base/arena.h"

typedef enum cbx__tool {
    CBX__TOOL_LAUNCH,
    CBX__TOOL_WORKER,
    CBX__TOOL_PYTHON_WORKER,
    CBX__TOOL_PYTHON_CALL,
    CBX__TOOL_PYTHON_WANDB,
    CBX__TOOL_COUNT
} cbx__tool;

/* @return CBX_OK; CBX_ENOENT (the message names the program, and the variable if that is set to a
 *   missing file) */
cbx_status cbx__tool_find(cbx__tool tool, cbx_arena *arena, const char **path, cbx_err *err);

#endif
