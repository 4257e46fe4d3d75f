/*
 * One conversation with a worker: start it, ask, wait with everything watched, know the cause when
 * it fails.
 */
#ifndef CALIBRAX_PERF_LAUNCH_TALK_H
#define CALIBRAX_PERF_LAUNCH_TALK_H

#include "calibrax/perf/launch/child.h"
#include "calibrax/perf/launch/memory_group.h"
#include "calibrax/perf/launch/waits.h"
#include "calibrax/perf/launch/wire.h"

/* Of a worker, itself included: seen now and then while it is waited for, and before `bye`. */
#define CBX__TALK_MAX_PROCESSES 256

typedef struct cbx__talk_opts {
    double timeout_s;            /* for every answer; 0: 3600 */
    uint64_t memory_limit_bytes; /* of the resident memory of the worker and its descendants; 0: none */
    const int *files;            /* that the worker writes ... */
    const uint64_t *file_max;    /* ... and the bytes that each may hold */
    size_t nfiles;
    const cbx_stop_flag *stop; /* may be NULL */
    double grace_s;            /* out of time or stopped, from SIGTERM to SIGKILL; 0: it is killed at once */
    bool python;               /* what is missing if the program is missing: an interpreter, not the worker */
} cbx__talk_opts;

typedef struct cbx__talk {
    cbx_allocator al;
    cbx__talk_opts opts;
    cbx__process child;
    const char *phase;   /* set by the caller before it asks */
    cbx_failure failure; /* the first one; nothing is asked after it */
    char message[CBX_ERR_MESSAGE_SIZE];
    /* of the last exchange: just before the send, just after the read that completed the answer */
    uint64_t sent_ns, received_ns;
    uint64_t waited_ns;      /* time this process had nothing to do but wait for the worker */
    uint64_t watched_ns;     /* when the worker's memory and files were looked at last */
    uint64_t group_ns;       /* when its descendants' memory is to be looked at next */
    uint64_t tree_peak;      /* [bytes] the most that worker and descendants were seen to hold */
    uint64_t oom_kills;      /* of the kernel, before the worker started */
    cbx__memory_group group; /* of the worker, if its caller made one; closed with the talk */
    cbx__waits_watch watch;
    cbx__waits waits;   /* of the last exchange */
    cbx_failure ending; /* why the worker was asked to end, if it was: TIMEOUT, INTERRUPTED */
    uint64_t ending_ns; /* since when */
    bool no_memory;     /* the failure is the parent's own */
    bool launched;      /* the launcher has done its part: what comes now is the worker's */
    cbx__wire wire;
} cbx__talk;

/* Starts the worker.  @param out  freed with cbx__talk_close  @return CBX_OK; CBX_ENOENT (no
 * launcher); CBX_EIO, CBX_ENOMEM */
cbx_status cbx__talk_open(const cbx_allocator *al, const cbx__child_opts *child, const cbx__talk_opts *opts,
                          cbx__talk **out, cbx_err *err);
/*
 * Sends a message (NULL: only waits) and takes the answer, whose op must be `op`.
 * @param answer  the caller's to unref; may be NULL
 * @return false on any failure: see failure and message, and the whole process group has been
 *   killed
 */
bool cbx__talk_ask(cbx__talk *t, const cbx_json *message, const int *fds, size_t nfds, const char *op,
                   cbx_json **answer);
/* As above for a message that is written already, newline included: nothing is allocated between
 * the clock readings. */
bool cbx__talk_ask_text(cbx__talk *t, const char *text, size_t len, const int *fds, size_t nfds, const char *op,
                        cbx_json **answer);
/* The launcher's own line, before anything of the worker runs: what it has in force.  Asked for
 * once, before anything else.
 * @return false: the launcher could not, or is of another version; see `failure` and `message` */
bool cbx__talk_launched(cbx__talk *t, cbx_sandbox_facts *out);
/* The same, then the worker's first message, of the protocol of this program.  @param hello  the caller's to
 * unref; NULL: not needed */
bool cbx__talk_hello(cbx__talk *t, cbx_sandbox_facts *out, cbx_json **hello);
/* Waits for the one line of a launcher that measures, valid until the talk is closed; NULL on any
 * failure. */
const char *cbx__talk_wait_report(cbx__talk *t);
/* Waits for the worker's end after `bye`; false (failure EXITED or CRASHED) if it did not exit with
 * 0. */
bool cbx__talk_end(cbx__talk *t);
/* Records a failure unless there is one already. */
void cbx__talk_fail(cbx__talk *t, cbx_failure failure, const char *fmt, ...) CBX_PRINTF(3, 4);
/* Kills what still runs, reaps it: child.status and child.usage are valid afterwards. */
void cbx__talk_stop(cbx__talk *t);
/* Stops and frees; NULL is fine. */
void cbx__talk_close(cbx__talk *t);

#endif
