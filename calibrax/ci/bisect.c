/*
 * The search: what is known, what to measure next, when to stop.  See bisect.h; the arithmetic is
 * in bisect_model.c.
 *
 * Its state as JSON has names instead of numbers, so that it fits the history in whatever order the
 * commits come.
 */
#include "calibrax/ci/bisect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/list.h"
#include "calibrax/base/options.h"
#include "calibrax/base/together.h"
#include "calibrax/ci/bisect_model.h"

#define CONFIDENCE    0.95
#define FEWEST_ENDS   5
#define END_LAUNCHES  60
#define MAX_LAUNCHES  1000
#define CONFIRMATIONS 2
#define MIN_HOPE      0.01 /* probability that the launches left for the ends decide whether they differ */
#define SCHEMA        "calibrax-bisect"
#define VERSION       1

typedef struct cbx__bisect_value {
    size_t commit; /* ncommits: the good end */
    double value;
} cbx__bisect_value;

struct cbx_bisect {
    cbx_arena arena;
    cbx_bisect_opts opts;
    size_t n;             /* candidates; commits are 0..n, n is the good end */
    cbx_names names;      /* n + 1 */
    const char **reasons; /* n + 1; NULL: not broken */
    size_t nbroken;
    cbx__rows rows;
    CBX_LIST(cbx__bisect_value) values;

    /* derived from the values; up to date if fresh */
    bool fresh, logs;
    cbx__moments *at; /* n + 1 */
    double *p;        /* n; sum 1, or all NaN */
    uint64_t *group;  /* n: the same for candidates that no measurable commit distinguishes */
    double *mass;     /* n: of the candidate's group */
    size_t *suspects; /* n */
    size_t wanted;    /* to be measured next */
    cbx_bisect_result result;
};

static const char *const outcome_names[] = { "running", "found", "unchanged", "swapped", "undecided", "broken-end" };

const char *cbx_bisect_outcome_name(cbx_bisect_outcome outcome) { return CBX_WORD(outcome_names, outcome); }

/* --- making --- */

static cbx_status read_opts(const cbx_bisect_opts *in, cbx_bisect_opts *out, cbx_err *err)
{
    cbx_status st;

    *out = (cbx_bisect_opts)CBX_BISECT_OPTS_INIT;
    st = cbx_take_options(out, sizeof *out, in, "cbx_bisect_opts", err);
    if (st) return st;
    if (out->confidence == 0) out->confidence = CONFIDENCE;
    if (out->end_launches == 0) out->end_launches = END_LAUNCHES;
    if (out->max_launches == 0) out->max_launches = MAX_LAUNCHES;
    if (!(out->confidence > 0.5 && out->confidence < 1))
        return cbx_fail(err, CBX_EINVAL, "'confidence' must be above 0.5 and below 1, got %g", out->confidence);
    if (out->end_launches < FEWEST_ENDS)
        return cbx_fail(err, CBX_EINVAL, "%zu launches of each end: at least %d are needed", out->end_launches,
                        FEWEST_ENDS);
    if (!(out->build_launches >= 0 && isfinite(out->build_launches)))
        return cbx_fail(err, CBX_EINVAL, "a build cannot cost %g launches", out->build_launches);
    return CBX_OK;
}

static cbx_status check_graph(const cbx_bisect_graph *g, cbx_err *err)
{
    if (g->ncommits == 0) return cbx_fail(err, CBX_EINVAL, "no commits between the ends of the search");
    if (g->ncommits > CBX_BISECT_MAX_COMMITS)
        return cbx_fail(err, CBX_EOVERFLOW, "%zu commits to search, at most %d: choose closer ends", g->ncommits,
                        CBX_BISECT_MAX_COMMITS);
    if (!g->good || !g->names) return cbx_fail(err, CBX_EINVAL, "commits without names");
    for (size_t i = 0; i < g->ncommits; i++) {
        if (!g->names[i]) return cbx_fail(err, CBX_EINVAL, "commit %zu has no name", i);
        for (size_t k = g->first ? g->first[i] : 0; g->first && k < g->first[i + 1]; k++) {
            if (g->parents[k] >= i)
                return cbx_fail(err, CBX_EINVAL, "commit '%s' comes before its parent", g->names[i]);
        }
    }
    return CBX_OK;
}

static bool make_rows(cbx_bisect *b, const cbx_bisect_graph *g)
{
    cbx__rows *r = &b->rows;

    r->n = b->n;
    r->words = (b->n + 63) / 64;
    r->bits = cbx_arena_calloc(&b->arena, r->n * r->words, sizeof *r->bits);
    if (!r->bits) return false;
    for (size_t i = 0; i < b->n; i++) {
        uint64_t *row = r->bits + i * r->words;
        size_t from = g->first ? g->first[i] : i - (i > 0), to = g->first ? g->first[i + 1] : i;
        for (size_t k = from; k < to; k++) {
            const uint64_t *parent = r->bits + (g->first ? g->parents[k] : k) * r->words;
            for (size_t w = 0; w < r->words; w++) row[w] |= parent[w];
        }
        row[i / 64] |= (uint64_t)1 << (i % 64);
    }
    return true;
}

static cbx_status make_parts(cbx_bisect *b, const cbx_bisect_graph *g, cbx_err *err)
{
    for (size_t i = 0; i <= b->n; i++) {
        const char *name = i < b->n ? g->names[i] : g->good;
        size_t number = cbx_names_add(&b->names, name);
        if (number == CBX_NO_NAME) return cbx_fail(err, CBX_ENOMEM, "no memory for a search of %zu commits", b->n);
        if (number < i) return cbx_fail(err, CBX_EINVAL, "commit '%s' is listed twice", name);
    }
    b->opts.identity = cbx_arena_strdup(&b->arena, b->opts.identity ? b->opts.identity : "");
    if (!make_rows(b, g) || !b->opts.identity ||
        !cbx_arena_arrays(&b->arena, CBX_ARRAY(b->reasons, b->n + 1), CBX_ARRAY(b->at, b->n + 1), CBX_ARRAY(b->p, b->n),
                          CBX_ARRAY(b->group, b->n), CBX_ARRAY(b->mass, b->n), CBX_ARRAY(b->suspects, b->n)))
        return cbx_fail(err, CBX_ENOMEM, "no memory for a search of %zu commits", b->n);
    return CBX_OK;
}

cbx_status cbx_bisect_create(cbx_ctx *ctx, const cbx_bisect_graph *graph, const cbx_bisect_opts *opts, cbx_bisect **out,
                             cbx_err *err)
{
    cbx_bisect_opts own;
    cbx_bisect *b;
    cbx_status st = read_opts(opts, &own, err);

    if (!st) st = check_graph(graph, err);
    if (st) return st;
    b = CBX_ARENA_OBJECT(cbx_bisect, cbx_ctx_allocator(ctx));
    if (!b) return cbx_fail(err, CBX_ENOMEM, "no memory for a search");
    b->opts = own;
    b->n = graph->ncommits;
    cbx_names_init(&b->names, CBX_IN_ARENA(&b->arena));
    st = make_parts(b, graph, err);
    return CBX_FINISH(st, *out = b, cbx_bisect_free(b));
}

void cbx_bisect_free(cbx_bisect *b)
{
    if (b) cbx_arena_end(&b->arena);
}

/* --- values --- */

static bool index_of(const cbx_bisect *b, size_t commit, size_t *i)
{
    *i = commit == CBX_BISECT_GOOD_END ? b->n : commit;
    return commit == CBX_BISECT_GOOD_END || commit < b->n;
}

static size_t commit_of(const cbx_bisect *b, size_t i) { return i == b->n ? CBX_BISECT_GOOD_END : i; }

cbx_status cbx_bisect_observe(cbx_bisect *b, size_t commit, double value, cbx_err *err)
{
    size_t i = 0;

    if (!index_of(b, commit, &i)) return cbx_fail(err, CBX_EINVAL, "no commit %zu among %zu", commit, b->n);
    if (b->reasons[i]) return cbx_fail(err, CBX_EINVAL, "commit '%s' is broken: it has no values", b->names.list[i]);
    if (!isfinite(value)) return cbx_fail(err, CBX_EDOM, "commit '%s': the value is not finite", b->names.list[i]);
    if (!cbx_list_push(CBX_IN_ARENA(&b->arena), &b->values, (cbx__bisect_value){ i, value }))
        return cbx_fail_nomem(err, "a value");
    b->fresh = false;
    return CBX_OK;
}

cbx_status cbx_bisect_broken(cbx_bisect *b, size_t commit, const char *reason, cbx_err *err)
{
    size_t i = 0, kept = 0;
    const char *copy;

    if (!index_of(b, commit, &i)) return cbx_fail(err, CBX_EINVAL, "no commit %zu among %zu", commit, b->n);
    copy = cbx_arena_strdup(&b->arena, reason ? reason : "");
    if (!copy) return cbx_fail(err, CBX_ENOMEM, "no memory for the reason of a broken commit");
    if (!b->reasons[i]) b->nbroken++;
    b->reasons[i] = copy;
    for (size_t v = 0; v < b->values.n; v++) {
        if (b->values.items[v].commit != i) b->values.items[kept++] = b->values.items[v];
    }
    b->values.n = kept;
    b->fresh = false;
    return CBX_OK;
}

void cbx_bisect_set_build_cost(cbx_bisect *b, double launches)
{
    b->opts.build_launches = launches >= 0 && isfinite(launches) ? launches : 0;
    b->fresh = false;
}

/* --- inference --- */

/* Moments of each commit, of logs where all values allow them, about the first value: sums then
 * keep their digits. */
static void sum_up(cbx_bisect *b)
{
    double origin;

    memset(b->at, 0, (b->n + 1) * sizeof *b->at);
    b->logs = true;
    for (size_t v = 0; v < b->values.n; v++) b->logs = b->logs && b->values.items[v].value > 0;
    origin = b->values.n ? b->values.items[0].value : 0;
    for (size_t v = 0; v < b->values.n; v++) {
        double x = b->values.items[v].value;
        cbx__moments_add(&b->at[b->values.items[v].commit], b->logs ? log(x / origin) : x - origin);
    }
}

/* Hashes of sets of measurable commits: two candidates that the same commits contain get the
 * same. */
static void group_candidates(cbx_bisect *b)
{
    if (b->nbroken == 0) {
        for (size_t h = 0; h < b->n; h++) b->group[h] = h;
        return;
    }
    memset(b->group, 0, b->n * sizeof *b->group);
    for (size_t c = 0; c < b->n; c++) {
        uint64_t mark = (c + 1) * 0x9E3779B97F4A7C15u; /* splitmix64: Steele, Lea & Flood (2014) */
        if (b->reasons[c]) continue;
        mark = (mark ^ mark >> 30) * 0xBF58476D1CE4E5B9u;
        mark = (mark ^ mark >> 27) * 0x94D049BB133111EBu;
        mark ^= mark >> 31;
        for (size_t h = 0; h <= c; h++) {
            if (cbx__rows_has(&b->rows, c, h)) b->group[h] ^= mark;
        }
    }
}

static int by_group(const void *x, const void *y, void *user)
{
    const uint64_t *group = user;
    size_t i = *(const size_t *)x, j = *(const size_t *)y;
    return group[i] != group[j] ? (group[i] < group[j] ? -1 : 1) : (i > j) - (i < j);
}

static int by_mass(const void *x, const void *y, void *user)
{
    const cbx_bisect *b = user;
    size_t i = *(const size_t *)x, j = *(const size_t *)y;
    if (b->mass[i] != b->mass[j]) return b->mass[i] > b->mass[j] ? -1 : 1;
    return by_group(x, y, b->group);
}

CBX_BY_VALUE(by_number, size_t)

/* Whole groups, the heaviest first, until they make up the confidence: the suspects. */
static void choose_suspects(cbx_bisect *b)
{
    cbx_bisect_result *r = &b->result;
    double sum = 0;
    size_t n = 0;

    qsort_r(b->suspects, b->n, sizeof *b->suspects, by_mass, b);
    while (n < b->n && sum < b->opts.confidence) {
        uint64_t group = b->group[b->suspects[n]];
        sum += b->mass[b->suspects[n]];
        while (n < b->n && b->group[b->suspects[n]] == group) n++;
    }
    qsort(b->suspects, n, sizeof *b->suspects, by_number);
    r->suspects = b->suspects;
    r->nsuspects = n;
    r->probability = fmin(sum, 1);
    r->likeliest = b->suspects[0];
    for (size_t k = 1; k < n; k++) {
        if (b->p[b->suspects[k]] > b->p[r->likeliest]) r->likeliest = b->suspects[k];
    }
}

/* Difference and noise if h is the answer, in the caller's terms. */
static void describe(cbx_bisect *b, const cbx__moments *good, const cbx__moments *bad)
{
    cbx_bisect_result *r = &b->result;
    cbx__fit f;

    cbx__fit_groups(good, bad, &f);
    r->relative = b->logs;
    r->change = b->logs ? expm1(f.difference) : f.difference;
    r->change_error = b->logs ? f.error * exp(f.difference) : f.error;
    r->noise = f.noise;
}

/* Whether the ends differ, and which way. */
static cbx_bisect_outcome judge_ends(cbx_bisect *b)
{
    const cbx__moments *good = &b->at[b->n], *bad = &b->at[b->n - 1];
    double fewest = fmin(good->n, bad->n), miss = 1 - b->opts.confidence;
    double allowed = fmin((double)b->opts.end_launches, 0.5 * (double)b->opts.max_launches);
    bool worse;

    /* The next end to measure: by turns that swap in each pair (good bad bad good ...), so that a
     * drift cancels. */
    b->wanted = (good->n != bad->n ? good->n < bad->n : (size_t)good->n % 2 == 0) ? b->n : b->n - 1;
    if (fewest < FEWEST_ENDS) return CBX_BISECT_RUNNING;
    describe(b, good, bad);
    b->result.odds = cbx__fit_odds(good, bad);
    if (b->result.odds * miss < 1) {
        if (fewest < (double)b->opts.end_launches && b->result.odds > miss &&
            cbx__fit_hope(good, bad, allowed, 1 / miss) >= MIN_HOPE)
            return CBX_BISECT_RUNNING;
        return b->result.odds < 1 ? CBX_BISECT_UNCHANGED : CBX_BISECT_UNDECIDED;
    }
    worse = (bad->sum / bad->n > good->sum / good->n) != b->opts.higher_is_better;
    return worse || b->opts.any_change ? CBX_BISECT_FOUND : CBX_BISECT_SWAPPED;
}

/* Of the commits with values, or of those without, the one whose probability is nearest to 1/2; of
 * equal ones the first.  n: none. */
static size_t nearest_to_half(const cbx_bisect *b, bool seen, double *p)
{
    size_t best = b->n;

    for (size_t c = 0; c < b->n; c++) {
        double here;
        if (b->reasons[c] || (b->at[c].n > 0) != seen) continue;
        here = cbx__bad_probability(&b->rows, b->p, c);
        if (best < b->n && fabs(here - 0.5) >= fabs(*p - 0.5) - 1e-12) continue;
        *p = here;
        best = c;
    }
    return best;
}

/* True if the answer was the same before each of the last values: one that has just appeared may
 * disappear again. */
static bool confirmed(cbx_bisect *b)
{
    const uint64_t group = b->group[b->result.likeliest];
    const size_t all = b->values.n;
    bool held = true;

    for (size_t back = 1; held && back <= CONFIRMATIONS; back++) {
        double mass = 0;
        b->values.n = all - back;
        sum_up(b);
        held = b->at[b->n].n >= FEWEST_ENDS && b->at[b->n - 1].n >= FEWEST_ENDS;
        if (!held) break;
        cbx__posterior(&b->rows, &b->at[b->n], b->at, b->p);
        for (size_t h = 0; h < b->n; h++) mass += b->group[h] == group ? b->p[h] : 0;
        held = mass >= b->opts.confidence;
    }
    b->values.n = all;
    sum_up(b);
    cbx__posterior(&b->rows, &b->at[b->n], b->at, b->p);
    return held;
}

static void infer(cbx_bisect *b)
{
    cbx_bisect_result *r = &b->result;
    cbx__moments good, bad;

    if (b->fresh) return;
    b->fresh = true;
    *r = (cbx_bisect_result){ .probability = NAN, .change = NAN, .change_error = NAN, .noise = NAN, .odds = NAN };
    sum_up(b);
    r->launches = b->values.n;
    r->end_launches = (size_t)(b->at[b->n].n + b->at[b->n - 1].n);
    r->broken = b->nbroken;
    for (size_t h = 0; h < b->n; h++) b->p[h] = NAN;
    if (b->reasons[b->n] || b->reasons[b->n - 1]) {
        r->outcome = CBX_BISECT_BROKEN_END;
        return;
    }
    r->outcome = judge_ends(b);
    if (r->outcome == CBX_BISECT_RUNNING && b->values.n >= b->opts.max_launches) r->outcome = CBX_BISECT_UNDECIDED;
    if (r->outcome != CBX_BISECT_FOUND) return;

    cbx__posterior(&b->rows, &b->at[b->n], b->at, b->p);
    group_candidates(b);
    /* Fills mass; the array of suspects is scratch. */
    size_t *order = b->suspects;

    for (size_t h = 0; h < b->n; h++) order[h] = h;
    qsort_r(order, b->n, sizeof *order, by_group, b->group);
    for (size_t from = 0, to; from < b->n; from = to) {
        double sum = 0;
        for (to = from; to < b->n && b->group[order[to]] == b->group[order[from]]; to++) sum += b->p[order[to]];
        for (size_t k = from; k < to; k++) b->mass[order[k]] = sum;
    }
    choose_suspects(b);
    cbx__split_at(&b->rows, &b->at[b->n], b->at, r->likeliest, &good, &bad);
    describe(b, &good, &bad);
    if (r->nsuspects == b->n && b->mass[r->likeliest] >= b->opts.confidence) return; /* no commit could decide more */
    if (b->mass[r->likeliest] >= b->opts.confidence && confirmed(b)) return;
    r->outcome = b->values.n >= b->opts.max_launches ? CBX_BISECT_UNDECIDED : CBX_BISECT_RUNNING;
    /* The commit whose next value has the largest information for its cost, which falls with the
     * distance of p from 1/2. */
    cbx__fit f;
    double seen_p = 0, new_p = 0, shift;
    size_t seen = nearest_to_half(b, true, &seen_p), unseen = nearest_to_half(b, false, &new_p);
    cbx__split_at(&b->rows, &b->at[b->n], b->at, b->result.likeliest, &good, &bad);
    cbx__fit_groups(&good, &bad, &f);
    shift = fmin(fmax(fabs(f.difference) / f.noise, 0.2), 10);
    b->wanted = seen < b->n ? seen : unseen;
    if (seen < b->n && unseen < b->n &&
        cbx__gain(new_p, shift) > cbx__gain(seen_p, shift) * (1 + b->opts.build_launches))
        b->wanted = unseen;
}

/* --- results --- */

cbx_bisect_outcome cbx_bisect_next(cbx_bisect *b, size_t *commit)
{
    infer(b);
    if (b->result.outcome == CBX_BISECT_RUNNING) *commit = commit_of(b, b->wanted);
    return b->result.outcome;
}

void cbx_bisect_read(cbx_bisect *b, cbx_bisect_result *out)
{
    infer(b);
    *out = b->result;
}

size_t cbx_bisect_count(const cbx_bisect *b) { return b->n; }

const char *cbx_bisect_name(const cbx_bisect *b, size_t commit)
{
    size_t i = 0;
    return index_of(b, commit, &i) ? b->names.list[i] : NULL;
}

bool cbx_bisect_find(const cbx_bisect *b, const char *name, size_t *commit)
{
    size_t number = cbx_names_find(&b->names, name);

    if (number == CBX_NO_NAME) return false;
    *commit = commit_of(b, number);
    return true;
}

double cbx_bisect_probability(cbx_bisect *b, size_t commit)
{
    infer(b);
    return commit < b->n ? b->p[commit] : NAN;
}

size_t cbx_bisect_launches_at(const cbx_bisect *b, size_t commit)
{
    size_t i = 0, n = 0;
    if (!index_of(b, commit, &i)) return 0;
    for (size_t v = 0; v < b->values.n; v++) n += b->values.items[v].commit == i;
    return n;
}

const char *cbx_bisect_reason(const cbx_bisect *b, size_t commit)
{
    size_t i = 0;
    return index_of(b, commit, &i) ? b->reasons[i] : NULL;
}

/* --- the state --- */

cbx_json *cbx_bisect_state(const cbx_bisect *b)
{
    cbx_json *o = cbx_json_object(J_TEXT("schema", SCHEMA), J_INT("version", VERSION),
                                  J_TEXT("identity", b->opts.identity), J_TEXT("good", b->names.list[b->n]),
                                  J_TEXT("bad", b->names.list[b->n - 1]), J_INT("candidates", b->n));
    cbx_json *list = cbx_json_set_array(o, "observations");

    for (size_t v = 0; v < b->values.n; v++) {
        cbx_json *pair = cbx_json_push_array(list);
        cbx_json_push_string(pair, b->names.list[b->values.items[v].commit]);
        cbx_json_push_double(pair, b->values.items[v].value);
    }
    list = cbx_json_set_array(o, "broken");
    for (size_t i = 0; i <= b->n; i++) {
        cbx_json *pair = b->reasons[i] ? cbx_json_push_array(list) : NULL;
        cbx_json_push_string(pair, b->names.list[i]);
        cbx_json_push_string(pair, b->reasons[i]);
    }
    return cbx_json_finish(o);
}

static cbx_status need_same(const cbx_json *state, const char *key, const char *wanted, const char *what, cbx_err *err)
{
    const char *found;
    cbx_status st = cbx_json_need_string(state, key, what, &found, err);

    if (st || !strcmp(found, wanted)) return st;
    return cbx_fail(err, CBX_EINVAL,
                    "'%s' belongs to another search: its %s is '%s', not '%s'; name another state file or remove it",
                    what, key, found, wanted);
}

static cbx_status check_head(const cbx_bisect *b, const cbx_json *state, const char *what, cbx_err *err)
{
    const char *schema;
    int64_t version;
    cbx_status st = cbx_json_need_string(state, "schema", what, &schema, err);

    if (!st && strcmp(schema, SCHEMA)) return cbx_fail(err, CBX_EFORMAT, "'%s' is not a state of a bisection", what);
    if (!st) st = cbx_json_need_int(state, "version", what, &version, err);
    if (!st && version != VERSION)
        return cbx_fail(err, CBX_EVERSION, "'%s' has version %lld; this program reads %d", what, (long long)version,
                        VERSION);
    if (!st) st = need_same(state, "good", b->names.list[b->n], what, err);
    if (!st) st = need_same(state, "bad", b->names.list[b->n - 1], what, err);
    if (!st) st = need_same(state, "identity", b->opts.identity, what, err);
    return st;
}

/* The i-th pair of a list: its commit and the value beside the name. */
static cbx_status read_pair(const cbx_bisect *b, const cbx_json *list, size_t i, const char *what, size_t *commit,
                            const cbx_json **value, cbx_err *err)
{
    const cbx_json *pair = cbx_json_at(list, i);
    const char *name = cbx_json_typeof(pair) == CBX_JSON_ARRAY ? cbx_json_string_value(cbx_json_at(pair, 0)) : NULL;

    if (!name || cbx_json_length(pair) != 2)
        return cbx_fail(err, CBX_EFORMAT, "'%s': entry %zu is not a pair", what, i);
    if (!cbx_bisect_find(b, name, commit))
        return cbx_fail(err, CBX_EINVAL, "'%s' names commit '%s', which is not between the ends", what, name);
    *value = cbx_json_at(pair, 1);
    return CBX_OK;
}

cbx_status cbx_bisect_restore(cbx_bisect *b, const cbx_json *state, const char *what, cbx_err *err)
{
    cbx_json *values, *broken;
    const cbx_json *value;
    size_t commit;
    cbx_status st = check_head(b, state, what, err);

    if (!st) st = cbx_json_need_array(state, "observations", what, &values, err);
    if (!st) st = cbx_json_need_array(state, "broken", what, &broken, err);
    for (size_t i = 0; !st && i < cbx_json_length(values); i++) {
        st = read_pair(b, values, i, what, &commit, &value, err);
        if (!st) st = cbx_bisect_observe(b, commit, cbx_json_double_value(value), err);
        if (st == CBX_EDOM) st = cbx_fail(err, CBX_EFORMAT, "'%s': value %zu is not finite", what, i);
    }
    for (size_t i = 0; !st && i < cbx_json_length(broken); i++) {
        st = read_pair(b, broken, i, what, &commit, &value, err);
        if (!st && !cbx_json_string_value(value))
            st = cbx_fail(err, CBX_EFORMAT, "'%s': reason %zu is not a text", what, i);
        if (!st) st = cbx_bisect_broken(b, commit, cbx_json_string_value(value), err);
    }
    return st;
}
