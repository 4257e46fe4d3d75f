/* A place for each test. */
#include "place.h"

#include "check.h"

int cbx_test_place_open(void **state)
{
    static cbx_test_place place;

    cbx_test_alloc_init(&place.alloc);
    place.ctx = cbx_test_ctx(&place.alloc);
    cbx_test_folder(place.folder);
    *state = &place;
    return 0;
}

int cbx_test_place_close(void **state)
{
    cbx_test_place *place = *state;

    cbx_test_folder_remove(place->folder);
    cbx_ctx_free(place->ctx);
    cbx_test_alloc_check(&place->alloc, "after the test");
    return 0;
}
