/* What came of commands, as sentences. */
#include <string.h>

#include "calibrax/perf/exec.h"
#include "calibrax/perf/report_format.h"

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

void cbx_exec_sentence(const cbx_rows *rows, cbx_text *out)
{
    char text[CBX_FORMAT_SIZE];

    for (size_t i = 0; i < rows->count; i++) {
        const cbx_row *r = &rows->rows[i];
        if (!cbx_row_is_good(r)) {
            cbx_text_printf(out, "%s\n", r->failure_message ? r->failure_message : r->status);
        } else if (r->paired_vs) {
            say_ratio(&rows->rows[0], r, out);
        } else if (rows->count == 1) {
            cbx_text_printf(out, "'%s' takes %s", r->baseline, cbx_format_seconds(r->median_s, text));
            if (r->steady.level > 0) {
                cbx_text_printf(out, " [%s", cbx_format_seconds(r->steady.lower, text));
                cbx_text_printf(out, ", %s]", cbx_format_seconds(r->steady.upper, text));
            }
            cbx_text_printf(out, " over %zu runs\n", r->nlaunches);
        }
    }
}
