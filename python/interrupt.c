/*
 * Ctrl-C in long calls.  Python handles signals on its main thread alone, between instructions;
 * while that thread is inside of the library they would wait.  So a long call of the main thread
 * runs on a second one, and the main thread looks for signals every WAIT_MS.  When a handler
 * raises, the call is asked to stop (c->stop: those that run processes do) and left to itself: its
 * result is dropped when it ends.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "python/answers.h"

enum { WAIT_MS = 20, STOP_MS = 2000 /* the longest that LLVM takes for a kernel, and more */ };

typedef struct job {
    cx_state *st;
    cx_function *f;
    PyObject *core, *self, *args, *kwnames; /* held, until the job is done and the wait is over for it */
    Py_ssize_t nargs;
    PyObject *result;
    cx_callback raised;
    volatile sig_atomic_t stop;
} job;

typedef struct cx_worker {
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    pthread_t thread;
    pid_t pid; /* after a fork there is no such thread */
    job *job;  /* NULL: idle */
    bool finished, abandoned, quit;
} cx_worker;

static void job_free(job *j)
{
    Py_XDECREF(j->self);
    Py_XDECREF(j->args);
    Py_XDECREF(j->kwnames);
    Py_XDECREF(j->result);
    cx_callback_drop(&j->raised);
    Py_XDECREF(j->core);
    PyMem_Free(j);
}

static void run(job *j)
{
    PyObject *items[2 * CX_MAX_ARGS];
    Py_ssize_t n = PyTuple_Size(j->args);

    for (Py_ssize_t i = 0; i < n; i++) items[i] = PyTuple_GetItem(j->args, i);
    j->result = cx_call_function(j->st, j->f, j->self, items, j->nargs, j->kwnames, &j->stop);
    if (!j->result) cx_callback_caught(&j->raised);
}

static void worker_destroy(cx_worker *w)
{
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->wake);
    pthread_cond_destroy(&w->done);
    free(w);
}

static void *work(void *user)
{
    cx_worker *w = user;
    bool more = true;

    while (more) {
        PyGILState_STATE state;
        job *j;
        pthread_mutex_lock(&w->lock);
        while ((!w->job || w->finished) && !w->quit) pthread_cond_wait(&w->wake, &w->lock);
        j = w->job;
        pthread_mutex_unlock(&w->lock);
        if (w->quit) break;
        state = PyGILState_Ensure();
        run(j);
        pthread_mutex_lock(&w->lock); /* whoever holds it never waits for the interpreter's lock */
        w->finished = true;
        more = !w->abandoned;
        pthread_cond_signal(&w->done);
        pthread_mutex_unlock(&w->lock);
        if (!more) job_free(j);
        PyGILState_Release(state);
    }
    if (!more) worker_destroy(w);
    return NULL;
}

static cx_worker *worker_new(void)
{
    cx_worker *w = calloc(1, sizeof *w);

    if (!w) return NULL;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    pthread_cond_init(&w->done, NULL);
    w->pid = getpid();
    if (pthread_create(&w->thread, NULL, work, w) == 0) return w;
    worker_destroy(w);
    return NULL;
}

void cx_worker_free(cx_state *st)
{
    cx_worker *w = st->worker;

    st->worker = NULL;
    if (!w || w->pid != getpid()) return;
    pthread_mutex_lock(&w->lock);
    w->quit = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    worker_destroy(w);
}

/* Waits without the interpreter's lock; true when the job has finished. */
static bool wait_for(cx_worker *w, int ms)
{
    PyThreadState *t = PyEval_SaveThread();
    struct timespec until;
    bool finished;
    int status = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&w->lock);
    while (!w->finished && status == 0) status = pthread_cond_timedwait(&w->done, &w->lock, &until);
    finished = w->finished;
    pthread_mutex_unlock(&w->lock);
    PyEval_RestoreThread(t);
    return finished;
}

bool cx_should_wait(cx_state *st, const cx_function *f, PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    const bool product = f->wait == CX_PRODUCT;
    size_t elements = 0, limit = f->wait;

    if (cx_traced_ctx(st)) return false; /* its context is this thread's */
    for (Py_ssize_t i = 0; product && i < n; i++)
        if (cx_is_array(st, args[i]) && cbx_array_ndim(((cx_array *)args[i])->handle) == 1) limit = CX_LIGHT;
    for (Py_ssize_t i = self ? -1 : 0; i < n && elements < limit; i++) {
        PyObject *o = i < 0 ? self : args[i];
        Py_ssize_t size = -1;
        if (cx_is_array(st, o))
            elements += cbx_array_count(((cx_array *)o)->handle);
        else if (f->wait < CX_LIGHT && !PyUnicode_Check(o) && PySequence_Check(o) && (size = PySequence_Size(o)) < 0)
            PyErr_Clear();
        if (size > 0) elements += (size_t)size;
    }
    return elements >= limit && gettid() == getpid() && n <= 2 * CX_MAX_ARGS;
}

PyObject *cx_run_interruptible(cx_state *st, cx_function *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    Py_ssize_t n = nargs + (kwnames ? PyTuple_Size(kwnames) : 0);
    cx_worker *w = st->worker && st->worker->pid == getpid() ? st->worker : NULL;
    PyObject *result, *tuple = NULL;
    bool interrupted = false;
    job *j;

    if (w && w->job) return cx_call_function(st, f, self, args, nargs, kwnames, NULL); /* from a signal handler */
    if (!w) w = st->worker = worker_new();
    j = w ? PyMem_Calloc(1, sizeof *j) : NULL;
    if (!j || !(tuple = CX_TUPLE(n, Py_NewRef(args[i])))) {
        PyMem_Free(j);
        return PyErr_NoMemory();
    }
    *j = (job){ st, f, Py_NewRef(st->core), Py_XNewRef(self), tuple, Py_XNewRef(kwnames), nargs, 0, { 0 }, 0 };
    pthread_mutex_lock(&w->lock);
    w->job = j;
    w->finished = false;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    while (!interrupted && !wait_for(w, WAIT_MS)) interrupted = PyErr_CheckSignals() < 0;
    if (interrupted) {
        cx_callback raised = { 0 };
        cx_callback_caught(&raised);
        j->stop = 1;
        if (f->wait == CX_WAITS) wait_for(w, STOP_MS); /* its processes end with it */
        pthread_mutex_lock(&w->lock);
        w->abandoned = !w->finished;
        if (w->abandoned) st->worker = NULL, pthread_detach(w->thread);
        pthread_mutex_unlock(&w->lock);
        if (st->worker) w->job = NULL, job_free(j);
        cx_callback_done(&raised);
        return NULL;
    }
    w->job = NULL;
    result = Py_XNewRef(j->result);
    cx_callback_done(&j->raised);
    job_free(j);
    return result;
}
