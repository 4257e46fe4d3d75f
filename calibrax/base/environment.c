/* A list of "NAME=value", grown in an arena. */
#include "calibrax/base/environment.h"

#include <string.h>
#include <unistd.h>

#include "calibrax/base/list.h"

static void push(cbx__environment *e, const char *var)
{
    e->failed = e->failed || !var || !cbx_grow(CBX_IN_ARENA(e->arena), &e->vars, &e->cap, e->n + 2, sizeof *e->vars);
    if (e->failed) return;
    e->vars[e->n++] = var;
    e->vars[e->n] = NULL;
}

void cbx__environment_init(cbx__environment *e, cbx_arena *arena, bool (*leave_out)(const char *var))
{
    *e = (cbx__environment){ .arena = arena };
    for (char **var = environ; var && *var; var++)
        if (!leave_out || !leave_out(*var)) push(e, *var);
}

void cbx__environment_set(cbx__environment *e, const char *name, const char *value)
{
    size_t len = strlen(name), kept = 0;
    for (size_t i = 0; i < e->n; i++)
        if (strncmp(e->vars[i], name, len) != 0 || e->vars[i][len] != '=') e->vars[kept++] = e->vars[i];
    e->n = kept;
    if (e->vars) e->vars[kept] = NULL;
    if (value) push(e, cbx_arena_printf(e->arena, "%s=%s", name, value));
}
