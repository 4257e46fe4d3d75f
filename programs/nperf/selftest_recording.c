/*
 * The launches that --aa and --power draw from: DIR/PART.jsonl has the rows, DIR/PART.raw.jsonl a
 * line for each launch.  What was recorded once can be analysed again, with other numbers of
 * comparisons, other seeds, and later engines.
 */
#include <stdio.h>

#include "calibrax/base/file.h"
#include "programs/nperf/selftest.h"

static const char *path_of(const selftest *t, const char *folder, const char *part, const char *suffix)
{
    return cbx_path_join(t->run->arena, folder, cbx_arena_printf(t->run->arena, "%s%s", part, suffix));
}

static int read_recording(const selftest *t, const char *part, cbx_measure_result *result)
{
    const char *path = path_of(t, t->args->from, part, ".jsonl");

    cbx_measure_result_init(result, cbx_ctx_allocator(t->run->ctx));
    if (!cbx_path_exists(path))
        return opt_fail(t->run, "--from: '%s' has no recording of --%s; make one with --%s --record %s", t->args->from,
                        part, part, t->args->from);
    if (cbx_rows_read(t->run->ctx, path, &result->rows, t->run->err))
        return opt_fail(t->run, "--from: %s", t->run->err->message);
    if (result->rows.damaged) fprintf(stderr, "note: %s\n", result->rows.first_damage);
    if (!result->rows.count) return opt_fail(t->run, "--from: '%s' holds no rows", path);
    return EXIT_PASS;
}

int selftest_recording(const selftest *t, const char *part, cbx_measure_opts *o, cbx_measure_result *result)
{
    const char *folder = t->args->record;

    if (t->args->from) return read_recording(t, part, result);
    if (folder) o->out_path = path_of(t, folder, part, ".jsonl");
    int status = selftest_measure(t, o, result);
    if (folder && result->rows.count && write_text(t->run, path_of(t, folder, part, ".raw.jsonl"), &result->raw) &&
        !status)
        status = EXIT_ERROR;
    return status;
}

void selftest_put_recording(cbx_json *o, const cbx_measure_result *result)
{
    size_t launches = 0;

    for (size_t i = 0; i < result->rows.count; i++) launches += result->rows.rows[i].nlaunches;
    cbx_json_set_int(o, "recorded_launches", (int64_t)launches);
    if (!result->rows.count) return;
    cbx_json_put(o, J_TEXT("recorded_run", result->rows.rows[0].run_id),
                 J_TEXT("machine", result->rows.rows[0].machine));
}
