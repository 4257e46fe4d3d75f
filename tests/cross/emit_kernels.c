/*
 * Random kernels as code of another machine, for kernels.c, which runs it there: on a machine
 * with LLVM.
 *
 *     emit_kernels N FOLDER    writes kernels.o, and stubs.c: hashes of the kernels in the order of
 *                              the object's table, and the loops that it calls
 */
#include <stdio.h>
#include <stdlib.h>

#include "kernels_random.h"

#include "calibrax/array/jit/llvm.h"

static void put_stubs(FILE *f, const kernel_trial *trials, size_t n)
{
    char name[32];

    fprintf(f, "#include \"calibrax/array/kernels/loops.h\"\n\nconst unsigned long kernels_count = %zu;\n", n);
    fprintf(f, "const unsigned long long kernels_hash[] = {\n");
    for (size_t i = 0; i < n; i++) fprintf(f, "    0x%llxull,\n", (unsigned long long)kernel_hash(&trials[i].k));
    fprintf(f, "};\n");
    for (int p = 0; p < CBX_PRIM_LIMIT; p++)
        for (int t = 0; t < CBX_DTYPE_COUNT; t++) {
            const cbx_prim_info *info = cbx_prim_get_info((cbx_prim)p);
            if (!info || !cbx__llvm_loop((cbx_prim)p, (cbx_dtype)t)) continue;
            fprintf(
                f, "void %s(size_t n, char *const *p, const ptrdiff_t *s) { cbx__loops_get()->%s(%d, %d)(n, p, s); }\n",
                cbx__llvm_loop_name(name, (cbx_prim)p, (cbx_dtype)t), info->operands[1] ? "binary" : "unary", p, t);
        }
}

int main(int argc, char **argv)
{
    const size_t n = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    kernel_trial *trials = calloc(n + 1, sizeof *trials);
    const cbx__kernel **kernels = calloc(n + 1, sizeof *kernels);
    char path[4096];
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_text object;
    FILE *f;

    if (n == 0 || !trials || !kernels || cbx_ctx_create(NULL, &ctx, &err)) {
        fprintf(stderr, "usage: emit_kernels N FOLDER\n");
        return 2;
    }
    for (size_t i = 0; i < n; i++) {
        kernel_trial_make(&trials[i], KERNELS_ALL, i + 1);
        kernels[i] = &trials[i].k;
    }
    cbx_text_init(&object, cbx_allocator_default());
    if (cbx__llvm_image(ctx, CBX__LLVM_ARM64, CBX_ISA_PLAIN, "kernels_table", n, kernels, LLVM_OBJECT_FILE, &object,
                        &err)) {
        fprintf(stderr, "emit_kernels: %s\n", err.message);
        return 2;
    }
    snprintf(path, sizeof path, "%s/kernels.o", argv[2]);
    f = fopen(path, "wb");
    if (!f || fwrite(object.data, 1, object.len, f) != object.len || fclose(f)) return 2;
    snprintf(path, sizeof path, "%s/stubs.c", argv[2]);
    f = fopen(path, "w");
    if (!f) return 2;
    put_stubs(f, trials, n);
    return fclose(f) ? 2 : 0;
}
