/* A file of tests, which enters itself into the list of its program when that starts (TEST_FILE in
 * check.h, FUZZ_ENTRY in fuzz/fuzz.h). */
#ifndef CALIBRAX_TESTS_SUPPORT_TEST_FILE_H
#define CALIBRAX_TESTS_SUPPORT_TEST_FILE_H

typedef struct cbx_test_file {
    int (*run)(const struct cbx_test_file *file); /* prints TAP; not 0 if a case failed */
    const char *path;                             /* its source, test_NAME.c or fuzz_NAME.c */
    const char *variant;                          /* behind the name; NULL: nothing */
    unsigned seconds;                             /* after which it is stopped and fails; 0: 180 */
    const void *user;
    struct cbx_test_case **cases;                          /* of TEST */
    int (*before)(void **state), (*after)(void **state);   /* all of them */
    int (*setup)(void **state), (*teardown)(void **state); /* each that has none of its own */
    struct cbx_test_file *next;
} cbx_test_file;

void cbx_test_register(cbx_test_file *file);

#endif
