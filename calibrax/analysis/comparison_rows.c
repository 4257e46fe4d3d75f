/* What a measured thing is called, and whose it is: the rows and competitors of comparisons and of
 * rankings. */
#include <stdlib.h>
#include <string.h>

#include "calibrax/analysis/comparison_parts.h"

const char *cbx__competitor_of(const cbx_point *p, const char *group_tag, const char *run)
{
    const char *tag = group_tag ? cbx_point_tag(p, group_tag) : NULL;

    return tag ? tag : run;
}

bool cbx__row_put(cbx_text *out, const cbx_point *p, const char *group_tag, const char *competitor, cbx_arena *scratch)
{
    cbx_tag *tags = cbx_arena_calloc(scratch, p->ntags, sizeof *tags);
    size_t n = 0;

    if (!tags) return false;
    for (size_t i = 0; i < p->ntags; i++)
        if (!group_tag || strcmp(p->tags[i].key, group_tag) != 0) tags[n++] = p->tags[i];
    if (n > 1) qsort(tags, n, sizeof *tags, cbx_tag_compare);
    cbx_text_puts(out, n < p->ntags && !strcmp(p->name, competitor) ? "*" : p->name);
    cbx_text_putc(out, '@');
    cbx_text_puts(out, p->scenario);
    cbx_text_putc(out, '{');
    for (size_t i = 0; i < n; i++) {
        if (i) cbx_text_putc(out, ',');
        cbx_text_puts(out, tags[i].key);
        cbx_text_putc(out, '=');
        cbx_text_puts(out, tags[i].value);
    }
    cbx_text_putc(out, '}');
    return out->status == CBX_OK;
}

bool cbx__among(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; names && i < n; i++)
        if (!strcmp(names[i], name)) return true;
    return !names;
}
