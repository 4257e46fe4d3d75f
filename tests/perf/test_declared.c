/*
 * Case files: what is read and what is refused, cut at each byte, memory that runs out; the case
 * that a file of functions becomes; formulas.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/json.h"
#include "calibrax/perf/case/declared.h"
#include "calibrax/perf/case/expression.h"
#include "fail_alloc.h"

static const char python_file[] =
    "{\"schema\":\"nperf-case\",\"version\":1,\"name\":\"t\",\"kind\":\"python\",\"summary\":\"s\",\n"
    "\"params\":[{\"name\":\"n\",\"min\":0,\"max\":100},{\"name\":\"d\",\"min\":1,\"max\":9,\"default\":2},"
    "{\"name\":\"w\",\"words\":[\"a\",\"b\"],\"default\":\"b\",\"help\":\"h\"},{\"name\":\"seed\",\"min\":0,\"max\":9,"
    "\"default\":3}],\n"
    "\"points\":[{\"n\":4},{\"n\":5,\"d\":3,\"w\":\"a\"}],\"representative\":1,\"setup\":\"true\",\n"
    "\"inputs\":[{\"name\":\"x\",\"dtype\":\"float64\",\"shape\":[\"n\",\"2*d\"]},"
    "{\"name\":\"k\",\"dtype\":\"int32\",\"shape\":[\"n\"],\"fill\":\"integers\",\"low\":-2,\"high\":2},"
    "{\"name\":\"c\",\"dtype\":\"float32\",\"shape\":[3],\"fill\":\"count\",\"low\":1},"
    "{\"name\":\"u\",\"dtype\":\"float32\",\"shape\":[],\"fill\":\"uniform\",\"low\":5,\"high\":6},"
    "{\"name\":\"o\",\"dtype\":\"bool\",\"shape\":[\"n\"],\"fill\":\"integers\",\"low\":0,\"high\":1}],\n"
    "\"outputs\":[{\"name\":\"y\",\"dtype\":\"float64\",\"shape\":[\"2*d\",\"n\"]}],"
    "\"permute\":[{\"x\":0,\"k\":0,\"o\":0,\"y\":1},{\"x\":1,\"y\":0}],\n"
    "\"reference\":{\"provider\":\"numpy\",\"python\":\"a.py:right\",\"rtol\":1e-9,\"atol\":0.5},\n"
    "\"work\":{\"macs\":\"n*d\",\"flop\":\"2*n*d\",\"bytes\":\"8*n\"},\n"
    "\"baselines\":[{\"name\":\"f\",\"provider\":\"numpy\",\"python\":\"a.py:f\",\"slow\":\"why\"},"
    "{\"name\":\"g\",\"provider\":\"jax\",\"python\":\"/b/c.py:g\",\"setup\":\"ready\",\"mutant\":\"wrong\"}]}\n";

static const char commands_file[] =
    "{\"schema\":\"nperf-case\",\"version\":1,\"name\":\"c\",\"kind\":\"commands\","
    "\"params\":[{\"name\":\"n\",\"min\":1,\"max\":9}],\"points\":[{\"n\":1}],\n"
    "\"setup\":\"s\",\"prepare\":\"p\",\"check\":[{\"command\":\"c\"},{\"file\":\"a\",\"same_as\":\"b\"},"
    "{\"file\":\"a\",\"numbers\":\"b\",\"rtol\":1,\"atol\":2}],\n"
    "\"baselines\":[{\"name\":\"a\",\"command\":\"x\"},{\"name\":\"b\",\"command\":\"y\",\"slow\":\"z\"}]}";

static cbx_declared *parsed(cbx_ctx *ctx, const char *text)
{
    cbx_declared *d = NULL;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_declared_parse(ctx, text, strlen(text), "t.json", "/f", &d, &err), &err, "a good file");
    return d;
}

/* --- formulas --- */

static bool two_names(const void *user, const char *name, size_t len, double *out)
{
    (void)user;
    if (len == 1 && *name == 'n') return *out = 5, true;
    if (len == 3 && !strncmp(name, "d_1", 3)) return *out = 3, true;
    return false;
}

TEST(formulas)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {
        { "7", 7 },         { "n", 5 },        { " 2 * n + d_1 ", 13 }, { "2*(n+d_1)", 16 },
        { "n-1-1", 3 },     { "n/2/5", 0.5 },  { "2^3^2", 512 },        { "-n^2", -25 },
        { "-2-3", -5 },     { "2*-n", -10 },   { "log2(8*n/5)", 3 },    { "1.5e2+.5", 150.5 },
        { "((((n))))", 5 }, { "16^0.5^2", 2 },
    };
    static const char *const bad[] = {
        "",    " ",      "m",      "nn",      "n+",    "n n", "(n", "n)",   "2**3",
        "n,1", "log2 n", "log2()", "log3(n)", "1e999", "n$",  "^2", "d_1d",
    };
    char deep[400];

    for (size_t i = 0; i < CBX_LEN(good); i++) {
        double v = NAN;
        cbx_err err = CBX_ERR_INIT;
        CHECK_OK(cbx__expression_value(good[i].text, two_names, NULL, &v, &err), &err, good[i].text);
        CHECK(v == good[i].value, good[i].text);
    }
    for (size_t i = 0; i < CBX_LEN(bad); i++) {
        double v = 42;
        cbx_err err = CBX_ERR_INIT;
        CHECK_STATUS(cbx__expression_value(bad[i], two_names, NULL, &v, &err), CBX_EFORMAT, bad[i]);
        CHECK(v == 42 && strstr(err.message, "is not a formula"), bad[i]);
    }
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    CHECK_STATUS(cbx__expression_value(deep, two_names, NULL, &(double){ 0 }, NULL), CBX_EFORMAT, "too deep");
    memset(deep, '-', sizeof deep - 1);
    CHECK_STATUS(cbx__expression_value(deep, two_names, NULL, &(double){ 0 }, NULL), CBX_EFORMAT, "no number");
    for (size_t i = 0; i + 2 < sizeof deep; i += 2) memcpy(deep + i, "2^", 2);
    CHECK_STATUS(cbx__expression_value(deep, two_names, NULL, &(double){ 0 }, NULL), CBX_EFORMAT, "too many powers");
}

/* --- what a good file becomes --- */

/* Tolerances of an output replace the reference's, and 64-bit integers stay integers. */
TEST(tolerances_of_outputs)
{
    static const char file[] =
        "{\"schema\":\"nperf-case\",\"version\":1,\"name\":\"t\",\"kind\":\"python\",\"points\":[{}],"
        "\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[4]}],"
        "\"outputs\":[{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":[4],\"atol\":2},"
        "{\"name\":\"z\",\"dtype\":\"int64\",\"shape\":[4],\"rtol\":0}],"
        "\"reference\":{\"provider\":\"numpy\",\"python\":\"a.py:f\",\"rtol\":0.5},"
        "\"baselines\":[{\"name\":\"b\",\"provider\":\"numpy\",\"python\":\"a.py:g\"}]}";
    cbx_ctx *ctx = cbx_test_context();
    cbx_declared *d = parsed(ctx, file);
    const char *found = strstr(cbx_declared_case(d)->oracle_definition, "\"tolerances\"");
    CHECK_STR(found ? found : "none",
              "\"tolerances\":[{\"rtol\":0.5,\"atol\":2.0},{\"rtol\":0.0,\"atol\":0.0,\"integers\":\"int64\"}]}",
              "by output");
    CHECK(!strstr(cbx_declared_case(d)->baselines[0]->definition, "tolerances"), "no baseline receives them");
    cbx_declared_free(d);
    cbx_ctx_free(ctx);
}

TEST(a_file_of_functions_is_a_case)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_declared *d = parsed(ctx, python_file);
    const cbx_case_ops *c = cbx_declared_case(d);
    cbx_err err = CBX_ERR_INIT;
    cbx_params *p = NULL;
    cbx_work w;
    char label[64];

    CHECK_INT(cbx_declared_get_kind(d), CBX_DECLARED_PYTHON, "kind");
    CHECK_OK(cbx_case_check(ctx, c, &err), &err, "a whole case");
    CHECK_STR(c->points[0], "{\"n\":4,\"d\":2,\"w\":\"b\",\"seed\":3}", "points in canonical form");
    CHECK_INT(c->representative, 1, "representative");
    CHECK_STR(c->oracle_provider, "numpy", "reference");
    CHECK_STR(c->oracle_definition,
              "{\"file\":\"/f/a.py\",\"call\":\"right\",\"inputs\":[\"x\",\"k\",\"c\",\"u\",\"o\"],\"outputs\":[\"y\"],"
              "\"rtol\":1e-09,\"atol\":0.5}",
              "definition that its worker receives");
    CHECK_STR(c->baselines[1]->definition,
              "{\"file\":\"/b/c.py\",\"call\":\"g\",\"setup\":\"ready\",\"inputs\":[\"x\",\"k\",\"c\",\"u\",\"o\"],"
              "\"outputs\":[\"y\"]}",
              "definition that a baseline's worker receives");
    CHECK(c->baselines[0]->slow_reason && !c->baselines[0]->mutant_reason && c->baselines[1]->mutant_reason, "words");
    CHECK_OK(cbx_case_point(ctx, c, c->points[1], "test", &p, &err), &err, "point");
    c->label(p, label, sizeof label);
    CHECK_STR(label, "n=5, d=3, a", "label");
    c->baselines[0]->work(p, &w);
    CHECK(w.macs == 15 && w.flop == 30 && w.bytes == 40 && w.pipe_ops == 15, "work");
    cbx_params_free(p);
    cbx_declared_free(d);
    cbx_ctx_free(ctx);
}

TEST(inputs_are_filled)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_declared *d = parsed(ctx, python_file);
    const cbx_case_ops *c = cbx_declared_case(d);
    cbx_array *in[CBX_CASE_MAX_ARRAYS] = { NULL }, *again[CBX_CASE_MAX_ARRAYS] = { NULL };
    cbx_array_desc out;
    cbx_err err = CBX_ERR_INIT;
    cbx_params *p = NULL;

    CHECK_OK(cbx_case_point(ctx, c, "{\"n\":100,\"d\":4}", "test", &p, &err), &err, "point");
    CHECK_OK(c->make_inputs(ctx, p, in, &err), &err, "inputs");
    CHECK_OK(c->make_inputs(ctx, p, again, &err), &err, "inputs");
    for (size_t i = 0; i < c->ninputs; i++)
        CHECK(memcmp(cbx_array_data(in[i]), cbx_array_data(again[i]), cbx_array_bytes(in[i])) == 0, "the same again");
    CHECK(cbx_array_dim(in[0], 0) == 100 && cbx_array_dim(in[0], 1) == 8, "shape by formula");
    const double *x = cbx_array_data(in[0]);
    double mean = 0;
    for (size_t i = 0; i < 800; i++) mean += x[i] / 800;
    CHECK(fabs(mean) < 0.2 && x[0] != x[1], "normal");
    const int32_t *k = cbx_array_data(in[1]);
    unsigned seen = 0;
    for (size_t i = 0; i < 100; i++) {
        CHECK(k[i] >= -2 && k[i] <= 2, "integers");
        seen |= 1u << (k[i] + 2);
    }
    CHECK_INT(seen, 31, "all five of them");
    const float *count = cbx_array_data(in[2]), *one = cbx_array_data(in[3]);
    CHECK(count[0] == 1 && count[2] == 3, "count");
    CHECK(cbx_array_ndim(in[3]) == 0 && one[0] >= 5 && one[0] < 6, "a scalar, uniform");
    c->outputs(p, &out);
    CHECK(out.ndim == 2 && out.shape[0] == 8 && out.shape[1] == 100, "output");
    for (size_t i = 0; i < c->ninputs; i++) {
        cbx_array_free(in[i]);
        cbx_array_free(again[i]);
    }
    cbx_params_free(p);
    cbx_declared_free(d);
    cbx_ctx_free(ctx);
}

/* y is x turned over: so it stays when both groups are permuted. */
TEST(turns_permute_groups_alike)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_declared *d = parsed(ctx, python_file);
    const cbx_case_ops *c = cbx_declared_case(d);
    cbx_array *in[CBX_CASE_MAX_ARRAYS] = { NULL }, *turned[CBX_CASE_MAX_ARRAYS] = { NULL }, *y = NULL, *after = NULL;
    cbx_array_desc shape;
    cbx_err err = CBX_ERR_INIT;
    cbx_params *p = NULL;
    size_t moved = 0;

    CHECK_OK(cbx_case_point(ctx, c, "{\"n\":20,\"d\":3}", "test", &p, &err), &err, "point");
    CHECK_OK(c->make_inputs(ctx, p, in, &err), &err, "inputs");
    c->outputs(p, &shape);
    CHECK_OK(cbx_array_create(ctx, &shape, &y, &err), &err, "output");
    for (size_t i = 0; i < 20; i++)
        for (size_t j = 0; j < 6; j++)
            ((double *)cbx_array_data_mut(y))[j * 20 + i] = ((const double *)cbx_array_data(in[0]))[i * 6 + j];
    CHECK_OK(c->rotate_inputs(ctx, p, 2, in, turned, &err), &err, "turn");
    CHECK_OK(c->rotate_output(ctx, p, 2, 0, y, &after, &err), &err, "turn");
    for (size_t i = 0; i < 20; i++) {
        for (size_t j = 0; j < 6; j++) {
            const double a = ((const double *)cbx_array_data(turned[0]))[i * 6 + j];
            CHECK(a == ((const double *)cbx_array_data(after))[j * 20 + i], "turned alike");
            moved += a != ((const double *)cbx_array_data(in[0]))[i * 6 + j];
        }
    }
    CHECK_GT((double)moved, 60, "and turned at all");
    CHECK(memcmp(cbx_array_data(turned[2]), cbx_array_data(in[2]), 12) == 0, "what is in no group stays");
    CHECK(memcmp(cbx_array_data(turned[1]), cbx_array_data(in[1]), 80) != 0, "what is in one moves");
    for (size_t i = 0; i < c->ninputs; i++) {
        cbx_array_free(in[i]);
        cbx_array_free(turned[i]);
    }
    cbx_array_free(y);
    cbx_array_free(after);
    cbx_params_free(p);
    cbx_declared_free(d);
    cbx_ctx_free(ctx);
}

TEST(a_file_of_commands_is_read)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_declared *d = parsed(ctx, commands_file);
    const cbx_case_ops *c = cbx_declared_case(d);

    CHECK_INT(cbx_declared_get_kind(d), CBX_DECLARED_COMMANDS, "kind");
    CHECK_STR(c->name, "c", "name");
    CHECK_INT(c->nbaselines, 2, "baselines");
    CHECK_STR(c->points[0], "{\"n\":1}", "points");
    cbx_declared_free(d);
    cbx_ctx_free(ctx);
}

/* --- what is refused --- */

/* The good file with one part replaced. */
static char *changed(const char *text, const char *from, const char *to, char *buf, size_t size)
{
    const char *hit = strstr(text, from);

    if (!hit) fail_msg("'%s' is not in the file", from);
    snprintf(buf, size, "%.*s%s%s", (int)(hit - text), text, to, hit + strlen(from));
    return buf;
}

TEST(wrong_members_are_named)
{
    static const struct {
        const char *from, *to, *says;
        cbx_status status;
    } cases[] = {
        { "nperf-case", "nperf-rows", "not a case file", CBX_EFORMAT },
        { "nperf-case", "calibrax-benchmarks", "former schema", CBX_EFORMAT },
        { "\"version\":1", "\"version\":2", "version 2", CBX_EVERSION },
        { "\"version\":1", "\"version\":\"1\"", "\"version\": 1", CBX_EFORMAT },
        { "\"name\":\"t\"", "\"name\":\"a/b\"", "'a/b' is not a name", CBX_EFORMAT },
        { "\"name\":\"t\",", "", "'name' is missing", CBX_EFORMAT },
        { "\"kind\":\"python\"", "\"kind\":\"fortran\"", "python or commands", CBX_EFORMAT },
        { "\"summary\"", "\"sumary\"", "did you mean 'summary'", CBX_EFORMAT },
        { "\"min\":0,\"max\":100", "\"min\":9,\"max\":1", "params[0]: 'min' is larger", CBX_EFORMAT },
        { "\"min\":0,\"max\":100", "\"min\":0", "params[0]", CBX_EFORMAT },
        { "\"min\":0,\"max\":100", "\"min\":0,\"max\":1.5", "integers", CBX_EFORMAT },
        { "\"default\":2", "\"default\":10", "params[1]: 'default'", CBX_EFORMAT },
        { "\"default\":\"b\"", "\"default\":\"c\"", "params[2]: 'default'", CBX_EFORMAT },
        { "[\"a\",\"b\"]", "[]", "params[2]: 'words'", CBX_EFORMAT },
        { "[\"a\",\"b\"]", "[\"a\",7]", "params[2]: 'words' must be text", CBX_EFORMAT },
        { "\"name\":\"d\"", "\"name\":\"n\"", "another parameter is called 'n'", CBX_EFORMAT },
        { "{\"n\":4}", "{\"n\":400}", "points[0]", CBX_EFORMAT },
        { "{\"n\":4}", "{\"m\":4}", "points[0]", CBX_EFORMAT },
        { "{\"n\":4}", "4", "points[0]", CBX_EFORMAT },
        { "\"representative\":1", "\"representative\":2", "0 to 1", CBX_EFORMAT },
        { "\"2*d\"]}", "\"2*e\"]}", "inputs[0]: '2*e' is not a formula", CBX_EFORMAT },
        { "[\"n\",\"2*d\"]}", "[\"n\",\"d-9\"]}", "extent", CBX_EFORMAT },
        { "[\"n\",\"2*d\"]}", "[\"n/3\",\"2*d\"]}", "extent", CBX_EFORMAT },
        { "[\"n\",\"2*d\"]}", "[\"n\",\"10^9\",\"10^9\"]}", "too large", CBX_EFORMAT },
        { "\"float64\"", "\"float16\"", "not a dtype of a case", CBX_EFORMAT },
        { "\"float64\"", "\"complex128\"", "not a dtype of a case", CBX_EFORMAT },
        { "\"fill\":\"count\"", "\"fill\":\"zeros\"", "inputs[2]: 'fill' must be", CBX_EFORMAT },
        { "\"low\":-2,\"high\":2", "\"low\":3,\"high\":2", "inputs[1]: integers", CBX_EFORMAT },
        { "\"fill\":\"integers\",\"low\":0,\"high\":1}", "\"fill\":\"normal\"}", "booleans", CBX_EFORMAT },
        { "\"name\":\"k\"", "\"name\":\"x\"", "inputs[1]: another array is called 'x'", CBX_EFORMAT },
        { "\"x\":1,\"y\":0", "\"x\":2,\"y\":0", "permute[1]: 'x' is not an array with such an axis", CBX_EFORMAT },
        { "\"x\":1,\"y\":0", "\"z\":0", "permute[1]: 'z'", CBX_EFORMAT },
        { "\"x\":1,\"y\":0", "\"x\":0,\"y\":0", "permuted together", CBX_EFORMAT },
        { "\"reference\":{", "\"referenz\":{", "did you mean 'reference'", CBX_EFORMAT },
        { "a.py:right", "right", "is not a function", CBX_EFORMAT },
        { "a.py:right", "a.py:", "is not a function", CBX_EFORMAT },
        { "\"rtol\":1e-9", "\"rtol\":-1", "must not be negative", CBX_EFORMAT },
        { "\"rtol\":1e-9", "\"rtol\":\"small\"", "'rtol' must be a number", CBX_EFORMAT },
        { "\"provider\":\"numpy\"", "\"provider\":\"native\"", "'native' is not a provider", CBX_EFORMAT },
        { "\"provider\":\"jax\"", "\"provider\":\"julia\"", "baselines[1]: 'julia'", CBX_EFORMAT },
        { "\"slow\":\"why\"", "\"mutant\":\"why\"", NULL, CBX_OK }, /* all mutants: allowed, though of no use */
        { "\"mutant\":\"wrong\"", "\"mutants\":\"wrong\"", "did you mean 'mutant'", CBX_EFORMAT },
        { "\"name\":\"g\"", "\"name\":\"f\"", "another baseline is called 'f'", CBX_EFORMAT },
        { "\"macs\":\"n*d\"", "\"macs\":\"n*\"", "work: 'n*'", CBX_EFORMAT },
        { "\"setup\":\"true\"", "\"prepare\":\"true\"", "unknown member 'prepare'", CBX_EFORMAT },
        { "\"setup\":\"true\"", "\"setup\":\"\"", "'setup' must be text", CBX_EFORMAT },
    };
    cbx_ctx *ctx = cbx_test_context();
    char buf[4096];

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const char *text = changed(python_file, cases[i].from, cases[i].to, buf, sizeof buf);
        cbx_declared *d = NULL;
        cbx_err err = CBX_ERR_INIT;
        CHECK_STATUS(cbx_declared_parse(ctx, text, strlen(text), "t.json", "/f", &d, &err), cases[i].status,
                     cases[i].to);
        if (cases[i].says && (!strstr(err.message, cases[i].says) || !strstr(err.message, "'t.json'")))
            fail_msg("%s: '%s'", cases[i].to, err.message);
        cbx_declared_free(d);
    }
    cbx_ctx_free(ctx);
}

TEST(wrong_commands_are_named)
{
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        { "\"command\":\"x\"", "\"python\":\"a.py:f\"", "unknown member 'python'" },
        { "\"command\":\"x\"", "\"slow\":\"x\"", "'command' is missing" },
        { "{\"command\":\"c\"}", "{\"command\":\"c\",\"file\":\"a\"}", "check[0]" },
        { "{\"file\":\"a\",\"same_as\":\"b\"}", "{\"file\":\"a\"}", "check[1]" },
        { "{\"file\":\"a\",\"same_as\":\"b\"}", "{\"file\":\"a\",\"same_as\":\"b\",\"numbers\":\"c\"}", "check[1]" },
        { "\"atol\":2", "\"atol\":-2", "check[2]" },
        { "\"baselines\"", "\"inputs\":[],\"baselines\"", "unknown member 'inputs'" },
    };
    cbx_ctx *ctx = cbx_test_context();
    char buf[4096];

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const char *text = changed(commands_file, cases[i].from, cases[i].to, buf, sizeof buf);
        cbx_declared *d = NULL;
        cbx_err err = CBX_ERR_INIT;
        CHECK_STATUS(cbx_declared_parse(ctx, text, strlen(text), "t.json", "/f", &d, &err), CBX_EFORMAT, cases[i].to);
        if (!strstr(err.message, cases[i].says)) fail_msg("%s: '%s'", cases[i].to, err.message);
    }
    cbx_ctx_free(ctx);
}

TEST(files_cut_at_each_byte)
{
    static const char *const files[] = { python_file, commands_file };
    cbx_ctx *ctx = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(files); i++) {
        for (size_t cut = 0; cut < strlen(files[i]) - 1; cut++) { /* the last byte may be the end of a line */
            cbx_declared *d = NULL;
            cbx_err err = CBX_ERR_INIT;
            CHECK_STATUS(cbx_declared_parse(ctx, files[i], cut, "t.json", "/f", &d, &err), CBX_EFORMAT, "a torn file");
            CHECK(!d && strstr(err.message, "t.json"), "one sentence that names it");
        }
    }
    cbx_ctx_free(ctx);
}

/* Every member in turn is of another kind, or gone: never accepted by mistake as what it was. */
TEST(each_member_of_another_kind)
{
    static const char *const others[] = { "null", "[]", "{}", "-1", "true", "\"~\"", "1e300" };
    cbx_ctx *ctx = cbx_test_context();
    cbx_json *root = NULL;

    CHECK_OK(cbx_json_parse(python_file, strlen(python_file), "t", &root, NULL), (&(cbx_err){ 0 }), "json");
    for (size_t i = 0; i < cbx_json_length(root); i++) {
        for (size_t o = 0; o < CBX_LEN(others); o++) {
            cbx_json *copy = cbx_json_copy(root), *value = NULL, *old = NULL;
            cbx_declared *d = NULL;
            const char *key = NULL;
            cbx_text t;
            cbx_json_member(root, i, &key, &old);
            cbx_json_parse(others[o], strlen(others[o]), "t", &value, NULL);
            if (value)
                cbx_json_set(copy, key, value);
            else
                cbx_json_set_null(copy, key);
            cbx_text_init(&t, cbx_ctx_allocator(ctx));
            cbx_json_write(copy, CBX_JSON_COMPACT, &t);
            if (cbx_declared_parse(ctx, cbx_text_str(&t), t.len, "t", "/f", &d, NULL) == CBX_OK) {
                const bool harmless = !strcmp(key, "permute") || (!strcmp(key, "work") && o == 2) ||
                                      (o == 5 && (!strcmp(key, "summary") || !strcmp(key, "setup")));
                if (!harmless) fail_msg("'%s' may be %s", key, others[o]);
            }
            cbx_declared_free(d);
            cbx_text_clear(&t);
            cbx_json_unref(copy);
        }
    }
    cbx_json_unref(root);
    cbx_ctx_free(ctx);
}

static cbx_status everything(cbx_ctx *ctx, void *user)
{
    const char *text = user;
    cbx_declared *d = NULL;
    cbx_array *in[CBX_CASE_MAX_ARRAYS] = { NULL }, *turned[CBX_CASE_MAX_ARRAYS] = { NULL };
    cbx_params *p = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_declared_parse(ctx, text, strlen(text), "t.json", "/f", &d, &err);
    const cbx_case_ops *c = d ? cbx_declared_case(d) : NULL;

    if (!st && c->make_inputs && text == python_file) {
        st = cbx_case_point(ctx, c, c->points[0], "t", &p, &err);
        if (!st) st = c->make_inputs(ctx, p, in, &err);
        if (!st) st = c->rotate_inputs(ctx, p, 1, in, turned, &err);
        if (!st) st = c->rotate_output(ctx, p, 1, 0, in[0], &turned[7], &err);
    }
    for (size_t i = 0; i < CBX_CASE_MAX_ARRAYS; i++) {
        cbx_array_free(in[i]);
        cbx_array_free(turned[i]);
    }
    cbx_params_free(p);
    cbx_declared_free(d);
    return st;
}

TEST(memory_may_run_out)
{
    CHECK_GT((double)cbx_test_fail_each(everything, (void *)(uintptr_t)python_file, "functions"), 10, "allocations");
    CHECK_GT((double)cbx_test_fail_each(everything, (void *)(uintptr_t)commands_file, "commands"), 5, "allocations");
}

TESTS()
