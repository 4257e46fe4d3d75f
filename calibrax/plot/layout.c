/* From a plot to a scene: ranges of the axes, space for words, frame, marks, legend. */
#include <math.h>
#include <string.h>

#include "calibrax/plot/model.h"

enum {
    TICK_SIZE = 12,
    LABEL_SIZE = 12,
    TITLE_SIZE = 14,
    LEGEND_STEP = 18,
    LEGEND_MARK = 28,
    EDGE = 12,
    RAMP_STEPS = 48
};

#define LONGEST_NAME (0.5 / 0.65) /* of a category, in heights of the page: longer ones are cut */

/* --- ranges --- */

typedef struct range {
    double min, max;
} range;

static void take(range *r, double v)
{
    if (!isfinite(v)) return;
    r->min = fmin(r->min, v);
    r->max = fmax(r->max, v);
}

static void take_all(range *r, const double *v, size_t n)
{
    for (size_t i = 0; v && i < n; i++) take(r, v[i]);
}

static void take_line(range *x, range *y, const cbx_plot_series *s)
{
    take_all(y, s->y, s->n);
    take_all(y, s->lower, s->n);
    take_all(y, s->upper, s->n);
    take_all(x, s->x, s->n);
    take_all(x, s->x_lower, s->n);
    take_all(x, s->x_upper, s->n);
    if (s->x) return;
    take(x, 0);
    take(x, (double)(s->n - 1));
}

/* A plot of missing values only still has axes. */
static void default_range(range *r, cbx_plot_scale scale)
{
    if (r->min <= r->max) return;
    *r = scale == CBX_PLOT_LOG ? (range){ 1, 10 } : (range){ 0, 1 };
}

static cbx_status find_ranges(cbx__sheet *sh, cbx_err *err)
{
    const cbx_plot *p = sh->plot;
    range x = { INFINITY, -INFINITY }, y = x, heat = x;

    if (!p->first) return cbx_fail(err, CBX_EINVAL, "a plot needs a series");
    for (const cbx__mark *m = p->first; m; m = m->next) {
        switch (m->kind) {
        case CBX__MARK_BARS: take(&y, 0); /* fall through */
        case CBX__MARK_LINE: take_line(&x, &y, &m->line); break;
        case CBX__MARK_BOX:
            take(&y, m->box.low);
            take(&y, m->box.high);
            take_all(&y, m->box.outliers, m->box.noutliers);
            take(&x, (double)m->at);
            break;
        case CBX__MARK_VIOLIN:
            take_all(&y, m->line.y, m->line.n);
            take(&x, (double)m->at);
            break;
        case CBX__MARK_HEAT:
            take(&x, (double)(m->ncols - 1));
            take(&y, (double)(m->nrows - 1));
            take_all(&heat, m->values, m->nrows * m->ncols);
            break;
        case CBX__MARK_NOTE:
            take(&x, m->place.x);
            take(&y, m->place.y);
            break;
        }
    }
    if (p->nnames) take(&x, (double)(p->nnames - 1));
    default_range(&x, p->opts.x);
    default_range(&y, p->opts.y);
    default_range(&heat, CBX_PLOT_LINEAR);
    sh->heat_min = heat.min;
    sh->heat_max = heat.max;
    sh->heat_log = heat.min > 0 && heat.max >= 10 * heat.min;
    if (p->opts.x == CBX_PLOT_CATEGORIES && x.max > (double)p->nnames - 1 + 1e-9)
        return cbx_fail(err, CBX_EINVAL, "a plot has %zu names of categories, and values for %.0f", p->nnames,
                        x.max + 1);
    if (!cbx__axis_fit(&sh->x, p->opts.x, x.min, x.max) || !cbx__axis_fit(&sh->y, p->opts.y, y.min, y.max))
        return cbx_fail(err, CBX_EDOM, "the values of a plot span more than its axes can show");
    return CBX_OK;
}

/* --- space for words --- */

static bool in_legend(const cbx__mark *m)
{
    bool line = m->kind == CBX__MARK_LINE && !(m->line.how & CBX_PLOT_FAINT);

    return (line || m->kind == CBX__MARK_BARS) && m->line.label;
}

static double widest_name(const char *const *names, size_t n)
{
    double w = 0;

    for (size_t i = 0; i < n; i++) w = fmax(w, cbx__words_width(names[i], TICK_SIZE));
    return w;
}

/* The names are slanted where they would touch. */
static bool aslant(const cbx__sheet *sh, double width)
{
    const cbx_plot *p = sh->plot;

    return sh->x.scale == CBX_PLOT_CATEGORIES &&
           widest_name(p->names, p->nnames) + 8 > width / (sh->x.high - sh->x.low);
}

typedef struct legend {
    size_t count;
    double width;
} legend;

/* A name that is as wide as the page allows; a longer one ends with an ellipsis. */
static const char *short_name(cbx__sheet *sh, const char *name, double width)
{
    size_t n = strlen(name);
    const char *out = name;

    while (out && n && cbx__words_width(out, TICK_SIZE) > width) {
        do n--;
        while (n && ((unsigned char)name[n] & 0xC0) == 0x80);
        out = cbx_arena_printf(sh->scene->arena, "%.*s\xE2\x80\xA6", (int)n, name);
    }
    if (!out) sh->scene->full = true;
    return out ? out : "";
}

/* Lays the axes into the page; returns the height that the page needs. */
static double lay_axes(cbx__sheet *sh, const legend *l)
{
    const cbx_plot_opts *o = &sh->plot->opts;
    double top = o->title ? 40 : EDGE + 4, height = fmax(o->height, top + (double)l->count * LEGEND_STEP + 2 * EDGE);
    double left = EDGE + (o->y_label ? 20 : 0) + 6, right = o->width - EDGE - (l->width > 0 ? l->width + 12 : 6);
    double bottom = height - EDGE - (o->x_label ? 20 : 0) - 18;
    bool heat = sh->y.scale == CBX_PLOT_CATEGORIES;
    char buf[CBX_FORMAT_SIZE];

    sh->height = height;
    cbx__axis_unit(&sh->x, o->x_label);
    cbx__axis_unit(&sh->y, o->y_label);
    cbx__axis_lay(&sh->y, bottom, top, 30); /* once for the widths of its labels */
    double widest = heat ? widest_name(sh->plot->rows, sh->plot->nrows) : 0;
    for (size_t i = 0; !heat && i < sh->y.n; i++)
        widest = fmax(widest, cbx__words_width(cbx__axis_label(&sh->y, sh->y.at[i], buf), TICK_SIZE));
    left += widest;
    left = fmin(left, o->width * 0.4);
    right = fmax(right, left + 40);
    if (aslant(sh, right - left)) { /* the first name reaches to the left of its place */
        double w = fmin(widest_name(sh->plot->names, sh->plot->nnames), LONGEST_NAME * height);
        bottom -= w * 0.65;
        left = fmax(left, EDGE + 0.85 * w - 0.5 * (right - left) / (sh->x.high - sh->x.low));
    }
    cbx__axis_lay(&sh->x, left, right, 56);
    if (heat)
        cbx__axis_lay(&sh->y, top, bottom, 30); /* the first row is the upper one */
    else
        cbx__axis_lay(&sh->y, bottom, top, 30);
    return height;
}

/* --- frame --- */

/* Numbers of an axis with lines across, or its names: every one of thousands would be a black
 * bar. */
static void draw_ticks(cbx__sheet *sh, bool along_x)
{
    const cbx__axis *a = along_x ? &sh->x : &sh->y;
    const cbx_plot *p = sh->plot;
    const bool named = a->scale == CBX_PLOT_CATEGORIES, turned = along_x && aslant(sh, sh->x.to - sh->x.from);
    const size_t n = !named ? a->n : along_x ? p->nnames : p->nrows;
    const double step = fabs(cbx__axis_place(a, 1) - cbx__axis_place(a, 0)), base = fmax(sh->y.from, sh->y.to);
    const cbx__paint grid = { CBX__NO_COLOUR, sh->theme->grid, 1, 1, 0 };
    char buf[CBX_FORMAT_SIZE];

    for (size_t i = 0; i < n; i += named ? (size_t)fmax(1, ceil((along_x ? 14 : 12) / step)) : 1) {
        const char *words = !named    ? cbx__axis_label(a, a->at[i], buf)
                            : turned  ? short_name(sh, p->names[i], LONGEST_NAME * sh->height)
                            : along_x ? p->names[i]
                                      : p->rows[i];
        double at = cbx__axis_place(a, named ? (double)i : a->at[i]);
        if (!along_x) {
            if (!named) cbx__scene_line(sh->scene, "grid", grid, sh->x.from, at, sh->x.to, at);
            cbx__scene_words(sh->scene, "tick-y", sh->theme->muted, sh->x.from - 7, at + 3.8, TICK_SIZE, CBX__END,
                             words);
            continue;
        }
        if (!named) cbx__scene_line(sh->scene, "grid", grid, at, sh->y.from, at, sh->y.to);
        cbx__item *it = cbx__scene_words(sh->scene, "tick-x", sh->theme->muted, at + (turned ? 4 : 0),
                                         base + (turned ? 13 : 16), TICK_SIZE, turned ? CBX__END : CBX__MIDDLE, words);
        if (turned) it->turn = -40;
    }
}

static void draw_frame(cbx__sheet *sh)
{
    draw_ticks(sh, true);
    draw_ticks(sh, false);
    const cbx_plot_opts *o = &sh->plot->opts;
    double middle = (sh->x.from + sh->x.to) / 2, centre = (sh->y.from + sh->y.to) / 2;
    const char *x = cbx__axis_title(&sh->x, o->x_label, sh->scene->arena);
    const char *y = cbx__axis_title(&sh->y, o->y_label, sh->scene->arena);
    cbx__item *it;
    if (!x || !y) {
        sh->scene->full = true;
        return;
    }
    if (o->title) {
        it = cbx__scene_words(sh->scene, "title", sh->theme->ink, sh->x.from, 24, TITLE_SIZE, CBX__START, o->title);
        it->bold = true;
    }
    if (*x)
        cbx__scene_words(sh->scene, "label-x", sh->theme->ink, middle, sh->scene->height - EDGE, LABEL_SIZE,
                         CBX__MIDDLE, x);
    if (!*y) return;
    it = cbx__scene_words(sh->scene, "label-y", sh->theme->ink, EDGE + 8, centre, LABEL_SIZE, CBX__MIDDLE, y);
    it->turn = -90;
}

/* --- legend --- */

cbx_status cbx__lay_out(const cbx_plot *p, cbx__scene *scene, cbx_arena *arena, cbx_err *err)
{
    const cbx__theme *theme = &cbx__themes[p->opts.theme == CBX_PLOT_DARK];
    cbx__sheet sh = { .plot = p, .theme = theme, .scene = scene };
    /* One series needs no legend: the title names it. */
    legend l = { 0, 0 };
    for (const cbx__mark *m = p->first; m; m = m->next)
        if (in_legend(m)) {
            l.count++;
            l.width = fmax(l.width, LEGEND_MARK + 8 + cbx__words_width(m->line.label, TICK_SIZE));
        }
    if (l.count < 2) l = (legend){ 0, 0 };
    if (p->first && p->first->kind == CBX__MARK_HEAT) l.width = 62;
    cbx_status st = find_ranges(&sh, err);

    if (st) return st;
    cbx__scene_init(scene, arena, p->opts.width, lay_axes(&sh, &l), theme->paper);
    scene->title = p->opts.title;
    draw_frame(&sh);
    for (const cbx__mark *m = p->first; m; m = m->next) cbx__draw_mark(&sh, m);
    if (sh.x.scale != CBX_PLOT_CATEGORIES || sh.y.scale != CBX_PLOT_CATEGORIES) {
        cbx__paint axis = { CBX__NO_COLOUR, theme->muted, 1, 1, 0 };
        double zero = sh.y.scale == CBX_PLOT_LINEAR && sh.y.low < 0 && sh.y.high > 0 ? cbx__axis_place(&sh.y, 0)
                                                                                     : sh.y.from;
        cbx__scene_line(scene, "axis", axis, sh.x.from, zero, sh.x.to, zero);
    }
    if (l.count) {
        double x = sh.x.to + 14, y = sh.y.to + 6;
        for (const cbx__mark *m = sh.plot->first; m; m = m->next) {
            if (!in_legend(m)) continue;
            cbx__paint fill = { cbx__series_colour(sh.theme, m->series), CBX__NO_COLOUR, 0, 1, 0 };
            if (m->kind == CBX__MARK_BARS)
                cbx__scene_rect(sh.scene, "key", fill, x + 8, y - 5, 12, 10);
            else if (m->line.how & (CBX_PLOT_JOIN | CBX_PLOT_STEP))
                cbx__scene_line(sh.scene, "key", cbx__series_line(sh.theme, m->series, 1.8), x, y, x + LEGEND_MARK, y);
            if (m->kind == CBX__MARK_LINE && m->line.how & CBX_PLOT_MARK)
                cbx__draw_marker(&sh, m, x + LEGEND_MARK / 2.0, y, NULL);
            cbx__scene_words(sh.scene, "legend", sh.theme->ink, x + LEGEND_MARK + 6, y + 3.8, TICK_SIZE, CBX__START,
                             m->line.label);
            y += LEGEND_STEP;
        }
    }
    if (p->first->kind == CBX__MARK_HEAT) {
        char buf[CBX_FORMAT_SIZE];
        double x = sh.x.to + 14, top = fmin(sh.y.from, sh.y.to), height = fabs(sh.y.to - sh.y.from);
        double step = height / RAMP_STEPS;
        double middle = sh.heat_log ? sqrt(sh.heat_min * sh.heat_max) : (sh.heat_min + sh.heat_max) / 2;
        for (int i = 0; i < RAMP_STEPS; i++) {
            cbx__paint fill = { cbx__ramp((RAMP_STEPS - 1 - i) / (RAMP_STEPS - 1.0)), CBX__NO_COLOUR, 0, 1, 0 };
            cbx__scene_rect(sh.scene, "ramp", fill, x, top + step * i, 12, step + 0.4);
        }
        cbx__scene_words(sh.scene, "ramp-end", sh.theme->muted, x + 17, top + 9, TICK_SIZE, CBX__START,
                         cbx__short_number(sh.heat_max, buf));
        cbx__scene_words(sh.scene, "ramp-middle", sh.theme->muted, x + 17, top + height / 2 + 4, TICK_SIZE, CBX__START,
                         cbx__short_number(middle, buf));
        cbx__scene_words(sh.scene, "ramp-end", sh.theme->muted, x + 17, top + height, TICK_SIZE, CBX__START,
                         cbx__short_number(sh.heat_min, buf));
    }
    return CBX_OK;
}
