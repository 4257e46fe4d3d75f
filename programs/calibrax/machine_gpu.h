/*
 * calibrax machine --gpu: a GPU's measured roofs, as lines, as JSON and as a plot; or the reason why there are none.
 */
#ifndef CALIBRAX_PROGRAMS_CALIBRAX_MACHINE_GPU_H
#define CALIBRAX_PROGRAMS_CALIBRAX_MACHINE_GPU_H

#include "calibrax/profiling/gpu_roofs.h"
#include "programs/common/options.h"

typedef struct machine_gpu {
    int index;
    bool measured;
    cbx_gpu_roofs roofs; /* if measured */
    cbx_err why;         /* if not */
} machine_gpu;

/* @return CBX_OK, also where there is no such GPU or none that can be measured; faults of the device and of memory are faults */
cbx_status machine_gpu_measure(const opt_run *run, int index, machine_gpu *out, cbx_err *err);
void machine_gpu_show(const machine_gpu *g);
cbx_json *machine_gpu_json(const machine_gpu *g);
/* The name ends with the name of a format. */
bool machine_gpu_can_plot(const char *path);
/* Nothing is written of one that was not measured.  @return CBX_OK; as drawing and writing a file */
cbx_status machine_gpu_plot(const opt_run *run, const machine_gpu *g, const char *path, cbx_err *err);

#endif
