/* The parts that pages are made of. */
#include "calibrax/pages/page_parts.h"

#include <string.h>

#include "calibrax/base/together.h"

/* An opening tag: element may have attributes behind its name. */
static void open_tag(cbx_text *out, const char *element, const char *class)
{
    const char *quote = class && strchr(class, ' ') ? "\"" : "";

    cbx_text_printf(out, "<%s", element);
    if (class && *class) cbx_text_printf(out, " class=%s%s%s", quote, class, quote);
    cbx_text_putc(out, '>');
}

void cbx__pages_put(cbx_text *out, const char *element, const char *class, const char *words)
{
    open_tag(out, element, class);
    cbx_text_put_html(out, words);
    cbx_text_printf(out, "</%s>\n", element);
}

void cbx__pages_put_link(cbx_text *out, const char *href, const char *attribute, const char *words)
{
    if (href) {
        cbx__put_mixed(out, cbx_text_put_html, "<a href=\"", href, "\"", NULL);
        cbx_text_printf(out, "%s%s>", attribute ? " " : "", attribute ? attribute : "");
    }
    cbx_text_put_html(out, words);
    if (href) cbx_text_puts(out, "</a>");
}

void cbx__pages_put_nav(cbx_text *out, const char *class, const char *label, const cbx__page_link *links, size_t n)
{
    cbx_text_printf(out, "<nav class=%s aria-label=\"%s\"><ul>", class, label);
    for (size_t i = 0; i < n; i++) {
        cbx_text_puts(out, "<li>");
        if (links[i].href)
            cbx__pages_put_link(out, links[i].href, links[i].attribute, links[i].words);
        else
            cbx_text_printf(out, "<span %s>%s</span>", links[i].attribute, links[i].words);
    }
    cbx_text_puts(out, "</ul></nav>\n");
}

void cbx__pages_put_fact(cbx_text *out, const char *name, const char *href, const char *value)
{
    cbx__put_mixed(out, cbx_text_put_html, "<div><dt>", name, "<dd>", NULL);
    cbx__pages_put_link(out, href, NULL, value);
    cbx_text_puts(out, "</div>");
}

void cbx__pages_begin_table(cbx_text *out, const char *class, const char *label, const cbx__column *columns, size_t n)
{
    cbx__put_mixed(out, cbx_text_put_html, "<div class=scroll tabindex=0 role=region aria-label=\"", label, "\">",
                   NULL);
    open_tag(out, "table", class);
    cbx__put_mixed(out, cbx_text_put_html, "<caption>", label, "</caption><thead><tr>", NULL);
    for (size_t i = 0; i < n; i++) {
        if (!columns[i].title) continue;
        open_tag(out, "th scope=col", columns[i].class);
        cbx_text_put_html(out, columns[i].title);
    }
    if (n) cbx_text_puts(out, "<tbody>\n");
}

void cbx__pages_begin_row(cbx_text *out, const char *class) { open_tag(out, "tr", class); }

void cbx__pages_begin_cell(cbx_text *out, const char *class, bool head)
{
    open_tag(out, head ? "th scope=row" : "td", head ? NULL : class);
}
