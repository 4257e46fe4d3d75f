/* Arrays and devices: where elements are, what operations take from where.  A GPU is played by a
 * backend whose results have its device. */
#include "check.h"

#include "calibrax/array/backend.h"
#include "calibrax/array/internal.h"
#include "calibrax/array/io/dlpack.h"
#include "calibrax/array/io/npy.h"
#include "calibrax/array/ops.h"

static const cbx_device_id cpu = { CBX_DEVICE_CPU, 0 }, gpu = { CBX_DEVICE_CUDA, 1 };

/* Results of the reference backend, said to be on a GPU. */
static cbx_status play(const cbx_backend *self, const cbx_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_backend *r = cbx_backend_reference();
    const cbx_status st = r->apply(r, call, out, err);

    (void)self;
    for (size_t i = 0; !st && i < call->nout; i++) cbx__array_set_device(out[i], gpu);
    return st;
}
static const cbx_backend played = {
    sizeof(cbx_backend), CBX_BACKEND_ABI, "played", CBX_BACKEND_GPU, play, NULL,
};

TEST(names)
{
    static const struct {
        const char *text;
        bool good;
        cbx_device_id id;
    } cases[] = {
        { "cpu", true, { CBX_DEVICE_CPU, 0 } },
        { "cpu:0", true, { CBX_DEVICE_CPU, 0 } },
        { "cuda", true, { CBX_DEVICE_CUDA, 0 } },
        { "cuda:12", true, { CBX_DEVICE_CUDA, 12 } },
        { "cuda:", false, { 0 } },
        { "cuda:1x", false, { 0 } },
        { "cuda:-1", false, { 0 } },
        { "cuda 1", false, { 0 } },
        { "", false, { 0 } },
        { "c", false, { 0 } },
        { "tpu:0", false, { 0 } },
        { "cuda:99999999999", false, { 0 } },
        { NULL, false, { 0 } },
    };
    cbx_err err = CBX_ERR_INIT;
    char text[32];

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_device_id id = { CBX_DEVICE_CUDA, 77 };
        CHECK_STATUS(cbx_device_id_parse(cases[i].text, &id, &err), cases[i].good ? CBX_OK : CBX_EINVAL, cases[i].text);
        CHECK(cbx_device_id_equal(id, cases[i].good ? cases[i].id : (cbx_device_id){ CBX_DEVICE_CUDA, 77 }),
              cases[i].text);
    }
    CHECK_STR(cbx_device_id_text(cpu, text, sizeof text), "cpu", "the CPU");
    CHECK_STR(cbx_device_id_text(gpu, text, sizeof text), "cuda:1", "a GPU");
}

TEST(arrays_know)
{
    cbx_ctx *c = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_array *x = cbx_arange_int(c, 0, 6, 1, CBX_F64), *y, *view, *a = NULL;

    CHECK(cbx_device_id_equal(cbx_array_device(x), cpu), "made on the CPU");
    CHECK(cbx_to_device(c, x, cpu) == x, "already there");
    CHECK_OK(cbx_array_create_abstract(c, cbx_array_get_desc(x), &a, &err), &err, "abstract");
    CHECK(cbx_device_id_equal(cbx_array_device(a), cpu), "an abstract one");
    CHECK(cbx_device_id_equal(cbx_array_device(NULL), cpu), "none");
    cbx_array_free(a);

    CHECK_OK(cbx_ctx_set_backend(c, &played, &err), &err, "a backend on a GPU");
    y = cbx_add(c, x, x);
    CHECK(cbx_device_id_equal(cbx_array_device(y), gpu), "the backend's results");
    view = cbx_slice(c, y, 0, 1, 4, 1);
    CHECK(cbx_device_id_equal(cbx_array_device(view), gpu), "views of them");
    y = cbx_multiply(c, y, y);
    CHECK_OK(cbx_ctx_pending(c, &err), &err, "operations among them");
    cbx_array *again = cbx_array_ref(y);

    cbx_text text;
    cbx_text_init(&text, cbx_ctx_allocator(c));
    cbx_array_format(y, 0, &text);
    CHECK_STR(cbx_text_str(&text), "float64 (6,) on cuda:1", "shown without elements");
    cbx_text_clear(&text);
    cbx_array_free(again);
    cbx_ctx_free(c);
}

TEST(what_is_refused)
{
    enum { MIXED, OTHER_BACKEND, TO_GPU, TO_CPU };
    const cbx_device_id other = { CBX_DEVICE_CUDA, 2 };
    static const struct {
        int how;
        cbx_status status;
        const char *words;
    } cases[] = {
        { MIXED, CBX_EINVAL, "operands of 'add' are on cuda:2 and on cuda:1: bring them to one with 'to_device'" },
        { OTHER_BACKEND, CBX_EUNSUPPORTED, "where the backend 'reference' does not compute" },
        { TO_GPU, CBX_EUNAVAILABLE, "the backend 'reference' has no way from cpu to cuda:1" },
        { TO_CPU, CBX_EUNAVAILABLE, "the backend 'played' has no way from cuda:1 to cpu" },
    };
    cbx_ctx *c = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_scope all, one;

    cbx_scope_open(c, &all);
    cbx_array *x = cbx_arange_int(c, 0, 6, 1, CBX_F64), *own = NULL;
    CHECK_OK(cbx_array_create(c, cbx_array_get_desc(x), &own, &err), &err, "create");
    CHECK_OK(cbx_ctx_set_backend(c, &played, &err), &err, "a backend on a GPU");
    cbx_array *y = cbx_add(c, x, x);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const bool mine = cases[i].how == MIXED || cases[i].how == TO_CPU;
        CHECK_OK(cbx_ctx_set_backend(c, mine ? &played : cbx_backend_reference(), &err), &err, "backend");
        cbx_scope_open(c, &one);
        switch (cases[i].how) {
        case MIXED: {
            cbx_array *z = cbx_copy(c, x);
            cbx__array_set_device(z, other);
            cbx_add(c, z, y);
            break;
        }
        case OTHER_BACKEND: cbx_add(c, y, y); break;
        case TO_GPU: cbx_to_device(c, x, gpu); break;
        case TO_CPU: cbx_to_device(c, y, cpu); break;
        }
        CHECK_STATUS(cbx_scope_close(&one, &err), cases[i].status, cases[i].words);
        if (!strstr(err.message, cases[i].words)) fail_msg("\"%s\" lacks \"%s\"", err.message, cases[i].words);
    }
    double v[6];
    cbx_dl_managed *lent = NULL;
    CHECK_STATUS(cbx_array_read(y, v, sizeof v, &err), CBX_EUNSUPPORTED, "read");
    CHECK_STR(err.message, "'array_read' of an array on cuda:1: bring it to the CPU with 'to_device'", "in words");
    CHECK_STATUS(cbx_array_assign(c, own, y, &err), CBX_EUNSUPPORTED, "assign");
    CHECK_STATUS(cbx_dlpack_export(c, y, CBX_DL_COPY_IF_NEEDED, &lent, &err), CBX_EUNSUPPORTED, "lent");
    cbx_array_free(own);
    CHECK_OK(cbx_scope_close(&all, &err), &err, "no failure");
    cbx_ctx_free(c);
}

TESTS(.seconds = 60)
