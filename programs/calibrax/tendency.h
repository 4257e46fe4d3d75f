/*
 * How a tendency is shown.
 */
#ifndef CALIBRAX_PROGRAMS_TENDENCY_H
#define CALIBRAX_PROGRAMS_TENDENCY_H

#include "calibrax/base/json.h"
#include "calibrax/monitoring/tendency.h"

/* {"word": "degrading", "kind": "rising", "slope": 0.012, "lower": ..., "upper": ..., "values": 100}; NULL: out of memory. */
cbx_json *tendency_json(const cbx_tendency *t, const char *word);
/* "Tendency: degrading, +1.2 % [+0.8 %, +1.6 %] a value" and the end of the line. */
void print_tendency(const cbx_tendency *t, const char *word);

#endif
