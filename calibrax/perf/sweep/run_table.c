/**
 * Old rows and new rows as one table; see run_table.h.
 */
#include "calibrax/perf/sweep/run_table.h"

#include <math.h>
#include <string.h>

#include "calibrax/analysis/verdict.h"
#include "calibrax/base/file.h"
#include "calibrax/base/idioms.h"
#include "calibrax/statistics/multiplicity.h"

/* Chance of a wrong verdict anywhere in the table. */
#define ALPHA 0.05

typedef struct kept_row {
    const cbx_row *row;
    const char *key, *attempt, *point; /* whole key; without the variant; without baseline and platform too */
    bool placed;                       /* in the table already, or replaced */
} kept_row;

typedef struct builder {
    cbx_arena *arena;
    kept_row *kept;
    size_t nkept;
    cbx_row *rows;
    size_t count;
} builder;

/* As cbx_row_key, without the variant, or without baseline and platform too. */
static const char *wider_key(cbx_arena *arena, const cbx_row *row, bool of_point)
{
    cbx_row r = *row;

    r.variant = "";
    if (of_point) r.baseline = r.platform = "";
    return cbx_row_key(arena, &r);
}

static bool index_kept(builder *b, const cbx_rows *kept)
{
    for (size_t i = 0; i < kept->count; i++) {
        kept_row *k = &b->kept[b->nkept++];
        *k = (kept_row){ .row = &kept->rows[i],
                         .key = cbx_row_key(b->arena, &kept->rows[i]),
                         .attempt = wider_key(b->arena, &kept->rows[i], false),
                         .point = wider_key(b->arena, &kept->rows[i], true) };
        if (!k->key || !k->attempt || !k->point) return false;
    }
    return true;
}

/* Takes one row of this run in, unless it has no result and a good old one has. */
static bool place(builder *b, const cbx_row *row)
{
    const char *key = cbx_row_key(b->arena, row), *attempt = wider_key(b->arena, row, false);
    const bool whole = !strcmp(row->status, "skipped"); /* a skipped row is one for all variants */
    const bool weak = whole || !strcmp(row->status, "interrupted");

    if (!key || !attempt) return false;
    for (size_t i = 0; weak && i < b->nkept; i++) {
        const kept_row *k = &b->kept[i];
        if (cbx_row_is_good(k->row) && !strcmp(whole ? k->attempt : k->key, whole ? attempt : key)) return true;
    }
    for (size_t i = 0; i < b->nkept; i++)
        if (!strcmp(b->kept[i].key, key)) b->kept[i].placed = true;
    b->rows[b->count++] = *row;
    return true;
}

/* Kept rows of one point, or all that are left with point NULL. */
static void place_kept(builder *b, const char *point)
{
    for (size_t i = 0; i < b->nkept; i++) {
        if (b->kept[i].placed || (point && strcmp(b->kept[i].point, point))) continue;
        b->kept[i].placed = true;
        b->rows[b->count++] = *b->kept[i].row;
    }
}

cbx_status cbx__table_lay(const cbx__session *s, const cbx__table_part *parts, size_t nparts, const cbx_rows *kept,
                          cbx_arena *arena, cbx_row **out, size_t *count, cbx_err *err)
{
    builder b = { .arena = arena };
    cbx_row head = { .case_name = s->opts->case_ops->name, .machine = s->machine_id[0] ? s->machine_id : NULL };
    size_t n = kept->count;

    for (size_t i = 0; i < nparts; i++) n += parts[i].rows ? parts[i].rows->count : 0;
    b.rows = cbx_arena_calloc(arena, n + 1, sizeof(*b.rows));
    b.kept = cbx_arena_calloc(arena, kept->count + 1, sizeof(*b.kept));
    if (!b.rows || !b.kept || !index_kept(&b, kept)) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu rows", n);
    for (size_t i = 0; i < nparts; i++) {
        for (size_t r = 0; parts[i].rows && r < parts[i].rows->count; r++)
            if (!place(&b, &parts[i].rows->rows[r])) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu rows", n);
        if (i + 1 < nparts && !strcmp(parts[i + 1].point_json, parts[i].point_json))
            continue; /* its other platforms first */
        head.point_json = parts[i].point_json;
        const char *point = wider_key(arena, &head, true);
        if (!point) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu rows", n);
        place_kept(&b, point);
    }
    place_kept(&b, NULL);
    *out = b.rows;
    *count = b.count;
    return CBX_OK;
}

static bool is_tested(const cbx_row *row, const char *case_name)
{
    return cbx_row_is_good(row) && row->paired_vs && row->verdict && isfinite(row->paired_p) &&
           !strcmp(row->case_name, case_name);
}

cbx_status cbx__table_correct(const char *case_name, cbx_row *rows, size_t count, cbx_arena *arena, cbx_err *err)
{
    double *p = cbx_arena_calloc(arena, 2 * count + 1, sizeof(*p)), *adjusted = p + count;
    size_t m = 0, k = 0;

    if (!p) return cbx_fail(err, CBX_ENOMEM, "out of memory to correct %zu rows", count);
    for (size_t i = 0; i < count; i++)
        if (is_tested(&rows[i], case_name)) p[m++] = rows[i].paired_p;
    cbx_stat_holm(p, m, adjusted);
    for (cbx_row *r = rows; r < rows + count; r++) {
        if (!is_tested(r, case_name)) continue;
        r->paired_p_holm = adjusted[k++];
        r->holm_rows = m;
        /* NULL if even the clearest outcome of so many pairs, all on one side, is not significant
         * among m rows */
        const bool can_stand = cbx_stat_sign_test_p(0, r->pairs) * (double)m <= ALPHA;
        r->verdict_holm = !can_stand                  ? NULL
                          : r->paired_p_holm <= ALPHA ? r->verdict
                                                      : cbx_verdict_name(CBX_VERDICT_UNDECIDED);
    }
    return CBX_OK;
}

cbx_status cbx__table_read(const cbx_row *rows, size_t count, cbx_rows *out, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < count && !st; i++) {
        cbx_json *json = cbx_row_to_json(&rows[i]);
        st = json ? cbx_rows_add_json(out, json, "row of the table", err)
                  : cbx_fail(err, CBX_ENOMEM, "out of memory for the table");
        cbx_json_unref(json);
    }
    return st;
}

cbx_status cbx__table_settle(const char *case_name, cbx_rows *rows, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, scratch, &rows->arena.al);
    CBX_SCOPED(cbx_rows, settled, &rows->arena.al);
    cbx_row *copy = cbx_arena_calloc(&scratch, rows->count + 1, sizeof(*copy));
    if (copy && rows->count) memcpy(copy, rows->rows, rows->count * sizeof(*copy));
    cbx_status st = copy ? cbx__table_correct(case_name, copy, rows->count, &scratch, err)
                         : cbx_fail(err, CBX_ENOMEM, "out of memory to correct %zu rows", rows->count);
    if (!st) st = cbx__table_read(copy, rows->count, &settled, err);
    if (!st) {
        cbx_rows swap = *rows;
        *rows = settled;
        settled = swap;
    }
    return st;
}

cbx_status cbx__table_older(cbx_ctx *ctx, const char *path, cbx_rows *older, cbx_err *err)
{
    cbx_status st = cbx_path_exists(path) ? cbx_rows_read(ctx, path, older, err) : CBX_OK;

    if (!st && older->damaged && !older->count)
        return cbx_fail(err, CBX_EFORMAT, "'%s' is not a file of rows, and is not overwritten: %s", path,
                        older->first_damage);
    return st;
}

cbx_status cbx__table_write(cbx_ctx *ctx, const char *path, const cbx_row *rows, size_t count, const cbx_rows *older,
                            cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    builder b = { .arena = &arena };

    b.rows = cbx_arena_calloc(&arena, count + older->count + 1, sizeof(*b.rows));
    b.kept = cbx_arena_calloc(&arena, older->count + 1, sizeof(*b.kept));
    cbx_status st = b.rows && b.kept && index_kept(&b, older) ? CBX_OK : CBX_ENOMEM;
    for (size_t i = 0; i < count && !st; i++) st = place(&b, &rows[i]) ? CBX_OK : CBX_ENOMEM;
    if (st) return cbx_fail(err, st, "out of memory for %zu rows", count + older->count);
    place_kept(&b, NULL);
    return cbx_rows_write(ctx, path, b.rows, b.count, err);
}

/* --- resume --- */

cbx_status cbx__resume_point(const cbx__session *s, cbx__point *p, const cbx_rows *kept, cbx_err *err)
{
    cbx__attempt *const first = p->plan.attempts, *const end = first + p->plan.count;

    for (cbx__attempt *a = first; a < end; a++) {
        /* the row that this attempt would write, as far as its key goes */
        const cbx_row row = { .case_name = s->opts->case_ops->name,
                              .machine = s->machine_id[0] ? s->machine_id : NULL,
                              .platform = a->platform,
                              .point_json = p->json,
                              .baseline = a->baseline->name,
                              .variant = a->variant };
        const char *key = a->failure ? NULL : cbx_row_key(&p->arena, &row);
        if (a->failure) continue;
        if (!key) return cbx_fail(err, CBX_ENOMEM, "out of memory for the key of an attempt");
        a->kept = NULL;
        for (size_t i = 0; i < kept->count; i++) { /* the last good row of the key */
            const char *k = cbx_row_is_good(&kept->rows[i]) ? cbx_row_key(&p->arena, &kept->rows[i]) : "";
            if (!k) return cbx_fail(err, CBX_ENOMEM, "out of memory for the key of a kept row");
            if (!strcmp(k, key)) a->kept = &kept->rows[i];
        }
        p->resumed = p->resumed || a->kept;
    }
    for (bool again = true; again;) { /* a baseline one of whose variants is to be measured is measured with all */
        again = false;
        for (cbx__attempt *a = first; a < end; a++)
            for (const cbx__attempt *b = first; b < end && a->kept; b++)
                if (b->baseline == a->baseline && b->platform == a->platform && !b->failure && !b->kept) {
                    a->kept = NULL;
                    again = true;
                }
    }
    for (cbx__attempt *a = first; a < end; a++) {
        /* kept ones are idle, except the reference while others of its platform are to be
         * measured */
        const bool serves = a->baseline == s->opts->case_ops->baselines[0] || a->baseline->limit;
        bool needed = false;
        if (!a->kept) continue;
        for (const cbx__attempt *b = first; b < end && serves; b++)
            needed = needed || (b->platform == a->platform && !b->failure && !b->kept);
        a->idle = !needed;
    }
    return CBX_OK;
}
