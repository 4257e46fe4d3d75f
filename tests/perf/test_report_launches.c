/* What reports say of the launches of rows. */
#include "check.h"

#include <string.h>

#include "calibrax/perf/report/view.h"

/* Notes of the launches of rows, and what is not noted. */
TEST(test_stories_of_launches)
{
    static const cbx_row_mode modes[] = { { 1e-3, 0.9e-3, 1.1e-3, 0.75, 9 }, { 8e-3, 7e-3, 9e-3, 0.25, 3 } };
    static const struct {
        const char *provenance, *wanted;
        size_t nmodes;
        uint64_t flat, warm_up, slowdown, none, epochs, dropped;
    } cases[] = {
        { "{}", "", 0, 0, 0, 0, 0, 0, 0 },
        { "{\"schedule\":{\"stopped_because\":\"asked\"},\"health\":{\"contended_launches\":0}}", "", 1, 11, 0, 0, 0,
          110, 0 },
        { "{}", "2 modes: 1.00 ms (75\302\240%), 8.00 ms (25\302\240%)", 2, 0, 0, 0, 0, 0, 0 },
        { "{}",
          "2 launches warmed up; 1 launch slowed down; 12 of 70 epochs before the steady state are left out; 1 launch "
          "never became steady",
          0, 3, 2, 1, 1, 70, 12 },
        { "{\"schedule\":{\"stopped_because\":\"budget\",\"pilot\":{\"precision\":0.01}}}",
          "the budget ended its launches before an interval of 1 %", 0, 0, 0, 0, 0, 0, 0 },
        { "{\"schedule\":{\"stopped_because\":\"precision\"}}", "", 0, 0, 0, 0, 0, 0, 0 },
        { "{\"layout_share\":{\"environment\":0.1,\"heap\":0.5},\"health\":{\"contended_launches\":2}}",
          "50\302\240% of the variance of launches follows the offset of the heap; 2 launches waited for CPUs that "
          "others used",
          0, 0, 0, 0, 0, 0, 0 },
        { "{\"layout_share\":[1],\"schedule\":\"x\",\"health\":null}", "", 0, 0, 0, 0, 0, 0, 0 },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_err err = CBX_ERR_INIT;
        cbx_json *json = NULL;
        cbx_arena arena;
        cbx_row row;
        cbx_row_init(&row);
        cbx_arena_init(&arena, cbx_allocator_default());
        assert_int_equal(cbx_json_parse(cases[i].provenance, strlen(cases[i].provenance), "test", &json, &err), CBX_OK);
        row.provenance = json;
        row.modes = modes;
        row.nmodes = cases[i].nmodes;
        row.steady_state.flat = cases[i].flat;
        row.steady_state.warm_up = cases[i].warm_up;
        row.steady_state.slowdown = cases[i].slowdown;
        row.steady_state.none = cases[i].none;
        row.steady_state.epochs = cases[i].epochs;
        row.steady_state.dropped = cases[i].dropped;
        assert_string_equal(cbx__report_launches(&arena, &row), cases[i].wanted);
        cbx_json_unref(json);
        cbx_arena_clear(&arena);
    }
}

/* What is true of several rows of a group is said once. */
TEST(test_stories_that_are_alike)
{
    static const char *const wanted[] = { "a, c", "b", NULL, NULL };
    static const char *const names[] = { "a", "b", "c", "d" };
    static const uint64_t slowdowns[] = { 1, 2, 1, 0 };
    cbx_row rows[CBX_LEN(names)];
    cbx__report_item items[CBX_LEN(names)] = { { .row = NULL } };
    const cbx__report_group g = { .items = items, .count = CBX_LEN(items) };
    cbx_arena arena;
    cbx_arena_init(&arena, cbx_allocator_default());
    for (size_t i = 0; i < CBX_LEN(rows); i++) {
        cbx_row_init(&rows[i]);
        rows[i].baseline = names[i];
        rows[i].has_metrics = true;
        rows[i].steady_state.slowdown = slowdowns[i];
        items[i].row = &rows[i];
        items[i].group = &g;
    }
    for (size_t i = 0; i < CBX_LEN(rows); i++) {
        const char *words, *found = cbx__report_alike(&arena, &items[i], &words);
        assert_true(!found == !wanted[i]);
        if (found) assert_string_equal(found, wanted[i]);
    }
    cbx_arena_clear(&arena);
}

TESTS()
