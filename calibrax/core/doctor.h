/**
 * The parts that work, those that are missing, and the command that adds them: the report of every
 * program's doctor, and entries for the machine, its clock, its measured rates and the libraries
 * that are loaded on first use.
 */
#ifndef CALIBRAX_CORE_DOCTOR_H
#define CALIBRAX_CORE_DOCTOR_H

#include "calibrax/base/arena.h"
#include "calibrax/core/machine.h"

CBX_BEGIN_DECLS

typedef enum cbx_doctor_state {
    CBX_DOCTOR_FACT,    /* something known of this machine */
    CBX_DOCTOR_HERE,    /* a part that was found and works */
    CBX_DOCTOR_MISSING, /* an optional part that is not here */
    CBX_DOCTOR_BROKEN   /* something without which the program cannot do its work */
} cbx_doctor_state;

typedef struct cbx_doctor_item {
    const char *group; /* "settings", "backends", "machine", "clock", "probe", "libraries", "devices" ...; a constant */
    const char *name;
    cbx_doctor_state state;
    const char *text;
    const char *remedy; /* a command; NULL: none */
} cbx_doctor_item;

/** Begin with cbx_doctor_init; what was added is in items, in the order of adding. */
typedef struct cbx_doctor_report {
    cbx_arena *arena;
    cbx_doctor_item *items; /* in the arena */
    size_t count, capacity;
    size_t broken; /* items that are CBX_DOCTOR_BROKEN */
    bool torn;     /* something could not be kept */
} cbx_doctor_report;

/** @param arena  holds the items; must outlive the report, which needs no clearing of its own */
CBX_API void cbx_doctor_init(cbx_doctor_report *r, cbx_arena *arena);
/**
 * Adds an item.  A lack of memory comes out of cbx_doctor_check.
 * @param group   a constant string
 * @param name    copied, as text and remedy are
 * @param remedy  NULL: none
 */
CBX_API void cbx_doctor_add(cbx_doctor_report *r, const char *group, const char *name, cbx_doctor_state state,
                            const char *text, const char *remedy);
/** As cbx_doctor_add, a fact with a text as printf makes it. */
CBX_API void cbx_doctor_fact(cbx_doctor_report *r, const char *group, const char *name, const char *fmt, ...)
    CBX_PRINTF(4, 5);
/** A failure becomes an item; a lack of memory makes the report incomplete instead. */
CBX_API void cbx_doctor_missing(cbx_doctor_report *r, const char *group, const char *name, const cbx_err *why,
                                const char *remedy);
/** @return CBX_OK; CBX_ENOMEM if an item was lost */
CBX_API cbx_status cbx_doctor_check(const cbx_doctor_report *r, cbx_err *err);
/** "fact", "here", "missing", "broken" */
CBX_API const char *cbx_doctor_state_name(cbx_doctor_state s);

/** Fingerprint, CPU, memory, huge pages, governor.  @return whether *m was read */
CBX_API bool cbx_doctor_see_machine(cbx_ctx *ctx, cbx_doctor_report *r, cbx_machine *m);
/** Cost and resolution of a reading of the clock. */
CBX_API void cbx_doctor_see_clock(cbx_doctor_report *r);
/** Measured rates of the machine; measures once if they are unknown.  @param machine_id  "":
 * unknown */
CBX_API void cbx_doctor_see_probe(cbx_ctx *ctx, cbx_doctor_report *r, const char *machine_id);
/** Every library of CBX_LIBRARY_MAP, by loading it. */
CBX_API void cbx_doctor_see_libraries(cbx_ctx *ctx, cbx_doctor_report *r);

CBX_END_DECLS
#endif
