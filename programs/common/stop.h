/*
 * Ctrl-C: the first one sets a flag that everything looks at, the second one ends the program at
 * once.
 */
#ifndef CALIBRAX_PROGRAMS_STOP_H
#define CALIBRAX_PROGRAMS_STOP_H

#include "calibrax/perf/launch/launch.h"

/* Catches SIGINT and SIGTERM, and ignores SIGPIPE.  The flag lives as long as the program. */
const cbx_stop_flag *stop_catch(void);

#endif
