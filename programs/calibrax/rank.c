/*
 * calibrax rank: who is best in each row, over all of them, and how far chance decides it.
 *
 * Rows and competitors are those of calibrax/analysis/rank_table.h: a competitor is a value of the tag --by, or a run.  Runs are taken one
 * after the other, and rows printed so: neither ten thousand competitors nor as many rows are held with all that is told of them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "programs/calibrax/rank.h"

#include "programs/calibrax/calibrax.h"

#define MOST_DRAWS  1000000
#define MOST_SHARES ((size_t)2 << 20) /* numbers that tell how stable the ranks of a row are: 16 MiB of them */

static const rank_args rank_defaults = { .by = "framework", .draws = 1000, .seed = 1 };

#define AT(member) offsetof(rank_args, member)

static const opt_spec rank_options[] = {
    SELECT_STORE_ROWS(rank_args),
    INPUTS_ROWS(rank_args),
    { "by", 0, OPT_STRING, AT(by), "TAG", "framework",
      "rank the values of this tag; a point without it counts for its run" },
    { "metrics", 'm', OPT_LIST, AT(metrics), "NAME,...", "all that have a direction", "these metrics" },
    { "metric", 0, OPT_LIST, AT(metrics), "NAME", NULL, NULL },
    { "score", 0, OPT_STRING, AT(score), "KIND", "geometric",
      "how rows make one score: geometric (mean of best/value) or min-max (mean of 0 for the worst to 1 for the "
      "best)" },
    { "weight", 0, OPT_EACH, AT(weights), "METRIC=X", "all alike", "weight of a metric's rows in the score" },
    { "draws", 0, OPT_COUNT, AT(draws), "N", "1000", "draws of the samples that tell how stable ranks are; 0: none" },
    { "seed", 0, OPT_COUNT, AT(seed), "N", "1", "of the draws; the same seed gives the same ranks" },
    { "allow-other-machine", 0, OPT_FLAG, AT(allow_machines), NULL, NULL, "rank across machines, and say so" },
    SELECT_JSON_ROW(rank_args),
};

static int no_memory(const opt_run *run) { return opt_fail(run->program, "out of memory"); }

/* --- one row --- */

static bool is_drawable(const ranking *k, const ranked *r)
{
    for (size_t c = 0; c < r->row.ncells; c++)
        if (!r->cells[c].nsamples || !isfinite(r->cells[c].value)) return false;
    return r->row.ncells == k->ncompetitors;
}

void rank_row_clear(ranked *r) { cbx_arena_clear(&r->arena); }

int rank_row_begin(const ranking *k, size_t i, ranked *r)
{
    cbx_err err = CBX_ERR_INIT;

    *r = (ranked){ .row = cbx_rank_table_row(k->t, k->rows[i]) };
    cbx_arena_init(&r->arena, cbx_ctx_allocator(k->run->ctx));
    r->cells = cbx_arena_calloc(&r->arena, r->row.ncells, sizeof *r->cells);
    if (r->cells && !cbx_rank_table_cells(k->t, k->rows[i], r->cells, &err)) return EXIT_PASS;
    rank_row_clear(r);
    return no_memory(k->run);
}

/* A sample that is not finite gives no shares. */
int rank_row_draw(const ranking *k, ranked *r)
{
    const rank_args *a = k->run->args;
    size_t n = k->ncompetitors;
    cbx_rank_sample *samples;
    double *shares;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    if (!k->draws || !is_drawable(k, r)) return EXIT_PASS;
    samples = cbx_arena_calloc(&r->arena, n, sizeof *samples);
    shares = cbx_arena_calloc(&r->arena, n * n, sizeof *shares);
    if (!samples || !shares) return no_memory(k->run);
    for (size_t c = 0; c < n; c++)
        samples[r->cells[c].competitor] = (cbx_rank_sample){ r->cells[c].samples, r->cells[c].nsamples };
    st = cbx_rank_stability(k->run->ctx, samples, n, r->row.direction, a->draws, a->seed, shares, &err);
    if (st == CBX_EDOM) return EXIT_PASS;
    if (st) return opt_fail(k->run->program, "%s", err.message);
    r->shares = shares;
    return EXIT_PASS;
}

/* Calls for each row that is ranked, until one of them is not 0. */
int rank_each_row(ranking *k, int (*fn)(ranking *k, ranked *r))
{
    int status = EXIT_PASS;

    for (size_t i = 0; !status && i < k->nrows; i++) {
        ranked r;
        status = rank_row_begin(k, i, &r);
        if (status) break;
        status = fn(k, &r);
        rank_row_clear(&r);
    }
    return status;
}

/* --- working out --- */

static int choose_rows(ranking *k)
{
    size_t n = cbx_rank_table_nrows(k->t);

    k->ncompetitors = cbx_rank_table_ncompetitors(k->t);
    k->rows = cbx_arena_calloc(k->run->arena, n, sizeof *k->rows);
    k->seen = cbx_arena_calloc(k->run->arena, k->ncompetitors, sizeof *k->seen);
    if (!k->rows || !k->seen) return no_memory(k->run);
    for (size_t i = 0; i < n; i++)
        if (cbx_rank_table_row(k->t, i).direction != CBX_DIRECTION_INFO) k->rows[k->nrows++] = i;
    if (k->nrows) return EXIT_PASS;
    return opt_fail(k->run->program, "no metric has a direction: define it in the run's metric_defs, or in the store's "
                                     "config.json, as \"lower\" or \"higher\"");
}

/* A share for each competitor and rank: of ten thousand competitors nobody wants to see them, nor could they be held. */
static bool too_many(size_t competitors) { return competitors > MOST_SHARES / competitors; }

static void choose_draws(ranking *k)
{
    const rank_args *a = k->run->args;

    k->draws = a->draws && !too_many(k->ncompetitors);
    if (a->draws && cbx_rank_table_dropped_samples(k->t))
        opt_fail(k->run->program, "note: %zu competitors are too many to tell how stable their ranks are",
                 k->ncompetitors);
}

/* A value that is no number is a measurement that failed, whatever its samples are: it has no rank, and is named. */
static int need_numbers(ranking *k, ranked *r)
{
    const cbx_rank_cell *first = NULL;

    for (size_t c = 0; c < r->row.ncells; c++)
        if (!isfinite(r->cells[c].value) && (!first || r->cells[c].competitor < first->competitor))
            first = &r->cells[c];
    if (!first) return EXIT_PASS;
    return opt_fail(k->run->program,
                    "'%s' has %g in '%s', which has no rank: measure it anew, or choose others with --metrics",
                    cbx_rank_table_competitor(k->t, first->competitor), first->value, r->row.key);
}

/* --- scores --- */

/* The rows that all competitors have, and the values of them that make a score. */
typedef struct common {
    size_t *rows, n;
    double *values, *weights; /* [row][competitor]; [row] */
    cbx_direction *directions;
} common;

bool rank_is_common(const ranking *k, size_t i)
{
    return cbx_rank_table_row(k->t, k->rows[i]).nnumbers == k->ncompetitors;
}

static int find_common(const ranking *k, common *all)
{
    cbx_arena *arena = k->run->arena;
    size_t n = 0;

    for (size_t i = 0; i < k->nrows; i++) n += rank_is_common(k, i);
    *all = (common){ .rows = cbx_arena_calloc(arena, n, sizeof *all->rows),
                     .values = cbx_arena_calloc(arena, n * k->ncompetitors, sizeof *all->values),
                     .weights = cbx_arena_calloc(arena, n, sizeof *all->weights),
                     .directions = cbx_arena_calloc(arena, n, sizeof *all->directions) };
    if (!all->rows || !all->values || !all->weights || !all->directions) return no_memory(k->run);
    for (size_t i = 0; i < k->nrows; i++)
        if (rank_is_common(k, i)) all->rows[all->n++] = i;
    return EXIT_PASS;
}

static int read_common(const ranking *k, common *all)
{
    int status = EXIT_PASS;

    for (size_t i = 0; !status && i < all->n; i++) {
        ranked r;
        status = rank_row_begin(k, all->rows[i], &r);
        if (status) break;
        all->directions[i] = r.row.direction;
        for (size_t c = 0; c < r.row.ncells; c++)
            all->values[i * k->ncompetitors + r.cells[c].competitor] = r.cells[c].value;
        rank_row_clear(&r);
    }
    return status;
}

static bool is_of(const ranking *k, const common *all, size_t i, const char *metric)
{
    return !strcmp(cbx_rank_table_row(k->t, k->rows[all->rows[i]]).metric, metric);
}

/* One weight a row: that of its metric, parted among the metric's rows. */
static int weigh_rows(const ranking *k, const common *all)
{
    const rank_args *a = k->run->args;

    for (size_t i = 0; i < all->n; i++) all->weights[i] = 1;
    for (size_t w = 0; w < a->weights.count; w++) {
        const char *metric;
        double x;
        size_t found = 0;
        if (select_pair(k->run, "weight", "METRIC", a->weights.items[w], &metric, &x)) return EXIT_ERROR;
        for (size_t i = 0; i < all->n; i++) found += is_of(k, all, i, metric);
        if (!found)
            return opt_fail(k->run->program, "--weight: no row that all competitors have is of the metric '%s'",
                            metric);
        for (size_t i = 0; i < all->n; i++)
            if (is_of(k, all, i, metric)) all->weights[i] = x / (double)found;
    }
    return EXIT_PASS;
}

/* What keeps the geometric mean from being one, by name; 0: nothing. */
static int need_positive(const ranking *k, const common *all)
{
    for (size_t i = 0; k->kind == CBX_SCORE_GEOMETRIC && i < all->n; i++)
        for (size_t c = 0; c < k->ncompetitors; c++) {
            double v = all->values[i * k->ncompetitors + c];
            if (v > 0) continue;
            return opt_fail(k->run->program,
                            "the geometric mean needs values above 0, and '%s' has %g in '%s': take --score min-max",
                            cbx_rank_table_competitor(k->t, c), v, cbx_rank_table_row(k->t, k->rows[all->rows[i]]).key);
        }
    return EXIT_PASS;
}

static int score_rows(ranking *k)
{
    double *scores = cbx_arena_calloc(k->run->arena, k->ncompetitors, sizeof *scores);
    cbx_err err = CBX_ERR_INIT;
    common all = { .n = 0 };
    int status = scores ? find_common(k, &all) : no_memory(k->run);

    if (!status) status = weigh_rows(k, &all);
    if (!status) status = read_common(k, &all);
    if (!status) status = need_positive(k, &all);
    if (status) return status;
    k->ncommon = all.n;
    if (!all.n) return EXIT_PASS;
    k->scores = scores;
    if (!cbx_score(k->run->ctx, k->kind, all.values, all.n, k->ncompetitors, all.directions, all.weights, scores, NULL,
                   &err))
        return EXIT_PASS;
    return opt_fail(k->run->program, "%s", err.message);
}

static int read_score(const opt_run *run, const char *word, cbx_score_kind *out)
{
    *out = word && !strcmp(word, "min-max") ? CBX_SCORE_MIN_MAX : CBX_SCORE_GEOMETRIC;
    if (!word || *out == CBX_SCORE_MIN_MAX || !strcmp(word, "geometric")) return EXIT_PASS;
    return opt_fail(run->program, "--score: expected geometric or min-max, found '%s'", word);
}

/* --- the command --- */

static int take_run(void *user, const cbx_run *r)
{
    ranking *k = user;
    cbx_err err = CBX_ERR_INIT;

    return cbx_rank_table_add(k->t, r, &err) ? opt_fail(k->run->program, "%s", err.message) : EXIT_PASS;
}

static int take_all(ranking *k)
{
    const rank_args *a = k->run->args;
    inputs_visit v = { .take = take_run, .user = k, .allow_machines = a->allow_machines };
    const cbx_rank_table_opts defaults = CBX_RANK_TABLE_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    size_t most = 1;
    int status;

    while (!too_many(most + 1)) most++;
    k->opts = defaults;
    k->opts.group_tag = a->by;
    k->opts.metrics = a->metrics.items;
    k->opts.nmetrics = a->metrics.count;
    k->opts.samples_most = a->draws ? most : 0;
    if (cbx_rank_table_create(k->run->ctx, &k->opts, &k->t, &err)) return opt_fail(k->run->program, "%s", err.message);
    status = inputs_each(k->run, &a->select, &a->inputs, &v);
    if (!status && cbx_rank_table_close(k->t, &err)) status = opt_fail(k->run->program, "%s", err.message);
    return status;
}

static int rank_all(ranking *k)
{
    const rank_args *a = k->run->args;
    int status = take_all(k);

    if (!status) status = choose_rows(k);
    if (!status) choose_draws(k);
    if (!status) status = score_rows(k);
    if (!status) status = a->select.json ? rank_print_json(k) : rank_print(k);
    return status ? status : rank_each_row(k, need_numbers);
}

static int run_rank(const opt_run *run)
{
    const rank_args *a = run->args;
    ranking k = { .run = run };
    int status = read_score(run, a->score, &k.kind);

    if (!status && a->draws > MOST_DRAWS)
        status = opt_fail(run->program, "--draws: at most %d, found %zu", MOST_DRAWS, a->draws);
    if (!status) status = rank_all(&k);
    cbx_rank_table_free(k.t);
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
