/**
 * Williams squares and layout factors; see order.h.
 */
#include "calibrax/perf/sweep/order.h"

#include <fcntl.h>
#include <sys/personality.h>
#include <unistd.h>

#include "calibrax/base/rng.h"

size_t cbx__schedule_block(size_t n)
{
    if (n <= 1) return 1;
    return n % 2 ? 2 * n : n;
}

void cbx__schedule_order(uint64_t seed, size_t n, size_t round, size_t *scratch, size_t *out)
{
    size_t block_rows = cbx__schedule_block(n), block = round / block_rows;
    cbx_rng rng = cbx_rng_make(seed, cbx__stream_of(0x5c4edu, n, block));

    if (n == 0) return;
    cbx_rng_permutation(&rng, n, scratch);
    /* Place p of row k of the square of n is the zigzag 0, 1, n-1, 2, n-2 ... shifted by the row.
     * Rows in mirrored pairs.  n even: row i + n/2 is row i read backwards, so pairs are (i, i +
     * n/2).  n odd: the second half of the 2n rows is the first one mirrored. */
    size_t k = round % block_rows;
    for (size_t p = 0; p < n; p++) {
        const size_t place = k % 2 ? n - 1 - p : p;
        out[p] = ((place % 2 ? (place + 1) / 2 : (n - place / 2) % n) + k / 2) % n;
    }
    for (size_t p = 0; p < n; p++) out[p] = scratch[out[p]];
}

/* splitmix64's finalizer (Steele, Lea & Flood, OOPSLA 2014) over a running sum. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t cbx__stream_of(uint64_t a, uint64_t b, uint64_t c) { return mix(mix(mix(a) + b) + c); }

cbx__layout cbx__layout_draw(uint64_t seed, uint64_t stream)
{
    cbx_rng rng = cbx_rng_make(seed, stream);
    const size_t env = cbx_rng_below(&rng, 4096), stack = cbx_rng_below(&rng, 4096), heap = cbx_rng_below(&rng, 65536);

    return (cbx__layout){ env, 16 * stack, 16 * heap };
}

int cbx__layout_is_random(void)
{
    int fd = open("/proc/sys/kernel/randomize_va_space", O_RDONLY | O_CLOEXEC), personal = personality(0xffffffff);
    char digit = 0;
    ssize_t n = fd < 0 ? -1 : read(fd, &digit, 1);

    if (fd >= 0) close(fd);
    if (n != 1) return -1;
    return digit == '2' && (personal == -1 || !(personal & ADDR_NO_RANDOMIZE)); /* children inherit the personality */
}
