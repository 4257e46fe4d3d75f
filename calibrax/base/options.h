/**
 * Option structs: read across versions, and checked.
 */
#ifndef CALIBRAX_BASE_OPTIONS_H
#define CALIBRAX_BASE_OPTIONS_H

#include <stddef.h>

#include "calibrax/base/status.h"

CBX_BEGIN_DECLS

/**
 * The options of a caller as this version of the library has them.  Every such struct begins with
 * uint32_t struct_size; a caller that was compiled against an older version has a smaller one, and
 * what its struct lacks keeps its default.
 * @param full   size bytes, holds the defaults (the struct's ..._INIT); its struct_size becomes
 *   size
 * @param given  NULL: all defaults
 * @param name   of the struct, in the message: "cbx_timing_opts"
 * @return CBX_OK; CBX_EINVAL: struct_size is 0, or that of a version later than this library
 */
CBX_API cbx_status cbx_take_options(void *full, size_t size, const void *given, const char *name, cbx_err *err);

/** CBX_EINVAL unless low <= v <= high: "'runs' must be between 1 and 65536, got 0".  high may be
 * infinite; NaN is refused. */
CBX_API cbx_status cbx_check_range(const char *name, double v, double low, double high, cbx_err *err);
/** The same for 0 < v < 1: confidence levels, shares. */
CBX_API cbx_status cbx_check_level(const char *name, double v, cbx_err *err);

CBX_END_DECLS
#endif
