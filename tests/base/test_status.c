/* Status names and the error record. */
#include "check.h"

#include <errno.h>
#include <stdio.h>

TEST(names_and_words)
{
    CHECK_STR(cbx_status_name(CBX_OK), "OK", "the first");
    CHECK_STR(cbx_status_name(CBX_EINDEX), "EINDEX", "the last");
    CHECK_STR(cbx_status_words(CBX_EBUSY), "in use by another process", "words");
    CHECK_STR(cbx_status_name((cbx_status)999), "?", "a number not in the list");
    CHECK_STR(cbx_status_words((cbx_status)-1), "?", "a negative number");
    for (int i = 0; i <= CBX_EINDEX; i++)
        for (int j = 0; j < i; j++)
            CHECK(strcmp(cbx_status_name((cbx_status)i), cbx_status_name((cbx_status)j)) != 0, "names are used once");
}

TEST(fail_fills_the_record)
{
    cbx_err err = CBX_ERR_INIT;
    CHECK_STATUS(cbx_fail(&err, CBX_EDOM, "'%s' is %d", "x", 3), CBX_EDOM, "returns what it is given");
    CHECK_STATUS(err.status, CBX_EDOM, "records it");
    CHECK_STR(err.message, "'x' is 3", "message");
    CHECK_STATUS(cbx_fail(NULL, CBX_EIO, "nobody reads"), CBX_EIO, "NULL record");
    cbx_fail(&err, CBX_EIO, "two\nlines\tand %s", "a\x01tab");
    CHECK_STR(err.message, "two lines and a tab", "one line, whatever a name holds");
}

TEST(long_messages_are_cut_at_a_character)
{
    static const struct {
        const char *character, *why;
    } cases[] = {
        { "x", "one byte" },
        { "\xC3\xA9", "two bytes" },
        { "\xE2\x82\xAC", "three bytes" },
        { "\xF0\x9F\x98\x80", "four bytes" },
    };
    for (size_t c = 0; c < CBX_LEN(cases); c++)
        for (int lead = 0; lead < 4; lead++) {
            char text[1600] = { 0 };
            cbx_err err = CBX_ERR_INIT;
            size_t width = strlen(cases[c].character);
            memset(text, 'a', (size_t)lead);
            for (int i = 0; i < 250; i++) strcat(text, cases[c].character);
            for (int i = 0; i < 300; i++) strcat(text, "b");
            cbx_fail(&err, CBX_EIO, "%s", text);
            size_t len = strlen(err.message), tail = (len - (size_t)lead) % width;
            CHECK(len < CBX_ERR_MESSAGE_SIZE && len >= CBX_ERR_MESSAGE_SIZE - 4, cases[c].why);
            CHECK(memcmp(err.message, text, len) == 0, cases[c].why);
            if ((size_t)lead + 250 * width > len) CHECK_INT(tail, 0, cases[c].why);
        }
}

TEST(errno_becomes_a_status)
{
    static const struct {
        int number;
        cbx_status wanted;
        const char *why, *remedy;
    } cases[] = {
        { ENOSPC, CBX_ENOSPC, "disk full", "; free space there and try again" },
        { EDQUOT, CBX_ENOSPC, "quota used up", "; free space there and try again" },
        { EFBIG, CBX_EIO, "a limit", "; raise the limit of a file's size (ulimit -f)" },
        { EMFILE, CBX_EIO, "another limit", "; raise the limit of open files (ulimit -n)" },
        { ENOENT, CBX_ENOENT, "absent", "" },
        { EACCES, CBX_EPERM, "permission", "" },
        { EPERM, CBX_EPERM, "not owner", "" },
        { EROFS, CBX_EPERM, "read-only disk", "" },
        { EEXIST, CBX_EEXIST, "there already", "" },
        { ENOMEM, CBX_ENOMEM, "memory", "" },
        { EINTR, CBX_EINTERRUPTED, "signal", "" },
        { EAGAIN, CBX_EBUSY, "locked", "" },
        { EBUSY, CBX_EBUSY, "mounted", "" },
        { EISDIR, CBX_EIO, "anything else", "" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_err err = CBX_ERR_INIT;
        CHECK_STATUS(cbx_fail_errno(&err, cases[i].number, "cannot open '%s'", "f"), cases[i].wanted, cases[i].why);
        char wanted[256];
        snprintf(wanted, sizeof wanted, "cannot open 'f': %s%s", strerror(cases[i].number), cases[i].remedy);
        CHECK_STR(err.message, wanted, cases[i].why);
    }
    CHECK_STATUS(cbx_fail_errno(NULL, ENOENT, "x"), CBX_ENOENT, "NULL record");
}

TESTS()
