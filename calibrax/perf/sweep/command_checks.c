/* Conditions on what a run of a command left behind; see command_checks.h. */
#include "calibrax/perf/sweep/command_checks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/base/idioms.h"

#define MAX_OUTPUT_BYTES (1u << 30)

/* A wrong output, told from faults of the machine by its status. */
#define wrong(err, ...) cbx_fail(err, CBX_EDOM, __VA_ARGS__)

/* The next number of a text, and where it ends; false: no more.  NaN for a word that is not a
 * number. */
static bool next_number(const char **text, double *out)
{
    char *end;

    *text += strspn(*text, " \t\r\n,;");
    if (!**text) return false;
    *out = strtod(*text, &end);
    if (end == *text || !strchr(" \t\r\n,;", *end)) *out = NAN;
    *text += strcspn(*text, " \t\r\n,;");
    return true;
}

static cbx_status compare_numbers(const cbx_command_check *c, const char *found, const char *right, cbx_err *err)
{
    double a = 0, b = 0;

    for (size_t i = 1;; i++) {
        const bool more = next_number(&found, &a), wanted = next_number(&right, &b);
        if (more != wanted)
            return wrong(err, "'%s' has %s numbers than '%s'", c->file, more ? "more" : "fewer", c->numbers);
        if (!more) return CBX_OK;
        if (a == b || (fabs(a - b) <= c->atol + c->rtol * fabs(b))) continue;
        return wrong(err, "number %zu of '%s' is %.17g, and %.17g in '%s'", i, c->file, a, b, c->numbers);
    }
}

static cbx_status compare_files(cbx_ctx *ctx, const cbx_command_check *c, const char *folder, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const char *other = c->same_as ? c->same_as : c->numbers, *path, *right;
    char *a = NULL, *b = NULL;
    size_t na = 0, nb = 0, i = 0;
    cbx_status st;

    CBX_SCOPED(cbx_arena, arena, al);
    path = *c->file == '/' || !folder ? c->file : cbx_path_join(&arena, folder, c->file);
    right = *other == '/' || !folder ? other : cbx_path_join(&arena, folder, other);
    if (!path || !right)
        st = cbx_fail_nomem(err, "a check");
    else if (!cbx_path_exists(path))
        st = wrong(err, "the command wrote no '%s'", c->file);
    else
        st = cbx_file_read(ctx, path, MAX_OUTPUT_BYTES, &a, &na, err);
    if (!st) st = cbx_file_read(ctx, right, MAX_OUTPUT_BYTES, &b, &nb, err);
    if (!st && c->numbers) st = compare_numbers(c, a, b, err);
    if (!st && c->same_as && (na != nb || memcmp(a, b, na) != 0)) {
        while (i < na && i < nb && a[i] == b[i]) i++;
        st = wrong(err, "'%s' differs from '%s' at byte %zu", c->file, c->same_as, i + 1);
    }
    if (a) cbx_mem_free(al, a, na + 1);
    if (b) cbx_mem_free(al, b, nb + 1);
    return st;
}

cbx_status cbx__command_checks(cbx_ctx *ctx, const cbx_command_check *checks, size_t n, const cbx_command_opts *how,
                               cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (const cbx_command_check *c = checks; c < checks + n && !st; c++) {
        cbx_command_record r = { 0 };
        st = c->command ? cbx_command_run(ctx, c->command, how, &r, err) : compare_files(ctx, c, how->folder, err);
        if (st || !r.failure) continue;
        st = r.failure == CBX_FAILURE_INTERRUPTED
                 ? cbx_fail(err, CBX_EINTERRUPTED, "interrupted")
                 : cbx_fail(err, CBX_ECHILD, "check '%.200s': %s", c->command, r.message);
    }
    return st;
}
