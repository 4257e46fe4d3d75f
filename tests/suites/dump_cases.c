/*
 * Writes the tests' problems for check_cases.py: dump_cases FOLDER.  NPY files I.input.NAME,
 * I.answer.NAME, I.bound.NAME for problem number I, and problems.json, which lists them.
 */
#include <stdio.h>
#include <string.h>

#include "calibrax/array/io/npy.h"
#include "calibrax/base/file.h"
#include "calibrax/base/json.h"
#include "case_problems.h"

static cbx_status write_arrays(cbx_ctx *ctx, const char *folder, size_t number, const char *kind,
                               const char *const *names, size_t n, cbx_array *const *a, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < n && !st; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%zu.%s.%s.npy", folder, number, kind, names[i]);
        st = cbx_npy_write(ctx, path, a[i], err);
    }
    return st;
}

static cbx_status dump(cbx_ctx *ctx, const char *folder, size_t number, cbx_json *list, cbx_err *err)
{
    const cbx_case_ops *c = problems[number].c;
    cbx_array *in[CBX_CASE_MAX_ARRAYS] = { NULL }, *answer[CBX_CASE_MAX_ARRAYS] = { NULL },
              *bound[CBX_CASE_MAX_ARRAYS] = { NULL };
    cbx_params *p = NULL;
    cbx_json *one = cbx_json_new_object(), *point = NULL;
    cbx_status st = cbx_case_point(ctx, c, problems[number].json, "problem", &p, err);

    if (!st) st = c->make_inputs(ctx, p, in, err);
    if (!st) st = c->oracle(ctx, p, in, answer, bound, err);
    if (!st) st = write_arrays(ctx, folder, number, "input", c->input_names, c->ninputs, in, err);
    if (!st) st = write_arrays(ctx, folder, number, "answer", c->output_names, c->noutputs, answer, err);
    if (!st) st = write_arrays(ctx, folder, number, "bound", c->output_names, c->noutputs, bound, err);
    if (!st) st = cbx_json_parse(cbx_params_json(p), strlen(cbx_params_json(p)), "problem", &point, err);
    if (!st && one) {
        cbx_json *names = cbx_json_new_array();
        cbx_json_set_string(one, "case", c->name);
        cbx_json_set(one, "point", point);
        for (size_t b = 0; b < c->nbaselines; b++) {
            const cbx_baseline_ops *ops = c->baselines[b];
            const char *reason = NULL;
            if (ops->prepare || (ops->supports && !ops->supports(p, &reason))) continue;
            cbx_json_push(names, cbx_json_new_string(ops->name));
        }
        cbx_json_set(one, "baselines", names);
    }
    cbx_json_push(list, one);
    for (size_t i = 0; i < CBX_CASE_MAX_ARRAYS; i++) {
        cbx_array_free(in[i]);
        cbx_array_free(answer[i]);
        cbx_array_free(bound[i]);
    }
    cbx_params_free(p);
    return st;
}

int main(int argc, char **argv)
{
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_json *list = cbx_json_new_array();
    cbx_status st = cbx_ctx_create(NULL, &ctx, &err);
    char path[512];
    cbx_text text;

    if (argc != 2) return 2;
    for (size_t i = 0; i < CBX_LEN(problems) && !st; i++) st = dump(ctx, argv[1], i, list, &err);
    snprintf(path, sizeof path, "%s/problems.json", argv[1]);
    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    cbx_json_write(list, CBX_JSON_COMPACT, &text);
    if (!st) st = cbx_file_write_atomic(ctx, path, text.data, text.len, &err);
    if (st) fprintf(stderr, "dump_cases: %s\n", err.message);
    cbx_text_clear(&text);
    cbx_json_unref(list);
    cbx_ctx_free(ctx);
    return st ? 2 : 0;
}
