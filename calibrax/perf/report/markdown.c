/* The markdown report: header, machine, command, a table for each case, notes. */
#include <math.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/base/together.h"
#include "calibrax/perf/report/view.h"

typedef struct report {
    const cbx__report_view *view;
    cbx_arena *arena;
    cbx_text *out;
    cbx_text cell;
} report;

/* The cell text collected so far, escaped. */
static void flush_cell(report *r)
{
    cbx_text_put_markdown(r->out, cbx_text_str(&r->cell));
    cbx_text_reset(&r->cell);
}

/* Words of rows, fit to be published, escaped. */
static void put_words(cbx_text *t, const char *s)
{
    CBX_SCOPED(cbx_text, words, &t->al);
    cbx__report_put_public(&words, s, 0);
    cbx_text_put_markdown(t, cbx_text_str(&words));
    if (words.status) t->status = words.status;
}

/* Columns that no row of the case fills are left out. */
static void put_case(report *r, size_t c)
{
    bool shown[CBX__COLUMN_COUNT];

    cbx__put_mixed(r->out, put_words, "\n## ", r->view->cases[c], "\n\n| point |", NULL);
    for (size_t k = 0; k < CBX__COLUMN_COUNT; k++) {
        shown[k] = k == CBX__COLUMN_STATUS ||
                   cbx__report_column_is_used(r->view, c, (cbx__report_column_id)k, r->arena);
        if (shown[k]) cbx_text_printf(r->out, " %s |", cbx__report_columns[k].title);
    }
    cbx_text_puts(r->out, "\n|---|");
    for (size_t k = 0; k < CBX__COLUMN_COUNT; k++)
        if (shown[k]) cbx_text_puts(r->out, cbx__report_columns[k].number ? "--:|" : "---|");
    cbx_text_putc(r->out, '\n');
    for (const cbx__report_item *it = r->view->items; it < r->view->items + r->view->nitems; it++)
        if (it->group->case_index == c && !cbx__report_is_left_out(it->row)) {
            cbx__put_mixed(r->out, put_words, "| ", cbx__report_where(r->arena, r->view, it->group), " |", NULL);
            for (size_t column = 0; column < CBX__COLUMN_COUNT; column++) {
                if (!shown[column]) continue;
                if (column <= CBX__COLUMN_STATUS || it->row->has_metrics)
                    cbx__report_columns[column].put(&r->cell, it, r->arena, &cbx__report_utf8);
                if (column == CBX__COLUMN_STATUS && it->class != CBX__REPORT_GOOD && it->row->failure_reason) {
                    cbx_text_puts(&r->cell, ": ");
                    cbx__report_put_public(&r->cell, it->row->failure_reason, 60);
                }
                cbx_text_puts(r->out, r->cell.len ? " " : "");
                flush_cell(r);
                cbx_text_puts(r->out, " |");
            }
            cbx_text_putc(r->out, '\n');
        }
}

/* --- notes --- */

static void note_interval(report *r)
{
    size_t low = SIZE_MAX, high = 0;
    double level = INFINITY;
    bool narrow = false;

    for (const cbx__report_item *it = r->view->items; it < r->view->items + r->view->nitems; it++) {
        const cbx_row *row = it->row;
        if (!row->has_metrics) continue;
        if (row->nlaunches && row->nlaunches < low) low = row->nlaunches;
        if (row->nlaunches > high) high = row->nlaunches;
        if (cbx__report_has_interval(&row->steady) && row->steady.level < level) level = row->steady.level;
        narrow = narrow || !cbx__report_has_interval(&row->steady);
    }
    cbx_text_puts(r->out, "- *time*: median of launch medians; a launch is a fresh process. ");
    if (high && low == high) cbx_text_printf(r->out, "%zu launches a row. ", low);
    if (low < high) cbx_text_printf(r->out, "%zu to %zu launches a row. ", low, high);
    if (isfinite(level))
        cbx_text_printf(r->out, "In brackets the order-statistic interval over launches (level at least %.1f %%). ",
                        level * 100);
    if (narrow) cbx_text_puts(r->out, "A row without brackets has too few launches for an interval. ");
    cbx_text_puts(r->out, "*min* and *p99* are over all epochs; *finds* is the smallest slow-down that as many "
                          "launches a side would show, at 5 % with power 0.9.\n"
                          "- *roof*: smallest time that the declared work can take on this machine over the median "
                          "time; pipe rates and bandwidths are measured by the probe on one core. *fidelity*: largest "
                          "error in units of its bound, at most 1 passes.\n");
}

#define MAX_ABOVE 6 /* named; the others are counted */

/* Why no row has a metric, where all give the same reason; the time of an empty call, one for each
 * framework. */
static void note_metrics(report *r)
{
    static const struct {
        const char *name;
        size_t offset;
    } metrics[] = { { "energy", offsetof(cbx_row, energy) },
                    { "compile time, warm", offsetof(cbx_row, compile_warm) } };
    const char *separator = "- *a call that does nothing* takes ";

    for (const cbx__report_item *it = r->view->items; it < r->view->items + r->view->nitems; it++) {
        const cbx_row *row = it->row;
        bool skip = !(row->call_overhead.over.value > 0);
        for (const cbx__report_item *b = r->view->items; b < it && !skip; b++)
            skip = b->row->call_overhead.over.value > 0 && !strcmp(b->row->framework, row->framework);
        if (skip) continue;
        cbx_text_puts(r->out, separator);
        cbx_text_printf(&r->cell, "%.3g ns (%s)", 1e9 * row->call_overhead.over.value, row->framework);
        flush_cell(r);
        separator = ", ";
    }
    if (separator[0] == ',') cbx_text_puts(r->out, "; it is inside every time above.\n");
    for (size_t k = 0; k < CBX_LEN(metrics); k++) {
        const char *reason = NULL;
        bool common = true;
        for (const cbx__report_item *it = r->view->items; it < r->view->items + r->view->nitems; it++) {
            const cbx_row_metric *m = (const void *)((const char *)it->row + metrics[k].offset);
            if (!it->row->has_metrics) continue;
            common = common && m->reason && (!reason || !strcmp(reason, m->reason));
            reason = m->reason;
        }
        if (!common || !reason) continue;
        cbx_text_printf(r->out, "- *%s*: not measured: ", metrics[k].name);
        cbx__put_mixed(r->out, put_words, "", reason, ".\n", NULL);
    }
}

/* Rows whose minima disagree, and rows whose launches have a note, each in a line; of hundreds the
 * first. */
static void note_launches(report *r)
{
    enum { MAX_LINES = 40 };
    size_t n = 0;

    for (const cbx__report_item *it = r->view->items; it < r->view->items + r->view->nitems; it++) {
        const cbx_row *row = it->row;
        if (!cbx__report_minimum_disagrees(row)) continue;
        cbx__put_mixed(r->out, put_words, "- **!** ", cbx__report_name(r->arena, it), " at ",
                       cbx__report_where(r->arena, r->view, it->group), NULL);
        cbx_text_printf(r->out,
                        ": the ratio of minima is %.3g, the paired one %.3g [%.3g, %.3g]; the launches have more than "
                        "one mode or a drift.\n",
                        row->ratio_value, row->paired.value, row->paired.lower, row->paired.upper);
    }
    for (const cbx__report_item *it = r->view->items; it < r->view->items + r->view->nitems; it++) {
        const char *words, *names = cbx__report_alike(r->arena, it, &words);
        if (!names || n++ >= MAX_LINES) continue;
        cbx__put_mixed(r->out, put_words, "- launches of ", names, " at ",
                       cbx__report_where(r->arena, r->view, it->group), ": ", words, ".\n", NULL);
    }
    if (n > MAX_LINES) cbx_text_printf(r->out, "- %zu more notes on launches are in the rows.\n", n - MAX_LINES);
}

/* What the verdicts hold over. */
static void note_verdicts(report *r)
{
    size_t launches, rows, corrected = 0;

    for (const cbx__report_item *it = r->view->items; it < r->view->items + r->view->nitems; it++) {
        const cbx_row *row = it->row;
        if (row->verdict_holm && row->holm_rows > corrected) corrected = row->holm_rows;
    }
    if (corrected)
        cbx_text_printf(r->out,
                        "- *verdicts* hold at 95 %% over the whole table: exact sign tests, corrected by Holm over %zu "
                        "ratio%s; brackets hold for their row alone.\n",
                        corrected, corrected == 1 ? "" : "s");
    if (cbx__report_uncorrected(r->view, &launches, &rows))
        cbx_text_printf(r->out,
                        "- *verdicts*: each row at 95 %%; %zu launches are too few for a correction over %zu rows.\n",
                        launches, rows);
    if (!cbx__report_put_repeats(&r->cell, r->arena, r->view)) return;
    cbx_text_puts(r->out, "- ");
    flush_cell(r);
    cbx_text_puts(r->out, ".\n");
}

static void note_outcomes(report *r)
{
    size_t n = 0, nleft = 0;
    const cbx__report_outcome *o = cbx__report_outcomes(r->arena, r->view->items, r->view->nitems, &n);
    const cbx__report_left_out *l = cbx__report_left_outs(r->arena, r->view->items, r->view->nitems, &nleft);

    for (size_t i = 0; i < n; i++) {
        cbx__put_mixed(r->out, put_words, "- ", o[i].subject, " ", o[i].what, NULL);
        cbx_text_printf(r->out, o[i].rows == 1 ? " (%zu row)" : " (%zu rows)", o[i].rows);
        cbx__put_mixed(r->out, put_words, o[i].remedy[0] ? ": " : "", o[i].remedy, ".\n", NULL);
    }
    for (size_t i = 0; i < nleft; i++) {
        cbx_text_puts(r->out, "- ");
        cbx__report_put_left_out(&r->cell, &l[i]);
        flush_cell(r);
        cbx__put_mixed(r->out, put_words, l[i].remedy[0] ? ": " : "", l[i].remedy, ".\n", NULL);
    }
}

void cbx_report_markdown(const cbx_rows *rows, const cbx_report_opts *opts, cbx_text *out)
{
    cbx__report_view view;
    report r = { .view = &view, .arena = &view.arena, .out = out };

    if (!cbx__report_view_open(rows, &view, out)) return;
    cbx_text_init(&r.cell, &view.arena.al);
    const char *title = opts ? opts->title : NULL;
    cbx__put_mixed(out, put_words, "# ", title ? title : "nperf", NULL);
    for (size_t c = 0; c < view.ncases && !title; c++)
        cbx__put_mixed(out, put_words, c ? ", " : ": ", view.cases[c], NULL);
    cbx_text_printf(r.out, "\n\nRow schema %d; %zu row%s, %zu point%s.\n", CBX_ROW_SCHEMA_VERSION, r.view->nitems,
                    r.view->nitems == 1 ? "" : "s", r.view->ngroups, r.view->ngroups == 1 ? "" : "s");
    for (size_t m = 0; m < r.view->nmachines; m++) {
        size_t n = 0;
        const cbx__report_fact *facts = cbx__report_facts(r.arena, r.view, m, &n);
        if (!n) continue;
        cbx_text_puts(r.out, "\n## Machine");
        if (r.view->nmachines > 1) {
            cbx_text_putc(r.out, ' ');
            cbx__report_put_public(&r.cell, r.view->machines[m], 12);
            flush_cell(&r);
        }
        cbx_text_puts(r.out, "\n\n| fact | value |\n|---|---|\n");
        for (size_t i = 0; i < n; i++) {
            cbx_text_printf(r.out, "| %s | ", facts[i].name);
            cbx__put_mixed(r.out, put_words, "", facts[i].value, " |\n", NULL);
        }
    }
    if (opts && opts->command) {
        /* A fence longer than any run of backticks in the command keeps it inside. */
        size_t run = 0, longest = 2;
        for (const char *p = opts->command; *p; p++) {
            run = *p == '`' ? run + 1 : 0;
            if (run > longest) longest = run;
        }
        cbx_text_puts(r.out, "\n## Command\n\n");
        for (size_t i = 0; i <= longest; i++) cbx_text_putc(r.out, '`');
        cbx_text_printf(r.out, "sh\n%s\n", opts->command);
        for (size_t i = 0; i <= longest; i++) cbx_text_putc(r.out, '`');
        cbx_text_putc(r.out, '\n');
    }
    for (size_t c = 0; c < view.ncases; c++) put_case(&r, c);
    cbx_text_puts(out, "\n## Notes\n\n");
    size_t last = SIZE_MAX; /* case whose reference was named last */
    cbx_text_puts(r.out, "- *against reference*: the time over the reference's time, launch by launch: below 1 is "
                         "faster; ");
    for (const cbx__report_group *group = r.view->groups; group < r.view->groups + r.view->ngroups; group++) {
        if (group->case_index == last || !group->reference_name) continue;
        const char *before = last != SIZE_MAX ? ", " : "the reference, whose own time is in its row, is ";
        last = group->case_index;
        cbx__put_mixed(r.out, put_words, before, group->reference_name, r.view->ncases > 1 ? " in " : NULL,
                       r.view->cases[last], NULL);
    }
    if (last == SIZE_MAX) cbx_text_puts(r.out, "no row names a reference, so there is no ratio");
    cbx_text_puts(r.out, ". In the rows `ratio_paired` is this ratio, and `ratio` that of the minima.\n");
    note_interval(&r);
    /* Shares above the limit they are of, which need an explanation. */
    size_t n = 0;
    for (const cbx__report_item *it = view.items; it < view.items + view.nitems; it++) {
        const cbx_row *row = it->row;
        if (!row->limit_vs || !(row->limit_share > 1) || n++ >= MAX_ABOVE) continue;
        cbx__put_mixed(out, put_words, n > 1 ? ", " : "- *above 100 %* of a limit: ", row->baseline, " of ",
                       row->limit_vs, NULL);
        cbx_text_printf(r.out, " (%.1f %%)", 100 * row->limit_share);
    }
    if (n > MAX_ABOVE) cbx_text_printf(r.out, " and %zu more", n - MAX_ABOVE);
    if (n)
        cbx_text_puts(r.out, ". A limit is a program that is launched in turn with the rivals, and measured like "
                             "them: its launches may have been slowed, or a rival saves work that it does.\n");
    note_metrics(&r);
    const char *separator = "- *variants*: ratios are of the strongest one, marked \\*: ";
    for (const cbx__report_item *it = r.view->items; it < r.view->items + r.view->nitems; it++) {
        const char *name = cbx__report_name(r.arena, it);
        bool skip = !it->siblings || !it->quoted;
        for (const cbx__report_item *b = r.view->items; b < it && !skip; b++)
            skip = b->siblings && b->quoted && !strcmp(name, cbx__report_name(r.arena, b));
        if (skip) continue;
        const char *why = cbx_json_get_string(cbx_json_get(it->row->provenance, "variant"), "why", NULL);
        cbx__put_mixed(r.out, put_words, separator, name, why ? ": " : NULL, why, NULL);
        separator = "; ";
    }
    if (separator[0] == ';') cbx_text_puts(r.out, ".\n");
    note_launches(&r);
    note_verdicts(&r);
    note_outcomes(&r);
    if (rows->damaged) cbx_text_printf(out, "- %zu damaged lines were left out.\n", rows->damaged);
    cbx_text_clear(&r.cell);
    cbx__report_view_close(&view, out);
}
