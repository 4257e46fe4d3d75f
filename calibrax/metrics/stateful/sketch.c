/* Sketches of samples: see sketch.h for the bound. */
#include "calibrax/metrics/stateful/sketch.h"

#include <math.h>
#include <string.h>

enum {
    SIZE,
    COUNT,
    ERROR,
    HALVINGS,
    LOW,
    HIGH,
    LEVELS,
    HEAD
}; /* of what is written; then the lengths of the levels, then values */

void cbx__sketch_init(cbx__sketch *s, const cbx_allocator *al, size_t size)
{
    *s = (cbx__sketch){ .al = *al, .size = size, .low = INFINITY, .high = -INFINITY };
}

void cbx__sketch_clear(cbx__sketch *s)
{
    for (size_t h = 0; h < CBX__SKETCH_LEVELS; h++) cbx_list_clear(&s->al, &s->level[h]);
    cbx__sketch_init(s, &s->al, s->size);
}

/* Both are ascending. */
static bool merge_values(const cbx_allocator *al, cbx__values *into, const double *v, size_t n)
{
    size_t i = into->n, at = into->n + n;

    if (!cbx_list_reserve(al, into, at)) return false;
    into->n = at;
    if (i == 0 && n > 0) memcpy(into->items, v, n * sizeof *v);
    if (i == 0) return true;
    while (n > 0) into->items[--at] = i > 0 && into->items[i - 1] > v[n - 1] ? into->items[--i] : v[--n];
    return true;
}

/* Which of two neighbours moves: bits that no order of values follows. */
static size_t choice(double halvings, size_t level)
{
    uint64_t x = (uint64_t)halvings * 64 + level;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9); /* splitmix64 */
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (size_t)(x >> 63);
}

/* Half of the values of level h, n >= 2 of them, moves to the next level; the last one of an odd
 * number stays. */
static bool halve(cbx__sketch *s, size_t h, const double *v, size_t n)
{
    cbx__values *stays = &s->level[h], *up = &s->level[h + 1], half = { 0 };
    const size_t from = choice(s->halvings, h);
    const double rest = v[n - 1];

    if (!cbx_list_reserve(&s->al, stays, 1) || !cbx_list_reserve(&s->al, &half, n / 2)) return false;
    for (; half.n < n / 2; half.n++) half.items[half.n] = v[2 * half.n + from];
    if (up->n == 0) {
        const cbx__values empty = *up;
        *up = half;
        half = empty;
    } else if (!merge_values(&s->al, up, half.items, half.n)) {
        cbx_list_clear(&s->al, &half);
        return false;
    }
    cbx_list_clear(&s->al, &half);
    stays->n = n % 2;
    stays->items[0] = rest;
    s->error += ldexp(1, (int)h);
    s->halvings++;
    return true;
}

static bool halve_full(cbx__sketch *s)
{
    for (size_t h = 0; h + 1 < CBX__SKETCH_LEVELS; h++)
        if (s->level[h].n >= s->size && !halve(s, h, s->level[h].items, s->level[h].n)) return false;
    return true;
}

bool cbx__sketch_add(cbx__sketch *s, const double *values, size_t n)
{
    if (n == 0) return true;
    if (s->count + (double)n > 0x1p53) return false;
    if (s->level[0].n == 0 && n >= s->size ? !halve(s, 0, values, n) : !merge_values(&s->al, &s->level[0], values, n))
        return false;
    s->count += (double)n;
    s->low = fmin(s->low, values[0]);
    s->high = fmax(s->high, values[n - 1]);
    return halve_full(s);
}

bool cbx__sketch_merge(cbx__sketch *s, const cbx__sketch *other)
{
    if (s->count + other->count > 0x1p53) return false;
    for (size_t h = 0; h < CBX__SKETCH_LEVELS; h++)
        if (other->level[h].n && !merge_values(&s->al, &s->level[h], other->level[h].items, other->level[h].n))
            return false;
    s->count += other->count;
    s->error += other->error;
    s->halvings += other->halvings;
    s->low = fmin(s->low, other->low);
    s->high = fmax(s->high, other->high);
    return halve_full(s);
}

/* ---- as numbers ---- */

static size_t levels_of(const cbx__sketch *s)
{
    size_t n = CBX__SKETCH_LEVELS;
    while (n > 0 && s->level[n - 1].n == 0) n--;
    return n;
}

size_t cbx__sketch_length(const cbx__sketch *s)
{
    size_t n = HEAD + levels_of(s);
    for (size_t h = 0; h < CBX__SKETCH_LEVELS; h++) n += s->level[h].n;
    return n;
}

void cbx__sketch_write(const cbx__sketch *s, double *out)
{
    const size_t levels = levels_of(s);
    const double head[HEAD] = { (double)s->size, s->count, s->error, s->halvings, s->low, s->high, (double)levels };

    for (size_t i = 0; i < HEAD; i++) *out++ = head[i];
    for (size_t h = 0; h < levels; h++) *out++ = (double)s->level[h].n;
    for (size_t h = 0; h < levels; h++)
        for (size_t i = 0; i < s->level[h].n; i++) *out++ = s->level[h].items[i];
}

static bool is_count(double x) { return x >= 0 && x <= 0x1p53 && x == floor(x); }

cbx_status cbx__sketch_read(cbx__sketch *s, const double *v, size_t n, cbx_err *err)
{
    const double *lengths = v + HEAD;
    double total = 0;
    size_t at, levels;

    if (n < HEAD || !(v[LEVELS] >= 0 && v[LEVELS] <= CBX__SKETCH_LEVELS) || !is_count(v[LEVELS]))
        return cbx_fail(err, CBX_EFORMAT, "a state holds no sketch of values");
    if (v[SIZE] != (double)s->size)
        return cbx_fail(err, CBX_EFORMAT, "a sketch of size %g is read as one of size %zu", v[SIZE], s->size);
    levels = (size_t)v[LEVELS];
    at = HEAD + levels;
    if (at > n || !is_count(v[COUNT]) || !is_count(v[HALVINGS]) || !(v[ERROR] >= 0 && v[ERROR] <= v[COUNT]))
        return cbx_fail(err, CBX_EFORMAT, "a sketch has counts that are not possible");
    s->count = v[COUNT];
    s->error = v[ERROR];
    s->halvings = v[HALVINGS];
    s->low = v[LOW];
    s->high = v[HIGH];
    for (size_t h = 0; h < levels; h++) {
        bool fits = is_count(lengths[h]) && lengths[h] <= (double)(n - at) && lengths[h] < (double)s->size;
        const size_t length = fits ? (size_t)lengths[h] : 0;
        for (size_t i = 0; i < length; i++) /* ascending, inside the extremes */
            fits &= v[at + i] >= (i ? v[at + i - 1] : s->low) && v[at + i] <= s->high;
        if (!fits) return cbx_fail(err, CBX_EFORMAT, "level %zu of a sketch is not valid", h);
        if (!merge_values(&s->al, &s->level[h], v + at, length)) return cbx_fail_nomem(err, "a sketch");
        total += ldexp((double)length, (int)h);
        at += length;
    }
    if (at != n || total != s->count)
        return cbx_fail(err, CBX_EFORMAT, "the weights of a sketch do not add up to its number of values");
    return CBX_OK;
}

/* ---- queries ---- */

bool cbx__sketch_values(const cbx__sketch *s, cbx__weighted_values *out)
{
    size_t n = 0;

    for (size_t h = 0; h < CBX__SKETCH_LEVELS; h++) n += s->level[h].n;
    if (!cbx_list_reserve(&s->al, out, n + 1)) return false;
    for (size_t h = 0; h < CBX__SKETCH_LEVELS; h++) {
        const cbx__values *v = &s->level[h];
        const double weight = ldexp(1, (int)h);
        size_t i = out->n, k = v->n, at = out->n += v->n;
        while (k > 0) {
            const bool kept = i > 0 && out->items[i - 1].value > v->items[k - 1];
            out->items[--at] = kept ? out->items[i - 1] : (cbx__weighted){ v->items[k - 1], weight };
            if (kept)
                i--;
            else
                k--;
        }
    }
    return true;
}

double cbx__sketch_quantile(const cbx__sketch *s, const cbx__weighted_values *values, double q)
{
    const double rank = q * s->count;
    double sum = 0;

    if (!(rank > 0)) return s->low;
    for (size_t i = 0; i < values->n && q < 1; i++) {
        sum += values->items[i].weight;
        if (sum >= rank) return values->items[i].value;
    }
    return s->high;
}
