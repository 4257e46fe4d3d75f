/* Plots: what is added to them, checked and copied. */
#include "calibrax/plot/model.h"

#include <math.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/base/options.h"

enum { NAME_LONGEST = 48, LABEL_LONGEST = 60, TITLE_LONGEST = 160 };

/* A copy fit to be drawn; NULL stays NULL. */
static const char *words(cbx_plot *p, const char *s, size_t max)
{
    char *copy = s ? cbx__plain_words(&p->arena, s, max) : NULL;

    if (s && !copy) p->full = true;
    return copy;
}

/* Whether there was memory for all copies since the last call. */
static bool copied(cbx_plot *p)
{
    bool good = !p->full;

    p->full = false;
    return good;
}

cbx_status cbx_plot_create(cbx_ctx *ctx, const cbx_plot_opts *opts, cbx_plot **out, cbx_err *err)
{
    cbx_plot_opts o = CBX_PLOT_OPTS_INIT;
    cbx_plot *p;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_plot_opts", err);

    if (st) return st;
    if (o.width == 0) o.width = 720;
    if (o.height == 0) o.height = 420;
    if (o.png_scale == 0) o.png_scale = 2;
    if (!(o.width >= 160 && o.width <= 10000 && o.height >= 160 && o.height <= 10000))
        return cbx_fail(err, CBX_EINVAL, "a plot of %g by %g px: each must be within 160..10000", o.width, o.height);
    if (!(o.png_scale > 0 && o.png_scale <= 8))
        return cbx_fail(err, CBX_EINVAL, "%g pixels a px: more than 0 and at most 8", o.png_scale);
    if (o.y == CBX_PLOT_DATES) return cbx_fail(err, CBX_EINVAL, "dates are shown along x only");
    p = CBX_ARENA_OBJECT(cbx_plot, cbx_ctx_allocator(ctx));
    if (!p) return cbx_fail_nomem(err, "a plot");
    p->ctx = ctx;
    p->last = &p->first;
    p->opts = o;
    p->opts.title = words(p, o.title, TITLE_LONGEST);
    p->opts.x_label = words(p, o.x_label, TITLE_LONGEST);
    p->opts.y_label = words(p, o.y_label, TITLE_LONGEST);
    if (!copied(p)) {
        cbx_plot_free(p);
        return cbx_fail_nomem(err, "a plot");
    }
    *out = p;
    return CBX_OK;
}

void cbx_plot_free(cbx_plot *p)
{
    if (p) cbx_arena_end(&p->arena);
}

static const char *const *copy_names(cbx_plot *p, const char *const *names, size_t n)
{
    const char **copy = cbx_arena_calloc(&p->arena, n, sizeof *copy);

    if (!copy) p->full = true;
    for (size_t i = 0; copy && i < n; i++) copy[i] = words(p, names[i], NAME_LONGEST);
    return copy;
}

static bool all_there(const char *const *names, size_t n)
{
    for (size_t i = 0; names && i < n; i++)
        if (!names[i]) return false;
    return names && n;
}

cbx_status cbx_plot_categories(cbx_plot *p, const char *const *names, size_t n, cbx_err *err)
{
    const char *const *copy;

    if (!all_there(names, n)) return cbx_fail(err, CBX_EINVAL, "a category has no name");
    copy = copy_names(p, names, n);
    if (!copied(p)) return cbx_fail_nomem(err, "a plot");
    p->names = copy;
    p->nnames = n;
    return CBX_OK;
}

/* --- marks --- */

static const double *copy_doubles(cbx_plot *p, const double *x, size_t n)
{
    double *copy = x ? cbx_arena_calloc(&p->arena, n, sizeof *copy) : NULL;

    if (x && !copy) p->full = true;
    if (copy && n) memcpy(copy, x, n * sizeof *copy);
    return copy;
}

/* The mark takes its place unless memory ran out. */
static cbx_status keep(cbx_plot *p, const cbx__mark *m, cbx_err *err)
{
    cbx__mark *copy = copied(p) ? cbx_arena_alloc(&p->arena, sizeof *copy) : NULL;

    if (!copy) return cbx_fail_nomem(err, "a plot");
    *copy = *m;
    copy->next = NULL;
    copy->form = (m->series + m->series / CBX_LEN(cbx__themes[0].series)) %
                 CBX__MARKER_FORMS; /* another with a repeated colour */
    *p->last = copy;
    p->last = &copy->next;
    return CBX_OK;
}

static cbx_status check_log(const double *v, size_t n, char axis, const char *label, cbx_err *err)
{
    for (size_t i = 0; v && i < n; i++)
        if (v[i] <= 0)
            return cbx_fail(err, CBX_EDOM, "'%s' has the value %g, but the logarithmic %c axis shows values above 0",
                            label ? label : "a series", v[i], axis);
    return CBX_OK;
}

static cbx_status check_series(const cbx_plot *p, const cbx_plot_series *s, cbx_err *err)
{
    const double *const xs[] = { s->x, s->x_lower, s->x_upper }, *const ys[] = { s->y, s->lower, s->upper };
    cbx_status st = CBX_OK;

    if (!s->y || !s->n) return cbx_fail(err, CBX_EINVAL, "'%s' has no values", s->label ? s->label : "a series");
    for (size_t i = 0; !st && p->opts.x == CBX_PLOT_LOG && i < 3; i++) st = check_log(xs[i], s->n, 'x', s->label, err);
    for (size_t i = 0; !st && p->opts.y == CBX_PLOT_LOG && i < 3; i++) st = check_log(ys[i], s->n, 'y', s->label, err);
    return st;
}

static cbx_plot_series copy_series(cbx_plot *p, const cbx_plot_series *s)
{
    cbx_plot_series copy = *s;
    const double **const columns[] = { &copy.x, &copy.y, &copy.lower, &copy.upper, &copy.x_lower, &copy.x_upper };

    copy.label = words(p, s->label, LABEL_LONGEST);
    for (size_t i = 0; i < CBX_LEN(columns); i++) *columns[i] = copy_doubles(p, *columns[i], s->n);
    return copy;
}

cbx_status cbx_plot_line(cbx_plot *p, const cbx_plot_series *s, cbx_err *err)
{
    cbx__mark m = { .kind = CBX__MARK_LINE, .series = p->nseries };
    cbx_status st = check_series(p, s, err);

    if (!st && p->opts.x == CBX_PLOT_LOG && !s->x)
        st = cbx_fail(err, CBX_EINVAL, "'%s' needs values of x on a logarithmic axis",
                      s->label ? s->label : "a series");
    if (st) return st;
    m.line = copy_series(p, s);
    if (!m.line.how) m.line.how = CBX_PLOT_JOIN | CBX_PLOT_MARK;
    st = keep(p, &m, err);
    if (!st && !(s->how & CBX_PLOT_FAINT)) p->nseries++;
    return st;
}

cbx_status cbx_plot_bars(cbx_plot *p, const cbx_plot_series *s, cbx_err *err)
{
    cbx__mark m = { .kind = CBX__MARK_BARS, .series = p->nseries, .at = p->nbars };
    cbx_status st = check_series(p, s, err);

    if (st) return st;
    if (p->opts.y != CBX_PLOT_LINEAR)
        return cbx_fail(err, CBX_EINVAL, "bars cannot be drawn on a logarithmic axis: draw the values as points");
    m.line = copy_series(p, s);
    m.line.x = m.line.x_lower = m.line.x_upper = NULL;
    st = keep(p, &m, err);
    if (st) return st;
    p->nseries++;
    p->nbars++;
    return CBX_OK;
}

cbx_status cbx_plot_boxes(cbx_plot *p, size_t at, const cbx_plot_box *box, cbx_err *err)
{
    cbx__mark m = { .kind = CBX__MARK_BOX, .at = at, .box = *box };

    if (!(isfinite(box->low) && isfinite(box->high) && box->low <= box->q1 && box->q1 <= box->median &&
          box->median <= box->q3 && box->q3 <= box->high))
        return cbx_fail(err, CBX_EDOM, "the five numbers of box %zu must ascend", at);
    if (p->opts.y == CBX_PLOT_LOG) {
        cbx_status st = check_log(&box->low, 1, 'y', "a box", err);
        if (!st) st = check_log(box->outliers, box->noutliers, 'y', "a box", err);
        if (st) return st;
    }
    m.box.outliers = copy_doubles(p, box->outliers, box->noutliers);
    return keep(p, &m, err);
}

cbx_status cbx_plot_violin(cbx_plot *p, size_t at, const double *samples, size_t n, cbx_err *err)
{
    cbx__mark m = { .kind = CBX__MARK_VIOLIN, .at = at };
    double *finite;
    size_t k = 0;

    if (p->opts.y != CBX_PLOT_LINEAR) return cbx_fail(err, CBX_EINVAL, "a violin needs a linear y axis");
    finite = cbx_arena_calloc(&p->arena, n, sizeof *finite);
    if (!finite) return cbx_fail_nomem(err, "a plot");
    for (size_t i = 0; i < n; i++)
        if (isfinite(samples[i])) finite[k++] = samples[i];
    if (!k) return cbx_fail(err, CBX_EINVAL, "violin %zu has no finite value", at);
    m.line.y = finite;
    m.line.n = k;
    return keep(p, &m, err);
}

cbx_status cbx_plot_heat(cbx_plot *p, const double *values, const double *lower, const double *upper,
                         const char *const *rows, size_t nrows, const char *const *columns, size_t ncols, cbx_err *err)
{
    cbx__mark m = { .kind = CBX__MARK_HEAT, .nrows = nrows, .ncols = ncols };
    const char *const *row_names, *const *column_names;

    if (p->first || p->opts.x != CBX_PLOT_CATEGORIES || p->opts.y != CBX_PLOT_CATEGORIES)
        return cbx_fail(err, CBX_EINVAL, "a heat map must be alone in its plot, with categories on both axes");
    if (!values || !all_there(rows, nrows) || !all_there(columns, ncols))
        return cbx_fail(err, CBX_EINVAL, "a heat map needs values, and a name of each row and column");
    row_names = copy_names(p, rows, nrows);
    column_names = copy_names(p, columns, ncols);
    m.line.lower = copy_doubles(p, lower, nrows * ncols);
    m.line.upper = copy_doubles(p, upper, nrows * ncols);
    m.values = copy_doubles(p, values, nrows * ncols);
    cbx_status st = keep(p, &m, err);
    if (st) return st;
    p->rows = row_names;
    p->nrows = nrows;
    p->names = column_names;
    p->nnames = ncols;
    return CBX_OK;
}

cbx_status cbx__plot_note_at(cbx_plot *p, double x, double y, const char *text, bool below, cbx_err *err)
{
    cbx__mark m = { .kind = CBX__MARK_NOTE, .place = { x, y }, .below = below };

    if (!text || !isfinite(x) || !isfinite(y)) return cbx_fail(err, CBX_EINVAL, "a note needs a text and a position");
    if ((p->opts.x == CBX_PLOT_LOG && x <= 0) || (p->opts.y == CBX_PLOT_LOG && y <= 0))
        return cbx_fail(err, CBX_EDOM, "a note at (%g, %g) is not on a logarithmic axis", x, y);
    m.words = words(p, text, LABEL_LONGEST);
    return keep(p, &m, err);
}

cbx_status cbx_plot_note(cbx_plot *p, double x, double y, const char *text, cbx_err *err)
{
    return cbx__plot_note_at(p, x, y, text, false, err);
}

/* --- drawing --- */

const char *cbx_plot_format_name(cbx_plot_format format)
{
    static const char *const names[] = { "svg", "pdf", "png" };

    return CBX_WORD(names, format);
}

cbx_status cbx_plot_draw(cbx_plot *p, cbx_plot_format format, cbx_text *out, cbx_err *err)
{
    cbx__scene scene;
    size_t before = out->len;

    if ((unsigned)format > CBX_PLOT_PNG)
        return cbx_fail(err, CBX_EINVAL, "no format of plots has the number %d", format);
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(p->ctx));
    cbx_status st = cbx__lay_out(p, &scene, &arena, err);
    if (!st && scene.full) st = cbx_fail_nomem(err, "a plot");
    if (!st && format == CBX_PLOT_SVG)
        cbx__scene_write_svg(&scene, out);
    else if (!st)
        st = cbx__scene_write_cairo(p->ctx, &scene, format, p->opts.png_scale, out, err);
    if (!st) st = cbx_text_check(out, err);
    if (st && out->data && out->len > before) out->data[out->len = before] = 0;
    return st;
}
