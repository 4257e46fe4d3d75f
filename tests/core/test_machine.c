/* The machine read from captured folders, its fingerprint, and this machine itself. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "calibrax/base/file.h"
#include "calibrax/core/machine.h"
#include "fail_alloc.h"

static const char *captured(const char *name) { return cbx_test_source("tests/fixtures/machines/%s", name); }

static cbx_machine read_captured(const char *name)
{
    cbx_machine m;
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = cbx_test_context();

    CHECK_OK(cbx_machine_read(ctx, captured(name), &m, &err), &err, name);
    cbx_ctx_free(ctx);
    return m;
}

TEST(test_xeon_vm)
{
    cbx_machine m = read_captured("xeon-vm");

    CHECK_STR(m.vendor, "GenuineIntel", "vendor");
    CHECK_STR(m.model_name, "Intel(R) Xeon(R) Processor", "model name");
    CHECK(m.family == 6 && m.model == 167 && m.stepping == 1, "family, model, stepping");
    CHECK(m.cores == 2 && m.threads == 2 && m.sockets == 1, "two cores of one thread");
    CHECK(strstr(m.features, "amx_bf16") && strstr(m.features, "avx512f") && !strstr(m.features, "sve"), "features");
    CHECK(!strstr(m.features, "rdtscp"), "features of no interest are left out");
    CHECK_INT(cbx_machine_cache_bytes(&m, 1), 48 << 10, "data cache, not the one for instructions");
    CHECK_INT(cbx_machine_cache_bytes(&m, 2), 2 << 20, "second level");
    CHECK_INT(cbx_machine_cache_bytes(&m, 4), 0, "no fourth level");
    CHECK(m.naccelerators == 0 && m.numa_nodes == 1, "no accelerator, one node");
}

TEST(test_zen5_like)
{
    cbx_machine m = read_captured("zen5-like");

    CHECK_STR(m.features,
              "avx avx2 avx512_bf16 avx512_vnni avx512_vpopcntdq avx512bw avx512cd avx512dq avx512f avx512vl avx_vnni "
              "bmi2 f16c fma gfni "
              "popcnt sse2 sse4_2 vaes",
              "sorted");
    CHECK(m.cores == 4 && m.threads == 8 && m.sockets == 2, "core ids repeat in each socket");
    CHECK_INT(m.ncaches, 4, "caches");
    CHECK(m.cache[3].level == 3 && m.cache[3].bytes == 32u << 20 && m.cache[3].shared_by == 4,
          "third level, shared by \"0-1,4-5\"");
    CHECK_INT(m.memory_bytes >> 10, 1584875912, "memory");
    CHECK_INT(m.numa_nodes, 2, "nodes");
    CHECK_INT(m.naccelerators, 2, "accelerators");
    CHECK_STR(m.accelerator[0], "NVIDIA H200", "sorted by model");
    CHECK_STR(m.huge_pages, "madvise", "the word in brackets");
    CHECK_STR(m.governor, "performance", "governor");
}

TEST(test_arm_like)
{
    cbx_machine m = read_captured("arm-like");

    CHECK_STR(m.vendor, "0x41", "implementer");
    CHECK_STR(m.model_name, "", "ARM kernels tell no name");
    CHECK(m.family == 8 && m.model == 0xd40 && m.stepping == 1, "architecture, part, revision");
    CHECK_STR(m.features, "asimd asimddp asimdhp bf16 i8mm sve", "features");
    CHECK(m.cores == 4 && m.threads == 4 && m.sockets == 1, "cores from sysfs");
    CHECK(m.ncaches == 0 && cbx_machine_cache_bytes(&m, 1) == 0, "no cache files");
    CHECK_STR(m.governor, "", "no governor");
}

/* Fingerprints are kept in rows: a change here breaks every comparison with older rows. */
TEST(test_fingerprints_are_stable_and_differ)
{
    cbx_machine xeon = read_captured("xeon-vm"), zen = read_captured("zen5-like"), arm = read_captured("arm-like");

    CHECK_STR(xeon.id, "b59ce5298c0e6d89", "xeon-vm");
    CHECK_STR(zen.id, "9192c33d3d6d0368", "zen5-like");
    CHECK_STR(arm.id, "7d9b5e4051668060", "arm-like");
}

/* What may change without the machine being another one, and what may not. */
TEST(test_what_makes_a_machine)
{
    static const struct {
        const char *path, *text;
        bool same;
        const char *why;
    } cases[] = {
        { "proc/meminfo", "MemTotal: 8024100 kB\n", true, "another kernel reserves a little more" },
        { "proc/meminfo", "MemTotal: 16024000 kB\n", false, "more memory" },
        { "etc/hostname", "elsewhere\n", true, "another name" },
        { "proc/version", "Linux version 9.9\n", true, "another kernel" },
        { "sys/kernel/mm/transparent_hugepage/enabled", "[always] never\n", true, "a setting" },
        { "proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t NVIDIA L4\n", false, "an accelerator" },
    };
    static const char cpu[] =
        "processor\t: 0\nFeatures\t: asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd40\n";
    char folder[64], first[CBX_MACHINE_ID_SIZE] = "";
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = cbx_test_context();
    cbx_machine m;

    for (size_t i = 0; i <= CBX_LEN(cases); i++) {
        cbx_test_folder(folder);
        cbx_test_put(cpu, "%s/proc/cpuinfo", folder);
        cbx_test_put("MemTotal: 8024000 kB\n", "%s/proc/meminfo", folder);
        if (i) cbx_test_put(cases[i - 1].text, "%s/%s", folder, cases[i - 1].path);
        CHECK_OK(cbx_machine_read(ctx, folder, &m, &err), &err, "made-up machine");
        if (!i)
            memcpy(first, m.id, sizeof first);
        else
            CHECK((strcmp(first, m.id) == 0) == cases[i - 1].same, cases[i - 1].why);
        cbx_test_folder_remove(folder);
    }
    cbx_ctx_free(ctx);
}

TEST(test_what_is_no_machine)
{
    char folder[64];
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = cbx_test_context();
    cbx_machine m = { .threads = 77 };

    cbx_test_folder(folder);
    CHECK_STATUS(cbx_machine_read(ctx, folder, &m, &err), CBX_ENOENT, "an empty folder");
    CHECK(strstr(err.message, "proc/cpuinfo"), "the message names the file");
    cbx_test_put("\n: :\ncore id : 9\nrubbish\x01", "%s/proc/cpuinfo", folder);
    CHECK_STATUS(cbx_machine_read(ctx, folder, &m, &err), CBX_EFORMAT, "rubbish");
    CHECK_INT(m.threads, 77, "out is untouched");
    cbx_test_folder_remove(folder);
    cbx_ctx_free(ctx);
}

TEST(test_json_holds_what_may_be_published)
{
    cbx_machine m = read_captured("zen5-like");
    cbx_json *v = cbx_machine_to_json(&m);

    CHECK_STR(cbx_json_get_string(v, "id", ""), m.id, "id");
    CHECK_STR(cbx_json_get_string(v, "cpu_model", ""), "AMD EPYC 9575F 64-Core Processor", "model");
    CHECK_INT(cbx_json_length(cbx_json_get(v, "cpu_features")), 19, "features as a list");
    CHECK_STR(cbx_json_string_value(cbx_json_at(cbx_json_get(v, "cpu_features"), 1)), "avx2", "one by one");
    CHECK_INT(cbx_json_get_int(v, "cores", 0), 4, "cores");
    CHECK_INT(cbx_json_get_int(cbx_json_at(cbx_json_get(v, "caches"), 3), "bytes", 0), 32 << 20, "caches");
    CHECK_STR(cbx_json_string_value(cbx_json_at(cbx_json_get(v, "accelerators"), 1)), "NVIDIA L4", "accelerators");
    cbx_json_unref(v);
}

TEST(test_this_machine)
{
    static const char *const sets[] = { "plain", "neon", "avx2", "avx512" };
    cbx_machine m, again;
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *ctx = cbx_test_context();
    bool known = false;

    CHECK_OK(cbx_machine_read(ctx, NULL, &m, &err), &err, "this machine");
    CHECK_OK(cbx_machine_read(ctx, "/", &again, &err), &err, "this machine by its root");
    CHECK_STR(m.id, again.id, "the same");
    CHECK_INT(strspn(m.id, "0123456789abcdef"), 16, "16 digits");
    CHECK(m.cores >= 1 && m.threads >= m.cores && m.memory_bytes > 0, "cores and memory");
    for (size_t i = 0; i < CBX_LEN(sets); i++) known |= strcmp(cbx_machine_isa(), sets[i]) == 0;
    CHECK(known, "instruction set");
    CHECK(strcmp(cbx_machine_isa(), "avx512") != 0 || strstr(m.features, "avx512f"),
          "what cpuid says the kernel says too");
    cbx_ctx_free(ctx);
}

static cbx_status read_it(cbx_ctx *ctx, void *user)
{
    cbx_machine m;

    return cbx_machine_read(ctx, user, &m, NULL);
}

TEST(test_every_allocation_may_fail)
{
    CHECK_GT(cbx_test_fail_each(read_it, (void *)(uintptr_t)captured("zen5-like"), "cbx_machine_read"), 5,
             "allocations were made to fail");
}

TESTS()
