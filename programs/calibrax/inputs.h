/*
 * The runs that a command works on: of a store, or files.
 */
#ifndef CALIBRAX_PROGRAMS_INPUTS_H
#define CALIBRAX_PROGRAMS_INPUTS_H

#include "programs/calibrax/select.h"

/* A member named `inputs` of a command's arguments, beside `select`.  Arguments that are no options
 * name runs, too. */
typedef struct inputs_args {
    opt_list runs, files;
    bool all;
} inputs_args;

#define INPUTS_ROWS                                                                                                    \
    OPT("run", 0, LIST, inputs.runs, "ID,...", "latest",                                                               \
        "runs of the store: ids, unique prefixes of ids, latest, or baseline:NAME", "@runs"),                          \
        OPT_SWITCH("all", 0, inputs.all, "use every run of the store, oldest first"),                                  \
        OPT("input", 0, EACH, inputs.files, "FILE", NULL, "use a run file instead of a store; may be repeated")
/* Rules between those rows. */
#define INPUTS_RULES                                                                                                   \
    { "input", OPT_EXCLUDES, "run all data" }, { "all", OPT_EXCLUDES, "run @" }

/* Runs in order; zeroed to begin with. */
typedef struct inputs_list {
    cbx_run **items;
    size_t n;
} inputs_list;

/* Runs by name, read when they are asked for. */
typedef struct inputs_names {
    const opt_run *run;
    cbx_store *store; /* NULL: all of them are files */
    cbx_run *defs;    /* of the store, for runs that carry none; NULL: it has none */
    cbx_store_list list;
    const char **names;
    bool *is_file;
    size_t n;
    bool bare; /* runs of a store come without samples */
} inputs_names;

/* Runs one after the other, each freed before the next but one is read. */
typedef struct inputs_visit {
    int (*take)(void *user, const cbx_run *r); /* not 0: stop */
    void *user;
    bool any_machine;    /* without a message */
    bool sure;           /* refuses "latest" where it is ambiguous, and --all where a run cannot be read */
    bool allow_machines; /* as of inputs_check_machines */
    bool bare;           /* runs of a store come without samples */
    size_t n;            /* runs taken */
    /* inside */
    cbx_run *first;
    bool noted;
} inputs_visit;

/* --- each returns 0, or 2 after a message --- */

/* What --run, --all, --input and arguments choose, unread, "latest" if they choose nothing; the
 * caller clears it, also on failure. */
int inputs_name(const opt_run *run, const select_args *select, const inputs_args *a, inputs_names *out);
/* Where "latest" is asked for: names the files of the store that cannot be read, one of which may
 * be it. */
void inputs_warn(const inputs_names *names);
/* The i-th of them, whose reference is the caller's. */
cbx_status inputs_get(const inputs_names *names, size_t i, cbx_run **out, cbx_err *err);
void inputs_names_clear(inputs_names *names);
/* Takes those runs in order, and checks their machines; what take returned, if not 0. */
int inputs_each(const opt_run *run, const select_args *select, const inputs_args *a, inputs_visit *v);
/* All of them; beside them, unless `also` is NULL, one run more, by the same rules. */
int inputs_load(const opt_run *run, const select_args *select, const inputs_args *a, const char *also, inputs_list *out,
                cbx_run **other);
void inputs_list_clear(inputs_list *l);

/*
 * Refuses runs of different machines or without one, unless they are allowed: then it notes so on
 * standard error.  A run alone is never refused.
 */
int inputs_check_machines(const opt_run *run, const inputs_list *l, bool allowed);

#endif
