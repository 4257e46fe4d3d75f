/*
 * calibrax compare --rank: the ranks of competitors in each row and over all rows, and their
 * stability.
 *
 * Rows and competitors are those of calibrax/analysis/rank_table.h: a competitor is a value of the
 * tag --by, or a run.  Runs are read one after the other, and rows printed so: neither ten thousand
 * competitors nor as many rows are held with all their numbers.
 */
#include <math.h>
#include <string.h>

#include "calibrax/analysis/rank_table.h"
#include "programs/calibrax/compare.h"
#include "programs/common/columns.h"
#include "programs/common/output.h"

#define MAX_DRAWS   1000000
#define MAX_SHARES  ((size_t)2 << 20) /* numbers of how stable the ranks of a row are: 16 MiB of them */
#define MAX_MISSING 100               /* competitors without a value that a row names */

/* A table's rows that have a direction, and the scores over those that all competitors have. */
typedef struct ranking {
    const opt_run *run;
    cbx_rank_table *t;
    cbx_rank_table_opts opts;
    json_stream json;
    size_t *rows; /* numbers of those that are ranked */
    size_t nrows, ncompetitors;
    size_t ncommon, ntaken; /* rows that all have; those whose values are in: */
    double *values;         /* [competitor][row] */
    const char **metrics;   /* of each row; and its direction: */
    cbx_direction *directions;
    bool draws; /* rows whose competitors all have samples are drawn */
    cbx_score_kind kind;
    double *scores; /* one a competitor; NULL: no row that all have */
    bool *seen;     /* of each competitor, in the row that is printed */
} ranking;

/* A row while it is printed. */
typedef struct ranked {
    cbx_arena arena;
    cbx_rank_row row;
    cbx_rank_cell *cells; /* best first */
    double *shares;       /* [competitor][rank]; NULL: the row is not drawn */
} ranked;

/* --- one row --- */

/* A sample that is not finite gives no shares. */
static int draw_row(const ranking *k, ranked *r)
{
    const compare_args *a = k->run->args;
    size_t n = k->ncompetitors;

    if (!k->draws || r->row.ncells != n) return EXIT_PASS;
    for (size_t c = 0; c < n; c++)
        if (!r->cells[c].nsamples || !isfinite(r->cells[c].value)) return EXIT_PASS;
    cbx_rank_sample *samples = cbx_arena_calloc(&r->arena, n, sizeof *samples);
    double *shares = cbx_arena_calloc(&r->arena, n * n, sizeof *shares);
    for (size_t c = 0; c < n; c++)
        samples[r->cells[c].competitor] = (cbx_rank_sample){ r->cells[c].samples, r->cells[c].nsamples };
    cbx_status st = cbx_rank_stability(k->run->ctx, samples, n, r->row.direction, a->draws, a->seed, shares,
                                       k->run->err);
    if (st == CBX_EDOM) return EXIT_PASS;
    if (opt_check(k->run, st)) return EXIT_ERROR;
    r->shares = shares;
    return EXIT_PASS;
}

/* Calls for each row that is ranked, until one of them is not 0. */
static int each_row(ranking *k, int (*fn)(ranking *k, ranked *r))
{
    int status = EXIT_PASS;

    for (size_t i = 0; !status && i < k->nrows; i++) {
        ranked r = { .row = cbx_rank_table_row(k->t, k->rows[i]) };
        cbx_arena_init(&r.arena, &k->run->arena->al);
        r.cells = cbx_arena_calloc(&r.arena, r.row.ncells, sizeof *r.cells);
        status = opt_check(k->run, cbx_rank_table_cells(k->t, k->rows[i], r.cells, k->run->err));
        if (!status) status = fn(k, &r);
        cbx_arena_clear(&r.arena);
    }
    return status;
}

/* --- working out --- */

/* A share for each competitor and rank: those of ten thousand competitors are neither readable nor
 * fit in memory. */
static bool too_many(size_t competitors) { return competitors > MAX_SHARES / competitors; }

/* A value that is not a number is a measurement that failed, whatever its samples are: it has no
 * rank, and is named. */
static int need_numbers(ranking *k, ranked *r)
{
    const cbx_rank_cell *first = NULL;

    for (size_t c = 0; c < r->row.ncells; c++)
        if (!isfinite(r->cells[c].value) && (!first || r->cells[c].competitor < first->competitor))
            first = &r->cells[c];
    if (!first) return EXIT_PASS;
    return opt_fail(k->run,
                    "'%s' has the value %g in '%s', which cannot be ranked: measure it again, or choose other metrics "
                    "with --metrics",
                    cbx_rank_table_competitor(k->t, first->competitor), first->value, r->row.key);
}

/* --- scores --- */

static bool is_common(const ranking *k, size_t i)
{
    return cbx_rank_table_row(k->t, k->rows[i]).nnumbers == k->ncompetitors;
}

/* Refuses a value of which the geometric mean does not exist. */
static int take_common(ranking *k, ranked *r)
{
    size_t i = k->ntaken;

    if (r->row.nnumbers != k->ncompetitors) return EXIT_PASS;
    k->directions[i] = r->row.direction;
    for (size_t c = 0; c < r->row.ncells; c++) {
        const cbx_rank_cell *cell = &r->cells[c];
        k->values[cell->competitor * k->ncommon + i] = cell->value;
        if (k->kind == CBX_SCORE_GEOMETRIC && !(cell->value > 0))
            return opt_fail(k->run,
                            "the geometric mean needs values above 0, and '%s' has %g in '%s': use --score min-max",
                            cbx_rank_table_competitor(k->t, cell->competitor), cell->value, r->row.key);
    }
    k->ntaken++;
    return EXIT_PASS;
}

/* The weight of a row is that of its metric, divided by the number of its rows. */
static int score_rows(ranking *k)
{
    const compare_args *a = k->run->args;
    cbx_arena *arena = k->run->arena;

    k->metrics = cbx_arena_calloc(arena, k->nrows, sizeof *k->metrics);
    for (size_t i = 0; i < k->nrows; i++)
        if (is_common(k, i)) k->metrics[k->ncommon++] = cbx_rank_table_row(k->t, k->rows[i]).metric;
    double *weights = cbx_arena_calloc(arena, k->ncommon, sizeof *weights);
    k->values = cbx_arena_calloc(arena, k->ncommon * k->ncompetitors, sizeof *k->values);
    k->directions = cbx_arena_calloc(arena, k->ncommon, sizeof *k->directions);
    for (size_t i = 0; i < k->ncommon; i++) weights[i] = 1;
    for (size_t w = 0; w < a->weights.count; w++) {
        const char *metric;
        double x;
        size_t found = 0;
        if (select_pair(k->run, "weight", "METRIC", a->weights.items[w], &metric, &x)) return EXIT_ERROR;
        for (size_t i = 0; i < k->ncommon; i++) found += !strcmp(k->metrics[i], metric);
        if (!found)
            return opt_fail(k->run, "'--weight' of '%s': no row that all competitors have is of this metric", metric);
        for (size_t i = 0; i < k->ncommon; i++)
            if (!strcmp(k->metrics[i], metric)) weights[i] = x / (double)found;
    }
    if (!k->ncommon) return EXIT_PASS;
    if (each_row(k, take_common)) return EXIT_ERROR;
    k->scores = cbx_arena_calloc(arena, k->ncompetitors, sizeof *k->scores);
    return opt_check(k->run, cbx_score(k->run->ctx, k->kind, k->values, k->ncompetitors, k->ncommon, k->directions,
                                       weights, k->scores, NULL, k->run->err));
}

/* Best first. */
static const cbx_rank_entry *score_places(const ranking *k)
{
    cbx_rank_entry *e = k->scores ? cbx_arena_calloc(k->run->arena, k->ncompetitors, sizeof *e) : NULL;

    return e && !cbx_rank(k->scores, k->ncompetitors, CBX_DIRECTION_HIGHER, e, NULL) ? e : NULL;
}

/* --- competitors without a value in a row --- */

/* The first ones of them, at most MAX_MISSING. */
static size_t missing_in(const ranking *k, const ranked *r, size_t out[MAX_MISSING])
{
    const size_t missing = k->ncompetitors - r->row.ncells;
    size_t n = 0;

    for (size_t c = 0; c < r->row.ncells; c++) k->seen[r->cells[c].competitor] = true;
    for (size_t at = 0; n < missing && n < MAX_MISSING; at++)
        if (!k->seen[at]) out[n++] = at;
    for (size_t c = 0; c < r->row.ncells; c++) k->seen[r->cells[c].competitor] = false;
    return n;
}

/* --- JSON --- */

static cbx_json *place_json(const char *label, size_t rank)
{
    return cbx_json_object(J_TEXT("label", label), rank ? J_INT("rank", rank) : J_NULL("rank"));
}

static int stream_row(ranking *k, ranked *r)
{
    const size_t n = k->ncompetitors;
    size_t missing[MAX_MISSING], shown = missing_in(k, r, missing);

    if (draw_row(k, r)) return EXIT_ERROR;
    cbx_json *o = cbx_json_object(J_TEXT("key", r->row.key), J_TEXT("metric", r->row.metric),
                                  J_TEXT("unit", r->row.unit),
                                  J_TEXT("direction", cbx_direction_name(r->row.direction)));
    cbx_json *list = cbx_json_set_array(o, "ranks");
    for (size_t i = 0; i < r->row.ncells; i++) {
        const cbx_rank_cell *c = &r->cells[i];
        cbx_json *e = place_json(cbx_rank_table_competitor(k->t, c->competitor), c->rank);
        cbx_json_put(e, J_NUMBER("value", c->value), J_NUMBER("delta", c->delta),
                     r->shares ? J_NUMBERS("shares", r->shares + c->competitor * n, n) : J_NONE);
        cbx_json_push(list, e);
    }
    for (size_t i = 0; i < shown; i++) {
        cbx_json *e = place_json(cbx_rank_table_competitor(k->t, missing[i]), 0);
        cbx_json_put(e, J_NUMBER("value", NAN), J_NUMBER("delta", NAN));
        cbx_json_push(list, e);
    }
    cbx_json_set_int(o, "missing", (int64_t)(n - r->row.ncells));
    json_stream_add(&k->json, o);
    return EXIT_PASS;
}

static int print_ranking_json(ranking *k)
{
    const cbx_rank_entry *e = score_places(k);
    cbx_json *middle = cbx_json_new_object();

    json_stream_begin(&k->json, cbx_json_new_document("calibrax-ranking"), "rows");
    int status = each_row(k, stream_row);
    cbx_json_put(middle, J_TEXT("score", k->kind == CBX_SCORE_MIN_MAX ? "min-max" : "geometric"),
                 J_INT("rows_scored", k->ncommon));
    json_stream_next(&k->json, middle, "scores");
    for (size_t c = 0; e && c < k->ncompetitors; c++) {
        cbx_json *o = place_json(cbx_rank_table_competitor(k->t, e[c].index), e[c].rank);
        cbx_json_set_double(o, "score", e[c].value);
        json_stream_add(&k->json, o);
    }
    int written = json_stream_end(&k->json, k->run, NULL);
    return status ? status : written;
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

static int print_row(ranking *k, ranked *r)
{
    static const char *const heads[] = { "#", "", "Value", "Worse by", "Keeps its rank in" };
    const char *unit = r->row.unit && *r->row.unit ? plain_text(&r->arena, r->row.unit) : NULL;
    columns *table = columns_begin(&r->arena, heads, "rlrrr");
    size_t missing[MAX_MISSING], shown = missing_in(k, r, missing), more = k->ncompetitors - r->row.ncells - shown;
    int status = draw_row(k, r);

    if (status) return status;
    printf("%s%s%s%s, %s is better\n", plain_text(&r->arena, r->row.key), unit ? " [" : "", unit ? unit : "",
           unit ? "]" : "", cbx_direction_name(r->row.direction));
    for (size_t c = 0; c < r->row.ncells; c++) put_cell(k, r, &r->cells[c], table);
    for (size_t i = 0; i < shown; i++)
        put_cell(k, r, &(cbx_rank_cell){ .competitor = missing[i], .value = NAN, .delta = NAN }, table);
    columns_print(table, "  ");
    if (more) printf("  and %zu more without a value\n", more);
    putchar('\n');
    return EXIT_PASS;
}

static void print_scores(const ranking *k)
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
    columns_print(table, "  ");
    for (size_t i = 0; i < k->nrows; i++)
        if (!is_common(k, i))
            printf("  left out, since not all competitors have it: %s\n",
                   plain_text(arena, cbx_rank_table_row(k->t, k->rows[i]).key));
}

/* --- the command --- */

static int take_run(void *user, const cbx_run *r)
{
    ranking *k = user;

    return opt_check(k->run, cbx_rank_table_add(k->t, r, NULL, k->run->err));
}

int compare_rank(const opt_run *run)
{
    const compare_args *a = run->args;
    ranking k = { .run = run, .kind = (cbx_score_kind)a->score, .opts = CBX_RANK_TABLE_OPTS_INIT };
    inputs_visit v = { .take = take_run, .user = &k, .allow_machines = a->allow_machines };
    size_t drawable = 1; /* competitors */

    if (a->draws > MAX_DRAWS) return opt_fail(run, "'--draws' must be at most %d, got %zu", MAX_DRAWS, a->draws);
    while (!too_many(drawable + 1)) drawable++;
    k.opts.group_tag = a->by ? a->by : "framework";
    k.opts.metrics = a->metrics.items;
    k.opts.nmetrics = a->metrics.count;
    k.opts.samples_max = a->draws ? drawable : 0;
    if (opt_check(run, cbx_rank_table_create(run->ctx, &k.opts, &k.t, run->err))) return EXIT_ERROR;
    int status = inputs_each(run, &a->select, &a->inputs, &v);
    if (!status) status = opt_check(run, cbx_rank_table_close(k.t, run->err));
    if (!status) {
        const size_t n = cbx_rank_table_nrows(k.t);
        k.ncompetitors = cbx_rank_table_ncompetitors(k.t);
        k.rows = cbx_arena_calloc(run->arena, n, sizeof *k.rows);
        k.seen = cbx_arena_calloc(run->arena, k.ncompetitors, sizeof *k.seen);
        for (size_t i = 0; i < n; i++)
            if (cbx_rank_table_row(k.t, i).direction != CBX_DIRECTION_INFO) k.rows[k.nrows++] = i;
        if (!k.nrows)
            status = opt_fail(run, "no metric has a direction: define it in the run's metric_defs, or in the store's "
                                   "config.json, as \"lower\" or \"higher\"");
    }
    if (!status) {
        k.draws = a->draws && !too_many(k.ncompetitors);
        if (a->draws && cbx_rank_table_dropped_samples(k.t))
            opt_fail(run, "note: the stability of ranks is not computed for as many as %zu competitors",
                     k.ncompetitors);
        status = score_rows(&k);
    }
    if (!status && a->select.json) {
        status = print_ranking_json(&k);
    } else if (!status) {
        status = each_row(&k, print_row);
        if (!status && !k.scores) puts("No score: there is no row that all competitors have.");
        if (!status && k.scores) print_scores(&k);
    }
    if (!status) status = each_row(&k, need_numbers);
    cbx_rank_table_free(k.t);
    return status;
}
