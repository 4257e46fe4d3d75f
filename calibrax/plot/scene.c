/* The scene: items in the order drawn, and text made fit to be drawn. */
#include "calibrax/plot/scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/utf8.h"

const double cbx__dashes[4][5] = { { 0 }, { 6, 3, 0 }, { 2, 2, 0 }, { 8, 3, 2, 3, 0 } };

void cbx__scene_init(cbx__scene *s, cbx_arena *arena, double width, double height, uint32_t paper)
{
    *s = (cbx__scene){ .arena = arena, .width = width, .height = height, .paper = paper };
    s->last = &s->first;
}

static cbx__item *add(cbx__scene *s, cbx__item_kind kind, const char *role, cbx__paint paint)
{
    cbx__item *it = cbx_arena_alloc(s->arena, sizeof *it);

    if (!it) {
        s->full = true;
        it = &s->lost;
    } else {
        *s->last = it;
        s->last = &it->next;
    }
    *it = (cbx__item){ .kind = kind, .role = role, .paint = paint };
    return it;
}

cbx__item *cbx__scene_path(cbx__scene *s, const char *role, cbx__paint paint, const cbx__xy *path, size_t n,
                           bool closed)
{
    cbx__xy *copy = cbx_arena_calloc(s->arena, n, sizeof *copy);
    cbx__item *it = add(s, CBX__PATH, role, paint);

    if (!copy)
        s->full = true;
    else
        it->n = n;
    if (copy && n) memcpy(copy, path, n * sizeof *copy);
    it->path = copy;
    it->closed = closed;
    return it;
}

cbx__item *cbx__scene_line(cbx__scene *s, const char *role, cbx__paint paint, double x0, double y0, double x1,
                           double y1)
{
    const cbx__xy ends[] = { { x0, y0 }, { x1, y1 } };

    return cbx__scene_path(s, role, paint, ends, 2, false);
}

cbx__item *cbx__scene_rect(cbx__scene *s, const char *role, cbx__paint paint, double x, double y, double w, double h)
{
    cbx__item *it = add(s, CBX__RECT, role, paint);

    it->at = (cbx__xy){ x, y };
    it->size = (cbx__xy){ w, h };
    return it;
}

cbx__item *cbx__scene_disc(cbx__scene *s, const char *role, cbx__paint paint, double x, double y, double r)
{
    cbx__item *it = add(s, CBX__DISC, role, paint);

    it->at = (cbx__xy){ x, y };
    it->size.x = r;
    return it;
}

cbx__item *cbx__scene_words(cbx__scene *s, const char *role, uint32_t colour, double x, double y, double size,
                            cbx__anchor anchor, const char *words)
{
    const char *plain = cbx__plain_words(s->arena, words, SIZE_MAX);
    cbx__item *it = add(s, CBX__WORDS, role, (cbx__paint){ colour, CBX__NO_COLOUR, 0, 1, 0 });

    if (!plain) s->full = true;
    it->words = plain ? plain : "";
    it->at = (cbx__xy){ x, y };
    it->size.x = size;
    it->anchor = anchor;
    return it;
}

/* --- text --- */

static bool is_plain(uint32_t c)
{
    return c >= 0x20 && !(c >= 0x7F && c < 0xA0) && c != 0xFFFE && c != 0xFFFF && !(c >= 0xD800 && c < 0xE000);
}

char *cbx__plain_words(cbx_arena *arena, const char *s, size_t max)
{
    static const char replacement[] = "\xEF\xBF\xBD", more[] = "\xE2\x80\xA6";
    size_t left = strlen(s), used, put = 0, characters = 0;
    char *out = left > (SIZE_MAX - 8) / 3 ? NULL : cbx_arena_alloc(arena, left * 3 + 8);

    for (; out && left; s += used, left -= used) {
        uint32_t c = cbx__utf8_decode(s, left, &used);
        bool plain = is_plain(c) && !(c == CBX__UTF8_REPLACEMENT && used == 1);
        if (characters++ == max) {
            memcpy(out + put, more, 3);
            break;
        }
        memcpy(out + put, plain ? s : replacement, plain ? used : 3);
        put += plain ? used : 3;
    }
    return out;
}

/* Helvetica, thousandths of the letters' height, from ' ' to '~' (Adobe's font metrics, 1990). */
static const short widths[] = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584,
};

double cbx__words_width(const char *s, double size)
{
    double sum = 0;

    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c >= ' ' && c <= '~')
            sum += widths[c - ' '];
        else if (c >= 0xC0) /* the first byte of a longer sequence */
            sum += c >= 0xE3 ? 1000 : 600;
    }
    return sum * size / 1000 * 1.18; /* DejaVu Sans, the widest of those that are usual */
}

const char *cbx__fixed(double v, int decimals, bool cut, char buf[CBX_FORMAT_SIZE])
{
    static const double tens[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };
    long long n;

    if (!(fabs(v) * tens[decimals] < 9e17)) return cbx_format_double(v, buf);
    n = llround(v * tens[decimals]);
    int len = snprintf(buf, CBX_FORMAT_SIZE, "%s%lld", n < 0 ? "-" : "", (n < 0 ? -n : n) / (long long)tens[decimals]);
    if (decimals)
        len += snprintf(buf + len, (size_t)(CBX_FORMAT_SIZE - len), ".%0*lld", decimals,
                        (n < 0 ? -n : n) % (long long)tens[decimals]);
    if (!decimals || !cut) return buf;
    while (buf[len - 1] == '0') buf[--len] = 0;
    if (buf[len - 1] == '.') buf[len - 1] = 0;
    return buf;
}
