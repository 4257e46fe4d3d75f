/* Machine code from ELF objects: damaged ones are refused. */
#include "check.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/jit/machine_code.h"
#include "calibrax/base/file.h"
#include "calibrax/base/rng.h"
#include "counted.h"

static char *object;
static size_t object_len;

static uint64_t no_address(const char *name)
{
    (void)name;
    return 0;
}

static double twice(double x) { return 2 * x; }
static uint64_t address_of_twice(const char *name)
{
    return strcmp(name, "twice") == 0 ? (uint64_t)(uintptr_t)twice : 0;
}

/* An object of the C compiler, with a constant, a call and a table of functions, as LLVM's
 * have them. */
static int compile_object(void **state)
{
    char folder[64], path[96], command[400];
    FILE *f;
    cbx_err err;

    cbx_test_folder(folder);
    snprintf(path, sizeof path, "%s/x.c", folder);
    f = fopen(path, "w");
    CHECK(f, "a source file");
    fputs("double twice(double);\n"
          "static double g(double x) { return twice(x) + 0.37; }\n"
          "static double h(double x) { return x * 1.37; }\n"
          "double (*const table[])(double) = { g, h };\n",
          f);
    fclose(f);
    snprintf(command, sizeof command,
             "cd %s && cc -O1 -fPIC -fno-asynchronous-unwind-tables -fcf-protection=none -fvisibility=hidden -c x.c "
             "2>/dev/null "
             "|| cc -O1 -fPIC -fno-asynchronous-unwind-tables -fvisibility=hidden -c x.c",
             folder);
    CHECK_INT(system(command), 0, "the C compiler");
    snprintf(path, sizeof path, "%s/x.o", folder);
    counted_setup(state);
    CHECK_OK(cbx_file_read(ctx, path, 0, &object, &object_len, &err), &err, "its object");
    cbx_test_folder_remove(folder);
    return 0;
}

static int forget_object(void **state)
{
    cbx_mem_free(cbx_ctx_allocator(ctx), object, object_len + 1);
    return counted_teardown(state);
}

TEST(an_object_runs)
{
    cbx__machine_code code;
    cbx_err err;

    CHECK_OK(cbx__machine_code_load(object, object_len, "table", address_of_twice, &code, &err), &err, "load");
    double (*const *table)(double) = code.symbol;
    CHECK(table[0](3) == 6.37, "a call and a constant");
    CHECK(table[1](2) == 2.74, "the second function");
    CHECK_GT(code.code_bytes, 20, "bytes");
    CHECK_LE(code.code_bytes, 300, "bytes");
    cbx__machine_code_unload(&code);
}

TEST(what_is_missing_is_named)
{
    cbx__machine_code code;
    cbx_err err;

    CHECK_STATUS(cbx__machine_code_load(object, object_len, "table", no_address, &code, &err), CBX_EFORMAT, "no twice");
    CHECK_STR(err.message, "machine code calls 'twice', which is unknown", "message");
    CHECK_STATUS(cbx__machine_code_load(object, object_len, "chair", address_of_twice, &code, &err), CBX_EFORMAT,
                 "a name");
    CHECK_STR(err.message, "machine code has no 'chair'", "message");
    CHECK_STATUS(cbx__machine_code_load("text", 4, "table", no_address, &code, &err), CBX_EFORMAT, "no object");
    CHECK_STR(err.message, "machine code is not an object of this machine", "message");
}

TEST(impossible_numbers_are_refused)
{
    enum { SIZE = 16384 };
    char *larger = calloc(1, SIZE);
    cbx__machine_code code;
    Elf64_Ehdr head;
    Elf64_Shdr section;

    CHECK_LE(object_len, SIZE, "the object");
    memcpy(larger, object, object_len);
    memcpy(&head, object, sizeof head);
    head.e_shnum = 200; /* within the file */
    head.e_shoff = sizeof head;
    memcpy(larger, &head, sizeof head);
    CHECK_STATUS(cbx__machine_code_load(larger, SIZE, "table", address_of_twice, &code, NULL), CBX_EFORMAT, "sections");
    memcpy(&head, object, sizeof head);
    memcpy(larger, object, object_len);
    for (size_t i = 1; i < head.e_shnum; i++) {
        memcpy(&section, object + head.e_shoff + i * sizeof section, sizeof section);
        if (!(section.sh_flags & SHF_EXECINSTR)) continue;
        section.sh_addralign = UINT64_C(1) << 40;
        memcpy(larger + head.e_shoff + i * sizeof section, &section, sizeof section);
    }
    CHECK_STATUS(cbx__machine_code_load(larger, SIZE, "table", address_of_twice, &code, NULL), CBX_EFORMAT,
                 "alignment");
    free(larger);
}

/* A reference from code to what is 8 GiB away, which no instruction reaches. */
TEST(references_that_do_not_reach_are_refused)
{
    size_t refused = 0;
    Elf64_Ehdr head;
    cbx_err err;

    memcpy(&head, object, sizeof head);
    for (size_t i = 1; i < head.e_shnum; i++) {
        Elf64_Shdr list, target;
        memcpy(&list, object + head.e_shoff + i * sizeof list, sizeof list);
        if (list.sh_type != SHT_RELA) continue;
        memcpy(&target, object + head.e_shoff + list.sh_info * sizeof target, sizeof target);
        if (!(target.sh_flags & SHF_EXECINSTR)) continue;
        for (size_t k = 0; k < list.sh_size / sizeof(Elf64_Rela); k++) {
            char *changed = malloc(object_len);
            cbx__machine_code code;
            Elf64_Rela r;
            memcpy(changed, object, object_len);
            memcpy(&r, object + list.sh_offset + k * sizeof r, sizeof r);
            r.r_addend += INT64_C(1) << 33;
            memcpy(changed + list.sh_offset + k * sizeof r, &r, sizeof r);
            if (cbx__machine_code_load(changed, object_len, "table", address_of_twice, &code, &err) == CBX_OK) {
                cbx__machine_code_unload(&code); /* the low bits of an address, on AArch64 */
            } else {
                CHECK_STR(err.message, "machine code has a reference that cannot be resolved", "message");
                refused++;
            }
            free(changed);
        }
    }
    CHECK_GT(refused, 0, "references");
}

/* Whatever bytes there are, loading them reads and writes nothing outside. */
TEST(damaged_objects_do_no_harm)
{
    cbx_rng r = cbx_rng_make(1, 0);
    size_t refused = 0;

    for (size_t n = 0; n < object_len; n += 7) {
        char *cut = malloc(n ? n : 1);
        cbx__machine_code code;
        memcpy(cut, object, n);
        CHECK_STATUS(cbx__machine_code_load(cut, n, "table", address_of_twice, &code, NULL), CBX_EFORMAT, "cut");
        free(cut);
    }
    for (int i = 0; i < 20000; i++) {
        char *damaged = malloc(object_len);
        cbx__machine_code code;
        memcpy(damaged, object, object_len);
        for (uint64_t k = 1 + cbx_rng_below(&r, 4); k > 0; k--) {
            const size_t at = cbx_rng_below(&r, object_len);
            const char bit = (char)(1 << cbx_rng_below(&r, 8));
            damaged[at] = cbx_rng_below(&r, 2) ? (char)cbx_rng_u64(&r) : (char)(damaged[at] ^ bit);
        }
        if (cbx__machine_code_load(damaged, object_len, "table", address_of_twice, &code, NULL) == CBX_OK)
            cbx__machine_code_unload(&code);
        else
            refused++;
        free(damaged);
    }
    CHECK_GT(refused, 2000, "refused");
}

TESTS(.before = compile_object, .after = forget_object)
