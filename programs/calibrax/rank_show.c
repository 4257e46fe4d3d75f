/*
 * A ranking on standard output, row by row.
 */
#include <math.h>
#include <stdio.h>

#include "programs/calibrax/rank.h"
#include "programs/common/columns.h"
#include "programs/common/output.h"

#define MOST_MISSING 100 /* competitors without a value that a row names */

static int no_memory(const opt_run *run) { return opt_fail(run->program, "out of memory"); }

/* Best first. */
static const cbx_rank_entry *score_places(const ranking *k)
{
    cbx_rank_entry *e = k->scores ? cbx_arena_calloc(k->run->arena, k->ncompetitors, sizeof *e) : NULL;

    return e && !cbx_rank(k->scores, k->ncompetitors, CBX_DIRECTION_HIGHER, e, NULL) ? e : NULL;
}

/* --- who has no value in a row --- */

/* The next competitor from *at on that has none; false: there is no more, or enough of them have been shown. */
static bool next_missing(const ranking *k, const ranked *r, size_t *at, size_t *shown)
{
    size_t missing = k->ncompetitors - r->row.ncells;

    if (*shown == missing || *shown == MOST_MISSING) return false;
    while (k->seen[*at]) ++*at;
    ++*shown;
    return true;
}

static void mark_seen(const ranking *k, const ranked *r, bool seen)
{
    for (size_t c = 0; c < r->row.ncells; c++) k->seen[r->cells[c].competitor] = seen;
}

/* --- JSON --- */

static cbx_json *place_json(const char *label, size_t rank)
{
    cbx_json *o = cbx_json_new_object();

    cbx_json_set_string(o, "label", label);
    if (rank)
        cbx_json_set_int(o, "rank", (int64_t)rank);
    else
        cbx_json_set_null(o, "rank");
    return o;
}

static cbx_json *cell_json(const ranking *k, const ranked *r, const cbx_rank_cell *c)
{
    cbx_json *o = place_json(cbx_rank_table_competitor(k->t, c->competitor), c->rank), *shares;

    cbx_json_set_double(o, "value", c->value);
    cbx_json_set_double(o, "delta", c->delta);
    if (!r->shares) return o;
    shares = cbx_json_new_array();
    for (size_t i = 0; i < k->ncompetitors; i++)
        cbx_json_push(shares, cbx_json_new_double(r->shares[c->competitor * k->ncompetitors + i]));
    cbx_json_set(o, "shares", shares);
    return o;
}

static cbx_json *row_json(const ranking *k, const ranked *r)
{
    cbx_json *o = cbx_json_new_object(), *list = cbx_json_new_array();
    size_t shown = 0;

    cbx_json_set_string(o, "key", r->row.key);
    cbx_json_set_string(o, "metric", r->row.metric);
    cbx_json_set_string(o, "unit", r->row.unit);
    cbx_json_set_string(o, "direction", cbx_direction_name(r->row.direction));
    for (size_t c = 0; c < r->row.ncells; c++) cbx_json_push(list, cell_json(k, r, &r->cells[c]));
    mark_seen(k, r, true);
    for (size_t at = 0; next_missing(k, r, &at, &shown); at++) {
        cbx_json *e = place_json(cbx_rank_table_competitor(k->t, at), 0);
        cbx_json_set_double(e, "value", NAN);
        cbx_json_set_double(e, "delta", NAN);
        cbx_json_push(list, e);
    }
    mark_seen(k, r, false);
    cbx_json_set(o, "ranks", list);
    cbx_json_set_int(o, "missing", (int64_t)(k->ncompetitors - r->row.ncells));
    return o;
}

int rank_print_json(ranking *k)
{
    const cbx_rank_entry *e = score_places(k);
    cbx_json *middle = cbx_json_new_object();
    int status = EXIT_PASS;
    json_stream out;

    json_stream_begin(&out, new_document("calibrax-ranking"), "rows");
    for (size_t i = 0; !status && i < k->nrows; i++) {
        ranked r;
        status = rank_row_begin(k, i, &r);
        if (status) break;
        status = rank_row_draw(k, &r);
        if (!status) json_stream_add(&out, row_json(k, &r));
        rank_row_clear(&r);
    }
    cbx_json_set_string(middle, "score", k->kind == CBX_SCORE_MIN_MAX ? "min-max" : "geometric");
    cbx_json_set_int(middle, "rows_scored", (int64_t)k->ncommon);
    json_stream_next(&out, middle, "scores");
    for (size_t c = 0; e && c < k->ncompetitors; c++) {
        cbx_json *o = place_json(cbx_rank_table_competitor(k->t, e[c].index), e[c].rank);
        cbx_json_set_double(o, "score", e[c].value);
        json_stream_add(&out, o);
    }
    if (json_stream_end(&out, k->run->program, cbx_json_new_object())) return EXIT_ERROR;
    return status || (k->scores && !e) ? EXIT_ERROR : EXIT_PASS;
}

/* --- text --- */

static void put_rank(columns *table, size_t rank, const char *label)
{
    if (rank)
        columns_printf(table, PAINT_PLAIN, "%zu", rank);
    else
        columns_put(table, PAINT_PLAIN, "-");
    columns_put(table, rank == 1 ? PAINT_STRONG : PAINT_PLAIN, label);
}

static const char *label_of(const ranking *k, cbx_arena *arena, size_t competitor)
{
    return plain_text(arena, cbx_rank_table_competitor(k->t, competitor));
}

static void put_cell(const ranking *k, ranked *r, const cbx_rank_cell *c, columns *table)
{
    char text[CBX_FORMAT_SIZE];
    double share = NAN;

    if (r->shares && c->rank) share = r->shares[c->competitor * k->ncompetitors + c->rank - 1];
    put_rank(table, c->rank, label_of(k, &r->arena, c->competitor));
    columns_number(table, PAINT_PLAIN, c->value);
    columns_put(table, PAINT_PLAIN, c->rank == 1 ? "" : cbx_arena_strdup(&r->arena, format_percent(c->delta, text)));
    if (isnan(share))
        columns_put(table, PAINT_PLAIN, "-");
    else
        columns_printf(table, share < 0.95 ? PAINT_BAD : PAINT_PLAIN, "%.1f %% of draws", 100 * share);
}

static size_t put_missing(const ranking *k, ranked *r, columns *table)
{
    const cbx_rank_cell none = { .value = NAN, .delta = NAN };
    size_t shown = 0;

    mark_seen(k, r, true);
    for (size_t at = 0; next_missing(k, r, &at, &shown); at++) {
        cbx_rank_cell c = none;
        c.competitor = at;
        put_cell(k, r, &c, table);
    }
    mark_seen(k, r, false);
    return k->ncompetitors - r->row.ncells - shown;
}

static int print_row(ranking *k, ranked *r)
{
    static const char *const heads[] = { "#", "", "Value", "Worse by", "Keeps its rank in" };
    const char *unit = r->row.unit && *r->row.unit ? plain_text(&r->arena, r->row.unit) : NULL;
    columns *table = columns_begin(&r->arena, heads, "rlrrr");
    size_t more;
    int status = rank_row_draw(k, r);

    if (status) return status;
    printf("%s%s%s%s, %s is better\n", plain_text(&r->arena, r->row.key), unit ? " [" : "", unit ? unit : "",
           unit ? "]" : "", cbx_direction_name(r->row.direction));
    for (size_t c = 0; c < r->row.ncells; c++) put_cell(k, r, &r->cells[c], table);
    more = put_missing(k, r, table);
    if (!columns_print(table, "  ")) return no_memory(k->run);
    if (more) printf("  and %zu more without a value\n", more);
    putchar('\n');
    return EXIT_PASS;
}

static bool print_scores(const ranking *k)
{
    static const char *const heads[] = { "#", "", "Score" };
    cbx_arena *arena = k->run->arena;
    columns *table = columns_begin(arena, heads, "rlr");
    const cbx_rank_entry *e = score_places(k);

    printf("Score over %zu of %zu rows: %s\n", k->ncommon, k->nrows,
           k->kind == CBX_SCORE_MIN_MAX ? "mean of 0 for the worst to 1 for the best"
                                        : "geometric mean of best/value, 1 is best in every row");
    for (size_t c = 0; e && c < k->ncompetitors; c++) {
        put_rank(table, e[c].rank, label_of(k, arena, e[c].index));
        columns_printf(table, PAINT_PLAIN, "%.4f", e[c].value);
    }
    if (!e || !columns_print(table, "  ")) return false;
    for (size_t i = 0; i < k->nrows; i++)
        if (!rank_is_common(k, i))
            printf("  left out, since not all have it: %s\n",
                   plain_text(arena, cbx_rank_table_row(k->t, k->rows[i]).key));
    return true;
}

int rank_print(ranking *k)
{
    int status = rank_each_row(k, print_row);

    if (status) return status;
    if (k->scores) return print_scores(k) ? EXIT_PASS : no_memory(k->run);
    puts("No score: there is no row that all have.");
    return EXIT_PASS;
}
