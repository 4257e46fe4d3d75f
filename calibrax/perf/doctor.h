/**
 * What is here, what is missing, and the command that adds it.
 */
#ifndef CALIBRAX_PERF_DOCTOR_H
#define CALIBRAX_PERF_DOCTOR_H

#include "calibrax/perf/launch.h"

CBX_BEGIN_DECLS

typedef enum cbx_doctor_state {
    CBX_DOCTOR_FACT,    /* something known of this machine */
    CBX_DOCTOR_HERE,    /* a part that was found and works */
    CBX_DOCTOR_MISSING, /* an optional part that is not here */
    CBX_DOCTOR_BROKEN   /* a part without which nothing can be measured */
} cbx_doctor_state;

typedef struct cbx_doctor_item {
    const char *group; /* "machine", "clock", "probe", "programs", "libraries", "frameworks", "devices" */
    const char *name;
    cbx_doctor_state state;
    const char *text;
    const char *remedy; /* a command; NULL: none */
} cbx_doctor_item;

typedef struct cbx_doctor_report {
    cbx_doctor_item *items; /* in the arena */
    size_t count, capacity;
    size_t broken; /* items that are CBX_DOCTOR_BROKEN */
} cbx_doctor_report;

/** Looks at everything; frameworks are imported in a child with a time limit of 60 s each.
 * @param out  zeroed by the caller; its items live in the arena
 * @return CBX_OK, also when parts are missing; CBX_ENOMEM */
CBX_API cbx_status cbx_doctor_run(cbx_ctx *ctx, cbx_arena *arena, const cbx_stop_flag *stop, cbx_doctor_report *out,
                                  cbx_err *err);
/** "fact", "here", "missing", "broken" */
CBX_API const char *cbx_doctor_state_name(cbx_doctor_state s);

CBX_END_DECLS
#endif
