/* The guard's answer for people and build servers: text, markdown, JUnit XML, workflow commands. */
#include <math.h>
#include <string.h>

#include "calibrax/ci/guard_parts.h"

/* Findings worth a line where space is short: what asks for a code, what is waived, what improved. */
static bool is_news(const cbx_guard *g, size_t i)
{
    return cbx__guard_code(g, i) || g->waived[i] || cbx_regression_finding(g->r, i)->outcome == CBX_OUTCOME_IMPROVED ||
           cbx_regression_finding(g->r, i)->outcome == CBX_OUTCOME_DROPPED;
}

/* Calls put for each waiver that somebody should act on; returns how many there are. */
static size_t each_note(const cbx_guard *g, cbx_text *out, void (*put)(cbx_text *out, const char *note, size_t turn))
{
    size_t turn = 0;
    cbx_text note;

    cbx_text_init(&note, &g->al);
    for (size_t i = 0; i < cbx_waivers_count(g->waivers); i++) {
        if (!cbx__guard_waiver_note(g, i, &note)) continue;
        if (note.status) out->status = note.status;
        put(out, cbx_text_str(&note), turn++);
    }
    cbx_text_clear(&note);
    return turn;
}

/* What files hold makes no line of its own, which a reader or a build server would take for ours, and says nothing to a terminal. */
static void put_plain(cbx_text *out, const char *s) { cbx_text_put_plain(out, s); }

static void put_text_note(cbx_text *out, const char *note, size_t turn)
{
    (void)turn;
    cbx_text_puts(out, "note: ");
    put_plain(out, note);
    cbx_text_putc(out, '\n');
}

static void write_head(const cbx_guard *g, cbx_text *out)
{
    cbx_text_printf(out, "%s: ", cbx__guard_word(g));
    put_plain(out, g->gate.sentence);
    cbx_text_putc(out, '\n');
}

void cbx__guard_write_text(const cbx_guard *g, cbx_text *out)
{
    const char *label = cbx__guard_label(g);

    write_head(g, out);
    cbx_text_printf(out, "run %s, baseline %s\n", cbx_regression_run_id(g->r), cbx_regression_baseline_id(g->r));
    if (label[0]) put_text_note(out, label, 0);
    for (size_t i = 0; i < cbx_regression_nfindings(g->r); i++) {
        if (!is_news(g, i)) continue;
        cbx_text_puts(out, "  - ");
        put_plain(out, cbx_regression_finding(g->r, i)->sentence);
        if (g->by[i]) {
            cbx_text_printf(out, " [waived until %s: ", g->by[i]->until);
            put_plain(out, g->by[i]->reason);
            cbx_text_putc(out, ']');
        }
        cbx_text_putc(out, '\n');
    }
    each_note(g, out, put_text_note);
}

/* --- markdown --- */

/* Text in a table cell: no cell, line, tag or emphasis can begin in it. */
static void put_cell(cbx_text *out, const char *s)
{
    bool control;

    for (size_t n; (n = cbx_text_char(s, &control)) != 0; s += n) {
        if (strchr("\\`*_[]|~", *s)) cbx_text_putc(out, '\\');
        if (*s == '<')
            cbx_text_puts(out, "&lt;");
        else if (*s == '&')
            cbx_text_puts(out, "&amp;");
        else if (*s == '@') /* names no user */
            cbx_text_puts(out, "&#64;");
        else
            cbx_text_add(out, control ? " " : s, control ? 1 : n);
    }
}

static void put_percent(cbx_text *out, double v)
{
    if (isnan(v))
        cbx_text_puts(out, "-");
    else
        cbx_text_printf(out, "%+.3g %%", 100 * v);
}

static void put_row(const cbx_guard *g, size_t i, cbx_text *out)
{
    const cbx_finding *f = cbx_regression_finding(g->r, i);

    cbx_text_printf(out, "| %s%s | ", cbx_outcome_name(f->outcome), g->waived[i] ? " (waived)" : "");
    put_cell(out, f->key);
    cbx_text_printf(out, " | %.6g | %.6g | ", f->baseline, f->current);
    put_percent(out, f->change);
    if (f->basis > CBX_BASIS_VALUES && !isnan(f->interval.lower)) {
        cbx_text_puts(out, " (");
        put_percent(out, f->interval.lower);
        cbx_text_puts(out, " .. ");
        put_percent(out, f->interval.upper);
        cbx_text_putc(out, ')');
    }
    cbx_text_puts(out, " | ");
    put_percent(out, f->threshold);
    cbx_text_puts(out, " |\n");
}

/* The rows that still fit, those that ask for a code first; returns how many were left out. */
static size_t put_rows(const cbx_guard *g, cbx_text *row, size_t room, cbx_text *out)
{
    size_t left = 0;

    for (int pass = 0; pass < 3; pass++)
        for (size_t i = 0; i < cbx_regression_nfindings(g->r); i++) {
            int turn = cbx__guard_code(g, i) ? 0 : is_news(g, i) ? 1 : 2;
            if (turn != pass) continue;
            if (left) { /* nothing is put behind what did not fit */
                left++;
                continue;
            }
            cbx_text_reset(row);
            put_row(g, i, row);
            if (row->status) out->status = row->status; /* a reset forgets it */
            if (row->len > room) {
                left++;
                continue;
            }
            room -= row->len;
            cbx_text_add(out, row->data, row->len);
        }
    return left;
}

#define MAX_NOTES 12

static void put_markdown_note(cbx_text *out, const char *note, size_t turn)
{
    if (turn >= MAX_NOTES) return;
    cbx_text_puts(out, "\n- ");
    put_cell(out, strlen(note) > 300 ? "a waiver with a very long key has expired or is not needed" : note);
}

/* Head and waivers take what they need of the last 10 kB, rows the rest. */
void cbx__guard_write_markdown(const cbx_guard *g, cbx_text *out)
{
    const size_t start = out->len, tail = 10000;
    size_t left = 0, notes;
    cbx_text row;

    cbx_text_printf(out, "### calibrax: %s\n\n", cbx__guard_word(g));
    put_cell(out, g->gate.sentence);
    cbx_text_puts(out, "\n\nRun ");
    put_cell(out, cbx_regression_run_id(g->r));
    cbx_text_puts(out, ", baseline ");
    put_cell(out, cbx_regression_baseline_id(g->r));
    cbx_text_puts(out, ".");
    if (cbx__guard_label(g)[0]) {
        cbx_text_puts(out, " **Note:** ");
        put_cell(out, cbx__guard_label(g));
    }
    cbx_text_puts(out, "\n\n");
    if (cbx_regression_nfindings(g->r)) {
        cbx_text_puts(out, "| outcome | key | baseline | now | change | threshold |\n|---|---|--:|--:|--:|--:|\n");
        cbx_text_init(&row, &g->al);
        left = put_rows(g, &row, CBX_GUARD_MARKDOWN_BYTES - tail - (out->len - start), out);
        cbx_text_clear(&row);
    }
    if (left) cbx_text_printf(out, "\n%zu more rows are left out here.\n", left);
    notes = each_note(g, out, put_markdown_note);
    if (notes > MAX_NOTES) cbx_text_printf(out, "\n- %zu more notes on waivers are left out here", notes - MAX_NOTES);
    if (notes) cbx_text_putc(out, '\n');
}

/* --- JUnit --- */

/* Escaped, and without what XML 1.0 has no place for. */
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

/* What lets a gate pass only because somebody said so is skipped, not passed. */
static junit_kind kind_of(const cbx_guard *g, size_t i)
{
    cbx_outcome o = cbx_regression_finding(g->r, i)->outcome;
    int code = cbx__guard_code(g, i);

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

/* True if some finding carries the exit code, so that no case of its own must. */
static bool carried(const cbx_guard *g)
{
    bool found = !g->gate.exit_code;

    for (size_t i = 0; i < cbx_regression_nfindings(g->r); i++) found |= cbx__guard_code(g, i) == g->gate.exit_code;
    return found;
}

void cbx__guard_write_junit(const cbx_guard *g, cbx_text *out)
{
    size_t kinds[4] = { 0 }, n = cbx_regression_nfindings(g->r);
    bool own = !carried(g);

    for (size_t i = 0; i < n; i++) kinds[kind_of(g, i)]++;
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

/* Marks of commands are written as they want them; other control characters, which a log's reader would obey, become blanks. */
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

static void put_command(cbx_text *out, const char *command, const char *title, const char *message)
{
    cbx_text_printf(out, "::%s title=", command);
    put_marked(out, title, "%\r\n:,");
    cbx_text_puts(out, "::");
    put_marked(out, message, "%\r\n");
    cbx_text_putc(out, '\n');
}

static void put_github_note(cbx_text *out, const char *note, size_t turn)
{
    (void)turn;
    put_command(out, "warning", "waiver", note);
}

/* The answer first: servers show only the first few of a step. */
void cbx__guard_write_github(const cbx_guard *g, cbx_text *out)
{
    static const char *const by_code[] = { "notice", "error", "error", "warning" };

    put_command(out, by_code[g->gate.exit_code], cbx__guard_word(g), g->gate.sentence);
    if (cbx__guard_label(g)[0]) put_command(out, "warning", "machines", cbx__guard_label(g));
    for (size_t i = 0; i < cbx_regression_nfindings(g->r); i++)
        if (is_news(g, i))
            put_command(out, by_code[cbx__guard_code(g, i)], cbx_outcome_name(cbx_regression_finding(g->r, i)->outcome),
                        cbx_regression_finding(g->r, i)->sentence);
    each_note(g, out, put_github_note);
}
