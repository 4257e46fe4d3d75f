/* Copies of elements by their size. */
#include "calibrax/array/kernels/copy.h"

#include <string.h>

/* Bits, not values: NaN payloads and signalling NaNs stay. */
typedef struct sixteen {
    uint64_t half[2];
} sixteen;
#define COPY(fn, T)                                                                                                    \
    static void fn(size_t n, char *const *p, const ptrdiff_t *s)                                                       \
    {                                                                                                                  \
        char *o = p[0];                                                                                                \
        const char *a = p[1];                                                                                          \
        if (s[0] == (ptrdiff_t)sizeof(T) && s[1] == s[0]) {                                                            \
            memcpy(o, a, n * sizeof(T));                                                                               \
            return;                                                                                                    \
        }                                                                                                              \
        if (s[0] == (ptrdiff_t)sizeof(T) && s[1] == 0 && n > 0) {                                                      \
            T x;                                                                                                       \
            memcpy(&x, a, sizeof x);                                                                                   \
            for (size_t i = 0; i < n; i++) ((T *)o)[i] = x;                                                            \
            return;                                                                                                    \
        }                                                                                                              \
        if (s[1] == 0 && n > 0) { /* one element to places with gaps */                                                \
            T x;                                                                                                       \
            memcpy(&x, a, sizeof x);                                                                                   \
            _Pragma("GCC unroll 4") for (; n > 0; n--, o += s[0]) memcpy(o, &x, sizeof x);                             \
            return;                                                                                                    \
        }                                                                                                              \
        if (s[0] == (ptrdiff_t)sizeof(T) && s[1] == 2 * s[0])                                                          \
            for (size_t i = 0; i < n; i++) ((T *)o)[i] = ((const T *)a)[2 * i];                                        \
        else if (s[0] == (ptrdiff_t)sizeof(T))                                                                         \
            for (size_t i = 0; i < n; i++, a += s[1]) memcpy(o + i * sizeof(T), a, sizeof(T));                         \
        else                                                                                                           \
            for (; n > 0; n--, o += s[0], a += s[1]) memcpy(o, a, sizeof(T));                                          \
    }
COPY(copy_1, uint8_t)
COPY(copy_2, uint16_t)
COPY(copy_4, uint32_t)
COPY(copy_8, uint64_t)
COPY(copy_16, sixteen)

cbx__loop cbx__copy_loop(cbx_dtype t)
{
    static const cbx__loop by_size[] = { [1] = copy_1, [2] = copy_2, [4] = copy_4, [8] = copy_8, [16] = copy_16 };
    return by_size[cbx_dtype_size(t)];
}
