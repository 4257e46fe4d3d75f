/*
 * How far the sweep is.  A terminal gets one line that is redrawn, with the time left; anything
 * else gets a line a point, and one every ten seconds in between.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "programs/nperf/nperf.h"

void progress_init(progress *p)
{
    memset(p, 0, sizeof(*p));
    p->terminal = isatty(STDERR_FILENO) == 1;
}

static void clear_line(progress *p)
{
    if (p->open) fputs("\r\033[K", stderr);
    p->open = false;
}

void progress_end(progress *p)
{
    clear_line(p);
    fflush(stderr);
}

static void show_launch(progress *p, const cbx_measure_progress *e)
{
    char left[40];
    long seconds = lround(e->eta_s);
    if (isnan(e->eta_s))
        left[0] = 0;
    else if (seconds >= 3600)
        snprintf(left, sizeof left, ", %ld:%02ld:%02ld left", seconds / 3600, seconds / 60 % 60, seconds % 60);
    else
        snprintf(left, sizeof left, ", %ld:%02ld left", seconds / 60, seconds % 60);
    if (p->terminal) {
        clear_line(p);
        fprintf(stderr, "[%zu/%zu%s] %s %s", e->launches_done, e->launches_total, left, p->point, e->text);
        p->open = true;
    } else if (e->elapsed_s - p->last_s >= 10) {
        fprintf(stderr, "%zu of %zu launches%s\n", e->launches_done, e->launches_total, left);
        p->last_s = e->elapsed_s;
    }
    fflush(stderr);
}

void progress_show(void *user, const cbx_measure_progress *e)
{
    progress *p = user;

    switch (e->event) {
    case CBX_MEASURE_NOTE:
        clear_line(p);
        fprintf(stderr, "note: %s\n", e->text);
        break;
    case CBX_MEASURE_POINT:
        snprintf(p->point, sizeof(p->point), "%s", e->text);
        if (!p->terminal) fprintf(stderr, "measuring %s\n", e->text);
        break;
    case CBX_MEASURE_LAUNCH: show_launch(p, e); break;
    case CBX_MEASURE_DONE:
        clear_line(p);
        if (!p->terminal) fprintf(stderr, "done %s\n", e->text);
        break;
    }
}
