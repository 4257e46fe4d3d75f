/*
 * SVG 1.1 of a scene: one element an item, coordinates to a hundredth of a px, the same bytes for
 * the same scene.
 */
#include "calibrax/base/together.h"
#include "calibrax/plot/scene.h"

static void put(cbx_text *out, const char *before, double v, const char *after)
{
    char buf[CBX_FORMAT_SIZE];

    cbx_text_puts(out, before);
    cbx_text_puts(out, cbx__fixed(v, 2, true, buf));
    cbx_text_puts(out, after);
}

static void put_colour(cbx_text *out, const char *name, uint32_t colour)
{
    if (colour == CBX__NO_COLOUR)
        cbx_text_printf(out, " %s=\"none\"", name);
    else
        cbx_text_printf(out, " %s=\"#%06X\"", name, (unsigned)colour);
}

static void put_paint(cbx_text *out, const cbx__item *it)
{
    const cbx__paint *p = &it->paint;
    const double *dash = cbx__dashes[p->dash];

    if (it->role) cbx_text_printf(out, " class=\"%s\"", it->role);
    put_colour(out, "fill", p->fill);
    if (p->fill != CBX__NO_COLOUR && p->opacity < 1) put(out, " fill-opacity=\"", p->opacity, "\"");
    if (p->stroke == CBX__NO_COLOUR) return;
    put_colour(out, "stroke", p->stroke);
    put(out, " stroke-width=\"", p->width, "\"");
    if (dash[0] > 0) {
        cbx_text_puts(out, " stroke-dasharray=\"");
        for (size_t i = 0; dash[i] > 0; i++) put(out, i ? " " : "", dash[i], "");
        cbx_text_puts(out, "\"");
    }
}

static void put_item(cbx_text *out, const cbx__item *it)
{
    /* of each kind its element, and the names of its numbers */
    static const char *const words[][5] = {
        [CBX__PATH] = { "path" },
        [CBX__RECT] = { "rect", " x=\"", " y=\"", " width=\"", " height=\"" },
        [CBX__DISC] = { "circle", " cx=\"", " cy=\"", " r=\"" },
        [CBX__WORDS] = { "text", " x=\"", " y=\"", " font-size=\"" },
    };
    static const char *const anchors[] = { "start", "middle", "end" };
    const double numbers[] = { it->at.x, it->at.y, it->size.x, it->size.y };
    const char *element = words[it->kind][0];

    cbx_text_printf(out, "<%s", element);
    put_paint(out, it);
    for (size_t i = 0; i < CBX_LEN(numbers) && words[it->kind][i + 1]; i++)
        put(out, words[it->kind][i + 1], numbers[i], "\"");
    if (it->kind == CBX__PATH) {
        cbx_text_puts(out, " d=\"");
        for (size_t i = 0; i < it->n; i++) {
            put(out, i ? "L" : "M", it->path[i].x, " ");
            put(out, "", it->path[i].y, "");
        }
        cbx_text_puts(out, it->closed ? "Z\"" : "\"");
    }
    if (it->kind == CBX__WORDS) {
        if (it->anchor != CBX__START) cbx_text_printf(out, " text-anchor=\"%s\"", anchors[it->anchor]);
        if (it->bold) cbx_text_puts(out, " font-weight=\"bold\"");
        if (it->turn != 0) {
            put(out, " transform=\"rotate(", it->turn, " ");
            put(out, "", it->at.x, " ");
            put(out, "", it->at.y, ")\"");
        }
        cbx__put_mixed(out, cbx_text_put_html, ">", it->words, "</text>\n", NULL);
    } else if (it->words) { /* its tooltip */
        cbx__put_mixed(out, cbx_text_put_html, "><title>", it->words, "</title></", element, ">\n", NULL);
    } else
        cbx_text_puts(out, "/>\n");
}

void cbx__scene_write_svg(const cbx__scene *s, cbx_text *out)
{
    put(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", s->width, "\"");
    put(out, " height=\"", s->height, "\"");
    put(out, " viewBox=\"0 0 ", s->width, " ");
    put(out, "", s->height,
        "\" role=\"img\" font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\">\n");
    if (s->title) cbx__put_mixed(out, cbx_text_put_html, "<title>", s->title, "</title>\n", NULL);
    cbx_text_puts(out, "<rect class=\"paper\"");
    put_colour(out, "fill", s->paper);
    put(out, " width=\"", s->width, "\"");
    put(out, " height=\"", s->height, "\"/>\n");
    for (const cbx__item *it = s->first; it; it = it->next) put_item(out, it);
    cbx_text_puts(out, "</svg>\n");
}
