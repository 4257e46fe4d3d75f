/* Option structs of older, equal and later versions, and checks of their members. */
#include "check.h"

#include <math.h>
#include <stdint.h>

#include "calibrax/base/options.h"

typedef struct now {
    uint32_t struct_size;
    double a;
    int b; /* came later */
} now;
typedef struct before {
    uint32_t struct_size;
    double a;
} before;

TEST(versions)
{
    static const struct {
        uint32_t size;
        cbx_status st;
        double a;
        int b;
        const char *why;
    } cases[] = {
        { sizeof(now), CBX_OK, 7, 8, "this version" },
        { sizeof(before), CBX_OK, 7, 2, "a version without b, which keeps its default" },
        { sizeof(uint32_t), CBX_OK, 1, 2, "a version without members" },
        { sizeof(now) + 8, CBX_EINVAL, 1, 2, "a later version" },
        { 0, CBX_EINVAL, 1, 2, "not initialized" },
    };
    cbx_err err = CBX_ERR_INIT;
    now full = { 0, 1, 2 };

    CHECK_OK(cbx_take_options(&full, sizeof full, NULL, "now", &err), &err, "defaults");
    CHECK(full.struct_size == sizeof full && full.a == 1 && full.b == 2, "defaults");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const now given = { cases[i].size, 7, 8 };
        full = (now){ sizeof full, 1, 2 };
        CHECK_STATUS(cbx_take_options(&full, sizeof full, &given, "now", &err), cases[i].st, cases[i].why);
        CHECK(full.struct_size == sizeof full && full.a == cases[i].a && full.b == cases[i].b, cases[i].why);
        if (cases[i].st) CHECK(strstr(err.message, "of now must be at most 24"), err.message);
    }
}

TEST(ranges)
{
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_check_range("runs", 1, 1, 5, &err), &err, "the lower end");
    CHECK_OK(cbx_check_range("runs", 5, 1, 5, &err), &err, "the upper end");
    CHECK_STATUS(cbx_check_range("runs", 0, 1, 65536, &err), CBX_EINVAL, "below");
    CHECK_STR(err.message, "'runs' must be between 1 and 65536, got 0", "the sentence");
    CHECK_STATUS(cbx_check_range("budget_s", NAN, 0, INFINITY, &err), CBX_EINVAL, "not a number");
    CHECK_STR(err.message, "'budget_s' must be at least 0, got nan", "the sentence");
    CHECK_OK(cbx_check_level("level", 0.5, &err), &err, "inside");
    CHECK_STATUS(cbx_check_level("level", 0, &err), CBX_EINVAL, "the lower end");
    CHECK_STATUS(cbx_check_level("level", 1, &err), CBX_EINVAL, "the upper end");
    CHECK_STR(err.message, "'level' must be greater than 0 and less than 1, got 1", "the sentence");
}

TESTS()
