/*
 * Any bytes as all that the parent ever says to the native worker: lines of PROTOCOL.md, with an
 * input and a file for the output riding along with the first of them.
 *
 * The worker ends: with 0 after `bye`, or with a failure; every line that it says is an object with
 * an op, and an error names phase, cause and message.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "calibrax/array/io/npy.h"
#include "calibrax/perf/launch/wire.h"
#include "calibrax/perf/launch/worker.h"
#include "fuzz.h"

#define SAID_MOST 60000 /* that a socket takes without somebody who reads */
#define ELEMENTS  4

static void require(bool good)
{
    if (!good) abort();
}

/* --- a case: out = 2 in --- */

typedef struct plan {
    const float *in;
    float *out;
} plan;

static void label(const cbx_params *p, char *buf, size_t size)
{
    (void)p;
    if (size) buf[0] = '\0';
}

static void outputs(const cbx_params *p, cbx_array_desc *out)
{
    (void)p;
    *out = (cbx_array_desc){ .dtype = CBX_F32, .ndim = 1, .shape = { ELEMENTS } };
}

static void work(const cbx_params *p, cbx_work *out)
{
    (void)p;
    *out = (cbx_work){ 0 };
}

static cbx_status prepare(cbx_ctx *ctx, const cbx_params *p, void **out, cbx_err *err)
{
    (void)ctx;
    (void)p;
    *out = calloc(1, sizeof(plan));
    return *out ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "out of memory");
}

static void bind_to(void *self, cbx_array *const *in, cbx_array *const *out)
{
    plan *p = self;

    require(cbx_array_bytes(in[0]) >= ELEMENTS * sizeof(float) && cbx_array_bytes(out[0]) == ELEMENTS * sizeof(float));
    p->in = cbx_array_data(in[0]);
    p->out = cbx_array_data_mut(out[0]);
}

static void run(void *self)
{
    plan *p = self;
    for (int i = 0; i < ELEMENTS; i++) p->out[i] = 2 * p->in[i];
}

static cbx_status oracle(cbx_ctx *ctx, const cbx_params *p, cbx_array *const *in, cbx_array **answer, cbx_array **bound,
                         cbx_err *err)
{
    (void)ctx;
    (void)p;
    (void)in;
    (void)answer;
    (void)bound;
    return cbx_fail(err, CBX_ENOMEM, "no oracle");
}

static const cbx_baseline_ops plain = {
    .struct_size = sizeof(cbx_baseline_ops),
    .abi = CBX_CASE_ABI,
    .name = "plain",
    .provider = "native",
    .summary = "",
    .work = work,
    .prepare = prepare,
    .bind = bind_to,
    .run = run,
    .finish = free,
};
static const cbx_baseline_ops *const baselines[] = { &plain };
static const cbx_param_def params[] = { { .name = "n", .kind = CBX_PARAM_INT, .min = 1, .max = 8, .fallback = "4" } };
static const char *const points[] = { "{}" }, *const input_names[] = { "a" }, *const output_names[] = { "c" };
static const cbx_case_ops twice = {
    .struct_size = sizeof(cbx_case_ops),
    .abi = CBX_CASE_ABI,
    .name = "twice",
    .summary = "",
    .params = params,
    .nparams = 1,
    .points = points,
    .npoints = 1,
    .baselines = baselines,
    .nbaselines = 1,
    .ninputs = 1,
    .noutputs = 1,
    .input_names = input_names,
    .output_names = output_names,
    .label = label,
    .outputs = outputs,
    .oracle = oracle,
};
static const cbx_case_ops *const cases[] = { &twice };
static const cbx_case_list list = { cases, 1 };

/* --- the parent --- */

static int input_file(void)
{
    static const float values[ELEMENTS] = { 1, 2, 3, 4 };
    static const cbx_array_desc desc = { .dtype = CBX_F32, .ndim = 1, .shape = { ELEMENTS } };
    char head[256];
    size_t n = 0;
    int fd = memfd_create("input", MFD_CLOEXEC);

    require(fd >= 0 && cbx_npy_make_header(&desc, head, sizeof head, &n, NULL) == CBX_OK);
    require(write(fd, head, n) == (ssize_t)n && write(fd, values, sizeof values) == (ssize_t)sizeof values);
    return fd;
}

/* A number so large that a loop of as many calls does not end. */
static bool has_long_number(const uint8_t *data, size_t size)
{
    size_t digits = 0;

    for (size_t i = 0; i < size; i++) {
        digits = isdigit(data[i]) ? digits + 1 : 0;
        if (digits > 5 || ((data[i] | 0x20) == 'e' && i + 1 < size && (isdigit(data[i + 1]) || data[i + 1] == '+')))
            return true;
    }
    return false;
}

static void check_line(const char *line, size_t len)
{
    cbx_json *m = NULL;

    require(cbx_json_parse(line, len, "said", &m, NULL) == CBX_OK && cbx_json_get_string(m, "op", NULL) != NULL);
    if (!strcmp(cbx_json_get_string(m, "op", ""), "error")) {
        require(cbx_json_get_string(m, "phase", NULL) && cbx_json_get_string(m, "cause", NULL));
        require(cbx_json_get_string(m, "message", "")[0] != '\0');
    }
    cbx_json_unref(m);
}

/* All that the worker said. */
static void check_answers(int fd)
{
    static cbx__wire wire;
    char *line = NULL;
    size_t len = 0;

    cbx__wire_init(&wire, fd, false);
    while (cbx__wire_fill(&wire, NULL) == CBX_OK) {
        while (cbx__wire_next_line(&wire, &line, &len, NULL) == CBX_OK && line) check_line(line, len);
    }
    cbx__wire_clear(&wire);
}

FUZZ_ENTRY(.most = 200)
{
    static cbx__wire wire;
    int ends[2], files[2], room = 4 * SAID_MOST, status;

    if (size < 1 || size > SAID_MOST || has_long_number(data, size)) return 0;
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    files[0] = input_file();
    files[1] = memfd_create("output", MFD_CLOEXEC);
    cbx__wire_init(&wire, ends[0], false);
    require(cbx__wire_send_text(&wire, (const char *)data, size, files, 2, NULL) == CBX_OK);
    require(shutdown(ends[0], SHUT_WR) == 0);
    status = cbx_worker_main(&list, ends[1]);
    require(status >= 0 && status <= 2);
    close(ends[1]);
    check_answers(ends[0]);
    close(ends[0]);
    close(files[0]);
    close(files[1]);
    return 0;
}
