/* The one wrapper of libnifticdf (CDFLIB in C).  It keeps its results in static variables, so one
 * lock guards it.
 *
 * Only the two kernels are called: bratio (Didonato & Morris, ACM TOMS 18 (1992) 360-373, algorithm
 * 708) and gratio (ACM TOMS 13 (1987) 318-319, algorithm 654).  Against SciPy 1.17 over parameters
 * 0.1 to 10^4 they differ by at most 2e-11 down to tails of 1e-250.  CDFLIB's own inverses stop at
 * eight digits and are not used. */
#include "calibrax/statistics/special.h"

#include <nifti/nifticdf.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

cbx__tails cbx__beta_tails(double a, double b, double x, double y)
{
    cbx__tails t = { 0, 1 };
    int fault = 0;

    if (x <= 0) return t;
    if (y <= 0) return (cbx__tails){ 1, 0 };
    pthread_mutex_lock(&lock);
    bratio(&a, &b, &x, &y, &t.lower, &t.upper, &fault);
    pthread_mutex_unlock(&lock);
    return t;
}

cbx__tails cbx__gamma_tails(double a, double x)
{
    cbx__tails t = { 0, 1 };
    const int all_digits = 0;

    if (x <= 0) return t;
    pthread_mutex_lock(&lock);
    gratio(&a, &x, &t.lower, &t.upper, &all_digits);
    pthread_mutex_unlock(&lock);
    return t;
}
