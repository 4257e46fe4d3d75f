/*
 * An allocator that counts what lives, checks every old size it receives, and can fail the n-th
 * allocation.
 *
 *     static cbx_status read_it(cbx_ctx *ctx, void *user) { ...; return st; }
 *     cbx_test_fail_each(read_it, &state, "cbx_thing_read");
 *
 * runs read_it once for each of its allocations, which fails, and a last time in which none does: a
 * failure must come out as CBX_ENOMEM, and no run may leave memory behind.
 */
#ifndef CALIBRAX_TESTS_SUPPORT_FAIL_ALLOC_H
#define CALIBRAX_TESTS_SUPPORT_FAIL_ALLOC_H

#include <pthread.h>
#include <stdbool.h>

#include "calibrax/base/ctx.h"

/** Thread-safe; stays where it is while objects live that were made with it.  Read the counters
 * when no thread allocates. */
typedef struct cbx_test_alloc {
    cbx_allocator al;  /* what to hand to the code under test */
    size_t live_bytes; /* allocated and not yet freed */
    size_t live_blocks;
    size_t peak_bytes;
    size_t calls;       /* requests for memory so far, growing and shrinking included */
    size_t fail_at;     /* number of the call that fails, counted from 1; 0: none */
    bool fail_after;    /* all calls behind that one fail, too */
    size_t failures;    /* how many failed */
    size_t wrong_sizes; /* old sizes that were not the block's */
    pthread_mutex_t lock;
} cbx_test_alloc;

void cbx_test_alloc_init(cbx_test_alloc *t);
/** A context that takes its memory from t. */
cbx_ctx *cbx_test_ctx(cbx_test_alloc *t);
/** Fails the running test if anything lives or an old size was wrong. */
void cbx_test_alloc_check(const cbx_test_alloc *t, const char *why);

typedef cbx_status (*cbx_test_fn)(cbx_ctx *ctx, void *user);
/** See above.  In builds without AddressSanitizer fn runs once, and nothing fails.  @return the
 * number of fn's allocations */
size_t cbx_test_fail_each(cbx_test_fn fn, void *user, const char *why);

/** A new empty folder below TMPDIR (or /tmp), and its removal with all that is in it. */
char *cbx_test_folder(char path[64]);
void cbx_test_folder_remove(const char *path);

#endif
