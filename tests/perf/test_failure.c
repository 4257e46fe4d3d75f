/*
 * The table of failures: words are unique and read back, statuses are known ones.
 */
#include "check.h"

#include "calibrax/perf/case/failure.h"

/* Row statuses that a reader of schema v1 knows, and the ones added since (failure.h). */
static const char *const statuses[] = {
    "ok",        "skipped",        "env_failed",      "compile_error", "run_error",
    "oom",       "timeout",        "fidelity_failed", "crashed",       "fidelity_inconclusive",
    "no_answer", "protocol_error", "refused",         "interrupted"
};

TEST(test_words_read_back)
{
    for (int i = 0; i < CBX_FAILURE_COUNT; i++) {
        cbx_failure f = CBX_FAILURE_COUNT;
        assert_true(cbx_failure_parse(cbx_failure_word((cbx_failure)i), &f));
        assert_int_equal(f, i); /* also says that no word stands twice */
    }
}

TEST(test_statuses_are_known)
{
    for (int i = 0; i < CBX_FAILURE_COUNT; i++) {
        bool known = false;
        for (size_t j = 0; j < CBX_LEN(statuses); j++)
            known |= strcmp(statuses[j], cbx_failure_row_status((cbx_failure)i)) == 0;
        if (!known)
            fail_msg("'%s' has the unknown status '%s'", cbx_failure_word((cbx_failure)i),
                     cbx_failure_row_status((cbx_failure)i));
        assert_true(i == CBX_FAILURE_NONE || cbx_failure_reason((cbx_failure)i)[0] != '\0');
        assert_non_null(cbx_failure_remedy((cbx_failure)i));
    }
}

TEST(test_unknown)
{
    cbx_failure f = CBX_FAILURE_TIMEOUT;
    assert_false(cbx_failure_parse("no such word", &f));
    assert_false(cbx_failure_parse("", &f));
    assert_false(cbx_failure_parse(NULL, &f));
    assert_int_equal(f, CBX_FAILURE_TIMEOUT);
    assert_string_equal(cbx_failure_row_status((cbx_failure)999), cbx_failure_row_status(CBX_FAILURE_MACHINE));
}

TESTS()
