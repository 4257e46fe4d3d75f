/* The tables of carbon.c. */
#ifndef CALIBRAX_PROFILING_CARBON_PARTS_H
#define CALIBRAX_PROFILING_CARBON_PARTS_H

#include "calibrax/profiling/carbon.h"

/* By region code. */
extern const cbx_carbon_intensity cbx__carbon_regions[];
extern const size_t cbx__carbon_nregions;

#endif
