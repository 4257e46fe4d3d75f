/* A tendency as JSON and as a line. */
#include "programs/calibrax/tendency.h"

#include <math.h>
#include <string.h>

#include "programs/calibrax/select.h"
#include "programs/common/terminal.h"

cbx_json *tendency_json(const cbx_tendency *t, const char *word)
{
    cbx_json *o = cbx_json_new_object();

    cbx_json_set_string(o, "word", word);
    cbx_json_set_string(o, "kind", cbx_tendency_name(t->kind, CBX_DIRECTION_INFO));
    cbx_json_set_double(o, "slope", t->slope.value);
    cbx_json_set_double(o, "lower", t->slope.lower);
    cbx_json_set_double(o, "upper", t->slope.upper);
    cbx_json_set_double(o, "level", t->slope.level);
    cbx_json_set_int(o, "values", (int64_t)t->n);
    return o;
}

void print_tendency(const cbx_tendency *t, const char *word)
{
    char value[CBX_FORMAT_SIZE], lower[CBX_FORMAT_SIZE], upper[CBX_FORMAT_SIZE];
    paint how = !strcmp(word, "improving") ? PAINT_GOOD : !strcmp(word, "degrading") ? PAINT_BAD : PAINT_STRONG;

    printf("Tendency: ");
    print_painted(how, "%s", word);
    if (!isnan(t->slope.value))
        printf(", %s [%s, %s] a value", format_percent(t->slope.value, value), format_percent(t->slope.lower, lower),
               format_percent(t->slope.upper, upper));
    printf("\n");
}
