/* Scans whose function works element by element: steps are rows of one kernel with carries. */
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/nest_builder.h"
#include "calibrax/array/trace/regions.h"

/* Steps of a value of each step, or of all steps, through a space of steps and elements; of one
 * element where there are more: 0. */
static cbx__site scan_site(const cbx__builder *b, cbx__vid base, const cbx_array_desc *element, bool each, bool output,
                           const cbx__control *c)
{
    const ptrdiff_t size = (ptrdiff_t)cbx__dtype_size(element->dtype);
    size_t shape[CBX_MAX_RANK], count = 1;
    const int n = cbx__long_axes(element, shape);
    cbx__site s = { .base = base };

    for (int i = 0; i < n; i++) count *= shape[i];
    s.strides[1] = n > 0 || (output && b->nest->shape[1] == 1) ? size : 0;
    if (!each) return s;
    s.strides[0] = (ptrdiff_t)count * size;
    if (!c->reverse) return s;
    s.offset = (ptrdiff_t)(c->length - 1) * s.strides[0];
    s.strides[0] = -s.strides[0];
    return s;
}

/* Inputs of the body: constants and xs are loaded, carries come from the step before. */
static bool give_inputs(cbx__builder *b, const cbx__node *node, const cbx__control *c, cbx__kid *given)
{
    const cbx__graph *body = c->graph[CBX__SCAN_BODY];
    const size_t first = c->consts[0], first_x = first + c->ncarry;
    cbx__kernel *k = &b->nest->kernel;

    for (size_t i = 0; i < body->in.n && !b->failed; i++) {
        const bool carry = i >= first && i < first_x;
        const cbx_array_desc *d = cbx__graph_in(body, i);
        const cbx__site s = scan_site(b, node->in[i], d, i >= first_x, false, c);
        if (!carry) {
            given[body->in.items[i]] = cbx__add_load(b, d->dtype, false, &s);
            continue;
        }
        const uint32_t stream = cbx__add_stream(
            b, (cbx__kstream){ .dtype = (uint8_t)d->dtype, .kind = CBX__STREAM_DENSE }, &s);
        if (!cbx_list_push(&k->al, &k->carries, (cbx__kcarry){ stream, 0 })) b->failed = true;
        given[body->in.items[i]] = cbx__kernel_add(
            k, (cbx__kinstr){ .op = CBX__K_CARRY, .dtype = (uint8_t)d->dtype, .a = (cbx__kid)(i - first) });
    }
    return !b->failed;
}

static bool add_results(cbx__builder *b, const cbx__node *node, const cbx__control *c)
{
    const cbx__graph *body = c->graph[CBX__SCAN_BODY];
    cbx__kernel *k = &b->nest->kernel;

    for (size_t i = 0; i < body->out.n && !b->failed; i++) {
        const cbx_array_desc *d = cbx__graph_out(body, i);
        const cbx__form *nowhere = cbx__new_forms(b, d->ndim);
        const bool carry = i < c->ncarry;
        const cbx__site s = scan_site(b, node->out + (cbx__vid)i, d, !carry, true, c);
        const cbx__kid v = nowhere ? cbx__element(b, body->out.items[i], nowhere) : CBX__NO_KID;
        if (!cbx__add_output(b, v, d->dtype, &s)) return false;
        if (carry) k->carries.items[i].next = v;
        k->streams.items[k->streams.n - 1].final = carry;
    }
    return !b->failed;
}

cbx_status cbx__scan_nest(cbx_arena *arena, const cbx_allocator *al, const cbx__node *node, bool *done, cbx__nest *out,
                          cbx_err *err)
{
    const cbx__control *c = cbx__control_of(node->attrs);
    const cbx__graph *body = c->graph[CBX__SCAN_BODY];
    const cbx_array_desc *of = NULL;
    size_t shape[CBX_MAX_RANK];
    cbx__plan plan;
    cbx__kid *given;
    bool fits;
    cbx_status st;

    *done = false;
    if (c->length == 0 || c->ncarry == 0 || c->ncarry > CBX__MAX_CARRIES) return CBX_OK;
    for (size_t i = 0; i < body->out.n; i++)
        if (!of || cbx__long_axes(cbx__graph_out(body, i), shape) > 0) of = cbx__graph_out(body, i);
    st = cbx__plan_elements(arena, body, of, &fits, &plan, err);
    if (st || !fits) return st;
    given = cbx_arena_calloc(arena, body->values.n + 1, sizeof *given);
    if (!given) return cbx_fail_nomem(err, "the kernel of a scan");
    memset(given, 0xff, (body->values.n + 1) * sizeof *given);
    cbx__builder b = { .arena = arena, .al = cbx_arena_allocator(arena), .plan = &plan, .nest = out, .given = given };
    *out = (cbx__nest){ .ndim = 2, .shape = { c->length, 1 } };
    for (int i = cbx__long_axes(of, shape); i-- > 0;) out->shape[1] *= shape[i];
    cbx__kernel_init(&out->kernel, al);
    cbx_table_init(&b.table, &b.al);
    if (!give_inputs(&b, node, c, given) || !add_results(&b, node, c) || !cbx__sort_streams(&b)) goto failed;
    out->kernel.single = out->shape[1] == 1;
    cbx__set_kinds(out);
    cbx__kernel_finish(&out->kernel);
    out->work = cbx__kernel_work(&out->kernel);
    if (out->kernel.failed) goto failed;
    *done = true;
    return CBX_OK;
failed:
    cbx__kernel_clear(&out->kernel);
    return cbx_fail_nomem(err, "the kernel of a scan");
}
