/* What came of commands, as sentences. */
#include <string.h>

#include "calibrax/perf/report/format.h"
#include "calibrax/perf/sweep/exec.h"

static void say_ratio(const cbx_row *first, const cbx_row *r, cbx_text *out)
{
    const cbx_row_interval *p = &r->paired;
    bool faster = p->value < 1;
    /* "faster" is said of the quicker one: the ratio is turned round with its interval */
    double value = faster ? 1 / p->value : p->value, lower = faster ? 1 / p->upper : p->lower,
           upper = faster ? 1 / p->lower : p->upper;
    const char *quick = faster ? r->baseline : first->baseline, *slow = faster ? first->baseline : r->baseline;
    const char *alone = r->verdict ? r->verdict : "undecided", *verdict = cbx__report_verdict(r);
    bool stands = !verdict || !strcmp(verdict, alone);

    verdict = verdict ? verdict : alone;
    if (!strcmp(verdict, "faster") || !strcmp(verdict, "slower")) {
        cbx_text_printf(out, "'%s' is %.2fx faster than '%s' [%.2f, %.2f]\n", quick, value, slow, lower, upper);
    } else if (!strcmp(verdict, "equivalent")) {
        cbx_text_printf(out, "'%s' and '%s' take the same time within 2 %%: ratio %.3f [%.3f, %.3f]\n", r->baseline,
                        first->baseline, p->value, p->lower, p->upper);
    } else if (!stands) {
        cbx_text_printf(
            out,
            "'%s' against '%s' is undecided among %zu comparisons (alone %s): ratio %.3f [%.3f, %.3f] after "
            "%zu runs; raise --launches or --budget\n",
            r->baseline, first->baseline, (size_t)r->holm_rows, alone, p->value, p->lower, p->upper, r->nlaunches);
    } else {
        cbx_text_printf(
            out,
            "'%s' against '%s' is undecided: ratio %.3f [%.3f, %.3f] after %zu runs; raise --launches or --budget\n",
            r->baseline, first->baseline, p->value, p->lower, p->upper, r->nlaunches);
    }
}

/* A command of several lines is named in one. */
static cbx_row named(const cbx_row *r, cbx_text *name)
{
    cbx_row copy = *r;

    cbx_text_reset(name);
    cbx_text_put_plain(name, r->baseline);
    copy.baseline = cbx_text_str(name);
    return copy;
}

static void say_row(const cbx_rows *rows, const cbx_row *first, const cbx_row *r, cbx_text *out)
{
    char text[CBX_FORMAT_SIZE];

    if (!cbx_row_is_good(r)) {
        cbx_text_put_plain(out, r->failure_message ? r->failure_message : r->status);
        cbx_text_putc(out, '\n');
    } else if (r->paired_vs) {
        say_ratio(first, r, out);
    } else if (rows->count == 1) {
        cbx_text_printf(out, "'%s' takes %s", r->baseline, cbx_format_seconds(r->median_s, text));
        if (r->steady.level > 0) {
            cbx_text_printf(out, " [%s", cbx_format_seconds(r->steady.lower, text));
            cbx_text_printf(out, ", %s]", cbx_format_seconds(r->steady.upper, text));
        }
        cbx_text_printf(out, " over %zu runs\n", r->nlaunches);
    }
}

void cbx_exec_sentence(const cbx_rows *rows, cbx_text *out)
{
    cbx_text first_name, name;

    cbx_text_init(&first_name, &out->al);
    cbx_text_init(&name, &out->al);
    for (size_t i = 0; i < rows->count; i++) {
        cbx_row first = named(&rows->rows[0], &first_name), r = named(&rows->rows[i], &name);
        say_row(rows, &first, &r, out);
    }
    if (first_name.status || name.status) out->status = CBX_ENOMEM;
    cbx_text_clear(&first_name);
    cbx_text_clear(&name);
}
