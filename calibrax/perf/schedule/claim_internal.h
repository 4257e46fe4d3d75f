/* What a command gets of a claim.  Internal to perf. */
#ifndef CALIBRAX_PERF_SCHEDULE_CLAIM_INTERNAL_H
#define CALIBRAX_PERF_SCHEDULE_CLAIM_INTERNAL_H

#include "calibrax/base/environment.h"
#include "calibrax/perf/launch/child.h"
#include "calibrax/perf/schedule/claim.h"

/* The child inherits the claim's descriptors, and its environment names them.  NULL: nothing is passed on. */
void cbx__claim_pass(const cbx_claim *claim, cbx__child_opts *child, cbx__environment *e);

#endif
