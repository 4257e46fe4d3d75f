/*
 * What another library makes of a JSON text: json-c (MIT) in its strict mode, behind a scan for
 * what it lets pass all the same.
 */
#ifndef CALIBRAX_TESTS_SUPPORT_JSON_ORACLE_H
#define CALIBRAX_TESTS_SUPPORT_JSON_ORACLE_H

#include "calibrax/base/json.h"

/**
 * Whether it takes or refuses the text as we did, and reads the same: kinds, bits of numbers, bytes
 * of strings, order of members.
 * @param ours  NULL, and accepted false: we refused it
 * @return NULL; else what differs
 */
const char *cbx_test_json_differs(const char *text, size_t len, bool accepted, const cbx_json *ours);

#endif
