/*
 * Random functions of arrays: the same steps for the same seed, whether carried out or traced.
 */
#ifndef CALIBRAX_TESTS_ARRAY_GRAPHS_RANDOM_H
#define CALIBRAX_TESTS_ARRAY_GRAPHS_RANDOM_H

#include "calibrax/array/fn.h"

enum { GRAPH_INPUTS = 4, GRAPH_OUTPUTS = 3 };

typedef struct graph_trial {
    uint64_t seed;
    unsigned steps; /* operations behind the inputs */
} graph_trial;

/* Of GRAPH_INPUTS operands as graph_inputs makes them; user: a graph_trial. */
cbx_status graph_function(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user);
/* The operands of a trial, the caller's. */
void graph_inputs(cbx_ctx *c, const graph_trial *t, cbx_array *in[GRAPH_INPUTS]);

#endif
