/* Cases of metric functions from files of JSON lines. */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/json.h"

static cbx_err err;

static cbx_array *read_array(cbx_ctx *ctx, const cbx_json *j, const char *label)
{
    const cbx_json *shape = cbx_json_get(j, "shape"), *data = cbx_json_get(j, "data");
    cbx_array_desc d = { 0 };
    cbx_array *wide = NULL, *out;
    cbx_scope scope;
    double *v;

    if (!j) return NULL;
    CHECK_OK(cbx_dtype_parse(cbx_json_get_string(j, "dtype", "?"), &d.dtype, &err), &err, label);
    d.ndim = (int)cbx_json_length(shape);
    for (int k = 0; k < d.ndim; k++) d.shape[k] = (size_t)cbx_json_int_value(cbx_json_at(shape, (size_t)k));
    const cbx_dtype dtype = d.dtype;
    d.dtype = CBX_F64;
    CHECK_OK(cbx_array_create(ctx, &d, &wide, &err), &err, label);
    CHECK_INT(cbx_json_length(data), cbx_array_count(wide), label);
    v = cbx_array_data_mut(wide);
    for (size_t i = 0; i < cbx_array_count(wide); i++) {
        const cbx_json *e = cbx_json_at(data, i);
        const char *text = cbx_json_string_value(e);
        v[i] = text                                  ? strtod(text, NULL)
               : cbx_json_typeof(e) == CBX_JSON_BOOL ? cbx_json_bool_value(e)
                                                     : cbx_json_double_value(e);
    }
    if (dtype == CBX_F64) return wide;
    cbx_scope_open(ctx, &scope);
    out = cbx_astype(ctx, wide, dtype);
    CHECK_OK(cbx_scope_close_keep(&scope, 1, &out, &err), &err, label);
    cbx_array_free(wide);
    return out;
}

/* The number of a word among those of a choice, separated by '|'. */
static double choice(const char *words, const char *word, const char *label)
{
    const size_t n = strlen(word);

    for (int i = 0;; i++) {
        const size_t length = strcspn(words, "|");
        if (length == n && memcmp(words, word, n) == 0) return i;
        if (!words[length]) fail_msg("%s: no such choice: %s", label, word);
        words += length + 1;
    }
}

static void read_parameters(metric_case *c, const cbx_json *j)
{
    const cbx_metric_parameter *p = c->metric->parameters;
    const size_t n = cbx_metric_parameters(c->metric);
    const char *key;
    cbx_json *value;

    for (size_t i = 0; i < n; i++) c->parameters[i] = NAN;
    for (size_t m = 0; cbx_json_member(j, m, &key, &value); m++) {
        const char *text = cbx_json_string_value(value);
        size_t i = 0;
        while (i < n && strcmp(p[i].name, key) != 0) i++;
        if (i == n) fail_msg("%s: no such parameter: %s", c->label, key);
        c->parameters[i] = text && p[i].words                        ? choice(p[i].words, text, c->label)
                           : cbx_json_typeof(value) == CBX_JSON_BOOL ? cbx_json_bool_value(value)
                                                                     : cbx_json_double_value(value);
    }
    c->options.parameters = c->parameters;
}

static void read_options(cbx_ctx *ctx, metric_case *c, const cbx_json *j)
{
    static const char *const reductions[] = { "mean", "sum", "none", "batch_sum" };
    const char *reduction = cbx_json_get_string(j, "reduction", "mean");
    const cbx_json *axis = cbx_json_get(j, "axis");

    while (strcmp(reductions[c->options.reduction], reduction) != 0) c->options.reduction++;
    c->options.mask = read_array(ctx, cbx_json_get(j, "mask"), c->label);
    c->options.weights = read_array(ctx, cbx_json_get(j, "weights"), c->label);
    if (!axis) return;
    if (cbx_json_typeof(axis) == CBX_JSON_INT) {
        c->axes = (cbx_axes){ .n = 1, .axis = { (int)cbx_json_int_value(axis) } };
    } else {
        c->axes.n = (int)cbx_json_length(axis);
        for (int k = 0; k < c->axes.n; k++) c->axes.axis[k] = (int)cbx_json_int_value(cbx_json_at(axis, (size_t)k));
    }
    c->options.axes = &c->axes;
}

void read_case(cbx_ctx *ctx, const char *line, size_t number, const char *path, metric_case *c)
{
    const char *file = strrchr(path, '/');
    cbx_json *j = NULL;
    const cbx_json *operands;

    memset(c, 0, sizeof *c);
    CHECK_OK(cbx_json_parse(line, strlen(line), path, &j, &err), &err, path);
    snprintf(c->label, sizeof c->label, "%s:%zu: %s", file ? file + 1 : path, number,
             cbx_json_get_string(j, "metric", "?"));
    CHECK_OK(cbx_metric_find(ctx, cbx_json_get_string(j, "metric", "?"), &c->metric, &err), &err, c->label);
    operands = cbx_json_get(j, "operands");
    c->nin = cbx_json_length(operands);
    CHECK_LE(c->nin, CBX_METRIC_MAX_OPERANDS, c->label);
    for (size_t i = 0; i < c->nin; i++) c->in[i] = read_array(ctx, cbx_json_at(operands, i), c->label);
    read_parameters(c, cbx_json_get(j, "parameters"));
    read_options(ctx, c, j);
    c->result = read_array(ctx, cbx_json_get(j, "result"), c->label);
    for (size_t i = 0; i < c->nin; i++) {
        const cbx_json *g = cbx_json_at(cbx_json_get(j, "gradients"), i);
        if (cbx_json_get(g, "shape")) c->gradients[i] = read_array(ctx, g, c->label);
    }
    c->tolerance = cbx_json_get_double(j, "tolerance", 1e-10);
    cbx_json_unref(j);
}

void free_case(metric_case *c)
{
    for (size_t i = 0; i < c->nin; i++) cbx_array_free(c->in[i]);
    for (size_t i = 0; i < c->nin; i++) cbx_array_free(c->gradients[i]);
    cbx_array_free((cbx_array *)c->options.mask);
    cbx_array_free((cbx_array *)c->options.weights);
    cbx_array_free(c->result);
}
