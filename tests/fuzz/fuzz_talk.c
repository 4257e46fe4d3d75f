/*
 * Any bytes as all that a worker, or the launcher before it, ever says to the parent: the lines of
 * PROTOCOL.md, in the order in which they are asked for, or with an odd first byte the report of a
 * launcher that measures.
 *
 * Whatever is said, a conversation either goes on with the answer that was due, or ends with one
 * cause and one sentence for it; and the worker can name no cause that only the parent may.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "calibrax/perf/launch/policy.h"
#include "calibrax/perf/launch/talk.h"
#include "fuzz.h"

#define SAID_MOST 100000 /* that a socket takes without somebody who reads */

static void require(bool good)
{
    if (!good) abort();
}

/* A talk with somebody who has said it all and is gone. */
static cbx__talk *talk_with(const uint8_t *data, size_t size)
{
    cbx__talk *t = cbx_mem_zalloc(cbx_allocator_default(), sizeof *t);
    int ends[2], room = 4 * SAID_MOST;

    require(t && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    t->al = *cbx_allocator_default();
    t->opts.timeout_s = 10;
    t->phase = "spawn";
    t->watch.own = t->watch.worker = -1;
    cbx__process_init(&t->child);
    t->child.channel = ends[0];
    cbx__wire_init(&t->wire, ends[0], false);
    require(send(ends[1], data, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size);
    require(shutdown(ends[1], SHUT_WR) == 0);
    close(ends[1]);
    return t;
}

/* Causes that are the parent's to find. */
static bool is_the_parents(cbx_failure f)
{
    return f == CBX_FAILURE_TIMEOUT || f == CBX_FAILURE_MEMORY_LIMIT || f == CBX_FAILURE_INTERRUPTED ||
           f == CBX_FAILURE_PINNING;
}

static void check_failure(const cbx__talk *t)
{
    require(t->failure != CBX_FAILURE_NONE && t->message[0] && !strchr(t->message, '\n'));
    require(!is_the_parents(t->failure));
}

static void check_answer(const cbx_json *m, const char *op, int i)
{
    char pool[48];
    int found = 0;

    require(!strcmp(cbx_json_get_string(m, "op", ""), op));
    if (i != 1) return;
    if (cbx__policy_too_many(cbx_json_get(cbx_json_get(m, "policy"), "threads"), 2, pool, &found))
        require(found > 2 && memchr(pool, 0, sizeof pool));
}

static void conversation(cbx__talk *t)
{
    static const struct {
        const char *phase, *op;
    } turns[] = {
        { "import", "hello" }, { "load", "loaded" },     { "compile", "compiled" }, { "epoch", "epoch" },
        { "epoch", "epoch" },  { "outputs", "outputs" }, { "bye", "bye" },
    };
    cbx_sandbox_facts facts;
    bool good = cbx__talk_launched(t, &facts);

    for (int i = 0; good && i < (int)CBX_LEN(turns); i++) {
        cbx_json *m = NULL;
        t->phase = turns[i].phase;
        good = cbx__talk_ask(t, NULL, NULL, 0, turns[i].op, &m);
        require(good == (m != NULL));
        if (m) check_answer(m, turns[i].op, i);
        cbx_json_unref(m);
    }
    if (!good) check_failure(t);
}

static void report(cbx__talk *t)
{
    const char *line = cbx__talk_wait_report(t);

    if (line)
        require(t->failure == CBX_FAILURE_NONE && line[0] != '{');
    else
        check_failure(t);
}

FUZZ_ENTRY()
{
    cbx__talk *t;

    if (size < 1 || size > SAID_MOST) return 0;
    t = talk_with(data + 1, size - 1);
    if (data[0] & 1)
        report(t);
    else
        conversation(t);
    cbx__talk_close(t);
    return 0;
}
