/* Numbers and words of reports.  Nothing here computes a metric: it scales and rounds. */
#include "calibrax/perf/report/format.h"

#include <math.h>
#include <string.h>

#include "calibrax/perf/sweep/public.h"

const cbx__report_style cbx__report_ascii = { "x", "-", "%" };
const cbx__report_style cbx__report_words = { "x", "-", " %" };
const cbx__report_style cbx__report_utf8 = { "\303\227", "\342\200\223", "\302\240%" };

/* Row status -> its class and the words that follow a name. */
static const struct fate {
    const char *status;
    cbx__report_class class;
    const char *words;
} fates[] = {
    { "ok", CBX__REPORT_GOOD, "was measured" },
    { "skipped", CBX__REPORT_SKIPPED, "was skipped" },
    { "env_failed", CBX__REPORT_MISSING, "could not start" },
    { "compile_error", CBX__REPORT_FAILED, "failed to compile" },
    { "run_error", CBX__REPORT_FAILED, "raised an error" },
    { "oom", CBX__REPORT_FAILED, "ran out of memory" },
    { "timeout", CBX__REPORT_FAILED, "ran out of time" },
    { "crashed", CBX__REPORT_FAILED, "crashed" },
    { "no_answer", CBX__REPORT_FAILED, "exited without an answer" },
    { "protocol_error", CBX__REPORT_FAILED, "answered rubbish" },
    { "fidelity_failed", CBX__REPORT_FAILED, "failed its fidelity check" },
    { "fidelity_inconclusive", CBX__REPORT_FAILED, "could not be checked" },
    { "refused", CBX__REPORT_FAILED, "was refused" },
    { "interrupted", CBX__REPORT_FAILED, "was interrupted" },
};

static const struct fate *fate_of(const cbx_row *row)
{
    for (const struct fate *f = fates; row->status && f < fates + CBX_LEN(fates); f++)
        if (!strcmp(row->status, f->status)) return f;
    return NULL;
}

cbx__report_class cbx__report_status_class(const cbx_row *row)
{
    const struct fate *f = fate_of(row);
    return f ? f->class : CBX__REPORT_FAILED;
}

const char *cbx__report_verdict(const cbx_row *row) { return row->verdict_holm ? row->verdict_holm : row->verdict; }

bool cbx__report_is_left_out(const cbx_row *row)
{
    return row->failure_reason && !strcmp(row->failure_reason, "skipped_by_config");
}

void cbx__report_put_fate(cbx_text *out, const cbx_row *row)
{
    const char *reason = row->failure_reason, *status = row->status ? row->status : "no status";
    const struct fate *f = fate_of(row);
    const bool absent = reason && !strcmp(reason, "provider_env_missing");

    cbx_text_puts(out, absent ? "is not installed" : f ? f->words : "failed");
    if (absent ||
        (f && (!reason || !strcmp(status, reason) ||
               (f->class != CBX__REPORT_SKIPPED && f->class != CBX__REPORT_MISSING && strcmp(status, "refused") != 0))))
        return;
    cbx_text_puts(out, " (");
    cbx__report_put_public(out, f ? reason : status, 60);
    cbx_text_putc(out, ')');
}

double cbx__report_median(const cbx_row *row)
{
    if (!row->has_metrics) return NAN;
    return isfinite(row->steady.value) ? row->steady.value : row->median_s;
}

bool cbx__report_has_interval(const cbx_row_interval *i)
{
    return isfinite(i->value) && isfinite(i->lower) && isfinite(i->upper);
}

/* --- times --- */

void cbx__report_put_seconds(cbx_text *out, double seconds, const cbx__report_style *s)
{
    char buf[CBX_FORMAT_SIZE];

    cbx_text_puts(out, isfinite(seconds) && seconds >= 0 ? cbx_format_seconds(seconds, buf) : s->none);
}

void cbx__report_put_interval(cbx_text *out, const cbx_row *row, const cbx__report_style *s)
{
    double median = cbx__report_median(row);
    char buf[CBX_FORMAT_INTERVAL_SIZE];

    cbx_text_puts(out, isfinite(median) && median >= 0
                           ? cbx_format_seconds_interval(median, row->steady.lower, row->steady.upper, buf)
                           : s->none);
}

/* --- ratios --- */

bool cbx__report_ratio_of(const cbx_row *row, cbx__report_ratio *out)
{
    const char *verdict = cbx__report_verdict(row);
    double r = row->ratio_value;

    if (!cbx_row_is_good(row)) return false;
    if (isfinite(row->paired.value) && row->paired.value > 0) {
        *out = (cbx__report_ratio){ row->paired, verdict ? verdict : "undecided", false };
        return true;
    }
    if (!row->ratio_vs || !isfinite(r) || r <= 0) return false;
    *out = (cbx__report_ratio){ { r, NAN, NAN, 0 }, r < 1 ? "faster" : r > 1 ? "slower" : "", true };
    return true;
}

bool cbx__report_minimum_disagrees(const cbx_row *row)
{
    const cbx_row_interval *p = &row->paired;
    if (!cbx_row_is_good(row) || !isfinite(row->ratio_value) || !cbx__report_has_interval(p)) return false;
    return row->ratio_value < p->lower / 1.1 || row->ratio_value > p->upper * 1.1;
}

void cbx__report_put_ratio(cbx_text *out, const cbx__report_ratio *ratio, bool brief)
{
    char buf[CBX_FORMAT_INTERVAL_SIZE];

    cbx_text_puts(out, cbx_format_ratio(ratio->x.value, brief ? NAN : ratio->x.lower, ratio->x.upper, buf));
}

/* --- plain numbers --- */

void cbx__report_put_number(cbx_text *out, double v, const cbx__report_style *s)
{
    double a = fabs(v);
    if (!isfinite(v))
        cbx_text_puts(out, s->none);
    else if (a >= 99.5)
        cbx_text_printf(out, a < 1e6 ? "%.0f" : "%.2g", v);
    else if (a >= 9.95 || a == 0)
        cbx_text_printf(out, a == 0 ? "%.0f" : "%.1f", v);
    else
        cbx_text_printf(out, "%.2g", v);
}

void cbx__report_put_share(cbx_text *out, double share, const cbx__report_style *s)
{
    if (!isfinite(share))
        cbx_text_puts(out, s->none);
    else
        cbx_text_printf(out, "%.*f%s", share < 0.0995 ? 1 : 0, share * 100, s->percent);
}

/* --- words --- */

void cbx__report_put_public(cbx_text *out, const char *s, size_t max)
{
    size_t start = out->len;
    if (!s) return;
    for (size_t i = 0; s[i];) {
        size_t path = cbx__path_length(s, i), n;
        bool control;
        if (max && out->len - start >= max) {
            cbx_text_puts(out, "...");
            return;
        }
        n = cbx_text_char(s + i, &control);
        if (path)
            cbx_text_puts(out, "(path)");
        else
            cbx_text_add(out, control ? " " : s + i, control ? 1 : n);
        i += path ? path : n;
    }
}

static void put_part(cbx_text *out, const char *separator, const char *s)
{
    if (!s || !*s) return;
    cbx_text_puts(out, separator);
    cbx__report_put_public(out, s, 160);
}

void cbx__report_put_reason(cbx_text *out, const char *reason, const char *message, const char *remedy)
{
    size_t start = out->len;
    put_part(out, "", reason);
    put_part(out, out->len > start ? ": " : "", message);
    if (remedy && message && strstr(message, remedy)) return; /* said already */
    put_part(out, out->len > start ? "; " : "", remedy);
}
