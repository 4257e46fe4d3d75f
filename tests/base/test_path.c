/* Paths as text: the parts of each kind of path. */
#include "check.h"

#include "calibrax/base/path.h"

TEST(parts)
{
    static const struct {
        const char *path, *parent, *base, *beside;
    } cases[] = {
        { "a/b.json", "a", "b.json", "a/x" },
        { "b.tar.gz", ".", "b.tar.gz", "x" },
        { "/b", "/", "b", "/x" },
        { "a.b/c", "a.b", "c", "a.b/x" },
        { "a/.git", "a", ".git", "a/x" },
        { "", ".", "", "x" },
        { "/", "/", "/", "/x" },
        { "a/b/", "a/b", "a/b/", "a/b/x" },
        { "a./", "a.", "a./", "a./x" },
    };
    cbx_arena arena;

    cbx_arena_init(&arena, cbx_allocator_default());
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        CHECK_STR(cbx_path_parent(&arena, cases[i].path), cases[i].parent, cases[i].path);
        CHECK_STR(cbx_path_base(cases[i].path), cases[i].base, cases[i].path);
        CHECK_STR(cbx_path_beside(&arena, cases[i].path, "x"), cases[i].beside, cases[i].path);
    }
    CHECK_STR(cbx_path_join(&arena, "a", "b"), "a/b", "joined");
    CHECK_STR(cbx_path_join(&arena, "a/", "b"), "a/b", "one slash");
    CHECK_STR(cbx_path_join(&arena, "", "b"), "b", "no folder");
    cbx_arena_clear(&arena);
}

TESTS()
