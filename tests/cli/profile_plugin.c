/* Functions to profile: one that works on what its set-up made, one that does nothing. */
#include <stdlib.h>

#define API __attribute__((visibility("default")))

API void *add_up_setup(void);
API void add_up(void *state);
API void add_up_teardown(void *state);
API void nothing(void *state);

void *add_up_setup(void) { return calloc(1, sizeof(double)); }

void add_up(void *state)
{
    volatile double *x = state;
    for (int i = 0; i < 1000; i++) *x += 1.0;
}

void add_up_teardown(void *state) { free(state); }

void nothing(void *state) { (void)state; }
