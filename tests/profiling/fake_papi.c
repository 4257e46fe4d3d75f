/*
 * A library that plays PAPI; CBX_FAKE_PAPI chooses what it is:
 *
 *   present  counts double and single precision; the default
 *   one      only PAPI_FP_OPS
 *   none     knows no event
 *   other    of a version that is not supported
 *   broken   counters cannot be read
 *
 * fake_papi_retire counts operations; they are seen while a set runs.
 */
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum { OK = 0, INVALID = -1, SYSTEM = -3, NO_EVENT = -7, NULL_SET = -1 };

static int nevents, running, sets;
static long long retired[2];

static int is(const char *part)
{
    const char *now = getenv("CBX_FAKE_PAPI");
    return strcmp(now ? now : "present", part) == 0;
}

API void fake_papi_retire(long long dp, long long sp);
API int fake_papi_sets(void);
API int PAPI_library_init(int version);
API int PAPI_create_eventset(int *set);
API int PAPI_add_named_event(int set, const char *event);
API int PAPI_start(int set);
API int PAPI_read(int set, long long *values);
API int PAPI_stop(int set, long long *values);
API int PAPI_cleanup_eventset(int set);
API int PAPI_destroy_eventset(int *set);
API char *PAPI_strerror(int fault);

void fake_papi_retire(long long dp, long long sp)
{
    if (!running) return;
    retired[0] += dp;
    retired[1] += sp;
}

int fake_papi_sets(void) { return sets; }
int PAPI_library_init(int version) { return version == (is("other") ? 0x09000000 : 0x07010000) ? version : INVALID; }

int PAPI_create_eventset(int *set)
{
    if (*set != NULL_SET) return INVALID;
    *set = 5;
    sets++;
    nevents = 0;
    return OK;
}

int PAPI_add_named_event(int set, const char *event)
{
    int whole = strcmp(event, "PAPI_FP_OPS") == 0;
    if (set != 5) return INVALID;
    if (is("none") || (is("one") && !whole)) return NO_EVENT;
    nevents++;
    return OK;
}

int PAPI_start(int set)
{
    if (set != 5) return INVALID;
    running = 1;
    retired[0] = retired[1] = 0;
    return OK;
}

int PAPI_read(int set, long long *values)
{
    if (set != 5 || !running) return INVALID;
    if (is("broken")) return SYSTEM;
    values[0] = nevents == 2 ? retired[0] : retired[0] + retired[1];
    if (nevents == 2) values[1] = retired[1];
    return OK;
}

int PAPI_stop(int set, long long *values)
{
    running = 0;
    return PAPI_read(set, values) == SYSTEM ? SYSTEM : OK;
}

int PAPI_cleanup_eventset(int set) { return set == 5 ? OK : INVALID; }

int PAPI_destroy_eventset(int *set)
{
    *set = NULL_SET;
    sets--;
    return OK;
}

char *PAPI_strerror(int fault)
{
    static char words[] = "Event does not exist", other[] = "A system/C library call failed";
    return fault == NO_EVENT ? words : other;
}
