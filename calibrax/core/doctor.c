/* The report of a doctor, and its entries for the machine, its clock, rates and libraries. */
#include "calibrax/core/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/library.h"
#include "calibrax/base/list.h"
#include "calibrax/core/probe.h"

void cbx_doctor_init(cbx_doctor_report *r, cbx_arena *arena) { *r = (cbx_doctor_report){ .arena = arena }; }

const char *cbx_doctor_state_name(cbx_doctor_state s)
{
    static const char *const names[] = { "fact", "here", "missing", "broken" };
    return CBX_WORD(names, s);
}

void cbx_doctor_add(cbx_doctor_report *r, const char *group, const char *name, cbx_doctor_state state, const char *text,
                    const char *remedy)
{
    cbx_doctor_item it = { group, cbx_arena_strdup(r->arena, name), state, cbx_arena_strdup(r->arena, text),
                           remedy ? cbx_arena_strdup(r->arena, remedy) : NULL };

    r->broken += state == CBX_DOCTOR_BROKEN;
    if (!it.name || !it.text || (remedy && !it.remedy) ||
        !cbx_grow(CBX_IN_ARENA(r->arena), &r->items, &r->capacity, r->count + 1, sizeof it)) {
        r->torn = true;
        return;
    }
    r->items[r->count++] = it;
}

void cbx_doctor_fact(cbx_doctor_report *r, const char *group, const char *name, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    cbx_doctor_add(r, group, name, CBX_DOCTOR_FACT, text, NULL);
}

void cbx_doctor_missing(cbx_doctor_report *r, const char *group, const char *name, const cbx_err *why,
                        const char *remedy)
{
    if (why->status == CBX_ENOMEM)
        r->torn = true;
    else
        cbx_doctor_add(r, group, name, CBX_DOCTOR_MISSING, why->message, remedy);
}

cbx_status cbx_doctor_check(const cbx_doctor_report *r, cbx_err *err)
{
    return r->torn ? cbx_fail_nomem(err, "the doctor's report") : CBX_OK;
}

/* --- what there is to see --- */

bool cbx_doctor_see_machine(cbx_ctx *ctx, cbx_doctor_report *r, cbx_machine *m)
{
    static const char group[] = "machine";
    cbx_err err = CBX_ERR_INIT;

    if (cbx_machine_read(ctx, NULL, m, &err)) {
        cbx_doctor_missing(r, group, "cpu", &err, NULL);
        return false;
    }
    cbx_doctor_fact(r, group, "fingerprint", "%s", m->id);
    cbx_doctor_fact(r, group, "cpu", "%s", m->model_name);
    cbx_doctor_fact(r, group, "instruction set", "%s", cbx_machine_isa());
    cbx_doctor_fact(r, group, "cpus", "%d cores, %d threads, %d usable by this process", m->cores, m->threads,
                    cbx_machine_usable_threads());
    cbx_doctor_fact(r, group, "memory", "%.1f GiB", (double)m->memory_bytes / 1073741824.0);
    if (strcmp(m->huge_pages, "never"))
        cbx_doctor_fact(r, group, "huge pages", "%s", m->huge_pages[0] ? m->huge_pages : "unknown");
    else
        cbx_doctor_add(r, group, "huge pages", CBX_DOCTOR_MISSING, m->huge_pages,
                       "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
    if (m->governor[0]) cbx_doctor_fact(r, group, "governor", "%s", m->governor);
    return true;
}

void cbx_doctor_see_clock(cbx_doctor_report *r)
{
    cbx_clock_facts c;

    cbx_clock_measure(&c);
    cbx_doctor_fact(r, "clock", "monotonic", "%.1f ns a reading, steps of %.0f ns", c.cost_ns, c.granule_ns);
}

static void see_level(cbx_doctor_report *r, const cbx_level_rate *l)
{
    cbx_doctor_fact(r, "probe", l->name, "read %.1f GB/s, copy %.1f GB/s, triad %.1f GB/s, streaming %.1f GB/s",
                    1e-9 * l->read_bytes_per_s, 1e-9 * l->copy_bytes_per_s, 1e-9 * l->triad_bytes_per_s,
                    1e-9 * l->triad_stream_bytes_per_s);
}

void cbx_doctor_see_probe(cbx_ctx *ctx, cbx_doctor_report *r, const char *machine_id)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_probe p;

    if (cbx_probe_get(ctx, machine_id, false, &p, &err)) {
        cbx_doctor_missing(r, "probe", "rates", &err, NULL);
        return;
    }
    for (int i = 0; i < CBX_PIPE_COUNT; i++) {
        bool bits = i == CBX_PIPE_AND_OR || i == CBX_PIPE_INT_ADD || i == CBX_PIPE_INT_MUL;
        cbx_doctor_fact(r, "probe", cbx_pipe_name((cbx_pipe)i), "%.1f G/s %s, %.1f G/s %s (%s)",
                        1e-9 * p.pipe_ops_per_s[i][0], bits ? "32 bits" : "f32", 1e-9 * p.pipe_ops_per_s[i][1],
                        bits ? "64 bits" : "f64", p.instruction_set);
    }
    for (int i = 0; i < CBX_NARROW_COUNT; i++) {
        const cbx_narrow_rate *rate = &p.narrow[i];
        char name[40];
        snprintf(name, sizeof name, "%s, %s", cbx_narrow_type((cbx_narrow)i), cbx_narrow_unit((cbx_narrow)i));
        if (rate->by[0])
            cbx_doctor_fact(r, "probe", name, "%.1f G/s (%s)", 1e-9 * rate->ops_per_s, rate->by);
        else
            cbx_doctor_fact(r, "probe", name, "not supported: %s", rate->why);
    }
    for (int i = 0; i < p.nlevels; i++) see_level(r, &p.level[i]);
    /* Where memory is not the same everywhere: from the core that this runs on. */
    cbx_level_rate l;
    cbx_machine m;
    if (cbx_machine_read(ctx, NULL, &m, NULL)) return;
    for (int node = 0; m.numa_nodes > 1 && node < m.numa_nodes; node++)
        if (!cbx_probe_measure_node(ctx, node, &l, NULL)) see_level(r, &l);
}

void cbx_doctor_see_libraries(cbx_ctx *ctx, cbx_doctor_report *r)
{
    for (int i = 0; i < CBX_LIBRARY_COUNT; i++) {
        cbx_library_spec spec = cbx_library_known((cbx_library_id)i);
        const char *path = i == CBX_LIBRARY_LLVM ? getenv("CALIBRAX_LLVM") : NULL;
        const char *title = cbx_library_title((cbx_library_id)i);
        cbx_err err = CBX_ERR_INIT;
        cbx_library *lib = NULL;
        char remedy[96];

        if (!cbx_library_open_known(ctx, (cbx_library_id)i, path, NULL, 0, &lib, &err)) {
            cbx_doctor_add(r, "libraries", title, CBX_DOCTOR_HERE, cbx_library_name(lib), NULL);
            cbx_library_close(lib);
            continue;
        }
        cbx_doctor_missing(r, "libraries", title, &err, cbx_library_remedy(&spec, remedy, sizeof(remedy)));
    }
}
