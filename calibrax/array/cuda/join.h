/* Parts of a product along k become C, a thread an element, the parts in order; included once an
 * element type, with what tile.h expects but the size.  Reads each part once, neighbouring threads
 * neighbouring elements. */

DEVICE void OF(gather)(const cbx__cuda_join *q, int step)
{
    const cbx__cuda_product *p = &q->p;
    const int64_t each = p->m * p->n, at = BLOCK * CBX__CUDA_BLOCK + THREAD, z = at / each, e = at % each;
    const int64_t i = e / p->n, j = e % p->n;

    if (z >= q->batches) return;
    TC x = OF(empty)(step);
    if (is_wanted(p, i, j, z)) {
        const TC *s = (const TC *)q->s + z * p->parts * each + e;
        x = s[0];
        for (int64_t part = 1; part < p->parts; part++) x = OF(both)(step, x, s[part * each]);
        x = OF(finalize)(step, p->raw, x);
        if (p->d.x) x = OF(merge)(step, p->raw, ((const TC *)p->d.x)[i * p->d.row + j * p->d.col + z * p->d.batch], x);
    }
    ((TC *)p->c.x)[i * p->c.row + j * p->c.col + z * p->c.batch] = x;
}

#define ENTRY(word, step)                                                                                              \
    KERNEL(PASTE(cbx_join_##word##_, SFX), cbx__cuda_join, CBX__CUDA_BLOCK, 2) { OF(gather)(&a, step); }
ENTRIES(ENTRY)
#undef ENTRY
