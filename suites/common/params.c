/* Words of parameter tables and what they mean. */
#include "suites/common/params.h"

#include <string.h>

const char *const cbx__suite_floats[] = { "f32", "f64", NULL };
const char *const cbx__suite_numbers[] = { "f64", "f32", "i64", NULL };
const char *const cbx__suite_floats_and_bool[] = { "f32", "f64", "bool", NULL };
const char *const cbx__suite_algebras[] = { "real",    "log", "tropical_max_plus", "tropical_min_plus", "euclidean",
                                            "boolean", NULL };

cbx_dtype cbx__suite_dtype_of(const char *word)
{
    static const struct {
        const char *word;
        cbx_dtype dtype;
    } table[] = { { "f32", CBX_F32 }, { "f64", CBX_F64 }, { "i64", CBX_I64 }, { "bool", CBX_BOOL } };
    size_t i = 0;

    while (i + 1 < CBX_LEN(table) && strcmp(table[i].word, word) != 0) i++;
    return table[i].dtype;
}

cbx_dtype cbx__suite_dtype(const cbx_params *params) { return cbx__suite_dtype_of(cbx_params_word(params, "dtype")); }

const cbx_semiring *cbx__suite_algebra(const cbx_params *params)
{
    return cbx_semiring_find(cbx_params_word(params, "algebra"));
}

uint64_t cbx__suite_seed(const cbx_params *params) { return (uint64_t)cbx_params_int(params, "seed"); }

size_t cbx__suite_count(const cbx_params *params, const char *name) { return (size_t)cbx_params_int(params, name); }

const char *cbx__suite_fitting_dtype(const cbx_params *before)
{
    return cbx__suite_algebra(before)->id == CBX_ALGEBRA_BOOLEAN ? "bool" : "f32";
}

cbx_status cbx__suite_check_algebra(const cbx_params *point, cbx_err *err)
{
    const cbx_semiring *s = cbx__suite_algebra(point);
    if (cbx_semiring_takes(s, cbx__suite_dtype(point))) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "algebra '%s' does not take dtype '%s': use %s, or leave dtype out", s->name,
                    cbx_params_word(point, "dtype"), cbx__suite_fitting_dtype(point));
}
