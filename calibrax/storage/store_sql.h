/*
 * Inside storage: a query of the store as SQL, and what its files read answers with.
 */
#ifndef CALIBRAX_STORAGE_STORE_SQL_H
#define CALIBRAX_STORAGE_STORE_SQL_H

#include "calibrax/base/text.h"
#include "calibrax/storage/store_index.h"

#define CBX__BINDS_MAX 64

/** Conditions and, in the same order, the values of their ?. */
typedef struct cbx__sql {
    cbx_text text;
    cbx_arena *arena;
    struct {
        const char *text; /* NULL: number */
        int64_t number;
    } binds[CBX__BINDS_MAX];
    size_t nbinds;
    bool too_many;
} cbx__sql;

void cbx__sql_init(cbx__sql *q, cbx_arena *arena, const char *select);
/** Conditions on the run, whose table is r; there is a WHERE before them. */
void cbx__sql_where_run(cbx__sql *q, const cbx_store_query *w);
/** Conditions on the series, s; there is a condition before them. */
void cbx__sql_where_series(cbx__sql *q, const cbx_store_query *w);
/** True if a query asks anything of series. */
bool cbx__sql_asks_series(const cbx_store_query *w);
/** Ends q, whatever the outcome. */
cbx_status cbx__sql_open(cbx__sql *q, cbx__index *ix, cbx__select **out, cbx_err *err);

/** Room for one more of n items in the arena; what it returns takes the place of items.  NULL: out of memory. */
void *cbx__grown(cbx_arena *arena, void *items, size_t n, size_t *capacity, size_t size);
/** Text in the arena, the same pointer for the same text as the row before: most rows of a list share theirs. */
bool cbx__keep_text(cbx_arena *arena, const char *text, const char *before, const char **out);

#endif
