/* The head of every page. */
#include "calibrax/pages/page_head.h"

void cbx__pages_put_policy(cbx_text *out, const char *script_hash)
{
    cbx_text_printf(out, "default-src 'none'; style-src '%s'; ", cbx__pages_style_hash);
    if (script_hash) cbx_text_printf(out, "script-src '%s'; ", script_hash);
    cbx_text_puts(out, "base-uri 'none'; form-action 'self'");
}

void cbx__pages_put_head(cbx_text *out, const char *script_hash)
{
    cbx_text_puts(out, "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n"
                       "<meta http-equiv=Content-Security-Policy content=\"");
    cbx__pages_put_policy(out, script_hash);
    cbx_text_puts(out, "\">\n<meta name=viewport content=\"width=device-width,initial-scale=1\">\n<title>");
}

void cbx__pages_put_lines(cbx_text *out, const char *element, const char *const *lines)
{
    cbx_text_printf(out, "<%s>", element); /* a line end here would be part of what is hashed */
    for (; *lines; lines++) cbx_text_puts(out, *lines);
    cbx_text_printf(out, "</%s>", element);
}

void cbx__pages_put_style(cbx_text *out, const char *skip)
{
    cbx_text_puts(out, "</title>\n");
    cbx__pages_put_lines(out, "style", cbx__pages_style);
    cbx_text_printf(out, "</head>\n<body>\n<a class=skip href=#main>%s</a>\n", skip);
}
