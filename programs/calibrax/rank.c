/*
 * calibrax rank: who is best in each row, over all of them, and how far chance decides it.
 *
 * Rows and competitors are those of a comparison (calibrax/analysis/comparison.h): a competitor is a value of the tag --by, or a run.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/analysis/comparison.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/inputs.h"
#include "programs/common/columns.h"
#include "programs/common/output.h"

#define MOST_DRAWS  1000000
#define MOST_SHARES ((size_t)2 << 20) /* numbers that tell how stable ranks are: 16 MiB of them */

typedef struct rank_args {
    select_args select;
    inputs_args inputs;
    const char *by, *score;
    opt_list metrics, weights;
    size_t draws, seed;
    bool allow_machines;
} rank_args;

static const rank_args rank_defaults = { .by = "framework", .draws = 1000, .seed = 1 };

#define AT(member) offsetof(rank_args, member)

static const opt_spec rank_options[] = {
    SELECT_STORE_ROWS(rank_args),
    INPUTS_ROWS(rank_args),
    { "by", 0, OPT_STRING, AT(by), "TAG", "framework",
      "rank the values of this tag; a point without it counts for its run" },
    { "metrics", 'm', OPT_LIST, AT(metrics), "NAME,...", "all that have a direction", "these metrics" },
    { "score", 0, OPT_STRING, AT(score), "KIND", "geometric",
      "how rows make one score: geometric (mean of best/value) or min-max (mean of 0 for the worst to 1 for the "
      "best)" },
    { "weight", 0, OPT_EACH, AT(weights), "METRIC=X", "all alike", "weight of a metric's rows in the score" },
    { "draws", 0, OPT_COUNT, AT(draws), "N", "1000", "draws of the samples that tell how stable ranks are; 0: none" },
    { "seed", 0, OPT_COUNT, AT(seed), "N", "1", "of the draws; the same seed gives the same ranks" },
    { "allow-other-machine", 0, OPT_FLAG, AT(allow_machines), NULL, NULL, "rank across machines, and say so" },
    SELECT_JSON_ROW(rank_args),
};

/* A comparison's rows that have a direction, with what the draws say and the scores. */
typedef struct ranking {
    const cbx_comparison *c;
    const cbx_comparison_row **rows;
    double **shares; /* of each row; NULL: not every competitor has samples */
    size_t nrows, nlabels, ncommon;
    cbx_score_kind kind;
    double *scores; /* one a competitor; NULL: no row that all have */
} ranking;

static int no_memory(const opt_run *run) { return opt_fail(run->program, "out of memory"); }

/* --- working out --- */

static int choose_rows(const opt_run *run, const cbx_comparison *c, ranking *k)
{
    k->c = c;
    k->nlabels = cbx_comparison_nlabels(c);
    k->rows = cbx_arena_calloc(run->arena, cbx_comparison_nrows(c), sizeof *k->rows);
    k->shares = cbx_arena_calloc(run->arena, cbx_comparison_nrows(c), sizeof *k->shares);
    if (!k->rows || !k->shares) return no_memory(run);
    for (size_t i = 0; i < cbx_comparison_nrows(c); i++) {
        const cbx_comparison_row *row = cbx_comparison_row_at(c, i);
        if (row->direction != CBX_DIRECTION_INFO) k->rows[k->nrows++] = row;
    }
    if (k->nrows) return EXIT_PASS;
    return opt_fail(run->program, "no metric has a direction: define it in the run's metric_defs, or in the store's "
                                  "config.json, as \"lower\" or \"higher\"");
}

/* Every competitor has samples, and a value. */
static bool can_be_drawn(const ranking *k, size_t i)
{
    for (size_t c = 0; c < k->nlabels; c++)
        if (!k->rows[i]->cells[c].nsamples || !isfinite(k->rows[i]->cells[c].value)) return false;
    return true;
}

static int draw_row(const opt_run *run, ranking *k, size_t i)
{
    const rank_args *a = run->args;
    cbx_rank_sample *samples = cbx_arena_calloc(run->arena, k->nlabels, sizeof *samples);
    double *share = cbx_arena_calloc(run->arena, k->nlabels * k->nlabels, sizeof *share);
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    if (!samples || !share) return no_memory(run);
    for (size_t c = 0; c < k->nlabels; c++)
        samples[c] = (cbx_rank_sample){ k->rows[i]->cells[c].samples, k->rows[i]->cells[c].nsamples };
    st = cbx_rank_stability(run->ctx, samples, k->nlabels, k->rows[i]->direction, a->draws, a->seed, share, &err);
    if (st == CBX_EDOM) return EXIT_PASS; /* a sample that is not finite */
    if (st) return opt_fail(run->program, "%s", err.message);
    k->shares[i] = share;
    return EXIT_PASS;
}

/* A share for each competitor and rank: of ten thousand competitors nobody wants to see them, nor could they be held. */
static int draw_rows(const opt_run *run, ranking *k)
{
    const rank_args *a = run->args;
    size_t n = 0;
    int status = EXIT_PASS;

    for (size_t i = 0; a->draws && i < k->nrows; i++) n += can_be_drawn(k, i);
    if (n && k->nlabels > MOST_SHARES / n / k->nlabels) {
        opt_fail(run->program, "note: %zu competitors in %zu rows are too many to tell how stable their ranks are",
                 k->nlabels, n);
        return EXIT_PASS;
    }
    for (size_t i = 0; !status && n && i < k->nrows; i++)
        if (can_be_drawn(k, i)) status = draw_row(run, k, i);
    return status;
}

/* One weight a row: that of its metric, parted among the metric's rows. */
static int weigh_rows(const opt_run *run, const cbx_comparison_row **rows, size_t n, double *weights)
{
    const rank_args *a = run->args;

    for (size_t i = 0; i < n; i++) weights[i] = 1;
    for (size_t w = 0; w < a->weights.count; w++) {
        const char *metric;
        double x;
        size_t found = 0;
        if (select_pair(run, "weight", "METRIC", a->weights.items[w], &metric, &x)) return EXIT_ERROR;
        for (size_t i = 0; i < n; i++) found += !strcmp(rows[i]->metric, metric);
        if (!found)
            return opt_fail(run->program, "--weight: no row that all competitors have is of the metric '%s'", metric);
        for (size_t i = 0; i < n; i++)
            if (!strcmp(rows[i]->metric, metric)) weights[i] = x / (double)found;
    }
    return EXIT_PASS;
}

/* A value that is no number is a measurement that failed, whatever its samples are: it has no rank, and is named. */
static int need_numbers(const opt_run *run, const ranking *k)
{
    for (size_t i = 0; i < k->nrows; i++)
        for (size_t c = 0; c < k->nlabels; c++) {
            const cbx_comparison_cell *cell = &k->rows[i]->cells[c];
            if (!cell->measured || isfinite(cell->value)) continue;
            return opt_fail(run->program,
                            "'%s' has %g in '%s', which has no rank: measure it anew, or choose others with --metrics",
                            cbx_comparison_label(k->c, c), cell->value, k->rows[i]->key);
        }
    return EXIT_PASS;
}

/* What keeps the geometric mean from being one, by name; 0: nothing. */
static int need_positive(const opt_run *run, const ranking *k, const cbx_comparison_row *const *rows, size_t n)
{
    for (size_t i = 0; k->kind == CBX_SCORE_GEOMETRIC && i < n; i++)
        for (size_t c = 0; c < k->nlabels; c++) {
            double v = rows[i]->cells[c].value;
            if (v > 0) continue;
            return opt_fail(run->program,
                            "the geometric mean needs values above 0, and '%s' has %g in '%s': take --score min-max",
                            cbx_comparison_label(k->c, c), v, rows[i]->key);
        }
    return EXIT_PASS;
}

static int score_rows(const opt_run *run, ranking *k)
{
    const cbx_comparison_row **rows = cbx_arena_calloc(run->arena, k->nrows, sizeof(const cbx_comparison_row *));
    double *values = cbx_arena_calloc(run->arena, k->nrows * k->nlabels, sizeof *values);
    double *weights = cbx_arena_calloc(run->arena, k->nrows, sizeof *weights);
    double *scores = cbx_arena_calloc(run->arena, k->nlabels, sizeof *scores);
    cbx_direction *directions = cbx_arena_calloc(run->arena, k->nrows, sizeof *directions);
    cbx_err err = CBX_ERR_INIT;
    size_t n = 0;

    if (!rows || !values || !weights || !scores || !directions) return no_memory(run);
    for (size_t i = 0; i < k->nrows; i++) {
        if (k->rows[i]->nmissing) continue;
        for (size_t c = 0; c < k->nlabels; c++) values[n * k->nlabels + c] = k->rows[i]->cells[c].value;
        directions[n] = k->rows[i]->direction;
        rows[n++] = k->rows[i];
    }
    k->ncommon = n;
    if (weigh_rows(run, rows, n, weights)) return EXIT_ERROR;
    if (!n) return EXIT_PASS;
    k->scores = scores;
    if (need_positive(run, k, rows, n)) return EXIT_ERROR;
    if (!cbx_score(run->ctx, k->kind, values, n, k->nlabels, directions, weights, scores, NULL, &err)) return EXIT_PASS;
    return opt_fail(run->program, "%s", err.message);
}

static int read_score(const opt_run *run, const char *word, cbx_score_kind *out)
{
    *out = word && !strcmp(word, "min-max") ? CBX_SCORE_MIN_MAX : CBX_SCORE_GEOMETRIC;
    if (!word || *out == CBX_SCORE_MIN_MAX || !strcmp(word, "geometric")) return EXIT_PASS;
    return opt_fail(run->program, "--score: expected geometric or min-max, found '%s'", word);
}

/* --- who is shown where --- */

typedef struct place {
    size_t competitor, rank;
    double value;
} place;

/* Best first; no rank stands last. */
static int by_rank(const void *pa, const void *pb)
{
    const place *a = pa, *b = pb;
    size_t x = a->rank ? a->rank : SIZE_MAX, y = b->rank ? b->rank : SIZE_MAX;

    return x != y ? (x < y ? -1 : 1) : (a->competitor > b->competitor) - (a->competitor < b->competitor);
}

static place *row_places(const opt_run *run, const ranking *k, size_t i)
{
    place *p = cbx_arena_calloc(run->arena, k->nlabels, sizeof *p);

    for (size_t c = 0; p && c < k->nlabels; c++)
        p[c] = (place){ c, k->rows[i]->cells[c].rank, k->rows[i]->cells[c].value };
    if (p) qsort(p, k->nlabels, sizeof *p, by_rank);
    return p;
}

static place *score_places(const opt_run *run, const ranking *k)
{
    place *p = cbx_arena_calloc(run->arena, k->nlabels, sizeof *p);
    cbx_rank_entry *e = cbx_arena_calloc(run->arena, k->nlabels, sizeof *e);

    if (!p || !e || cbx_rank(k->scores, k->nlabels, CBX_DIRECTION_HIGHER, e, NULL)) return NULL;
    for (size_t c = 0; c < k->nlabels; c++) p[c] = (place){ e[c].index, e[c].rank, e[c].value };
    return p;
}

/* Share of the draws in which a competitor had the rank that it has. */
static double kept(const ranking *k, size_t i, const place *p)
{
    return k->shares[i] && p->rank ? k->shares[i][p->competitor * k->nlabels + p->rank - 1] : NAN;
}

/* --- JSON --- */

static cbx_json *place_json(const ranking *k, size_t i, const place *p)
{
    const cbx_comparison_cell *cell = &k->rows[i]->cells[p->competitor];
    cbx_json *o = cbx_json_new_object(), *shares;

    cbx_json_set_string(o, "label", cbx_comparison_label(k->c, p->competitor));
    if (p->rank)
        cbx_json_set_int(o, "rank", (int64_t)p->rank);
    else
        cbx_json_set_null(o, "rank");
    cbx_json_set_double(o, "value", cell->value);
    cbx_json_set_double(o, "delta", cell->delta);
    if (!k->shares[i]) return o;
    shares = cbx_json_new_array();
    for (size_t r = 0; r < k->nlabels; r++)
        cbx_json_push(shares, cbx_json_new_double(k->shares[i][p->competitor * k->nlabels + r]));
    cbx_json_set(o, "shares", shares);
    return o;
}

static cbx_json *row_json(const opt_run *run, const ranking *k, size_t i)
{
    cbx_json *o = cbx_json_new_object(), *list = cbx_json_new_array();
    const place *p = row_places(run, k, i);

    cbx_json_set_string(o, "key", k->rows[i]->key);
    cbx_json_set_string(o, "metric", k->rows[i]->metric);
    cbx_json_set_string(o, "unit", k->rows[i]->unit);
    cbx_json_set_string(o, "direction", cbx_direction_name(k->rows[i]->direction));
    for (size_t c = 0; p && c < k->nlabels; c++) cbx_json_push(list, place_json(k, i, &p[c]));
    cbx_json_set(o, "ranks", list);
    return o;
}

static cbx_json *ranking_json(const opt_run *run, const ranking *k)
{
    cbx_json *o = new_document("calibrax-ranking"), *rows = cbx_json_new_array(), *score = NULL;
    const place *p = k->scores ? score_places(run, k) : NULL;

    for (size_t i = 0; i < k->nrows; i++) cbx_json_push(rows, row_json(run, k, i));
    cbx_json_set(o, "rows", rows);
    cbx_json_set_string(o, "score", k->kind == CBX_SCORE_MIN_MAX ? "min-max" : "geometric");
    cbx_json_set_int(o, "rows_scored", (int64_t)k->ncommon);
    score = cbx_json_new_array();
    for (size_t c = 0; p && c < k->nlabels; c++) {
        cbx_json *e = cbx_json_new_object();
        cbx_json_set_string(e, "label", cbx_comparison_label(k->c, p[c].competitor));
        cbx_json_set_int(e, "rank", (int64_t)p[c].rank);
        cbx_json_set_double(e, "score", p[c].value);
        cbx_json_push(score, e);
    }
    cbx_json_set(o, "scores", score);
    return o;
}

/* --- text --- */

static void put_rank(columns *table, const place *p)
{
    if (p->rank)
        columns_printf(table, PAINT_PLAIN, "%zu", p->rank);
    else
        columns_put(table, PAINT_PLAIN, "-");
}

static bool print_row(const opt_run *run, const ranking *k, size_t i)
{
    static const char *const heads[] = { "#", "", "Value", "Worse by", "Keeps its rank in" };
    const cbx_comparison_row *row = k->rows[i];
    const place *p = row_places(run, k, i);
    columns *table = columns_begin(run->arena, heads, "rlrrr");
    char text[CBX_FORMAT_SIZE];

    printf("%s%s%s%s, %s is better\n", plain_text(run->arena, row->key), row->unit && *row->unit ? " [" : "",
           row->unit ? plain_text(run->arena, row->unit) : "", row->unit && *row->unit ? "]" : "",
           cbx_direction_name(row->direction));
    for (size_t c = 0; p && c < k->nlabels; c++) {
        double share = kept(k, i, &p[c]), delta = row->cells[p[c].competitor].delta;
        put_rank(table, &p[c]);
        columns_put(table, p[c].rank == 1 ? PAINT_STRONG : PAINT_PLAIN,
                    plain_text(run->arena, cbx_comparison_label(k->c, p[c].competitor)));
        columns_number(table, PAINT_PLAIN, p[c].value);
        columns_put(table, PAINT_PLAIN,
                    p[c].rank == 1 ? "" : cbx_arena_strdup(run->arena, format_percent(delta, text)));
        if (isnan(share))
            columns_put(table, PAINT_PLAIN, "-");
        else
            columns_printf(table, share < 0.95 ? PAINT_BAD : PAINT_PLAIN, "%.1f %% of draws", 100 * share);
    }
    return p && columns_print(table, "  ");
}

static bool print_scores(const opt_run *run, const ranking *k)
{
    static const char *const heads[] = { "#", "", "Score" };
    columns *table = columns_begin(run->arena, heads, "rlr");
    const place *p = score_places(run, k);

    printf("Score over %zu of %zu rows: %s\n", k->ncommon, k->nrows,
           k->kind == CBX_SCORE_MIN_MAX ? "mean of 0 for the worst to 1 for the best"
                                        : "geometric mean of best/value, 1 is best in every row");
    for (size_t c = 0; p && c < k->nlabels; c++) {
        put_rank(table, &p[c]);
        columns_put(table, p[c].rank == 1 ? PAINT_STRONG : PAINT_PLAIN,
                    plain_text(run->arena, cbx_comparison_label(k->c, p[c].competitor)));
        columns_printf(table, PAINT_PLAIN, "%.4f", p[c].value);
    }
    if (!p || !columns_print(table, "  ")) return false;
    for (size_t i = 0; i < k->nrows; i++)
        if (k->rows[i]->nmissing)
            printf("  left out, since not all have it: %s\n", plain_text(run->arena, k->rows[i]->key));
    return true;
}

static int print_ranking(const opt_run *run, const ranking *k)
{
    for (size_t i = 0; i < k->nrows; i++) {
        if (!print_row(run, k, i)) return no_memory(run);
        putchar('\n');
    }
    if (k->scores) return print_scores(run, k) ? EXIT_PASS : no_memory(run);
    puts("No score: there is no row that all have.");
    return EXIT_PASS;
}

/* --- the command --- */

static cbx_status compare(const opt_run *run, const inputs_list *l, cbx_comparison **out, cbx_err *err)
{
    const rank_args *a = run->args;
    cbx_comparison_opts o = CBX_COMPARISON_OPTS_INIT;

    o.group_tag = a->by;
    o.metrics = a->metrics.items;
    o.nmetrics = a->metrics.count;
    return cbx_comparison_create(run->ctx, (const cbx_run *const *)l->items, NULL, l->n, &o, out, err);
}

/* Two values for one cell, or units that differ, are that whatever runs follow. */
static int look_at_first(const opt_run *run, const inputs_list *l)
{
    cbx_comparison *c = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = compare(run, l, &c, &err);

    cbx_comparison_free(c);
    return st == CBX_EEXIST || st == CBX_EFORMAT ? opt_fail(run->program, "%s", err.message) : EXIT_PASS;
}

static int rank_all(const opt_run *run, const inputs_list *l)
{
    const rank_args *a = run->args;
    cbx_comparison *c = NULL;
    cbx_err err = CBX_ERR_INIT;
    ranking k = { .nrows = 0 };
    int status = read_score(run, a->score, &k.kind);

    if (status) return status;
    if (a->draws > MOST_DRAWS) return opt_fail(run->program, "--draws: at most %d, found %zu", MOST_DRAWS, a->draws);
    if (compare(run, l, &c, &err)) return opt_fail(run->program, "%s", err.message);
    status = choose_rows(run, c, &k);
    if (!status) status = draw_rows(run, &k);
    if (!status) status = score_rows(run, &k);
    if (!status) status = a->select.json ? print_json(run->program, ranking_json(run, &k)) : print_ranking(run, &k);
    if (!status) status = need_numbers(run, &k);
    cbx_comparison_free(c);
    return status;
}

static int run_rank(const opt_run *run)
{
    const rank_args *a = run->args;
    inputs_list l = { .look = look_at_first };
    int status = inputs_load(run, &a->select, &a->inputs, NULL, &l, NULL);

    if (!status) status = inputs_check_machines(run, &l, a->allow_machines);
    if (!status) status = rank_all(run, &l);
    inputs_clear(&l);
    return status;
}

const opt_command rank_command = {
    "rank",
    "(--data DIR [--run ID,...] | --input FILE) [--by TAG] [OPTION]...",
    "who is best, over many metrics, and how surely",
    "Ranks the values of a tag, or runs, in each measured thing, equal values sharing a rank; then by one score over "
    "the "
    "rows that all have. Where runs carry samples, draws of them tell how often each would keep its rank. Metrics "
    "without "
    "a better side are not ranked. Exit status 2 when there is nothing to rank, or a value is no number.",
    rank_options,
    CBX_LEN(rank_options),
    sizeof(rank_args),
    &rank_defaults,
    0,
    run_rank,
};
