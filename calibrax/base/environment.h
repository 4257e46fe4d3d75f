/*
 * The environment that a child gets: ours, with changes.
 */
#ifndef CALIBRAX_BASE_ENVIRONMENT_H
#define CALIBRAX_BASE_ENVIRONMENT_H

#include <stdbool.h>

#include "calibrax/base/arena.h"

typedef struct cbx__environment {
    cbx_arena *arena;
    const char **vars; /* "NAME=value", NULL-terminated */
    size_t n, cap;
    bool failed; /* memory was out */
} cbx__environment;

/* Starts from this process's environment.  @param leave_out  true for a "NAME=value" that is not
 * passed on; NULL: all are */
void cbx__environment_init(cbx__environment *e, cbx_arena *arena, bool (*leave_out)(const char *var));
/* value NULL: unset. */
void cbx__environment_set(cbx__environment *e, const char *name, const char *value);

#endif
