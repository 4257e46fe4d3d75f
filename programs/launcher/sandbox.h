/*
 * What a measured worker may not do, whatever it runs: reach the network, look into or signal other processes, change the machine.
 */
#ifndef CALIBRAX_PROGRAMS_LAUNCHER_SANDBOX_H
#define CALIBRAX_PROGRAMS_LAUNCHER_SANDBOX_H

#include <stdbool.h>

/* From now on, for this process and all that descends from it.  @return false if the kernel or this build cannot: nothing is enforced */
bool sandbox_enter(void);

#endif
