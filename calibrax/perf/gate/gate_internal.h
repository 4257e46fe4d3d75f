/*
 * A gate at work: match.c finds the rows of two tables that belong together, metrics.c says what of a pair is compared, gate.c makes runs of
 * them for the engine.
 */
#ifndef CALIBRAX_PERF_GATE_GATE_INTERNAL_H
#define CALIBRAX_PERF_GATE_GATE_INTERNAL_H

#include "calibrax/base/arena.h"
#include "calibrax/perf/gate/gate.h"

typedef struct cbx__gate_key {
    const char *key; /* with or without the machine */
    const cbx_row *row, *match;
    size_t order;
} cbx__gate_key;

typedef struct cbx__gate_table {
    cbx__gate_key *all; /* by key; one each */
    size_t n;
} cbx__gate_table;

typedef struct cbx__gate {
    cbx_ctx *ctx;
    const cbx_row_gate_opts *opts;
    cbx_arena arena;
    cbx__gate_table base, now;
    cbx_row_gate_facts facts;
    bool machines_apart; /* no key in both, but there would be if machines did not count */
} cbx__gate;

#define CBX__GATE_METRICS 9

extern const cbx_metric_def cbx__gate_defs[CBX__GATE_METRICS];

cbx_status cbx__gate_no_memory(cbx_err *err);
/* "" where the row does not say. */
const char *cbx__gate_machine(const cbx_row *row);
/* Fills both tables, each row with its match. */
cbx_status cbx__gate_match(cbx__gate *g, const cbx_rows *base, const cbx_rows *now, cbx_err *err);
/* One row of a pair (its other half decides what is compared); other NULL: the key stands in one table only.
 * @param out  CBX__GATE_METRICS elements  @return how many */
size_t cbx__gate_metrics(const cbx__gate *g, const cbx_row *row, const cbx_row *other, cbx_named_metric *out);

#endif
