/* One launch as a line of JSON beside the rows: its plan and its readings.  Nothing here names a
 * host, a user or a path. */
#include <string.h>

#include "calibrax/base/json_put.h"
#include "calibrax/perf/sweep/public.h"
#include "calibrax/perf/sweep/session.h"

/* Readings that are called in the line what they are called here. */
/* clang-format off */
#define EACH_READING(DOUBLE, COUNT) \
    COUNT(iterations) DOUBLE(empty_epoch_ns) DOUBLE(first_call_ns) DOUBLE(compile_ns) DOUBLE(ready_ns) \
    DOUBLE(overhead_ns) DOUBLE(hwm_bytes) DOUBLE(hwm_start_bytes) DOUBLE(hwm_increase_bytes) \
    DOUBLE(device_peak_bytes) DOUBLE(tree_peak_bytes) DOUBLE(cpu_user_s) DOUBLE(cpu_system_s) \
    COUNT(voluntary_switches) COUNT(involuntary_switches) COUNT(steal_ticks) DOUBLE(load_1min) COUNT(measured_again) \
    DOUBLE(clock_doubt) COUNT(left_behind)
/* clang-format on */

void cbx__raw_line(const cbx__session *s, const cbx__point *p, const cbx__attempt *a, const cbx__launch *l,
                   cbx_text *out)
{
    const cbx_launch_record *r = &l->record;
    const cbx_fidelity *f = &r->fidelity;
    char message[CBX_ERR_MESSAGE_SIZE];
    cbx_json *o = cbx_json_new_object(), *point = NULL, *fidelity;

    /* where and how the launch was made */
    cbx_json_put(o, J_TEXT("schema", "nperf-launch"), J_INT("version", 1), J_TEXT("run_id", s->run_id),
                 J_TEXT("case", s->opts->case_ops->name));
    if (!cbx_json_parse(p->json, strlen(p->json), "point", &point, NULL)) cbx_json_set(o, "param_point", point);
    cbx_json_put(o, J_TEXT("platform", a->platform), J_TEXT("baseline", a->baseline->name),
                 J_TEXT("variant", a->variant), J_INT("round", l->round), J_INT("position", l->position),
                 J_INT("attempt", l->attempt), J_BOOL("retry", l->retry),
                 J_GIVEN("retry_reason", l->retry ? cbx_failure_reason(l->repeats) : NULL), J_INT("seed", l->seed >> 1),
                 J_INT("env_pad_bytes", l->layout.env_pad_bytes), J_INT("stack_pad_bytes", l->layout.stack_pad_bytes),
                 J_INT("heap_pad_bytes", l->layout.heap_pad_bytes), J_NUMBER("wall_s", l->wall_s),
                 J_TEXT("steady_class", cbx_steady_name(l->steady)), J_INT("steady_from", l->steady_from),
                 J_GIVEN("unhealthy", l->unhealthy),
                 /* the readings */
                 J_TEXT("failure", r->failure ? cbx_failure_word(r->failure) : NULL));
    if (r->failure) {
        memcpy(message, r->message, sizeof(message));
        cbx__public_message(message);
        cbx_json_put(o, J_TEXT("message", message), J_TEXT("phase", r->phase), J_INT("exit_code", r->exit_code),
                     J_INT("term_signal", r->term_signal));
    }
    cbx_json_put(o, J_NUMBERS("epoch_ns", r->epoch_ns, r->epochs), J_NUMBERS("outer_ns", r->outer_ns, r->epochs));
#define DOUBLE(member) cbx_json_set_double(o, #member, r->member);
#define COUNT(member)  cbx_json_set_int(o, #member, (int64_t)r->member);
    EACH_READING(DOUBLE, COUNT)
    cbx_json_set_null(o, "threads_seen");
    if (r->threads_seen) cbx_json_set_int(o, "threads_seen", (int64_t)r->threads_seen);
    cbx_json_put(o, J_NUMBERS("wait_ns", r->wait_ns, r->epochs), J_BOOL("contended", r->contended),
                 J_NUMBER("cpu_pressure_percent", r->pressure_percent), J_TEXT("fidelity", NULL));
    fidelity = f->checked ? cbx_json_set_object(o, "fidelity") : NULL; /* nothing is added to NULL */
    cbx_json_put(fidelity, J_BOOL("ok", f->ok), J_NUMBER("rel_to_tol", f->rel_to_tol),
                 J_INT("mismatched", f->mismatched), J_INT("checks", f->checks),
                 J_GIVEN("note", f->note[0] ? f->note : NULL));
    cbx_json_write(o, CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING, out);
    cbx_text_putc(out, '\n');
    cbx_json_unref(o);
}
