/**
 * Parameter points: what one measurement is of
 * ("m":512,"k":512,"n":512,"algebra":"log","dtype":"f32","seed":0).
 *
 * A case declares its parameters in a table; a point is checked against it once and is immutable
 * from then on.
 */
#ifndef CALIBRAX_PERF_CASE_PARAMS_H
#define CALIBRAX_PERF_CASE_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

typedef struct cbx_params cbx_params;

typedef enum cbx_param_kind { CBX_PARAM_INT, CBX_PARAM_WORD } cbx_param_kind;

/** One declared parameter. */
typedef struct cbx_param_def {
    const char *name;
    cbx_param_kind kind;
    int64_t min, max;         /* of an INT */
    const char *const *words; /* of a WORD: allowed ones, NULL-terminated */
    const char *fallback;     /* value when the key is absent, as text; NULL: the key is required */
    const char *help;
    /** Optional: value when the key is absent, from the parameters declared before this one;
     * fallback is then not used. */
    const char *(*derive)(const cbx_params *before);
    /** Left out of the canonical JSON while it is the fallback: for a parameter that came later, so
     * that points keep their text. */
    bool omits_fallback;
} cbx_param_def;

/**
 * Parses a JSON object against the table.
 * @param what  names the source in messages ("--point")
 * @return CBX_OK; CBX_EFORMAT (malformed JSON); CBX_EINVAL (unknown key with the nearest known one,
 *         missing key, wrong type, out of range, unknown word with the allowed ones listed);
 *         CBX_ENOMEM
 */
CBX_API cbx_status cbx_params_parse(cbx_ctx *ctx, const cbx_param_def *defs, size_t ndefs, const char *json,
                                    const char *what, cbx_params **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_params_free(cbx_params *p);

/** Value of a declared INT / WORD; asserts that the key is declared. */
CBX_API int64_t cbx_params_int(const cbx_params *p, const char *key);
CBX_API const char *cbx_params_word(const cbx_params *p, const char *key);
/** Canonical JSON: every declared key (but see omits_fallback), in declared order, compact.  Equal
 * points have equal text.  Lives as long as p. */
CBX_API const char *cbx_params_json(const cbx_params *p);
/** cbx_case_ops.user of the case whose point it is; else NULL. */
CBX_API const void *cbx_params_user(const cbx_params *p);
/** Attaches what cbx_params_user gives; borrowed.  cbx_case_point does it. */
CBX_API void cbx_params_set_user(cbx_params *p, const void *user);

CBX_END_DECLS
#endif
