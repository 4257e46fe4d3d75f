/*
 * calibrax-benchmark: runs one benchmark of a shared object for a parent that asks on standard input and reads the answer from
 * descriptor 3 (calibrax/perf/launch/conversation.c).  Started by `calibrax run`; of no use by hand.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "calibrax/perf/sweep/benchmarks.h"

#define ANSWER_FD 3

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

int main(void)
{
    struct sigaction action = { .sa_handler = stop };
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;
    int answer = fcntl(ANSWER_FD, F_DUPFD_CLOEXEC, ANSWER_FD + 1);

    if (answer < 0) {
        fputs("calibrax-benchmark: descriptor 3 is not open: calibrax run starts this program\n", stderr);
        return 2;
    }
    close(ANSWER_FD); /* what a benchmark starts does not hold it */
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    st = cbx_ctx_create(NULL, &ctx, &err);
    if (!st) st = cbx_benchmark_worker(ctx, STDIN_FILENO, answer, &stopped, &err);
    cbx_ctx_free(ctx);
    if (st) fprintf(stderr, "calibrax-benchmark: %s\n", err.message);
    return st ? 2 : 0;
}
