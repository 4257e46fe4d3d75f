/*
 * The kernels of calibrax/array/cuda compiled for this CPU, and a device that runs them: see
 * cuda_shim.h and shim.h.
 *
 * Threads of a block are fibers.  A fiber runs until it waits at a barrier or ends; when all of a
 * block (or of a warp) wait, all go on.  The order in which fibers run can be turned round: a
 * result that depends on it lacks a barrier.
 */
#include "shim.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "calibrax/array/cuda/product.cu"
/* one name means one thing in each file */
#undef SFX
#undef ENTRIES
#include "calibrax/array/cuda/finish.cu"
/* and the last */
#undef SFX
#include "calibrax/array/cuda/ell.cu"
/* but for the probe */
#undef SFX
#undef FORM
#include "calibrax/array/cuda/probe.cu"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

enum {
    FIBERS = 256,
    GUARD = 4096,
    STACK = 32 * 1024
}; /* small: AddressSanitizer clears its record of a stack at each switch */
typedef enum state { READY, AT_BARRIER, AT_WARP, DONE } state;

typedef struct fiber {
    ucontext_t context; /* to begin with, and for sanitizers */
    jmp_buf place;      /* where it stopped; no call of the system to go on */
    char *stack;
    void *kept; /* of the sanitizer */
    state state;
    bool begun;
    char slot[16]; /* what it gives to its warp */
} fiber;

cuda_shim_thread cuda_shim_now;

static fiber fibers[FIBERS];
static void (*body)(const void *args);
static const void *arguments;
static int any_next, any_last;
static bool backwards, spoiled;

#if defined(__SANITIZE_ADDRESS__)
static ucontext_t scheduler;
static void *scheduler_kept;
static const void *scheduler_stack;
static size_t scheduler_size;
#else
static jmp_buf scheduler_place;
#endif

static void give_up(const char *what)
{
    fprintf(stderr, "shim: block %lld: %s\n", (long long)cuda_shim_now.block, what);
    abort();
}

/* --- fibers --- */

static void stop(state why)
{
    fiber *f = &fibers[cuda_shim_now.thread];

    f->state = why;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(why == DONE ? NULL : &f->kept, scheduler_stack, scheduler_size);
    swapcontext(&f->context, &scheduler);
    __sanitizer_finish_switch_fiber(f->kept, &scheduler_stack, &scheduler_size);
#else
    if (!_setjmp(f->place)) _longjmp(scheduler_place, 1);
#endif
}

static void start(void)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(NULL, &scheduler_stack, &scheduler_size);
#endif
    body(arguments);
    stop(DONE);
}

static void resume(int i)
{
    cuda_shim_now.thread = i;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&scheduler_kept, fibers[i].stack, STACK);
    swapcontext(&scheduler, &fibers[i].context);
    __sanitizer_finish_switch_fiber(scheduler_kept, NULL, NULL);
#else
    if (_setjmp(scheduler_place)) return;
    if (fibers[i].begun) _longjmp(fibers[i].place, 1);
    fibers[i].begun = true;
    setcontext(&fibers[i].context);
#endif
}

static int count(int from, int to, state s)
{
    int n = 0;
    for (int i = from; i < to; i++) n += fibers[i].state == s;
    return n;
}

static void release(int from, int to)
{
    for (int i = from; i < to; i++) fibers[i].state = READY;
}

/* Resumes the threads that may run; false: none may. */
static bool release_some(int n)
{
    bool any = false;

    if (count(0, n, AT_BARRIER) == n) {
        any_last = any_next;
        any_next = 0;
        release(0, n);
        return true;
    }
    for (int w = 0; w < n; w += 32)
        if (count(w, w + 32, AT_WARP) == 32) {
            release(w, w + 32);
            any = true;
        }
    return any;
}

static void prepare_fiber(fiber *f)
{
    if (!f->stack) {
        char *pages = mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED || mprotect(pages, GUARD, PROT_NONE)) give_up("no memory for fibers");
        f->stack = pages + GUARD;
    }
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK;
    f->context.uc_link = NULL;
    f->state = READY;
    f->begun = false;
    makecontext(&f->context, start, 0);
}

static void run_block(int n)
{
    spoiled = false;
    any_next = 0;
    for (int i = 0; i < n; i++) prepare_fiber(&fibers[i]);
    for (;;) {
        for (int i = 0; i < n; i++) {
            const int at = backwards ? n - 1 - i : i;
            if (fibers[at].state == READY) resume(at);
        }
        if (count(0, n, DONE) == n) return;
        if (!release_some(n)) give_up("some threads wait at a barrier that others do not reach");
    }
}

/* --- what kernels call --- */

void cuda_shim_barrier(void) { stop(AT_BARRIER); }

int cuda_shim_barrier_any(int x)
{
    any_next |= x;
    stop(AT_BARRIER);
    return any_last;
}

void cuda_shim_exchange(const void *x, size_t bytes, int far, void *out)
{
    const int me = cuda_shim_now.thread;

    memcpy(fibers[me].slot, x, bytes);
    stop(AT_WARP);
    memcpy(out, fibers[me ^ far].slot, bytes);
    stop(AT_WARP);
}

uint32_t cuda_shim_ballot(int x)
{
    const int me = cuda_shim_now.thread, first = me / 32 * 32;
    uint32_t word = 0;

    fibers[me].slot[0] = x != 0;
    stop(AT_WARP);
    for (int l = 0; l < 32; l++) word |= (uint32_t)fibers[first + l].slot[0] << l;
    stop(AT_WARP);
    return word;
}

void cuda_shim_spoil(void *shared, size_t bytes)
{
    if (!spoiled) memset(shared, 0xff, bytes);
    spoiled = true;
}

/* --- the device --- */

void cuda_shim_turn(bool round) { backwards = round; }

#define CALL(name, args)                                                                                               \
    static void call_##name(const void *p) { name(*(const args *)p); }
CBX__CUDA_PRODUCT_KERNELS(CALL)
CBX__CUDA_OTHER_KERNELS(CALL)
CBX__CUDA_ELL_KERNELS(CALL)
CBX__CUDA_PROBE_KERNELS(CALL)

const cuda_shim_kernel cuda_shim_kernels[CBX__CUDA_KERNELS] = {
#define ROW(name, args) { #name, call_##name },
    CBX__CUDA_PRODUCT_KERNELS(ROW) CBX__CUDA_OTHER_KERNELS(ROW) CBX__CUDA_ELL_KERNELS(ROW) CBX__CUDA_PROBE_KERNELS(ROW)
#undef ROW
};

void cuda_shim_launch(const cuda_shim_kernel *k, int64_t blocks, int threads, const void *args)
{
    if (threads % 32 || threads > FIBERS) give_up("blocks have 32 to 256 threads, in warps");
    body = k->run;
    arguments = args;
    cuda_shim_now.threads = threads;
    for (int64_t b = 0; b < blocks; b++) {
        cuda_shim_now.block = b;
        run_block(threads);
    }
}
