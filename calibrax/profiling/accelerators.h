/*
 * Inside the library: devices by their PCI numbers, CPUs by their features.
 */
#ifndef CALIBRAX_PROFILING_ACCELERATORS_H
#define CALIBRAX_PROFILING_ACCELERATORS_H

#include "calibrax/profiling/hardware.h"

/* @param id  "10de:2335"  @return CBX_OK; CBX_ENOENT: not in the table */
cbx_status cbx__hardware_of_pci(const char *id, cbx_hardware *out);
/* A word of m->features. */
bool cbx__machine_has(const cbx_machine *m, const char *feature);

#endif
