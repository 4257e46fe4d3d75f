/* UTF-8, and which of its characters a line of text shows. */
#include "calibrax/base/utf8.h"

#include <string.h>

#include "calibrax/base/text.h"

uint32_t cbx__utf8_decode(const char *s, size_t left, size_t *used)
{
    static const uint32_t min[] = { 0, 0, 0x80, 0x800, 0x10000 };
    unsigned char lead = (unsigned char)s[0];
    size_t n = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
    *used = 1;
    if (lead < 0x80) return lead;
    if (n == 1 || lead >= 0xF5 || n > left) return CBX__UTF8_REPLACEMENT;
    uint32_t code = lead & (0xFFu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)s[i] & 0xC0) != 0x80) return CBX__UTF8_REPLACEMENT;
        code = code << 6 | ((unsigned char)s[i] & 0x3Fu);
    }
    if (code < min[n] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return CBX__UTF8_REPLACEMENT;
    *used = n;
    return code;
}

size_t cbx_text_char(const char *s, bool *control)
{
    size_t used = 1;
    uint32_t code = (unsigned char)*s;

    if (!*s) return 0;
    if (code >= 0x80) code = cbx__utf8_decode(s, strnlen(s, 4), &used);
    *control = code < ' ' || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
               (code == CBX__UTF8_REPLACEMENT && used == 1);
    return used;
}

void cbx_text_blank(char *s)
{
    bool control;

    for (size_t n; (n = cbx_text_char(s, &control)) != 0; s += n)
        if (control) memset(s, ' ', n);
}
