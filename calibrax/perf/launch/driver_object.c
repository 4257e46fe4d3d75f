/* Shared objects, each launch in a worker process of its own: what a plug-in breaks, it breaks there. */
#include "calibrax/base/tools.h"
#include "calibrax/perf/launch/driver.h"

static cbx_status worker(cbx__session *s, const char *argv[2], cbx_err *err)
{
    if (!s->source->path) return cbx_fail(err, CBX_EINVAL, "no shared object is named");
    argv[1] = NULL;
    return cbx__tool_find(CBX__TOOL_BENCHMARK, s->arena, &argv[0], err);
}

static cbx_status list(cbx__session *s, const char *const **names, size_t *count, cbx_err *err)
{
    const char *argv[2];
    cbx_status st = worker(s, argv, err);

    return st ? st : cbx__worker_list(s, argv, names, count, err);
}

static cbx_status launch(cbx__session *s, const char *name, cbx__launch *out, cbx_err *err)
{
    const char *argv[2];
    cbx_status st = worker(s, argv, err);

    return st ? st : cbx__worker_launch(s, argv, name, out, err);
}

const cbx__driver cbx__driver_object = { list, launch };
