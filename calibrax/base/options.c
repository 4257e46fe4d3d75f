/* Option structs. */
#include "calibrax/base/options.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

cbx_status cbx_take_options(void *full, size_t size, const void *given, const char *name, cbx_err *err)
{
    const uint32_t known = (uint32_t)size;
    uint32_t given_size = known;

    if (given) memcpy(&given_size, given, sizeof given_size);
    if (given_size < sizeof given_size || given_size > known)
        return cbx_fail(
            err, CBX_EINVAL,
            "'struct_size' of %s must be at most %u, got %u: start from its INIT macro, or use a library of "
            "the version of the headers",
            name, known, given_size);
    if (given) memcpy(full, given, given_size);
    memcpy(full, &known, sizeof known);
    return CBX_OK;
}

cbx_status cbx_check_range(const char *name, double v, double low, double high, cbx_err *err)
{
    if (v >= low && v <= high) return CBX_OK;
    if (isinf(high)) return cbx_fail(err, CBX_EINVAL, "'%s' must be at least %.10g, got %.10g", name, low, v);
    return cbx_fail(err, CBX_EINVAL, "'%s' must be between %.10g and %.10g, got %.10g", name, low, high, v);
}

cbx_status cbx_check_level(const char *name, double v, cbx_err *err)
{
    if (v > 0 && v < 1) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "'%s' must be greater than 0 and less than 1, got %.10g", name, v);
}
