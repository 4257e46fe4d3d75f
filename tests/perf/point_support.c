/* See point_support.h. */
#include "point_support.h"
#include "check.h"

#include <math.h>
#include <stdio.h>

static void rig_open(rig *r)
{
    cbx_err err = CBX_ERR_INIT;

    memset(r, 0, sizeof(*r));
    r->ctx = cbx_test_context();
    r->opts = (cbx_measure_opts)CBX_MEASURE_OPTS_INIT;
    r->opts.case_ops = &toy_case;
    cbx__session_init(&r->s, &r->opts);
    snprintf(r->s.machine_id, sizeof(r->s.machine_id), "0123456789abcdef");
    r->s.have_probe = r->s.probe_repeated = true;
    for (int i = 0; i < CBX_PIPE_COUNT; i++) r->s.probe.pipe_ops_per_s[i][0] = r->s.probe.pipe_ops_per_s[i][1] = 1e9;
    r->s.probe.nlevels = 1;
    snprintf(r->s.probe.level[0].name, sizeof(r->s.probe.level[0].name), "memory");
    r->s.probe.level[0].read_bytes_per_s = r->s.probe.level[0].copy_bytes_per_s = 1e9;
    cbx_arena_init(&r->p.arena, cbx_allocator_default());
    CHECK_OK(cbx_case_point(r->ctx, &toy_case, "{\"n\":1000}", "test", &r->p.params, &err), &err, "a point");
    r->p.json = cbx_params_json(r->p.params);
    snprintf(r->p.label, sizeof(r->p.label), "1000");
    r->p.plan.attempts = cbx_arena_calloc(&r->p.arena, 8, sizeof(cbx__attempt));
    cbx_rows_init(&r->rows, cbx_allocator_default());
    cbx_text_init(&r->raw, cbx_allocator_default());
}

static void rig_close(rig *r)
{
    if (!r->ctx) return;
    cbx_rows_clear(&r->rows);
    cbx_text_clear(&r->raw);
    cbx_params_free(r->p.params);
    cbx_arena_clear(&r->p.arena);
    cbx__session_clear(&r->s);
    cbx_ctx_free(r->ctx);
    r->ctx = NULL;
}

int rig_setup(void **state)
{
    static rig r;
    *state = &r;
    return 0;
}

int rig_teardown(void **state)
{
    rig_close(*state);
    return 0;
}

rig *fresh(void **state)
{
    rig_close(*state);
    rig_open(*state);
    return *state;
}

const cbx_baseline_ops *toy_baseline(const char *name)
{
    const cbx_baseline_ops *b = cbx_case_baseline(&toy_case, name);
    CHECK(b != NULL, name);
    return b;
}

cbx__attempt *add_attempt(rig *r, const char *name, const char *variant)
{
    cbx__attempt *a = &r->p.plan.attempts[r->p.plan.count++];
    a->baseline = toy_baseline(name);
    a->platform = "cpu";
    a->variant = variant;
    a->median_s = a->min_s = NAN;
    return a;
}
