/*
 * Tables for papers and pages: LaTeX (booktabs), HTML, CSV (RFC 4180), Markdown.
 *
 * LaTeX, HTML and Markdown print the digits that the spread supports and mark what is best; CSV has
 * every digit.  What comes from a run is escaped.
 */
#include <math.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/idioms.h"
#include "calibrax/exporters/table.h"

/* How a form writes. */
typedef struct form {
    const char *suffix;
    void (*head)(cbx_text *out, const struct form *f, const cbx__table *t);
    void (*label)(cbx_text *out, const char *s);          /* escapes */
    const char *row[3];                                   /* open, between, close */
    const char *label_cell[2], *number_cell[2], *best[2]; /* open, close */
    const char *missing, *minus, *power[2], *tail;
} form;

/* --- escaping --- */

/* One line: control characters become blanks. */
static void put_mapped(cbx_text *out, const char *s, const char *special, const char *const *words)
{
    bool control;

    for (size_t n; (n = cbx_text_char(s, &control)) != 0; s += n) {
        const char *at = strchr(special, *s);
        if (at)
            cbx_text_puts(out, words[at - special]);
        else
            cbx_text_add(out, control ? " " : s, control ? 1 : n);
    }
}

static void put_latex(cbx_text *out, const char *s)
{
    static const char *const words[] = { "\\textbackslash{}",
                                         "\\&",
                                         "\\%",
                                         "\\$",
                                         "\\#",
                                         "\\_",
                                         "\\{",
                                         "\\}",
                                         "\\textasciitilde{}",
                                         "\\textasciicircum{}",
                                         "\\textless{}",
                                         "\\textgreater{}",
                                         "\\textbar{}",
                                         "\\textquotedbl{}" };

    put_mapped(out, s, "\\&%$#_{}~^<>|\"", words);
}

static void put_html(cbx_text *out, const char *s)
{
    static const char *const words[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };

    put_mapped(out, s, "&<>\"'", words);
}

/* --- forms --- */

static void put_digits(cbx_text *out, const form *f, const char *digits)
{
    if (*digits == '-') cbx_text_puts(out, f->minus);
    cbx_text_puts(out, digits + (*digits == '-'));
}

/* "Run abc, 2026-02-20T11:34:24+00:00, commit 0f3c; scenario: train" */
static void put_facts(cbx_text *out, const form *f, const cbx__table *t)
{
    char time[CBX_TIME_SIZE];

    cbx_text_puts(out, "Run ");
    f->label(out, cbx_run_id(t->run));
    cbx_text_printf(out, ", %s", cbx_time_format_iso(cbx_run_timestamp_us(t->run), time));
    if (cbx_run_commit(t->run)) {
        cbx_text_puts(out, ", commit ");
        f->label(out, cbx_run_commit(t->run));
    }
    if (*t->facts) cbx_text_puts(out, "; ");
    f->label(out, t->facts);
}

/* The heads of the columns, "latency [ms]", with marks about each. */
static void put_heads(cbx_text *out, const form *f, const cbx__table *t, const char *between, const char *label_open,
                      const char *number_open, const char *close)
{
    for (size_t k = 0; k < t->nlabels + t->ncolumns; k++) {
        const cbx__column *c = k < t->nlabels ? NULL : &t->columns[k - t->nlabels];
        if (k) cbx_text_puts(out, between);
        cbx_text_puts(out, c ? number_open : label_open);
        f->label(out, c ? c->name : t->labels[k]);
        if (c && c->def && *c->def->unit) {
            cbx_text_puts(out, " [");
            f->label(out, c->def->unit);
            cbx_text_putc(out, ']');
        }
        cbx_text_puts(out, close);
    }
}

static void latex_head(cbx_text *out, const form *f, const cbx__table *t)
{
    cbx_text_puts(out, "% ");
    put_facts(out, f, t);
    cbx_text_puts(out, "\n% needs \\usepackage{booktabs}\n\\begin{tabular}{");
    for (size_t k = 0; k < t->nlabels; k++) cbx_text_putc(out, 'l');
    for (size_t k = 0; k < t->ncolumns; k++) cbx_text_putc(out, 'r');
    cbx_text_puts(out, "}\n\\toprule\n");
    put_heads(out, f, t, f->row[1], "", "", "");
    cbx_text_puts(out, " \\\\\n\\midrule\n");
}

static void html_head(cbx_text *out, const form *f, const cbx__table *t)
{
    cbx_text_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Run ");
    f->label(out, cbx_run_id(t->run));
    cbx_text_puts(
        out,
        "</title>\n<style>\n:root{color-scheme:light dark}\nbody{font:15px/1.5 system-ui,sans-serif;margin:2rem}\n"
        "table{border-collapse:collapse}\ncaption{text-align:left;padding-bottom:.6em;opacity:.8}\n"
        "th,td{padding:.25em .9em;text-align:left;border-bottom:1px solid #8884}\nth{border-bottom:2px solid #888a}\n"
        ".n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n</style>\n<table>\n<caption>");
    put_facts(out, f, t);
    cbx_text_puts(out, "</caption>\n<thead><tr>");
    put_heads(out, f, t, "", "<th>", "<th class=\"n\">", "</th>");
    cbx_text_puts(out, "</tr></thead>\n<tbody>\n");
}

static void markdown_head(cbx_text *out, const form *f, const cbx__table *t)
{
    put_facts(out, f, t);
    cbx_text_puts(out, "\n\n|");
    put_heads(out, f, t, "", " ", " ", " |");
    cbx_text_puts(out, "\n|");
    for (size_t k = 0; k < t->nlabels; k++) cbx_text_puts(out, " --- |");
    for (size_t k = 0; k < t->ncolumns; k++) cbx_text_puts(out, " ---: |");
    cbx_text_putc(out, '\n');
}

static const form latex = { "tex",
                            latex_head,
                            put_latex,
                            { "", " & ", " \\\\\n" },
                            { "", "" },
                            { "", "" },
                            { "\\textbf{", "}" },
                            "--",
                            "$-$",
                            { "\\,$\\times 10^{", "}$" },
                            "\\bottomrule\n\\end{tabular}\n" };
static const form html = { "html",
                           html_head,
                           put_html,
                           { "<tr>", "", "</tr>\n" },
                           { "<td>", "</td>" },
                           { "<td class=\"n\">", "</td>" },
                           { "<b>", "</b>" },
                           "\xE2\x80\x93",
                           "\xE2\x88\x92",
                           { " \xC3\x97 10<sup>", "</sup>" },
                           "</tbody>\n</table>\n</html>\n" };
static const form markdown = { "md",
                               markdown_head,
                               cbx_text_put_markdown,
                               { "| ", " | ", " |\n" },
                               { "", "" },
                               { "", "" },
                               { "**", "**" },
                               "\xE2\x80\x93",
                               "-",
                               { "e", "" },
                               "" };

static void put_number(cbx_text *out, const form *f, const cbx__cell *c)
{
    if (!c->metric) {
        cbx_text_puts(out, f->missing);
        return;
    }
    put_digits(out, f, c->number.value);
    if (*c->number.lower || *c->number.upper) {
        cbx_text_puts(out, " [");
        put_digits(out, f, *c->number.lower ? c->number.lower : f->missing);
        cbx_text_puts(out, ", ");
        put_digits(out, f, *c->number.upper ? c->number.upper : f->missing);
        cbx_text_puts(out, "]");
    }
    if (c->number.exponent) cbx_text_printf(out, "%s%d%s", f->power[0], c->number.exponent, f->power[1]);
}

static void put_form(cbx_text *out, const form *f, const cbx__table *t)
{
    f->head(out, f, t);
    for (size_t i = 0; i < t->nrows; i++) {
        for (size_t k = 0; k < t->nlabels + t->ncolumns; k++) {
            const cbx__cell *c = k < t->nlabels ? NULL : &t->cells[i * t->ncolumns + k - t->nlabels];
            const char *const *marks = c ? f->number_cell : f->label_cell;
            cbx_text_printf(out, "%s%s%s", f->row[k != 0], marks[0], c && c->best ? f->best[0] : "");
            if (c)
                put_number(out, f, c);
            else
                f->label(out, t->rows[i * t->nlabels + k] ? t->rows[i * t->nlabels + k] : "");
            cbx_text_printf(out, "%s%s", c && c->best ? f->best[1] : "", marks[1]);
        }
        cbx_text_puts(out, f->row[2]);
    }
    cbx_text_puts(out, f->tail);
}

/* --- CSV --- */

static void put_csv(cbx_text *out, const cbx__table *t)
{
    static const char *const parts[] = { "", " lower", " upper" };

    for (size_t k = 0; k < t->nlabels; k++) {
        if (k) cbx_text_putc(out, ',');
        cbx_text_put_csv(out, t->labels[k]);
    }
    for (size_t k = 0; k < t->ncolumns; k++)
        for (size_t i = 0; i < (t->columns[k].intervals ? 3 : 1); i++) {
            const cbx__column *c = &t->columns[k];
            CBX_SCOPED(cbx_text, name, &out->al);
            cbx_text_printf(&name, "%s%s", c->name, parts[i]);
            if (c->def && *c->def->unit) cbx_text_printf(&name, " [%s]", c->def->unit);
            cbx_text_putc(out, ',');
            cbx_text_put_csv(out, cbx_text_str(&name));
            if (name.status) out->status = name.status;
        }
    cbx_text_puts(out, "\r\n");
    for (size_t i = 0; i < t->nrows; i++) {
        for (size_t k = 0; k < t->nlabels; k++) {
            if (k) cbx_text_putc(out, ',');
            cbx_text_put_csv(out, t->rows[i * t->nlabels + k] ? t->rows[i * t->nlabels + k] : "");
        }
        /* Empty for what is absent; NaN as a value is a value. */
        for (size_t k = 0; k < t->ncolumns; k++) {
            const cbx_metric *m = t->cells[i * t->ncolumns + k].metric;
            const double numbers[] = { m ? m->value : NAN, m ? m->lower : NAN, m ? m->upper : NAN };
            for (size_t part = 0; part < (t->columns[k].intervals ? 3 : 1); part++) {
                char buf[CBX_FORMAT_SIZE];
                cbx_text_putc(out, ',');
                if (m && (part == 0 || !isnan(numbers[part])))
                    cbx_text_puts(out, cbx_format_double(numbers[part], buf));
            }
        }
        cbx_text_puts(out, "\r\n");
    }
}

/* --- exporters --- */

/* The table of a run, or of a run against a baseline; NULL baseline: none. */
static cbx_status export_analysis(cbx_export_job *job, const cbx_run *run, const cbx_run *baseline, cbx_err *err)
{
    const form *f = job->format == &cbx__export_latex      ? &latex
                    : job->format == &cbx__export_html     ? &html
                    : job->format == &cbx__export_markdown ? &markdown
                                                           : NULL; /* CSV */
    const char *name = cbx_arena_printf(job->arena, "run-%s%s%s.%s", cbx_run_id(run), baseline ? "-against-" : "",
                                        baseline ? cbx_run_id(baseline) : "", f ? f->suffix : "csv");
    cbx__table t;
    cbx_status st;

    if (!name) return cbx_fail_nomem(err, "a table");
    st = baseline ? cbx__table_compare(job, run, baseline, &t, err) : cbx__table_make(job, run, &t, err);
    if (st) return st;
    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(job->ctx));
    if (f)
        put_form(&text, f, &t);
    else
        put_csv(&text, &t);
    return cbx__export_file(job, name, &text, err);
}

static cbx_status export_run(cbx_export_job *job, const cbx_run *run, cbx_err *err)
{
    return export_analysis(job, run, NULL, err);
}

#define TABLE_EXPORTER(form, words)                                                                                    \
    CBX__EXPORTER(form, .name = #form, .summary = words, .export_run = export_run, .export_analysis = export_analysis)
TABLE_EXPORTER(latex, "a booktabs table: run-ID.tex");
TABLE_EXPORTER(html, "a separate page: run-ID.html");
TABLE_EXPORTER(csv, "every digit, RFC 4180: run-ID.csv");
TABLE_EXPORTER(markdown, "a table: run-ID.md");
