/*
 * Parameter points: what is accepted, what is refused and in which words.
 */
#include "check.h"

#include "calibrax/perf/case/params.h"

static const char *const algebras[] = { "real", "log", "boolean", NULL };
static const char *const dtypes[] = { "f32", "f64", "bool", NULL };

static const char *fitting_dtype(const cbx_params *before)
{
    return strcmp(cbx_params_word(before, "algebra"), "boolean") == 0 ? "bool" : "f32";
}

static const char *const fills[] = { "even", "sparse", NULL };

static const cbx_param_def defs[] = {
    { .name = "m", .kind = CBX_PARAM_INT, .min = 0, .max = 4096, .help = "rows" },
    { .name = "algebra", .kind = CBX_PARAM_WORD, .words = algebras, .fallback = "real" },
    { .name = "dtype", .kind = CBX_PARAM_WORD, .words = dtypes, .derive = fitting_dtype },
    { .name = "fill", .kind = CBX_PARAM_WORD, .words = fills, .fallback = "even", .omits_fallback = true },
    { .name = "seed", .kind = CBX_PARAM_INT, .min = 0, .max = INT64_MAX, .fallback = "0" },
};

static const struct {
    const char *json, *canonical, *why;
} good[] = {
    { "{\"m\":7}", "{\"m\":7,\"algebra\":\"real\",\"dtype\":\"f32\",\"seed\":0}", "absent keys take their fallbacks" },
    { " { \"seed\" : 3 , \"m\" : 0 } ", "{\"m\":0,\"algebra\":\"real\",\"dtype\":\"f32\",\"seed\":3}",
      "order and space do not matter" },
    { "{\"m\":4096,\"algebra\":\"boolean\"}", "{\"m\":4096,\"algebra\":\"boolean\",\"dtype\":\"bool\",\"seed\":0}",
      "a value derived from another" },
    { "{\"m\":1,\"fill\":\"even\"}", "{\"m\":1,\"algebra\":\"real\",\"dtype\":\"f32\",\"seed\":0}",
      "a later parameter leaves the text of older points as it was" },
    { "{\"m\":1,\"fill\":\"sparse\"}",
      "{\"m\":1,\"algebra\":\"real\",\"dtype\":\"f32\",\"fill\":\"sparse\",\"seed\":0}",
      "and is there where it says something" },
    { "{\"m\":1,\"dtype\":\"f64\",\"algebra\":\"log\"}", "{\"m\":1,\"algebra\":\"log\",\"dtype\":\"f64\",\"seed\":0}",
      "given beats derived" },
    { "{\"m\":1,\"seed\":9223372036854775807}",
      "{\"m\":1,\"algebra\":\"real\",\"dtype\":\"f32\",\"seed\":9223372036854775807}", "the largest seed is exact" },
};

static const struct {
    const char *json;
    cbx_status status;
    const char *says[3];
    const char *why;
} bad[] = {
    { "{\"m\":7", CBX_EFORMAT, { "--point" }, "malformed JSON" },
    { "[7]", CBX_EINVAL, { "--point", "object", "an array" }, "not an object" },
    { "null", CBX_EINVAL, { "object", "null" }, "null is no object" },
    { "{}", CBX_EINVAL, { "'m'", "missing", "rows" }, "a required key" },
    { "{\"m\":7,\"sead\":1}", CBX_EINVAL, { "'sead'", "did you mean 'seed'" }, "a slip of the pen" },
    { "{\"m\":7,\"quite_other\":1}",
      CBX_EINVAL,
      { "'quite_other'", "'m', 'algebra', 'dtype', 'fill', 'seed'" },
      "a key far from all" },
    { "{\"m\":-1}", CBX_EINVAL, { "'m'", "-1", "0..4096" }, "below the range" },
    { "{\"m\":4097}", CBX_EINVAL, { "'m'", "4097" }, "above the range" },
    { "{\"m\":7.5}", CBX_EINVAL, { "'m'", "integer", "fraction" }, "a fraction" },
    { "{\"m\":\"7\"}", CBX_EINVAL, { "'m'", "integer", "string" }, "a number in quotes" },
    { "{\"m\":null}", CBX_EINVAL, { "'m'", "null" }, "null is not the same as absent" },
    { "{\"m\":7,\"algebra\":\"lgo\"}",
      CBX_EINVAL,
      { "algebra", "'lgo'", "'real', 'log', 'boolean'" },
      "an unknown word" },
    { "{\"m\":7,\"algebra\":3}", CBX_EINVAL, { "algebra", "a string", "an integer" }, "a word must be a string" },
};

TEST(test_good)
{
    cbx_ctx *ctx = cbx_test_context();
    for (size_t i = 0; i < CBX_LEN(good); i++) {
        cbx_err err = CBX_ERR_INIT;
        cbx_params *p = NULL;
        if (cbx_params_parse(ctx, defs, CBX_LEN(defs), good[i].json, "--point", &p, &err))
            fail_msg("%s: %s", good[i].why, err.message);
        assert_string_equal(cbx_params_json(p), good[i].canonical);
        cbx_params_free(p);
    }
    cbx_ctx_free(ctx);
}

TEST(test_bad)
{
    cbx_ctx *ctx = cbx_test_context();
    for (size_t i = 0; i < CBX_LEN(bad); i++) {
        cbx_err err = CBX_ERR_INIT;
        cbx_params *p = (cbx_params *)&err;
        const cbx_status st = cbx_params_parse(ctx, defs, CBX_LEN(defs), bad[i].json, "--point", &p, &err);
        if (st != bad[i].status) fail_msg("%s: status %s, message '%s'", bad[i].why, cbx_status_name(st), err.message);
        assert_ptr_equal(p, &err); /* out is untouched */
        for (size_t j = 0; j < 3 && bad[i].says[j]; j++)
            if (!strstr(err.message, bad[i].says[j]))
                fail_msg("%s: '%s' lacks '%s'", bad[i].why, err.message, bad[i].says[j]);
    }
    cbx_ctx_free(ctx);
}

TEST(test_getters)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_params *p = NULL;
    assert_int_equal(cbx_params_parse(ctx, defs, CBX_LEN(defs), "{\"m\":12,\"algebra\":\"log\"}", "x", &p, NULL),
                     CBX_OK);
    assert_int_equal(cbx_params_int(p, "m"), 12);
    assert_ptr_equal(cbx_params_word(p, "algebra"), algebras[1]);
    assert_string_equal(cbx_params_word(p, "dtype"), "f32");
    cbx_params_free(p);
    cbx_params_free(NULL);
    cbx_ctx_free(ctx);
}

/* An allocator that fails the n-th time it is asked for memory. */
typedef struct failing {
    int left;
    long live;
} failing;

static void *failing_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    failing *f = user;
    const cbx_allocator *al = cbx_allocator_default();
    if (new_size > 0 && f->left-- <= 0) return NULL;
    f->live += (long)new_size - (long)old_size;
    return al->resize(al->user, ptr, old_size, new_size);
}

TEST(test_each_allocation_fails_once)
{
    int failures = 0;
    cbx_status st = CBX_ENOMEM;
    for (int n = 0; n < 64 && st != CBX_OK; n++) {
        failing f = { 1000, 0 };
        cbx_ctx_opts opts = CBX_CTX_OPTS_INIT;
        cbx_ctx *ctx = NULL;
        cbx_params *p = NULL;
        opts.allocator = (cbx_allocator){ failing_resize, &f };
        assert_int_equal(cbx_ctx_create(&opts, &ctx, NULL), CBX_OK);
        f.left = n;
        st = cbx_params_parse(ctx, defs, CBX_LEN(defs), "{\"m\":12}", "x", &p, NULL);
        failures += st == CBX_ENOMEM;
        assert_true(st == CBX_OK || st == CBX_ENOMEM);
        cbx_params_free(p);
        f.left = 1000;
        cbx_ctx_free(ctx);
        assert_int_equal(f.live, 0);
    }
    assert_int_equal(st, CBX_OK);
    assert_true(failures >= 2); /* the check saw failures */
}

TESTS()
