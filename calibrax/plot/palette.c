/*
 * Colours and markers that every kind of colour vision can distinguish, and in grey by their form.
 *
 * Series: Okabe & Ito, "Color Universal Design" (2008), without its yellow, which paper swallows,
 * then nine more hues and lightnesses between them: sixteen series have colours of their own, and
 * beyond them lines are dashed.  Fields: nine colours of viridis (Smith & van der Walt, 2015;
 * public domain), joined linearly.
 */
#include <math.h>

#include "calibrax/plot/model.h"

const cbx__theme cbx__themes[2] = {
    [CBX_PLOT_LIGHT] = { 0xFFFFFF,
                         0x1A1A1A,
                         0x5A5A5A,
                         0xE4E4E4,
                         0x8A8A8A,
                         { 0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7, 0xE69F00, 0x56B4E9, 0x333333, 0x6A3D9A, 0x8C510A,
                           0xB2182B, 0x4D9221, 0x01665E, 0xC51B7D, 0x5E6CC6, 0x7A7A00, 0x808B96 } },
    [CBX_PLOT_DARK] = { 0x14171A,
                        0xECECEC,
                        0xAAAAAA,
                        0x33383D,
                        0x808080,
                        { 0x56B4E9, 0xE69F00, 0x1FC79A, 0xCC79A7, 0xF0E442, 0xE8743B, 0xECECEC, 0xB39DDB, 0xC9A36B,
                          0xFF8A80, 0x9CCC65, 0x26A69A, 0xF48FB1, 0x8C9EFF, 0xC0CA33, 0x90A4AE } },
};

uint32_t cbx__series_colour(const cbx__theme *t, size_t series) { return t->series[series % CBX_LEN(t->series)]; }

cbx__paint cbx__series_line(const cbx__theme *t, size_t series, double width)
{
    return (cbx__paint){ CBX__NO_COLOUR, cbx__series_colour(t, series), width, 1,
                         (unsigned)(series / CBX_LEN(t->series) % 4) };
}

/* Outlines about (0, 0): n corners, x and y of each in turn. */
static const struct {
    size_t n;
    double at[24];
} forms[CBX__MARKER_FORMS] = {
    { 0, { 0 } }, /* a disc */
    { 4, { -3.2, -3.2, 3.2, -3.2, 3.2, 3.2, -3.2, 3.2 } },
    { 4, { 0, -4.8, 4.8, 0, 0, 4.8, -4.8, 0 } },
    { 3, { 0, -4.4, 4.2, 3.2, -4.2, 3.2 } },
    { 3, { 0, 4.4, 4.2, -3.2, -4.2, -3.2 } },
    { 12, { -1.5, -4.5, 1.5,  -4.5, 1.5,  -1.5, 4.5,  -1.5, 4.5,  1.5,  1.5,  1.5,
            1.5,  4.5,  -1.5, 4.5,  -1.5, 1.5,  -4.5, 1.5,  -4.5, -1.5, -1.5, -1.5 } },
    { 4, { -4.8, -2, 4.8, -2, 4.8, 2, -4.8, 2 } },
    { 4, { -2, -4.8, 2, -4.8, 2, 4.8, -2, 4.8 } },
};

void cbx__draw_marker(cbx__sheet *sh, const cbx__mark *m, double x, double y, const char *tip)
{
    cbx__paint paint = { cbx__series_colour(sh->theme, m->series), sh->theme->paper, 0.8, 1, 0 };
    cbx__xy path[CBX_LEN(forms[0].at) / 2];

    for (size_t i = 0; i < forms[m->form].n; i++)
        path[i] = (cbx__xy){ forms[m->form].at[2 * i] + x, forms[m->form].at[2 * i + 1] + y };
    cbx__item *it = forms[m->form].n ? cbx__scene_path(sh->scene, "marker", paint, path, forms[m->form].n, true)
                                     : cbx__scene_disc(sh->scene, "marker", paint, x, y, 3.8);
    it->words = tip;
}

void cbx__marker_put_path(cbx_text *out, size_t form)
{
    if (!forms[form].n) cbx_text_puts(out, "M-3.8 0a3.8 3.8 0 1 0 7.6 0a3.8 3.8 0 1 0-7.6 0");
    for (size_t i = 0; i < forms[form].n; i++)
        cbx_text_printf(out, "%s%g %g", i ? "L" : "M", forms[form].at[2 * i], forms[form].at[2 * i + 1]);
    cbx_text_putc(out, 'Z');
}

uint32_t cbx__ramp(double fraction)
{
    static const unsigned char stops[9][3] = { { 68, 1, 84 },    { 71, 44, 122 },  { 59, 81, 139 },
                                               { 44, 113, 142 }, { 33, 144, 141 }, { 39, 173, 129 },
                                               { 92, 200, 99 },  { 170, 220, 50 }, { 253, 231, 37 } };
    double place = fmin(fmax(fraction, 0), 1) * 8;
    size_t i = place < 7 ? (size_t)place : 7;
    uint32_t colour = 0;

    for (size_t k = 0; k < 3; k++)
        colour = colour << 8 | (uint32_t)lround(stops[i][k] + (stops[i + 1][k] - stops[i][k]) * (place - (double)i));
    return colour;
}
