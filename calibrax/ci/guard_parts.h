/* Inside the guard: what its writers share. */
#ifndef CALIBRAX_CI_GUARD_PARTS_H
#define CALIBRAX_CI_GUARD_PARTS_H

#include "calibrax/ci/guard.h"

typedef struct cbx__waiver_use {
    bool expired;
    size_t uses;
    size_t would; /* findings that it would take out had it not expired */
} cbx__waiver_use;

struct cbx_guard {
    cbx_allocator al;
    const cbx_regression *r;
    const cbx_waivers *waivers;
    bool *waived; /* a flag a finding */
    const cbx_waiver **by;
    cbx__waiver_use *use; /* one a waiver */
    cbx_gate gate;
};

/** What finding i still asks for: 0 for a waived one. */
int cbx__guard_code(const cbx_guard *g, size_t i);
/** What must stand beside the figures; "" where the answer itself says it. */
const char *cbx__guard_label(const cbx_guard *g);
/** "PASSED", "FAILED", "CANNOT COMPARE", "UNDECIDED" */
const char *cbx__guard_word(const cbx_guard *g);
/** Puts a sentence on waiver i in place of what note holds: it has expired, or nothing needs it.  false: it is in use, nothing to say. */
bool cbx__guard_waiver_note(const cbx_guard *g, size_t i, cbx_text *note);

cbx_status cbx__guard_write_json(const cbx_guard *g, cbx_json_pour_fn pour, void *user, cbx_text *out, cbx_err *err);
void cbx__guard_write_text(const cbx_guard *g, cbx_text *out);
void cbx__guard_write_markdown(const cbx_guard *g, cbx_text *out);
void cbx__guard_write_junit(const cbx_guard *g, cbx_text *out);
void cbx__guard_write_github(const cbx_guard *g, cbx_text *out);

#endif
