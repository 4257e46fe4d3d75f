/**
 * Old rows and new rows as one table; see run_table.h.
 */
#include "calibrax/perf/sweep/run_table.h"

#include <math.h>
#include <string.h>

#include "calibrax/analysis/verdict.h"
#include "calibrax/base/file.h"
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

static const char *attempt_key(cbx_arena *arena, const cbx_row *row)
{
    cbx_row r = *row;
    r.variant = "";
    return cbx_row_key(arena, &r);
}

static const char *point_key(cbx_arena *arena, const cbx_row *row)
{
    cbx_row r = *row;
    r.variant = r.baseline = r.platform = "";
    return cbx_row_key(arena, &r);
}

static bool index_kept(builder *b, const cbx_rows *kept)
{
    for (size_t i = 0; i < kept->count; i++) {
        kept_row *k = &b->kept[b->nkept++];
        k->row = &kept->rows[i];
        k->key = cbx_row_key(b->arena, k->row);
        k->attempt = attempt_key(b->arena, k->row);
        k->point = point_key(b->arena, k->row);
        if (!k->key || !k->attempt || !k->point) return false;
    }
    return true;
}

/* No result of the baseline: it was not tried, or was interrupted. */
static bool is_weak(const cbx_row *row)
{
    return !strcmp(row->status, "skipped") || !strcmp(row->status, "interrupted");
}

/* Takes one row of this run in, unless a good old one says more. */
static bool place(builder *b, const cbx_row *row)
{
    const char *key = cbx_row_key(b->arena, row), *attempt = attempt_key(b->arena, row);
    bool whole = !strcmp(row->status, "skipped"); /* skipped rows stand for all variants */

    if (!key || !attempt) return false;
    for (size_t i = 0; is_weak(row) && i < b->nkept; i++) {
        const kept_row *k = &b->kept[i];
        if (cbx_row_is_good(k->row) && !strcmp(whole ? k->attempt : k->key, whole ? attempt : key)) return true;
    }
    for (size_t i = 0; i < b->nkept; i++) {
        if (!strcmp(b->kept[i].key, key)) b->kept[i].placed = true;
    }
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
        const char *point;
        for (size_t r = 0; parts[i].rows && r < parts[i].rows->count; r++) {
            if (!place(&b, &parts[i].rows->rows[r])) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu rows", n);
        }
        if (i + 1 < nparts && !strcmp(parts[i + 1].point_json, parts[i].point_json))
            continue; /* its other platforms first */
        head.point_json = parts[i].point_json;
        point = point_key(arena, &head);
        if (!point) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu rows", n);
        place_kept(&b, point);
    }
    place_kept(&b, NULL);
    *out = b.rows;
    *count = b.count;
    return CBX_OK;
}

/* True if the clearest outcome of n pairs, all on one side, could stand among m rows. */
static bool can_stand(uint64_t n, size_t m) { return cbx_stat_sign_test_p(0, n) * (double)m <= ALPHA; }

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
    for (size_t i = 0; i < count; i++) {
        if (is_tested(&rows[i], case_name)) p[m++] = rows[i].paired_p;
    }
    cbx_stat_holm(p, m, adjusted);
    for (size_t i = 0; i < count; i++) {
        cbx_row *r = &rows[i];
        if (!is_tested(r, case_name)) continue;
        r->paired_p_holm = adjusted[k++];
        r->holm_rows = m;
        r->verdict_holm = !can_stand(r->pairs, m)     ? NULL
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
    cbx_rows settled;
    cbx_arena scratch;
    cbx_row *copy;
    cbx_status st;

    cbx_arena_init(&scratch, &rows->arena.al);
    cbx_rows_init(&settled, &rows->arena.al);
    copy = cbx_arena_calloc(&scratch, rows->count + 1, sizeof(*copy));
    if (copy && rows->count) memcpy(copy, rows->rows, rows->count * sizeof(*copy));
    st = copy ? cbx__table_correct(case_name, copy, rows->count, &scratch, err)
              : cbx_fail(err, CBX_ENOMEM, "out of memory to correct %zu rows", rows->count);
    if (!st) st = cbx__table_read(copy, rows->count, &settled, err);
    if (!st) {
        cbx_rows swap = *rows;
        *rows = settled;
        settled = swap;
    }
    cbx_rows_clear(&settled);
    cbx_arena_clear(&scratch);
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
    cbx_arena arena;
    builder b = { .arena = &arena };
    cbx_status st;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    b.rows = cbx_arena_calloc(&arena, count + older->count + 1, sizeof(*b.rows));
    b.kept = cbx_arena_calloc(&arena, older->count + 1, sizeof(*b.kept));
    st = b.rows && b.kept && index_kept(&b, older) ? CBX_OK : CBX_ENOMEM;
    for (size_t i = 0; i < count && !st; i++) st = place(&b, &rows[i]) ? CBX_OK : CBX_ENOMEM;
    if (st) {
        cbx_fail(err, st, "out of memory for %zu rows", count + older->count);
    } else {
        place_kept(&b, NULL);
        st = cbx_rows_write(ctx, path, b.rows, b.count, err);
    }
    cbx_arena_clear(&arena);
    return st;
}

/* --- resume --- */

/* The row this attempt would write, as far as its key goes. */
static const char *key_of(cbx__session const *s, cbx__point *p, const cbx__attempt *a)
{
    cbx_row row = { .case_name = s->opts->case_ops->name, .machine = s->machine_id[0] ? s->machine_id : NULL };
    row.platform = a->platform;
    row.point_json = p->json;
    row.baseline = a->baseline->name;
    row.variant = a->variant;
    return cbx_row_key(&p->arena, &row);
}

/* Last good row of a key. */
static cbx_status find_row(cbx__point *p, const cbx_rows *rows, const char *key, const cbx_row **out, cbx_err *err)
{
    *out = NULL;
    for (size_t i = 0; i < rows->count; i++) {
        const char *k;
        if (!cbx_row_is_good(&rows->rows[i])) continue;
        k = cbx_row_key(&p->arena, &rows->rows[i]);
        if (!k) return cbx_fail(err, CBX_ENOMEM, "out of memory for the key of a kept row");
        if (!strcmp(k, key)) *out = &rows->rows[i];
    }
    return CBX_OK;
}

/* True if an attempt of the same baseline and platform has to be measured. */
static bool sibling_is_needed(const cbx__plan *plan, const cbx__attempt *a)
{
    for (size_t i = 0; i < plan->count; i++) {
        const cbx__attempt *b = &plan->attempts[i];
        if (b->baseline == a->baseline && b->platform == a->platform && !b->failure && !b->kept) return true;
    }
    return false;
}

/* Marks kept attempts idle, except the reference while others of its platform are to be
 * measured. */
static void settle(const cbx__session *s, cbx__plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        cbx__attempt *a = &plan->attempts[i];
        bool needed = false;
        if (!a->kept) continue;
        for (size_t j = 0; j < plan->count && (a->baseline == s->opts->case_ops->baselines[0] || a->baseline->limit);
             j++) {
            const cbx__attempt *b = &plan->attempts[j];
            needed = needed || (b->platform == a->platform && !b->failure && !b->kept);
        }
        a->idle = !needed;
    }
}

cbx_status cbx__resume_point(const cbx__session *s, cbx__point *p, const cbx_rows *kept, cbx_err *err)
{
    bool again = true;

    for (size_t i = 0; i < p->plan.count; i++) {
        cbx__attempt *a = &p->plan.attempts[i];
        const char *key = a->failure ? NULL : key_of(s, p, a);
        cbx_status st;
        if (a->failure) continue;
        if (!key) return cbx_fail(err, CBX_ENOMEM, "out of memory for the key of an attempt");
        st = find_row(p, kept, key, &a->kept, err);
        if (st) return st;
        p->resumed = p->resumed || a->kept;
    }
    while (again) {
        again = false;
        for (size_t i = 0; i < p->plan.count; i++) {
            cbx__attempt *a = &p->plan.attempts[i];
            if (a->kept && sibling_is_needed(&p->plan, a)) {
                a->kept = NULL;
                again = true;
            }
        }
    }
    settle(s, &p->plan);
    return CBX_OK;
}
