/* What the library asks of an algebra besides its descriptor: a row each, from the files of
 * algebra.h. */
#ifndef CALIBRAX_ARRAY_KERNELS_TRAITS_H
#define CALIBRAX_ARRAY_KERNELS_TRAITS_H

#include <stdbool.h>

/** What folds messages along edges (calibrax/array/ell.h) as the algebra's update does. */
typedef enum cbx__messages {
    CBX__MESSAGES_NONE,
    CBX__MESSAGES_ADD,
    CBX__MESSAGES_MAX,
    CBX__MESSAGES_MIN
} cbx__messages;

/** How derivatives of dense products are made; those of ELL products go by partial derivatives, at
 * the first optimum or at every term. */
typedef enum cbx__derivative {
    CBX__NO_DERIVATIVE,
    CBX__BY_PRODUCTS,        /* real */
    CBX__BY_SCALED_PRODUCTS, /* log */
    CBX__BY_DIFFERENCES,     /* euclidean */
    CBX__BY_OPTIMUM,         /* the first term that is c takes all, times its partial derivatives */
    CBX__BY_TERMS            /* partial derivatives of every term */
} cbx__derivative;

typedef struct cbx__traits {
    bool of_bool;     /* elements are bool; else float32 or float64 */
    bool sums_by_fma; /* terms are sums, and the second step of a tile makes them by multiplication */
    bool has_raw;     /* there is a fold without finalize; D is merged with it by addition */
    cbx__messages messages;
    cbx__derivative derivative;
    int flop;    /* of a term and its update */
    bool on_gpu; /* array/cuda has kernels for it, which tell algebras by their steps (docs/explanation/kernels.md) */
} cbx__traits;

/* By the number of a built-in algebra (cbx_algebra), whose order is that of the list. */
static const cbx__traits cbx__traits_of[] = {
#define CBX_ALGEBRA_TRAITS(id, ...) { __VA_ARGS__ },
#include "calibrax/array/kernels/algebra.h"
};

#endif
