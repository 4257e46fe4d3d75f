/* Waivers applied to findings, and the answer that remains, as text, markdown, JUnit XML, workflow
 * commands and JSON. */
#include "calibrax/ci/guard.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/together.h"

typedef struct cbx__waiver_use {
    bool expired;
    size_t fits; /* findings that it takes out of the answer, or would had it not expired */
} cbx__waiver_use;

struct cbx_guard {
    cbx_arena arena;
    const cbx_regression *r;
    const cbx_waivers *waivers;
    bool *waived; /* a flag a finding */
    const cbx_waiver **by;
    cbx__waiver_use *use; /* one a waiver */
    cbx_gate gate;
    cbx_guard_history_fn history; /* NULL: unknown */
    void *history_user;
    const cbx_json *sources; /* NULL: unknown */
};

cbx_status cbx_guard_create(cbx_ctx *ctx, const cbx_regression *r, const cbx_waivers *waivers, int64_t now_us,
                            cbx_guard **out, cbx_err *err)
{
    size_t n = cbx_regression_nfindings(r), m = cbx_waivers_count(waivers);
    cbx_guard *g = CBX_ARENA_OBJECT(cbx_guard, cbx_ctx_allocator(ctx));

    if (!g) return cbx_fail(err, CBX_ENOMEM, "out of memory for a guard");
    g->r = r;
    g->waivers = waivers;
    if (!cbx_arena_arrays(&g->arena, CBX_ARRAY(g->waived, n), CBX_ARRAY(g->by, n), CBX_ARRAY(g->use, m))) {
        cbx_guard_free(g);
        return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu findings and %zu waivers", n, m);
    }
    for (size_t k = 0; k < m; k++) g->use[k].expired = now_us >= cbx_waivers_at(waivers, k)->end_us;
    for (size_t i = 0; i < n; i++) {
        const cbx_finding *f = cbx_regression_finding(r, i);
        /* The first waiver in force that matches applies to the finding; for those that have
         * expired the findings are counted. */
        for (size_t k = 0; cbx_regression_exit_code(r, f->outcome) && k < m; k++) {
            const cbx_waiver *w = cbx_waivers_at(waivers, k);
            if (fnmatch(w->key, f->key, 0) != 0) continue;
            g->use[k].fits++;
            if (!g->use[k].expired && !g->by[i]) g->by[i] = w;
        }
        g->waived[i] = g->by[i];
    }
    cbx_regression_gate(r, g->waived, &g->gate);
    *out = g;
    return CBX_OK;
}

void cbx_guard_free(cbx_guard *g)
{
    if (g) cbx_arena_end(&g->arena);
}

const cbx_gate *cbx_guard_gate(const cbx_guard *g) { return &g->gate; }

const cbx_waiver *cbx_guard_waiver(const cbx_guard *g, size_t i)
{
    return i < cbx_regression_nfindings(g->r) ? g->by[i] : NULL;
}

/* --- what the formats share --- */

/* What finding i still asks for: 0 for a waived one. */
static int code_of(const cbx_guard *g, size_t i)
{
    return g->waived[i] ? 0 : cbx_regression_exit_code(g->r, cbx_regression_finding(g->r, i)->outcome);
}

/* A note beside the numbers; "" where the answer itself contains it. */
static const char *label_of(const cbx_guard *g)
{
    const char *label = cbx_regression_label(g->r);

    return g->gate.reason && !strncmp(label, g->gate.sentence, strlen(g->gate.sentence)) ? "" : label;
}

static const char *word_of(const cbx_guard *g)
{
    static const char *const words[] = { "PASSED", "FAILED", "CANNOT COMPARE", "UNDECIDED" };
    return words[g->gate.exit_code];
}

/* Findings worth a line where space is short: what asks for a code, what is waived, what
 * improved. */
static bool is_news(const cbx_guard *g, size_t i)
{
    return code_of(g, i) || g->waived[i] || cbx_regression_finding(g->r, i)->outcome == CBX_OUTCOME_IMPROVED ||
           cbx_regression_finding(g->r, i)->outcome == CBX_OUTCOME_DROPPED;
}

/* Calls put for each waiver that is expired or not needed; returns how many there are. */
static size_t each_note(const cbx_guard *g, cbx_text *out, void (*put)(cbx_text *out, const char *note, size_t number))
{
    size_t n = 0;

    CBX_SCOPED(cbx_text, note, &g->arena.al);
    for (size_t i = 0; i < cbx_waivers_count(g->waivers); i++) {
        const cbx_waiver *w = cbx_waivers_at(g->waivers, i);
        const cbx__waiver_use *u = &g->use[i];
        if (!u->expired && u->fits) continue;
        cbx_text_reset(&note);
        if (u->expired)
            cbx_text_printf(&note, "waiver '%s' expired after %s and has no effect; %zu findings would need it", w->key,
                            w->until, u->fits);
        else
            cbx_text_printf(&note, "waiver '%s' (until %s) is not needed; remove it", w->key, w->until);
        if (note.status) out->status = note.status;
        put(out, cbx_text_str(&note), n++);
    }
    return n;
}

static void put_text_note(cbx_text *out, const char *note, size_t number)
{
    (void)number;
    cbx__put_mixed(out, cbx_text_put_plain, "note: ", note, "\n", NULL);
}

static void write_text(const cbx_guard *g, cbx_text *out)
{
    const char *label = label_of(g);

    cbx__put_mixed(out, cbx_text_put_plain, "", word_of(g), ": ", g->gate.sentence, "\n", NULL);
    cbx_text_printf(out, "run %s, baseline %s\n", cbx_regression_run_id(g->r), cbx_regression_baseline_id(g->r));
    if (label[0]) put_text_note(out, label, 0);
    for (size_t i = 0; i < cbx_regression_nfindings(g->r); i++) {
        if (!is_news(g, i)) continue;
        cbx_text_puts(out, "  - ");
        cbx_text_put_plain(out, cbx_regression_finding(g->r, i)->sentence);
        if (g->by[i])
            cbx__put_mixed(out, cbx_text_put_plain, " [waived until ", g->by[i]->until, ": ", g->by[i]->reason, "]",
                           NULL);
        cbx_text_putc(out, '\n');
    }
    each_note(g, out, put_text_note);
}

/* --- markdown --- */

static void put_percent(cbx_text *out, double v)
{
    if (isnan(v))
        cbx_text_puts(out, "-");
    else
        cbx_text_printf(out, "%+.3g %%", 100 * v);
}

/* Eighth blocks from the lowest value to the highest; a value that is not finite is a blank. */
static void put_bars(cbx_text *out, const double *values, size_t n)
{
    static const char *const bars[] = {
        "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"
    };
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < n; i++) {
        if (isfinite(values[i])) low = fmin(low, values[i]), high = fmax(high, values[i]);
    }
    for (size_t i = 0; i < n; i++) {
        double share = high > low ? (values[i] - low) / (high - low) : 0.5;
        cbx_text_puts(out, isfinite(values[i]) && isfinite(share) ? bars[(size_t)(7 * share + 0.5)] : " ");
    }
}

/* The rows that fit, those with an exit code first; returns how many were left out. */
static size_t put_rows(const cbx_guard *g, cbx_text *row, size_t capacity, cbx_text *out)
{
    size_t left = 0;

    for (int pass = 0; pass < 3; pass++)
        for (size_t i = 0; i < cbx_regression_nfindings(g->r); i++) {
            int rank = code_of(g, i) ? 0 : is_news(g, i) ? 1 : 2;
            if (rank != pass) continue;
            if (left) { /* nothing follows a row that did not fit */
                left++;
                continue;
            }
            cbx_text_reset(row);
            const cbx_finding *f = cbx_regression_finding(g->r, i);

            cbx_text_printf(row, "| %s%s | ", cbx_outcome_name(f->outcome), g->waived[i] ? " (waived)" : "");
            cbx_text_put_markdown(row, f->key);
            cbx_text_printf(row, " | %.6g | %.6g | ", f->baseline, f->current);
            put_percent(row, f->change);
            if (f->basis > CBX_BASIS_VALUES && !isnan(f->interval.lower)) {
                cbx_text_puts(row, " (");
                put_percent(row, f->interval.lower);
                cbx_text_puts(row, " .. ");
                put_percent(row, f->interval.upper);
                cbx_text_putc(row, ')');
            }
            cbx_text_puts(row, " | ");
            put_percent(row, f->threshold);
            cbx_text_puts(row, " |");
            if (g->history) {
                double values[CBX_GUARD_HISTORY_MAX];
                cbx_text_putc(row, ' ');
                put_bars(row, values, g->history(g->history_user, f, values));
                cbx_text_puts(row, " |");
            }
            cbx_text_putc(row, '\n');
            if (row->status) out->status = row->status; /* a reset forgets it */
            if (row->len > capacity) {
                left++;
                continue;
            }
            capacity -= row->len;
            cbx_text_add(out, row->data, row->len);
        }
    return left;
}

#define MAX_NOTES 12

static void put_markdown_note(cbx_text *out, const char *note, size_t number)
{
    if (number >= MAX_NOTES) return;
    cbx_text_puts(out, "\n- ");
    cbx_text_put_markdown(out,
                          strlen(note) > 300 ? "a waiver with a very long key has expired or is not needed" : note);
}

/* Head and waivers get the last 10 kB, rows the rest. */
static void write_markdown(const cbx_guard *g, cbx_text *out)
{
    const size_t start = out->len, tail = 10000;
    size_t left = 0, notes;
    cbx_text row;

    cbx__put_mixed(out, cbx_text_put_markdown, "### calibrax: ", word_of(g), "\n\n", g->gate.sentence, "\n\nRun ",
                   cbx_regression_run_id(g->r), ", baseline ", cbx_regression_baseline_id(g->r), ".", NULL);
    if (label_of(g)[0]) cbx__put_mixed(out, cbx_text_put_markdown, " **Note:** ", label_of(g), NULL);
    cbx_text_puts(out, "\n\n");
    if (cbx_regression_nfindings(g->r)) {
        cbx_text_printf(out, "| outcome | key | baseline | now | change | threshold |%s\n|---|---|--:|--:|--:|--:|%s\n",
                        g->history ? " history |" : "", g->history ? "---|" : "");
        cbx_text_init(&row, &g->arena.al);
        left = put_rows(g, &row, CBX_GUARD_MARKDOWN_BYTES - tail - (out->len - start), out);
        cbx_text_clear(&row);
    }
    if (left) cbx_text_printf(out, "\n%zu more rows are not shown.\n", left);
    notes = each_note(g, out, put_markdown_note);
    if (notes > MAX_NOTES) cbx_text_printf(out, "\n- %zu more notes on waivers are not shown", notes - MAX_NOTES);
    if (notes) cbx_text_putc(out, '\n');
}

/* --- a badge --- */

/* Width of a text in Verdana of 11 pixels, by the mean advance of its lower-case letters. */
#define LETTER_PX 6.5

/* The flat form that badges on a README have. */
static void write_badge(const cbx_guard *g, cbx_text *out)
{
    static const char *const colours[] = { "#2e7d32", "#c62828", "#616161", "#b26a00" }; /* by exit code */
    static const char *const words[] = { "passed", "failed", "not compared", "undecided" };
    const char *label = "performance";
    const int code = g->gate.exit_code;
    const size_t regressed = g->gate.counts[CBX_OUTCOME_REGRESSED];
    char word[64];

    if (code == 1 && regressed)
        snprintf(word, sizeof word, "%zu regressed", regressed);
    else
        snprintf(word, sizeof word, "%s", words[code & 3]);
    const double left = LETTER_PX * (double)strlen(label) + 12, right = LETTER_PX * (double)strlen(word) + 12;
    cbx_text_printf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"20\" role=\"img\" aria-label=\"%s: %s\">"
        "<title>%s: %s</title>"
        "<rect width=\"%.0f\" height=\"20\" rx=\"3\" fill=\"#555\"/>"
        "<path d=\"M%.0f 0h%.0fa3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-%.0fz\" fill=\"%s\"/>"
        "<g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">"
        "<text x=\"%.1f\" y=\"14\">%s</text><text x=\"%.1f\" y=\"14\">%s</text></g></svg>\n",
        left + right, label, word, label, word, left + right, left, right - 3, right - 3, colours[code & 3], left / 2,
        label, left + right / 2, word);
}

/* --- JUnit --- */

/* Escaped, and without characters that XML 1.0 does not allow. */
static void put_attribute(cbx_text *out, const char *name, const char *value, size_t n)
{
    char one[5];
    bool control;

    cbx_text_printf(out, " %s=\"", name);
    for (size_t k, i = 0; i < n && (k = cbx_text_char(value + i, &control)) != 0; i += k) {
        memcpy(one, control ? " " : value + i, control ? 1 : k);
        one[control ? 1 : k] = '\0';
        cbx_text_put_html(out, one);
    }
    cbx_text_putc(out, '"');
}

typedef enum junit_kind { JUNIT_PASS, JUNIT_FAILURE, JUNIT_ERROR, JUNIT_SKIPPED } junit_kind;

/* What passes only by a waiver or an option is skipped, not passed. */
static junit_kind kind_of(const cbx_guard *g, size_t i)
{
    cbx_outcome o = cbx_regression_finding(g->r, i)->outcome;
    int code = code_of(g, i);

    if (code) return code == 1 ? JUNIT_FAILURE : JUNIT_ERROR;
    return g->waived[i] || o == CBX_OUTCOME_DROPPED || o == CBX_OUTCOME_UNDECIDED || o == CBX_OUTCOME_INFO
               ? JUNIT_SKIPPED
               : JUNIT_PASS;
}

/* key: "class:name", the name being its end */
static void put_case(cbx_text *out, const char *key, const char *name, junit_kind kind, const char *type,
                     const char *message)
{
    static const char *const elements[] = { NULL, "failure", "error", "skipped" };

    cbx_text_puts(out, "    <testcase");
    put_attribute(out, "classname", key, strlen(key) - strlen(name) - 1);
    put_attribute(out, "name", name, strlen(name));
    if (kind == JUNIT_PASS) {
        cbx_text_puts(out, "/>\n");
        return;
    }
    cbx_text_printf(out, ">\n      <%s", elements[kind]);
    if (kind != JUNIT_SKIPPED) put_attribute(out, "type", type, strlen(type));
    put_attribute(out, "message", message, strlen(message));
    cbx_text_puts(out, "/>\n    </testcase>\n");
}

static void write_junit(const cbx_guard *g, cbx_text *out)
{
    size_t kinds[4] = { 0 }, n = cbx_regression_nfindings(g->r);
    bool own = g->gate.exit_code; /* a case of its own, unless some finding carries the exit code */

    for (size_t i = 0; i < n; i++) {
        kinds[kind_of(g, i)]++;
        own = own && code_of(g, i) != g->gate.exit_code;
    }
    if (own) kinds[JUNIT_ERROR]++;
    cbx_text_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    cbx_text_printf(
        out, "  <testsuite name=\"calibrax check\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n",
        n + own, kinds[JUNIT_FAILURE], kinds[JUNIT_ERROR], kinds[JUNIT_SKIPPED]);
    if (own) put_case(out, "calibrax:gate", "gate", JUNIT_ERROR, "gate", g->gate.sentence);
    for (size_t i = 0; i < n; i++) {
        const cbx_finding *f = cbx_regression_finding(g->r, i);
        put_case(out, f->key, f->metric, kind_of(g, i), cbx_outcome_name(f->outcome),
                 g->by[i] ? g->by[i]->reason : f->sentence);
    }
    cbx_text_puts(out, "  </testsuite>\n</testsuites>\n");
}

/* --- workflow commands --- */

/* Marks of commands are escaped as the server expects; other control characters become blanks. */
static void put_marked(cbx_text *out, const char *s, const char *marks)
{
    bool control;

    for (size_t n; (n = cbx_text_char(s, &control)) != 0; s += n) {
        if (strchr(marks, *s))
            cbx_text_printf(out, "%%%02X", (unsigned)(unsigned char)*s);
        else
            cbx_text_add(out, control ? " " : s, control ? 1 : n);
    }
}

/* A place of code; file NULL: unknown; line 0: only the file is known. */
typedef struct place {
    const char *file;
    int64_t line;
} place;

/* The run's sources by their point: of each name the first one, and behind it the next one; in the
 * arena. */
typedef struct source_index {
    cbx_names points;
    size_t *first, *next, n;
} source_index;

static bool index_sources(const cbx_guard *g, cbx_arena *arena, source_index *ix)
{
    *ix = (source_index){ .n = cbx_json_length(g->sources) };
    cbx_names_init(&ix->points, CBX_IN_ARENA(arena));
    if (!cbx_arena_arrays(arena, CBX_ARRAY(ix->first, ix->n), CBX_ARRAY(ix->next, ix->n))) return false;
    for (size_t i = ix->n; i-- > 0;) {
        const char *point = cbx_json_get_string(cbx_json_at(g->sources, i), "point", "");
        size_t known = ix->points.n, at = cbx_names_add(&ix->points, point);
        if (at == CBX_NO_NAME) return false;
        ix->next[i] = at == known ? ix->n : ix->first[at];
        ix->first[at] = i;
    }
    return true;
}

/* Where the benchmark of a finding is written. */
static place place_of(const cbx_guard *g, const source_index *ix, const cbx_finding *f)
{
    size_t at = cbx_names_find(&ix->points, f->point);

    for (size_t i = at == CBX_NO_NAME ? ix->n : ix->first[at]; i < ix->n; i = ix->next[i]) {
        const cbx_json *o = cbx_json_at(g->sources, i);
        const char *file = cbx_json_get_string(o, "file", "");

        if (strcmp(cbx_json_get_string(o, "scenario", f->scenario), f->scenario) != 0) continue;
        if (*file) return (place){ file, cbx_json_get_int(o, "line", 0) };
    }
    return (place){ NULL, 0 };
}

static void put_command(cbx_text *out, const char *command, place at, const char *title, const char *message)
{
    cbx_text_printf(out, "::%s ", command);
    if (at.file) {
        cbx_text_puts(out, "file=");
        put_marked(out, at.file, "%\r\n:,");
        if (at.line > 0) cbx_text_printf(out, ",line=%lld", (long long)at.line);
        cbx_text_putc(out, ',');
    }
    cbx_text_puts(out, "title=");
    put_marked(out, title, "%\r\n:,");
    cbx_text_puts(out, "::");
    put_marked(out, message, "%\r\n");
    cbx_text_putc(out, '\n');
}

static void put_github_note(cbx_text *out, const char *note, size_t number)
{
    (void)number;
    put_command(out, "warning", (place){ NULL, 0 }, "waiver", note);
}

/* The answer first: servers show only the first few of a step. */
static void write_github(const cbx_guard *g, cbx_text *out)
{
    static const char *const by_code[] = { "notice", "error", "error", "warning" };
    source_index ix;

    CBX_SCOPED(cbx_arena, arena, &g->arena.al);
    if (!index_sources(g, &arena, &ix)) out->status = CBX_ENOMEM;
    put_command(out, by_code[g->gate.exit_code], (place){ NULL, 0 }, word_of(g), g->gate.sentence);
    if (label_of(g)[0]) put_command(out, "warning", (place){ NULL, 0 }, "machines", label_of(g));
    for (size_t i = 0; !out->status && i < cbx_regression_nfindings(g->r); i++) {
        const cbx_finding *f = cbx_regression_finding(g->r, i);
        if (is_news(g, i))
            put_command(out, by_code[code_of(g, i)], place_of(g, &ix, f), cbx_outcome_name(f->outcome), f->sentence);
    }
    each_note(g, out, put_github_note);
}

/* --- JSON: findings are written one after the other, for there may be 10^5 --- */

static cbx_json *finding_json(const cbx_guard *g, size_t i)
{
    const cbx_finding *f = cbx_regression_finding(g->r, i);

    return cbx_json_object(
        J_TEXT("key", f->key), J_TEXT("point", f->point), J_TEXT("scenario", f->scenario), J_TEXT("tags", f->tags),
        J_TEXT("metric", f->metric), J_TEXT("unit", f->unit), J_TEXT("outcome", cbx_outcome_name(f->outcome)),
        J_INT("exit_code", code_of(g, i)), J_GIVEN("direction", f->unit ? cbx_direction_name(f->direction) : NULL),
        J_GIVEN("priority", f->unit ? cbx_priority_name(f->priority) : NULL), J_FINITE("baseline", f->baseline),
        J_FINITE("current", f->current), J_FINITE("change", f->change), J_FINITE("threshold", f->threshold),
        J_FINITE("margin", f->margin), J_TEXT("basis", cbx_basis_name(f->basis)), J_INTERVAL("interval", f->interval),
        J_FINITE("p", f->p), J_FINITE("p_holm", f->p_holm), f->samples ? J_INT("samples_needed", f->samples) : J_NONE,
        J_TEXT("sentence", f->sentence), J_GIVEN("waived_by", g->by[i] ? g->by[i]->key : NULL));
}

static cbx_json *waiver_json(const cbx_guard *g, size_t i)
{
    const cbx_waiver *w = cbx_waivers_at(g->waivers, i);

    return cbx_json_object(J_TEXT("key", w->key), J_TEXT("reason", w->reason), J_TEXT("until", w->until),
                           J_BOOL("expired", g->use[i].expired),
                           J_INT("uses", g->use[i].expired ? 0 : (int64_t)g->use[i].fits));
}

static cbx_status write_json(const cbx_guard *g, cbx_json_pour_fn pour, void *user, cbx_text *out, cbx_err *err)
{
    static const char *const machines[] = { "same", "other", "unknown" };
    const struct {
        const char *key;
        size_t n;
        cbx_json *(*make)(const cbx_guard *g, size_t i);
    } lists[] = { { "findings", cbx_regression_nfindings(g->r), finding_json },
                  { "waivers", cbx_waivers_count(g->waivers), waiver_json } };
    cbx_json_writer w = { .out = out,
                          .flags = CBX_JSON_INDENT2 | CBX_JSON_NONFINITE_STRING | CBX_JSON_NO_CONTROL,
                          .pour = pour,
                          .user = user };
    cbx_json *o = cbx_json_new_object(), *counts = cbx_json_set_object(o, "counts"), *value;
    const char *key;

    for (int k = 0; k < CBX_OUTCOME_COUNT; k++)
        cbx_json_set_int(counts, cbx_outcome_name((cbx_outcome)k), (int64_t)g->gate.counts[k]);
    cbx_json_put(o, J_TEXT("schema", CBX_GUARD_SCHEMA), J_INT("version", CBX_GUARD_SCHEMA_VERSION),
                 J_INT("exit_code", g->gate.exit_code),
                 J_TEXT("reason", g->gate.reason ? cbx_gate_reason_name(g->gate.reason) : NULL),
                 J_TEXT("sentence", g->gate.sentence), J_TEXT("run", cbx_regression_run_id(g->r)),
                 J_TEXT("baseline", cbx_regression_baseline_id(g->r)),
                 J_TEXT("machines", machines[cbx_regression_machines(g->r)]),
                 J_TEXT("label", cbx_regression_label(g->r)), J_INT("waived", g->gate.waived));
    cbx_status st = cbx_json_check(o, err);
    cbx_json_writer_begin(&w, NULL, '{');
    for (size_t i = 0; cbx_json_member(o, i, &key, &value); i++) cbx_json_writer_add(&w, key, value);
    cbx_json_unref(o);
    for (size_t k = 0; k < CBX_LEN(lists); k++) {
        cbx_json_writer_begin(&w, lists[k].key, '[');
        for (size_t i = 0; !st && i < lists[k].n; i++) {
            o = lists[k].make(g, i);
            st = cbx_json_check(o, err);
            cbx_json_writer_add(&w, NULL, o);
            cbx_json_unref(o);
        }
        cbx_json_writer_end(&w);
    }
    cbx_json_writer_end(&w);
    cbx_text_putc(out, '\n');
    return st;
}

/* --- the choice of a format --- */

cbx_status cbx_guard_pour(const cbx_guard *g, cbx_guard_format format, cbx_json_pour_fn pour, void *user, cbx_text *out,
                          cbx_err *err)
{
    cbx_status st = CBX_OK;

    switch (format) {
    case CBX_GUARD_TEXT: write_text(g, out); break;
    case CBX_GUARD_JSON: st = write_json(g, pour, user, out, err); break;
    case CBX_GUARD_MARKDOWN: write_markdown(g, out); break;
    case CBX_GUARD_JUNIT: write_junit(g, out); break;
    case CBX_GUARD_GITHUB: write_github(g, out); break;
    case CBX_GUARD_BADGE: write_badge(g, out); break;
    default: return cbx_fail(err, CBX_EINVAL, "no output format has the number %d", (int)format);
    }
    if (!st) st = cbx_text_check(out, err);
    if (!st && pour) pour(user, out);
    return st;
}

void cbx_guard_set_history(cbx_guard *g, cbx_guard_history_fn fn, void *user)
{
    g->history = fn;
    g->history_user = user;
}

void cbx_guard_set_run(cbx_guard *g, const cbx_run *run)
{
    g->sources = run ? cbx_json_get(cbx_run_metadata(run), "sources") : NULL;
}

cbx_status cbx_guard_write(const cbx_guard *g, cbx_guard_format format, cbx_text *out, cbx_err *err)
{
    return cbx_guard_pour(g, format, NULL, NULL, out, err);
}
