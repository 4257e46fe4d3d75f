/* The build ID is that which the linker wrote. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calibrax/base/build_id.h"

TEST(the_linker_s_note_is_found)
{
    char command[1200], line[256] = "";
    const char *id = cbx__build_id();

    /* The library, or this program if it is linked statically. */
    snprintf(command, sizeof command, "readelf -n %s/libcalibrax.so /proc/%ld/exe 2>/dev/null | grep 'Build ID: %s$'",
             getenv("CALIBRAX_BUILD_ROOT"), (long)getpid(), id);
    FILE *f = popen(command, "r");
    CHECK(f, "readelf");
    CHECK(fgets(line, sizeof line, f), "the same as readelf prints");
    pclose(f);
    CHECK(strlen(id) >= 16, id);
    CHECK(cbx__build_id() == id, "found once");
}

TESTS()
