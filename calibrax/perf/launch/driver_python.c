/* Python classes, each launch in an interpreter of its own that runs workers/python/benchmark.py. */
#include "calibrax/base/tools.h"
#include "calibrax/perf/launch/driver.h"

static cbx_status interpreter(cbx__session *s, const char *argv[3], cbx_err *err)
{
    if (!s->source->path) return cbx_fail(err, CBX_EINVAL, "no Python module is named");
    argv[0] = s->source->python ? s->source->python : "python3";
    argv[2] = NULL;
    return cbx__tool_find(CBX__TOOL_PYTHON_BENCHMARK, s->arena, &argv[1], err);
}

static cbx_status list(cbx__session *s, const char *const **names, size_t *count, cbx_err *err)
{
    const char *argv[3];
    cbx_status st = interpreter(s, argv, err);

    return st ? st : cbx__worker_list(s, argv, names, count, err);
}

static cbx_status launch(cbx__session *s, const char *name, cbx__launch *out, cbx_err *err)
{
    const char *argv[3];
    cbx_status st = interpreter(s, argv, err);

    return st ? st : cbx__worker_launch(s, argv, name, out, err);
}

const cbx__driver cbx__driver_python = { list, launch };
