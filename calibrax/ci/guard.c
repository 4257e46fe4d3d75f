/* Waivers laid over findings, the answer that remains, and the choice of a form. */
#include "calibrax/ci/guard.h"

#include <fnmatch.h>
#include <string.h>

#include "calibrax/ci/guard_parts.h"

#define WORD(name, words) words,
static const char *const format_names[] = { CBX_GUARD_FORMAT_MAP(WORD) };
#undef WORD

const char *cbx_guard_format_name(cbx_guard_format format)
{
    return (unsigned)format < CBX_LEN(format_names) ? format_names[format] : NULL;
}

bool cbx_guard_format_parse(const char *word, cbx_guard_format *out)
{
    for (size_t i = 0; word && i < CBX_LEN(format_names); i++)
        if (!strcmp(word, format_names[i])) {
            *out = (cbx_guard_format)i;
            return true;
        }
    return false;
}

/* The first waiver in force that matches takes the finding; those that have expired learn what they would have done. */
static void lay_over(cbx_guard *g, size_t i, const cbx_finding *f)
{
    for (size_t k = 0; k < cbx_waivers_count(g->waivers); k++) {
        const cbx_waiver *w = cbx_waivers_at(g->waivers, k);
        if (fnmatch(w->key, f->key, 0) != 0) continue;
        if (g->use[k].expired) {
            g->use[k].would++;
            continue;
        }
        g->use[k].uses++;
        if (g->by[i]) continue;
        g->by[i] = w;
        g->waived[i] = true;
    }
}

cbx_status cbx_guard_create(cbx_ctx *ctx, const cbx_regression *r, const cbx_waivers *waivers, int64_t now_us,
                            cbx_guard **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    size_t n = cbx_regression_nfindings(r), m = cbx_waivers_count(waivers);
    cbx_guard *g = cbx_mem_zalloc(al, sizeof(*g));

    if (!g) return cbx_fail(err, CBX_ENOMEM, "out of memory for a guard");
    *g = (cbx_guard){ .al = *al, .r = r, .waivers = waivers };
    g->waived = cbx_mem_calloc(al, n + 1, sizeof(*g->waived));
    g->by = cbx_mem_calloc(al, n + 1, sizeof(*g->by));
    g->use = cbx_mem_calloc(al, m + 1, sizeof(*g->use));
    if (!g->waived || !g->by || !g->use) {
        cbx_guard_free(g);
        return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu findings and %zu waivers", n, m);
    }
    for (size_t k = 0; k < m; k++) g->use[k].expired = now_us >= cbx_waivers_at(waivers, k)->end_us;
    for (size_t i = 0; i < n; i++) {
        const cbx_finding *f = cbx_regression_finding(r, i);
        if (cbx_regression_exit_code(r, f->outcome)) lay_over(g, i, f);
    }
    cbx_regression_gate(r, g->waived, &g->gate);
    *out = g;
    return CBX_OK;
}

void cbx_guard_free(cbx_guard *g)
{
    cbx_allocator al;
    size_t n, m;

    if (!g) return;
    al = g->al;
    n = cbx_regression_nfindings(g->r);
    m = cbx_waivers_count(g->waivers);
    cbx_mem_free(&al, g->waived, (n + 1) * sizeof(*g->waived));
    cbx_mem_free(&al, g->by, (n + 1) * sizeof(*g->by));
    cbx_mem_free(&al, g->use, (m + 1) * sizeof(*g->use));
    cbx_mem_free(&al, g, sizeof(*g));
}

const cbx_gate *cbx_guard_gate(const cbx_guard *g) { return &g->gate; }

const cbx_waiver *cbx_guard_waiver(const cbx_guard *g, size_t i)
{
    return i < cbx_regression_nfindings(g->r) ? g->by[i] : NULL;
}

bool cbx_guard_expired(const cbx_guard *g, size_t i) { return i < cbx_waivers_count(g->waivers) && g->use[i].expired; }

size_t cbx_guard_uses(const cbx_guard *g, size_t i) { return i < cbx_waivers_count(g->waivers) ? g->use[i].uses : 0; }

int cbx__guard_code(const cbx_guard *g, size_t i)
{
    return g->waived[i] ? 0 : cbx_regression_exit_code(g->r, cbx_regression_finding(g->r, i)->outcome);
}

const char *cbx__guard_label(const cbx_guard *g)
{
    const char *label = cbx_regression_label(g->r);

    return g->gate.reason && !strncmp(label, g->gate.sentence, strlen(g->gate.sentence)) ? "" : label;
}

const char *cbx__guard_word(const cbx_guard *g)
{
    static const char *const words[] = { "PASSED", "FAILED", "CANNOT COMPARE", "UNDECIDED" };
    return words[g->gate.exit_code];
}

bool cbx__guard_waiver_note(const cbx_guard *g, size_t i, cbx_text *note)
{
    const cbx_waiver *w = cbx_waivers_at(g->waivers, i);
    const cbx__waiver_use *u = &g->use[i];

    cbx_text_reset(note);
    if (u->expired)
        cbx_text_printf(note, "waiver '%s' expired after %s and waives nothing; %zu findings would need it", w->key,
                        w->until, u->would);
    else if (!u->uses)
        cbx_text_printf(note, "waiver '%s' (until %s) is not needed; remove it", w->key, w->until);
    return note->len || note->status;
}

static cbx_status write_in(const cbx_guard *g, cbx_guard_format format, cbx_json_pour_fn pour, void *user,
                           cbx_text *out, cbx_err *err)
{
    switch (format) {
    case CBX_GUARD_TEXT: cbx__guard_write_text(g, out); break;
    case CBX_GUARD_JSON: return cbx__guard_write_json(g, pour, user, out, err);
    case CBX_GUARD_MARKDOWN: cbx__guard_write_markdown(g, out); break;
    case CBX_GUARD_JUNIT: cbx__guard_write_junit(g, out); break;
    case CBX_GUARD_GITHUB: cbx__guard_write_github(g, out); break;
    default: return cbx_fail(err, CBX_EINVAL, "no output format has the number %d", (int)format);
    }
    return cbx_text_check(out, err);
}

cbx_status cbx_guard_write(const cbx_guard *g, cbx_guard_format format, cbx_text *out, cbx_err *err)
{
    return write_in(g, format, NULL, NULL, out, err);
}

cbx_status cbx_guard_pour(const cbx_guard *g, cbx_guard_format format, cbx_json_pour_fn pour, void *user, cbx_text *out,
                          cbx_err *err)
{
    cbx_status st = write_in(g, format, pour, user, out, err);

    if (!st) pour(user, out);
    return st;
}
