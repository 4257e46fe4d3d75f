/* Units that formats of other tools have a word for: times in seconds, sizes in bytes. */
#ifndef CALIBRAX_EXPORTERS_UNITS_H
#define CALIBRAX_EXPORTERS_UNITS_H

#include "calibrax/core/run.h"

typedef enum cbx__unit_kind { CBX__UNIT_OTHER, CBX__UNIT_TIME, CBX__UNIT_SIZE } cbx__unit_kind;

/* A value in this unit is value * times / per seconds or bytes; both factors are exact. */
typedef struct cbx__unit {
    const char *word;
    cbx__unit_kind kind;
    double times, per;
} cbx__unit;

/* Never NULL: an unknown word is CBX__UNIT_OTHER with factors of 1. */
const cbx__unit *cbx__unit_find(const char *word);
/* The same of a metric; one without a definition has no unit. */
const cbx__unit *cbx__unit_of(const cbx_run *run, const char *metric);
/* A number that times scale is v again, as an importer computes it, where there is one. */
double cbx__unscaled(double v, double scale);
bool cbx__all_finite(const double *v, size_t n);

#endif
