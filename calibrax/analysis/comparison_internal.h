/* Inside the library: the names of rows and competitors, of comparisons and of rankings. */
#ifndef CALIBRAX_ANALYSIS_COMPARISON_INTERNAL_H
#define CALIBRAX_ANALYSIS_COMPARISON_INTERNAL_H

#include "calibrax/analysis/comparison.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/text.h"

/** Whose a point is: the value of its group tag, else its run. */
const char *cbx__competitor_of(const cbx_point *p, const char *group_tag, const char *run);
/** Adds the row of a point, "point@scenario{other tags}".  @param scratch  for a while.  false: out
 * of memory */
bool cbx__row_put(cbx_text *out, const cbx_point *p, const char *group_tag, const char *competitor, cbx_arena *scratch);
/** Whether a name is one of these; names NULL: every one is. */
bool cbx__among(const char *name, const char *const *names, size_t n);

#endif
