/*
 * The table of failures in its four columns; calibrax/perf/case/failure.h is the one list.
 */
#include "calibrax/perf/case/failure.h"

#include <string.h>

typedef struct failure_row {
    const char *word, *row_status, *reason, *remedy;
} failure_row;

static const failure_row failures[] = {
#define FAILURE_ROW(name, word, status, reason, remedy) { word, status, reason, remedy },
    CBX_FAILURE_MAP(FAILURE_ROW)
#undef FAILURE_ROW
};

/* A number outside the list is a machine error: something is wrong, and nothing more is known. */
static const failure_row *row_of(cbx_failure f)
{
    return &failures[(unsigned)f < CBX_FAILURE_COUNT ? f : CBX_FAILURE_MACHINE];
}

const char *cbx_failure_word(cbx_failure f) { return row_of(f)->word; }
const char *cbx_failure_row_status(cbx_failure f) { return row_of(f)->row_status; }
const char *cbx_failure_reason(cbx_failure f) { return row_of(f)->reason; }
const char *cbx_failure_remedy(cbx_failure f) { return row_of(f)->remedy; }

bool cbx_failure_parse(const char *word, cbx_failure *out)
{
    for (size_t i = 0; word && i < CBX_LEN(failures); i++) {
        if (strcmp(failures[i].word, word) == 0) {
            *out = (cbx_failure)i;
            return true;
        }
    }
    return false;
}
