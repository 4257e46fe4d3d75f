/* Whether this CPU and its operating system run an instruction set: built once for each, without its flags. */
#include <stdbool.h>

#include "calibrax/array/kernels/isa_name.h"

bool PASTE(cbx__isa_runs_, ISA_NAME)(void);
bool PASTE(cbx__isa_runs_, ISA_NAME)(void) { return ISA_RUNS; }
