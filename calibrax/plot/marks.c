/*
 * Marks: from data to items of the scene.
 */
#include <math.h>
#include <stdio.h>

#include "calibrax/plot/model.h"

enum { VIOLIN_PLACES = 64 };

static double px_x(const cbx__sheet *sh, double v) { return cbx__axis_place(&sh->x, v); }
static double px_y(const cbx__sheet *sh, double v) { return cbx__axis_place(&sh->y, v); }
static double line_x(const cbx_plot_series *s, size_t i) { return s->x ? s->x[i] : (double)i; }

static bool are_finite(const double *lower, const double *upper, size_t i)
{
    return lower && upper && isfinite(lower[i]) && isfinite(upper[i]);
}

static bool has_interval(const cbx_plot_series *s, size_t i) { return are_finite(s->lower, s->upper, i); }

/* "label: 12.5 [11.9, 13.1]"; NULL when memory has run out. */
static const char *tip(cbx__sheet *sh, const cbx_plot_series *s, const char *where, size_t i)
{
    char v[CBX_FORMAT_SIZE], l[CBX_FORMAT_SIZE], u[CBX_FORMAT_SIZE];
    const char *out, *label = s->label ? s->label : "", *colon = s->label && where ? ", " : "";

    cbx__short_number(s->y[i], v);
    if (has_interval(s, i))
        out = cbx_arena_printf(sh->scene->arena, "%s%s%s: %s [%s, %s]", label, colon, where ? where : "", v,
                               cbx__short_number(s->lower[i], l), cbx__short_number(s->upper[i], u));
    else
        out = cbx_arena_printf(sh->scene->arena, "%s%s%s: %s", label, colon, where ? where : "", v);
    if (!out) sh->scene->full = true;
    return out;
}

static const char *category(const cbx__sheet *sh, size_t i)
{
    return sh->x.scale == CBX_PLOT_CATEGORIES && i < sh->plot->nnames ? sh->plot->names[i] : NULL;
}

/* From lower to upper at a place [px] of the other axis. */
static void draw_whisker(cbx__sheet *sh, cbx__paint paint, bool along_x, double at, double lower, double upper,
                         double half)
{
    double a = along_x ? px_x(sh, lower) : px_y(sh, lower), b = along_x ? px_x(sh, upper) : px_y(sh, upper);
    cbx__xy path[] = { { at - half, a }, { at + half, a }, { at, a }, { at, b }, { at - half, b }, { at + half, b } };

    for (size_t i = 0; along_x && i < CBX_LEN(path); i++) path[i] = (cbx__xy){ path[i].y, path[i].x };
    cbx__scene_path(sh->scene, along_x ? "x-interval" : "interval", paint, path, CBX_LEN(path), false);
}

/* --- lines --- */

/* Each unbroken part of a band. */
static void draw_band(cbx__sheet *sh, const cbx__mark *m)
{
    const cbx_plot_series *s = &m->line;
    cbx__paint paint = { cbx__series_colour(sh->theme, m->series), CBX__NO_COLOUR, 0, 0.2, 0 };
    cbx__xy *path = cbx_arena_calloc(sh->scene->arena, s->n, 2 * sizeof *path);

    if (!path) {
        sh->scene->full = true;
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        size_t k = 0, from = i;
        for (; i < s->n && has_interval(s, i) && isfinite(line_x(s, i)); i++)
            path[k++] = (cbx__xy){ px_x(sh, line_x(s, i)), px_y(sh, s->upper[i]) };
        for (size_t j = i; j-- > from;) path[k++] = (cbx__xy){ px_x(sh, line_x(s, j)), px_y(sh, s->lower[j]) };
        if (k > 2) cbx__scene_path(sh->scene, "band", paint, path, k, true);
    }
}

static void draw_joined(cbx__sheet *sh, const cbx__mark *m, cbx__paint paint)
{
    const cbx_plot_series *s = &m->line;
    bool step = s->how & CBX_PLOT_STEP;
    cbx__xy *path = cbx_arena_calloc(sh->scene->arena, s->n, 2 * sizeof *path);

    if (!path) {
        sh->scene->full = true;
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        size_t k = 0;
        for (; i < s->n && isfinite(s->y[i]) && isfinite(line_x(s, i)); i++) {
            cbx__xy to = { px_x(sh, line_x(s, i)), px_y(sh, s->y[i]) };
            if (step && k) path[k] = (cbx__xy){ to.x, path[k - 1].y }, k++;
            path[k++] = to;
        }
        if (k > 1) cbx__scene_path(sh->scene, s->how & CBX_PLOT_FAINT ? "guide" : "line", paint, path, k, false);
    }
}

static void draw_line(cbx__sheet *sh, const cbx__mark *m)
{
    const cbx_plot_series *s = &m->line;
    cbx__paint paint = cbx__series_line(sh->theme, m->series, 1.8),
               whisker = cbx__series_line(sh->theme, m->series, 1.2);

    if (s->how & CBX_PLOT_FAINT) paint = whisker = (cbx__paint){ CBX__NO_COLOUR, sh->theme->muted, 1, 1, 1 };
    whisker.dash = 0;
    if (s->how & CBX_PLOT_BAND) draw_band(sh, m);
    if (s->how & (CBX_PLOT_JOIN | CBX_PLOT_STEP)) draw_joined(sh, m, paint);
    for (size_t i = 0; i < s->n; i++) {
        if (!isfinite(s->y[i]) || !isfinite(line_x(s, i))) continue;
        double x = px_x(sh, line_x(s, i));
        if (s->how & CBX_PLOT_WHISK && has_interval(s, i))
            draw_whisker(sh, whisker, false, x, s->lower[i], s->upper[i], 3.5);
        if (s->how & CBX_PLOT_WHISK && are_finite(s->x_lower, s->x_upper, i))
            draw_whisker(sh, whisker, true, px_y(sh, s->y[i]), s->x_lower[i], s->x_upper[i], 3.5);
        if (s->how & CBX_PLOT_MARK) cbx__draw_marker(sh, m, x, px_y(sh, s->y[i]), tip(sh, s, category(sh, i), i));
    }
}

/* --- bars --- */

static void draw_bars(cbx__sheet *sh, const cbx__mark *m)
{
    const cbx_plot_series *s = &m->line;
    double group = fabs(px_x(sh, 1) - px_x(sh, 0)) * 0.78, width = group / (double)sh->plot->nbars, zero = px_y(sh, 0);
    cbx__paint paint = { cbx__series_colour(sh->theme, m->series), CBX__NO_COLOUR, 0, 1, 0 };
    cbx__paint whisker = { CBX__NO_COLOUR, sh->theme->ink, 1.1, 1, 0 };

    for (size_t i = 0; i < s->n; i++) {
        double left = px_x(sh, (double)i) - group / 2 + width * (double)m->at, gap = width > 8 ? 1 : 0;
        if (!isfinite(s->y[i])) {
            double y = px_y(sh, 0) - 4;
            cbx__item *it = cbx__scene_words(sh->scene, "missing", sh->theme->missing, left + width / 2, y, 10,
                                             CBX__MIDDLE, "n/a");
            if (width < 20) {
                it->anchor = CBX__START;
                it->turn = -90;
                it->at.x += 3.5;
            }
            continue;
        }
        double top = px_y(sh, s->y[i]);
        cbx__item *bar = cbx__scene_rect(sh->scene, "bar", paint, left + gap, fmin(top, zero), width - 2 * gap,
                                         fabs(top - zero));
        bar->words = tip(sh, s, category(sh, i), i);
        if (has_interval(s, i))
            draw_whisker(sh, whisker, false, left + width / 2, s->lower[i], s->upper[i], fmin(4, width / 4));
    }
}

/* --- distributions --- */

static void draw_box(cbx__sheet *sh, const cbx__mark *m)
{
    const cbx_plot_box *b = &m->box;
    uint32_t colour = cbx__series_colour(sh->theme, 0);
    double x = px_x(sh, (double)m->at), half = fmin(26, fabs(px_x(sh, 1) - px_x(sh, 0)) * 0.28);
    cbx__paint fill = { colour, colour, 1.2, 0.25, 0 }, line = { CBX__NO_COLOUR, sh->theme->ink, 1.2, 1, 0 };
    cbx__paint dot = { CBX__NO_COLOUR, sh->theme->muted, 1, 1, 0 };
    double top = px_y(sh, b->q3), bottom = px_y(sh, b->q1), middle = px_y(sh, b->median);

    cbx__scene_line(sh->scene, "whisker", line, x, px_y(sh, b->high), x, top);
    cbx__scene_line(sh->scene, "whisker", line, x, bottom, x, px_y(sh, b->low));
    cbx__scene_line(sh->scene, "whisker", line, x - half / 2, px_y(sh, b->high), x + half / 2, px_y(sh, b->high));
    cbx__scene_line(sh->scene, "whisker", line, x - half / 2, px_y(sh, b->low), x + half / 2, px_y(sh, b->low));
    cbx__scene_rect(sh->scene, "box", fill, x - half, top, 2 * half, bottom - top);
    line.width = 2;
    cbx__scene_line(sh->scene, "median", line, x - half, middle, x + half, middle);
    for (size_t i = 0; i < b->noutliers; i++)
        if (isfinite(b->outliers[i])) cbx__scene_disc(sh->scene, "outlier", dot, x, px_y(sh, b->outliers[i]), 2.4);
}

static void draw_violin(cbx__sheet *sh, const cbx__mark *m)
{
    const double *v = m->line.y;
    double min = v[0], max = v[0], peak = 0, at[VIOLIN_PLACES], density[VIOLIN_PLACES];
    double x = px_x(sh, (double)m->at), half = fabs(px_x(sh, 1) - px_x(sh, 0)) * 0.4;
    uint32_t colour = cbx__series_colour(sh->theme, 0);
    cbx__paint paint = { colour, colour, 1.2, 0.3, 0 };
    cbx__xy path[2 * VIOLIN_PLACES];

    for (size_t i = 1; i < m->line.n; i++) min = fmin(min, v[i]), max = fmax(max, v[i]);
    for (size_t i = 0; i < VIOLIN_PLACES; i++) at[i] = min + (max - min) * (double)i / (VIOLIN_PLACES - 1);
    cbx_plot_density(v, m->line.n, at, VIOLIN_PLACES, density);
    for (size_t i = 0; i < VIOLIN_PLACES; i++) peak = fmax(peak, density[i]);
    if (!(peak > 0)) {
        cbx__scene_line(sh->scene, "violin", paint, x - half, px_y(sh, min), x + half, px_y(sh, min));
        return;
    }
    for (size_t i = 0; i < VIOLIN_PLACES; i++) {
        double w = half * density[i] / peak, y = px_y(sh, at[i]);
        path[i] = (cbx__xy){ x - w, y };
        path[2 * VIOLIN_PLACES - 1 - i] = (cbx__xy){ x + w, y };
    }
    cbx__scene_path(sh->scene, "violin", paint, path, CBX_LEN(path), true);
}

void cbx_plot_density(const double *samples, size_t n, const double *at, size_t m, double *out)
{
    double mean = 0, square = 0, h;

    for (size_t i = 0; i < n; i++) { /* Welford */
        double d = samples[i] - mean;
        mean += d / (double)(i + 1);
        square += d * (samples[i] - mean);
    }
    h = n > 1 ? sqrt(square / (double)(n - 1)) * pow((double)n, -0.2) : 0;
    for (size_t j = 0; j < m; j++) {
        double sum = 0;
        for (size_t i = 0; h > 0 && i < n; i++) {
            double u = (at[j] - samples[i]) / h;
            sum += exp(-0.5 * u * u);
        }
        out[j] = h > 0 ? sum / ((double)n * h * sqrt(2 * acos(-1))) : 0;
    }
}

/* --- heat maps --- */

static void draw_field(cbx__sheet *sh, const cbx__mark *m, size_t i, double x, double y, double w, double h)
{
    char buf[CBX_FORMAT_SIZE], bounds[2 * CBX_FORMAT_SIZE + 8] = "";
    cbx__paint paint = { CBX__NO_COLOUR, sh->theme->missing, 0.7, 1, 0 };
    double v = m->values[i];

    if (!isfinite(v)) {
        cbx__scene_rect(sh->scene, "missing", paint, x + 1, y + 1, w - 2, h - 2);
        cbx__scene_line(sh->scene, NULL, paint, x + 1, y + h - 1, x + w - 1, y + 1);
        return;
    }
    double span = sh->heat_max - sh->heat_min, part = span > 0 ? (v - sh->heat_min) / span : 0.5;
    if (sh->heat_log) part = log(v / sh->heat_min) / log(sh->heat_max / sh->heat_min);
    uint32_t ink = part < 0.6 ? 0xFFFFFF : 0x111111;
    paint = (cbx__paint){ cbx__ramp(part), CBX__NO_COLOUR, 0, 1, 0 };
    cbx__scene_rect(sh->scene, "field", paint, x, y, w, h);
    cbx__short_number(v, buf);
    if (cbx__words_width(buf, 10.5) + 4 > w || h < 13) return;
    if (has_interval(&m->line, i) && h >= 27) { /* "[lower, upper]" below the value, where they fit */
        char l[CBX_FORMAT_SIZE], u[CBX_FORMAT_SIZE];
        snprintf(bounds, sizeof bounds, "[%s, %s]", cbx__short_number(m->line.lower[i], l),
                 cbx__short_number(m->line.upper[i], u));
        if (cbx__words_width(bounds, 9) + 4 > w) *bounds = '\0';
    }
    if (*bounds) cbx__scene_words(sh->scene, "bounds", ink, x + w / 2, y + h / 2 + 11, 9, CBX__MIDDLE, bounds);
    cbx__scene_words(sh->scene, "value", ink, x + w / 2, y + h / 2 + (*bounds ? -2 : 3.8), 10.5, CBX__MIDDLE, buf);
}

static void draw_heat(cbx__sheet *sh, const cbx__mark *m)
{
    double w = fabs(px_x(sh, 1) - px_x(sh, 0)), h = fabs(px_y(sh, 1) - px_y(sh, 0));

    for (size_t i = 0; i < m->nrows; i++)
        for (size_t j = 0; j < m->ncols; j++)
            draw_field(sh, m, i * m->ncols + j, px_x(sh, (double)j) - w / 2, px_y(sh, (double)i) - h / 2, w, h);
}

static void draw_note(cbx__sheet *sh, const cbx__mark *m)
{
    double x = px_x(sh, m->place.x), y = px_y(sh, m->place.y), w = cbx__words_width(m->words, 10.5);
    bool left = x + 7 + w > sh->x.to; /* no room on the right */

    cbx__scene_words(sh->scene, "note", sh->theme->ink, left ? x - 7 : x + 7, m->below ? y + 14 : y - 6, 10.5,
                     left ? CBX__END : CBX__START, m->words);
}

void cbx__draw_mark(cbx__sheet *sh, const cbx__mark *m)
{
    static void (*const draw[])(cbx__sheet *, const cbx__mark *) = {
        [CBX__MARK_LINE] = draw_line,     [CBX__MARK_BARS] = draw_bars, [CBX__MARK_BOX] = draw_box,
        [CBX__MARK_VIOLIN] = draw_violin, [CBX__MARK_HEAT] = draw_heat, [CBX__MARK_NOTE] = draw_note,
    };

    draw[m->kind](sh, m);
}
