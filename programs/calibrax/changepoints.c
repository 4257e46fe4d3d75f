/*
 * calibrax changepoints: where the level of a metric changed over the runs of a store.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/changes.h"
#include "programs/common/columns.h"
#include "programs/common/output.h"

static const changes_args changes_defaults = {
    .penalty = NAN, .alpha = 0.01, .level = 0.95, .threshold = 0, .min_segment = 3, .seed = 1
};

#define AT(member) offsetof(changes_args, member)

static const opt_spec changes_options[] = {
    SELECT_STORE_ROWS(changes_args),
    SELECT_POINT_ROWS(changes_args),
    SELECT_ROW(changes_args, "n-runs", OPT_POSITIVE, limit, "N", "the newest N values of each series only"),
    SELECT_RUN_ROWS(changes_args),
    { "method", 0, OPT_STRING, AT(method), "NAME", "detector",
      "detector (proposes a split, keeps what the series bears out), pelt, binary, window or e-divisive" },
    { "cost", 0, OPT_STRING, AT(cost), "NAME", "mean",
      "of pelt, binary and window: mean, or normal (level or spread)" },
    { "penalty", 0, OPT_NUMBER, AT(penalty), "X", "by the noise of the series, autocorrelation counted in",
      "of pelt, binary and window: what a change must gain" },
    { "min-segment", 0, OPT_POSITIVE, AT(min_segment), "N", "3", "least values between two changes" },
    { "window", 0, OPT_POSITIVE, AT(window), "N", "twice the least segment, at least 10",
      "of window: values on each side" },
    { "alpha", 0, OPT_NUMBER, AT(alpha), "P", "0.01", "of e-divisive: a p-value of at most this is a change" },
    { "seed", 0, OPT_COUNT, AT(seed), "N", "1", "of e-divisive: of its permutations" },
    { "state", 0, OPT_STRING, AT(state), "FILE", NULL,
      "keep what was told, and mark what is new since the last look; made if missing" },
    { "new-only", 0, OPT_FLAG, AT(new_only), NULL, NULL, "leave out changes that were told before: needs --state" },
    { "before", 0, OPT_LIST, AT(before), "ID,...", NULL,
      "runs measured anew before the last change, to confirm it; by the same names as 'calibrax show --run'" },
    { "after", 0, OPT_LIST, AT(after), "ID,...", NULL, "runs measured anew after it" },
    { "level", 0, OPT_NUMBER, AT(level), "X", "0.95", "of the interval that confirms" },
    { "threshold", 0, OPT_NUMBER, AT(threshold), "X", "0", "relative change that a confirmed one must exceed" },
    { "check", 0, OPT_FLAG, AT(check), NULL, NULL,
      "exit with 1 if a change is for the worse: a new one, with --before and --after a confirmed one (3: undecided)" },
    { "allow-dropped", 0, OPT_FLAG, AT(allow_dropped), NULL, NULL,
      "with --check: series that the newest run has lost are told and do not fail" },
    { "allow-other-machine", 0, OPT_FLAG, AT(allow_machines), NULL, NULL, "series of several machines, and say so" },
    SELECT_JSON_ROW(changes_args),
};

static const char *const judged_words[] = { "", "confirmed", "refuted", "undecided" };

/* --- JSON --- */

static cbx_json *change_json(const change_found *f)
{
    cbx_json *o = cbx_json_new_object(), *anew;
    char time[CBX_TIME_SIZE];

    cbx_json_set_string(o, "run", f->at->run_id);
    cbx_json_set_string(o, "timestamp", cbx_time_format_iso(f->at->timestamp_us, time));
    cbx_json_set_string(o, "commit", f->at->commit);
    cbx_json_set_int(o, "index", (int64_t)f->c.index);
    cbx_json_set_double(o, "before", f->c.before);
    cbx_json_set_double(o, "after", f->c.after);
    cbx_json_set_double(o, "change", f->c.change);
    if (!isnan(f->c.score)) cbx_json_set_double(o, "score", f->c.score);
    cbx_json_set_bool(o, "new", f->is_new);
    cbx_json_set_string(o, "for", f->worse ? "worse" : f->better ? "better" : NULL);
    if (!f->judged) return o;
    anew = cbx_json_new_object();
    cbx_json_set_string(anew, "verdict", judged_words[f->judged]);
    cbx_json_set_double(anew, "change", f->anew.value);
    cbx_json_set_double(anew, "lower", f->anew.lower);
    cbx_json_set_double(anew, "upper", f->anew.upper);
    cbx_json_set_double(anew, "level", f->anew.level);
    cbx_json_set(o, "confirmation", anew);
    return o;
}

static bool shown(const changes *c, const change_found *f)
{
    const changes_args *a = c->run->args;
    return f->is_new || !a->new_only;
}

static cbx_json *series_json(const changes *c, const changes_series *s)
{
    cbx_json *e = cbx_json_new_object(), *list = cbx_json_new_array();

    cbx_json_set_string(e, "metric", s->s->metric);
    cbx_json_set_string(e, "point", s->s->point);
    cbx_json_set_string(e, "scenario", s->s->scenario);
    cbx_json_set(e, "tags", tags_json(s->s->tags, s->s->ntags));
    cbx_json_set_string(e, "direction", cbx_direction_name(s->direction));
    cbx_json_set_int(e, "values", (int64_t)s->n);
    cbx_json_set_int(e, "unseen", (int64_t)s->unseen);
    cbx_json_set_int(e, "not_finite", (int64_t)s->left_out);
    for (size_t k = 0; k < s->nfound; k++)
        if (shown(c, &s->found[k])) cbx_json_push(list, change_json(&s->found[k]));
    cbx_json_set(e, "changes", list);
    return e;
}

static int print_changes_json(const changes *c)
{
    json_stream out;

    json_stream_begin(&out, new_document("calibrax-changepoints"), "series");
    for (size_t i = 0; i < c->n; i++) json_stream_add(&out, series_json(c, &c->list[i]));
    return json_stream_end(&out, c->run->program, cbx_json_new_object());
}

/* --- text --- */

static void put_change(const changes *c, const change_found *f, cbx_arena *arena, columns *table)
{
    const changes_args *a = c->run->args;
    paint how = f->worse ? PAINT_BAD : f->better ? PAINT_GOOD : PAINT_PLAIN;
    char time[CBX_TIME_SIZE], change[CBX_FORMAT_SIZE];

    columns_put(table, PAINT_PLAIN, f->at->run_id);
    columns_put(table, PAINT_PLAIN, cbx_arena_strdup(arena, format_time(f->at->timestamp_us, time)));
    columns_printf(table, PAINT_PLAIN, "%.8s", f->at->commit ? plain_text(arena, f->at->commit) : "-");
    columns_number(table, PAINT_PLAIN, f->c.before);
    columns_number(table, PAINT_PLAIN, f->c.after);
    columns_put(table, how, cbx_arena_strdup(arena, format_percent(f->c.change, change)));
    if (f->judged && f->anew.level > 0)
        columns_printf(table, how, "%s%s%s, anew %+.1f %% [%.1f, %.1f]",
                       f->worse    ? "worse, "
                       : f->better ? "better, "
                                   : "",
                       judged_words[f->judged], a->state && f->is_new ? ", new" : "", 100 * f->anew.value,
                       100 * f->anew.lower, 100 * f->anew.upper);
    else
        columns_printf(table, how, "%s%s%s",
                       f->worse    ? "worse"
                       : f->better ? "better"
                                   : "",
                       f->judged ? ", undecided: too few samples" : "", a->state && f->is_new ? ", new" : "");
}

/* arena: for as long as it prints. */
static bool print_series(const changes *c, const changes_series *s, cbx_arena *arena)
{
    static const char *const heads[] = { "Since run", "Timestamp", "Commit", "Before", "After", "Change", "" };
    const changes_args *a = c->run->args;
    columns *table = columns_begin(arena, heads, "lllrrrl");
    size_t n = 0;

    print_painted(PAINT_STRONG, "%s", plain_text(arena, s->name));
    printf(", %zu values", s->n);
    if (a->state) printf(", %zu since the last look", s->unseen);
    if (s->left_out) printf(", %zu more are not finite", s->left_out);
    putchar('\n');
    if (terminal_has_bars()) print_bars(s->values, s->n);
    for (size_t k = 0; k < s->nfound; k++) {
        if (!shown(c, &s->found[k])) continue;
        put_change(c, &s->found[k], arena, table);
        n++;
    }
    if (n) return columns_print(table, "  ");
    puts(s->nfound ? "  no new change" : "  no change");
    return true;
}

static int print_all(const changes *c)
{
    cbx_arena passing;
    bool fine = true;

    cbx_arena_init(&passing, cbx_ctx_allocator(c->run->ctx));
    for (size_t i = 0; fine && i < c->n; i++) {
        if (i) putchar('\n');
        fine = print_series(c, &c->list[i], &passing);
        cbx_arena_clear(&passing);
    }
    return fine ? EXIT_PASS : opt_fail(c->run->program, "out of memory");
}

/* --- the command --- */

/* Another machine is a change of level that no commit made, and may hide one that a commit did. */
static int check_series(const changes *c)
{
    const changes_args *a = c->run->args;
    cbx_same_machine said = CBX_MACHINE_SAME;

    for (size_t i = 0; i < c->n; i++) {
        if (select_check_machines(c->run, c->list[i].s, c->list[i].name, a->allow_machines, &said)) return EXIT_ERROR;
        if (select_check_units(c->run, c->store, c->list[i].s, c->list[i].name)) return EXIT_ERROR;
    }
    return EXIT_PASS;
}

/* A newest value that is no number is in no level, and must not pass for one. */
static bool ends_without_number(const changes *c)
{
    bool found = false;

    for (size_t i = 0; i < c->n; i++) {
        const changes_series *s = &c->list[i];
        if (s->direction == CBX_DIRECTION_INFO || isfinite(s->s->points[s->s->npoints - 1].value)) continue;
        found = true;
        opt_fail(c->run->program, "'%s' is not a finite number in the newest run", s->name);
    }
    return found;
}

/* A series that the newest run has lost would pass by what older ones say of it. */
static int tell_lost(const changes *c, const char *newest)
{
    const changes_args *a = c->run->args;
    const char *lost = NULL;
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++) {
        const cbx_trend_series *s = c->list[i].s;
        if (!strcmp(s->points[s->npoints - 1].run_id, newest)) continue;
        lost = c->list[i].name;
        n++;
    }
    if (!n) return EXIT_PASS;
    opt_fail(c->run->program, "%s%zu of %zu series have no value in the newest run, '%s': '%s'%s%s",
             a->allow_dropped ? "note: " : "", n, c->n, newest, lost, n > 1 ? " among them" : "",
             a->allow_dropped ? "" : "; choose series or runs, or say --allow-dropped");
    return a->allow_dropped ? EXIT_PASS : EXIT_ERROR;
}

/* A gate on the newest runs: which they are must be sure. */
static int need_newest(const changes *c)
{
    const changes_args *a = c->run->args;
    const cbx_store_query query = { .branch = a->select.branch, .machine = a->select.machine, .limit = 1 };
    cbx_store_list list;
    cbx_err err = CBX_ERR_INIT;
    int status = EXIT_PASS;

    if (a->select.until || a->select.commit) return EXIT_PASS;
    if (cbx_store_query_runs(c->store, &query, &list, &err)) return opt_fail(c->run->program, "%s", err.message);
    status = select_need_newest(c->run, c->store, &list, "");
    if (!status && list.count) status = tell_lost(c, list.entries[0].id);
    cbx_store_list_clear(&list);
    return status;
}

/* Where no series with a better side has values on both sides of any change, nothing was decided; a young one beside others is told. */
static int need_values(const changes *c)
{
    const changes_args *a = c->run->args;
    const size_t least = 2 * a->min_segment;
    const changes_series *young = NULL;
    size_t directed = 0, few = 0;

    for (size_t i = 0; i < c->n; i++) {
        const changes_series *s = &c->list[i];
        if (s->direction == CBX_DIRECTION_INFO) continue;
        directed++;
        if (s->n >= least) continue;
        few++;
        young = s;
    }
    if (!few) return EXIT_PASS;
    opt_fail(c->run->program, "%s'%s' has %zu of the %zu values that a change needs%s", few < directed ? "note: " : "",
             young->name, young->n, least, few > 1 ? ", as others have" : "");
    return few < directed ? EXIT_PASS : EXIT_UNDECIDED;
}

/* Confirmed and for the worse: 1; undecided: 3; without a confirmation a new one for the worse is enough. */
static int verdict_of(const changes *c)
{
    const changes_args *a = c->run->args;
    int status = EXIT_PASS, sure = need_newest(c);

    if (ends_without_number(c)) return EXIT_CHECK;
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->list[i].nfound; k++) {
            const change_found *f = &c->list[i].found[k];
            bool counts = a->before.count ? f->judged == CONFIRMED : f->is_new;
            if (f->worse && counts) return EXIT_CHECK;
            if (c->list[i].undefined && counts)
                status = opt_fail(c->run->program, "'%s' changed and has no definition: say its unit and direction",
                                  c->list[i].name);
            if (!status && f->worse && f->judged == UNDECIDED) status = EXIT_UNDECIDED;
        }
    if (sure) return sure;
    return status ? status : need_values(c);
}

static bool is_method(const changes_args *a, const char *name) { return a->method && !strcmp(a->method, name); }

/* Options that would do nothing where they stand. */
static int check_modes(const opt_run *run)
{
    const changes_args *a = run->args, *usual = &changes_defaults;
    const struct {
        bool wrong;
        const char *sentence;
    } rules[] = {
        { a->new_only && !a->state, "--new-only needs --state FILE" },
        { a->allow_dropped && !a->check, "--allow-dropped needs --check" },
        { (a->threshold != usual->threshold || a->level != usual->level) && !a->before.count && !a->after.count,
          "--threshold and --level are of the confirmation: they need --before and --after" },
        { a->window && !is_method(a, "window"), "--window: needs --method window" },
        { (a->alpha != usual->alpha || a->seed != usual->seed) && !is_method(a, "e-divisive"),
          "--alpha and --seed: need --method e-divisive" },
        { (a->cost || !isnan(a->penalty)) && is_method(a, "e-divisive"),
          "--cost and --penalty go with --method pelt, binary or window" },
    };
    for (size_t i = 0; i < CBX_LEN(rules); i++)
        if (rules[i].wrong) return opt_fail(run->program, "%s", rules[i].sentence);
    return EXIT_PASS;
}

static int run_changepoints(const opt_run *run)
{
    const changes_args *a = run->args;
    changes c = { .run = run };
    int status = check_modes(run);

    if (!status) status = select_open(run, &a->select, false, &c.store);
    if (!status) status = changes_find(&c);
    if (!status) status = check_series(&c);
    if (!status) status = changes_compare(&c);
    if (!status) status = changes_confirm(&c);
    if (!status) status = a->select.json ? print_changes_json(&c) : print_all(&c);
    if (!status) status = changes_keep(&c);
    if (!status && a->check) status = verdict_of(&c);
    changes_clear(&c);
    return status;
}

const opt_command changepoints_command = {
    "changepoints",
    "--data DIR [--metric NAME] [FILTER]... [--state FILE] [--before ID,... --after ID,...]",
    "where the level of a metric changed",
    "Looks through each series of a store for changes of its level, and names the first run after each. With --state "
    "only "
    "what came since the last look counts as new. A change that the series shows is a proposal: measure the commits on "
    "both "
    "sides anew, and --before and --after say whether it is so. A series of several machines is refused unless "
    "--allow-other-machine says so. Exit status 0, 2 without data, and with --check 1 if a change is for the worse or "
    "a "
    "newest value is no number, 2 if a metric that changed has no definition, the newest run cannot be told or has "
    "lost "
    "a series, and 3 if that cannot be decided, for want of values too.",
    changes_options,
    CBX_LEN(changes_options),
    sizeof(changes_args),
    &changes_defaults,
    0,
    run_changepoints,
};
