/*
 * The rows of instruction sets reach every family of kernels; CALIBRAX_ISA is kept to.
 */
#include "check.h"

#include <stdlib.h>

#include "calibrax/array/kernels/ell_isa.h"
#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/kernels/search.h"
#include "calibrax/array/kernels/semiring_kernel.h"
#include "calibrax/array/kernels/sort.h"

/* An instruction set that is built, with what every family has of it. */
typedef struct row {
    cbx_isa isa;
    const char *name;
    const cbx__ell_kernel *ell;
    const cbx__semiring_kernel *semiring;
    cbx__search search;
} row;

static const row rows[] = {
#define ROW(id, name, cpus)                                                                                            \
    CBX_ISA_ON_##cpus({ CBX_ISA_##id, #name, cbx__ell_##name, cbx__semiring_##name, cbx__search_##name }, )
    CBX_ISA_MAP(ROW)
#undef ROW
};

TEST(every_family_has_every_row)
{
    CHECK(CBX_LEN(rows) >= 1 && rows[0].isa == CBX_ISA_PLAIN, "plain comes first");
    for (size_t i = 0; i < CBX_LEN(rows); i++) {
        const row *r = &rows[i];
        CHECK(strcmp(cbx_isa_name(r->isa), r->name) == 0, r->name);
        CHECK(r->ell->product && r->ell->softmax && r->ell->grad, r->name);
        CHECK(r->semiring->run && r->semiring->limit && r->semiring->grad, r->name);
        CHECK(cbx__fold_get(r->isa)->run_max_f64 && cbx__sort_get(r->isa)->sort, r->name);
        CHECK(cbx__search_get(r->isa) == r->search, r->name);
        for (size_t k = 0; k < i; k++) { /* each is a build of its own */
            CHECK(cbx__fold_get(rows[k].isa) != cbx__fold_get(r->isa), r->name);
            CHECK(cbx__sort_get(rows[k].isa) != cbx__sort_get(r->isa), r->name);
        }
    }
    CHECK(strcmp(cbx_isa_name(CBX_ISA_COUNT), "?") == 0, "beyond the rows");
}

TEST(the_best_is_the_widest)
{
    const char *word = getenv("CALIBRAX_ISA");
    CHECK(cbx_isa_available(CBX_ISA_PLAIN) && !cbx_isa_available(CBX_ISA_COUNT), "plain always, no number beyond");
    CHECK(cbx_isa_available(cbx_isa_best()), "the best one is available");
    for (int i = (int)cbx_isa_best() + 1; i < CBX_ISA_COUNT; i++)
        CHECK(!cbx_isa_available((cbx_isa)i), "none is wider");
    for (int i = 0; word && i < CBX_ISA_COUNT; i++)
        if (strcmp(word, cbx_isa_name((cbx_isa)i)) == 0) CHECK((int)cbx_isa_best() <= i, "not wider than CALIBRAX_ISA");
}

TESTS(.seconds = 600)
