/*
 * What most tests stand in: a context whose memory is counted, and a folder of its own.
 * cmocka_unit_test_setup_teardown(test, cbx_test_place_open, cbx_test_place_close) gives each test
 * one, as *state.
 */
#ifndef CALIBRAX_TESTS_SUPPORT_PLACE_H
#define CALIBRAX_TESTS_SUPPORT_PLACE_H

#include "fail_alloc.h"

typedef struct cbx_test_place {
    cbx_test_alloc alloc;
    cbx_ctx *ctx;
    char folder[64];
} cbx_test_place;

int cbx_test_place_open(void **state);
/** Fails the test if memory is left. */
int cbx_test_place_close(void **state);

#endif
