/* Where the windows of a tile's rows lie: a table of pointers, a line for each run of taps, a
 * pointer for each row (after Dukhan, The Indirect Convolution Algorithm, arXiv:1907.02129).  What
 * lies outside of x is a pointer to channels full of the identity, so the tile has no branches.  Of
 * rows whose windows lie inside along the last axis, taps along it are one run of channels where
 * they are neighbours. Included once an instruction set, before convolve_tile.h, and for algebras
 * given by functions; expects TILE_ROWS. */

/* What all tiles share.  Lengths in memory are in bytes. */
typedef struct walk {
    const cbx__conv *v;
    const void *pad;                    /* as long as the longest run */
    int last;                           /* axis */
    size_t outer, inner;                /* taps along all axes but the last, and along it */
    size_t channel_run;                 /* elements */
    bool joins;                         /* taps along the last axis are neighbours in x */
    size_t inside_from, inside_upto;    /* positions along the last axis whose windows lie inside */
    size_t image, axis[CBX__CONV_AXES]; /* from one to the next; sums that lead outside of x may wrap around */
    const size_t *reach;       /* [outer][last]: elements that a tap is from the window's first along each axis */
    const size_t *along;       /* [outer]: bytes that it is */
    const size_t *from, *upto; /* [inner]: positions along the last axis for which a tap is inside */
} walk;

/* A position of the result. */
typedef struct place {
    size_t image, at[CBX__CONV_AXES];
} place;

static size_t walk_tables(const cbx__conv *v)
{
    size_t outer = 1;
    for (int i = 0; i < v->ndim - 1; i++) outer *= v->taps[i];
    return round_up((outer * (size_t)v->ndim + 2 * v->taps[v->ndim - 1]) * sizeof(size_t), 64);
}

/* The first position, at most `max`, whose tap `to` is at `edge` of the padded axis or
 * behind it. */
static size_t position_behind(ptrdiff_t edge, size_t to, size_t stride, size_t max)
{
    const ptrdiff_t left = edge - (ptrdiff_t)to;
    return left <= 0 ? 0 : min_size(max, ((size_t)left - 1) / stride + 1);
}

static void walk_outer(const walk *k, size_t *reach, size_t *along)
{
    const cbx__conv *v = k->v;

    for (size_t u = 0; u < k->outer; u++) {
        size_t left = u;
        along[u] = 0;
        for (int i = k->last - 1; i >= 0; i--) {
            const size_t to = left % v->taps[i] * v->dilation[i];
            left /= v->taps[i];
            reach[u * (size_t)k->last + (size_t)i] = to;
            along[u] += to * k->axis[i];
        }
    }
}

/* tables: walk_tables bytes, for as long as the walk. */
static walk walk_of(const cbx__conv *v, const void *pad, void *tables)
{
    const int last = v->ndim - 1;
    const size_t dilation = v->dilation[last];
    walk k = { .v = v, .pad = pad, .last = last, .outer = 1, .inner = v->taps[last], .channel_run = v->channels };
    size_t *reach = tables, *along, *from, *upto;

    k.image = v->channels * cbx_dtype_size(v->dtype);
    for (int i = last; i >= 0; i--) {
        k.axis[i] = k.image;
        k.image *= v->length[i];
        if (i < last) k.outer *= v->taps[i];
    }
    along = reach + k.outer * (size_t)last, from = along + k.outer, upto = from + k.inner;
    walk_outer(&k, reach, along);
    for (size_t t = 0; t < k.inner; t++) {
        const ptrdiff_t low = v->low[last], high = low + (ptrdiff_t)v->length[last];
        from[t] = position_behind(low, t * dilation, v->stride[last], v->positions[last]);
        upto[t] = position_behind(high, t * dilation, v->stride[last], v->positions[last]);
    }
    k.reach = reach, k.along = along, k.from = from, k.upto = upto;
    k.joins = k.inner > 1 && dilation == 1;
    k.inside_from = from[0], k.inside_upto = upto[k.inner - 1];
    return k;
}

/* Elements of the longest run. */
static inline size_t walk_run(const cbx__conv *v)
{
    const bool joins = v->dilation[v->ndim - 1] == 1;
    return v->channels * (joins ? v->taps[v->ndim - 1] : 1);
}

static place place_at(const walk *k, size_t row)
{
    place p = { 0 };

    for (int i = k->last; i >= 0; i--) {
        p.at[i] = row % k->v->positions[i];
        row /= k->v->positions[i];
    }
    p.image = row;
    return p;
}

/* The first position behind the end of the last axis. */
static void next_line(const walk *k, place *p)
{
    p->at[k->last] = 0;
    for (int i = k->last - 1; i >= 0; i--) {
        if (++p->at[i] < k->v->positions[i]) return;
        p->at[i] = 0;
    }
    p->image++;
}

/* Byte of x where the window at p begins, which may be outside. */
static size_t begin_of(const walk *k, const place *p)
{
    size_t at = p->image;

    for (int i = 0; i <= k->last; i++) at = at * k->v->length[i] + (p->at[i] * k->v->stride[i] - (size_t)k->v->low[i]);
    return at * k->axis[k->last];
}

static bool outer_inside(const walk *k, const place *p, size_t u)
{
    const size_t *reach = k->reach + u * (size_t)k->last;

    for (int i = 0; i < k->last; i++)
        if (p->at[i] * k->v->stride[i] + reach[i] - (size_t)k->v->low[i] >= k->v->length[i]) return false;
    return true;
}

/* Eight pointers as numbers: a place outside of x is no pointer.  (A line of fewer is written past
 * its end, over what comes after it.) */
typedef uintptr_t addresses __attribute__((vector_size(8 * sizeof(uintptr_t)), may_alias, aligned(sizeof(uintptr_t))));
#define ADDRESSES_BEHIND 8 /* capacity behind a table */

/* A line of n pointers from `to` on, the first `before` and those from `upto` on to the padding;
 * steps: of eight pointers.  (void: reading them as pointers to any type is right.) */
INLINE void fill_line(const void **line, size_t n, size_t before, size_t upto, uintptr_t to, const addresses *steps,
                      const void *pad)
{
    const addresses count = { 0, 1, 2, 3, 4, 5, 6, 7 };

    if (n == TILE_ROWS) { /* nearly always */
        const addresses inside = (addresses)(count - before < (upto > before ? upto - before : 0) - (addresses){ 0 });
        *(addresses *)(void *)line = ((to + *steps) & inside) | ((uintptr_t)pad & ~inside);
        return;
    }
    for (size_t i = 0; i < n; i++)
        line[i] = (const void *)(i >= before && i < upto ? to + (*steps)[i] : (uintptr_t)pad);
}

/* n positions of one line of the result, from p on, into the columns of the table. */
static void fill_lines(const walk *k, const place *p, size_t n, bool joined, const void **table)
{
    const addresses count = { 0, 1, 2, 3, 4, 5, 6, 7 }, steps = count * (k->v->stride[k->last] * k->axis[k->last]);
    const size_t apart = k->v->dilation[k->last] * k->axis[k->last], first = p->at[k->last];
    const uintptr_t begin = (uintptr_t)k->v->x + begin_of(k, p);

    for (size_t u = 0; u < k->outer; u++) {
        const size_t inside = outer_inside(k, p, u) ? SIZE_MAX : 0;
        const uintptr_t to = begin + k->along[u];
        if (joined) {
            fill_line(table, n, 0, inside, to, &steps, k->pad);
            table += TILE_ROWS;
            continue;
        }
        for (size_t t = 0; t < k->inner; t++, table += TILE_ROWS) {
            const size_t from = k->from[t] > first ? k->from[t] - first : 0,
                         upto = k->upto[t] > first ? k->upto[t] - first : 0;
            fill_line(table, n, from, upto & inside, to + t * apart, &steps, k->pad);
        }
    }
}

/* The table of `rows` <= TILE_ROWS positions from *p on, which becomes the one behind them; rows
 * that are not there are the last one. Returns the elements of a run. */
static size_t fill_table(const walk *k, place *p, size_t rows, const void **table)
{
    const size_t width = k->v->positions[k->last], first = p->at[k->last];
    const bool all = k->inside_from == 0 && k->inside_upto == width;
    const bool joined = k->joins && (all || (first >= k->inside_from && first + rows <= k->inside_upto));
    const size_t lines = joined ? k->outer : k->outer * k->inner;

    for (size_t done = 0; done < rows;) {
        const size_t n = min_size(rows - done, width - p->at[k->last]);
        fill_lines(k, p, n, joined, table + done);
        done += n;
        p->at[k->last] += n;
        if (p->at[k->last] == width) next_line(k, p);
    }
    for (size_t t = 0; rows < TILE_ROWS && t < lines; t++)
        for (size_t i = rows; i < TILE_ROWS; i++) table[t * TILE_ROWS + i] = table[t * TILE_ROWS + rows - 1];
    return joined ? k->channel_run * k->inner : k->channel_run;
}
