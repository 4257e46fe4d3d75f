/* A point made ready: sealed inputs, rotations, the oracle in its own process, its cache. */
#include "check.h"
#include "fail_alloc.h"
#include "launch_support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calibrax/array/io/npy.h"
#include "calibrax/base/file.h"
#include "calibrax/perf/launch/workload.h"

static cbx_workload_opts opts_of(const fixture *f)
{
    cbx_workload_opts o = CBX_WORKLOAD_OPTS_INIT;
    o.cache_dir = f->cache;
    o.oracle_timeout_s = 20;
    return o;
}

TEST(inputs_are_sealed)
{
    fixture *f = *test_state;
    CHECK_INT(f->toy.w->nsets, 2, "the first set and one rotation");
    for (size_t i = 0; i < f->toy.w->nsets; i++) {
        int fd = f->toy.w->input_fds[i], seals = fcntl(fd, F_GET_SEALS);
        CHECK(seals >= 0 && (seals & F_SEAL_WRITE) && (seals & F_SEAL_SHRINK) && (seals & F_SEAL_GROW), "sealed");
        CHECK(pwrite(fd, "x", 1, 0) < 0 && errno == EPERM, "not to be written");
        CHECK(ftruncate(fd, 0) < 0, "not to be cut");
        CHECK(mmap(NULL, 64, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED, "not to be mapped for writing");
    }
}

TEST(rotation_turns_inputs_and_answers_alike)
{
    fixture *f = *test_state;
    for (size_t set = 0; set < 2; set++) {
        cbx_array *in = NULL;
        cbx_err err = CBX_ERR_INIT;
        CHECK_OK(cbx_npy_map_fd(f->ctx, f->toy.w->input_fds[set], &in, &err), &err, "an input");
        const float *a = cbx_array_data(in);
        const double *y = cbx_array_data(f->toy.w->answers[set]);
        CHECK(a[0] == (float)set, "the second set is shifted by one");
        for (size_t i = 0; i < cbx_array_count(in); i++)
            CHECK(y[i] == 2.0 * a[i] + 1.0, "the answer belongs to its set");
        cbx_array_free(in);
    }
}

TEST(a_set_is_held_back)
{
    fixture *f = *test_state;
    cbx__held h = { 0 };
    cbx_err err = CBX_ERR_INIT;
    cbx_array *in = NULL, *base = NULL;
    CHECK_OK(cbx__held_make(f->ctx, f->toy.w->fresh[1], 1234567, 1, &h, &err), &err, "a set");
    CHECK_INT(h.nfds, 1, "one input");
    CHECK(fcntl(h.fds[0], F_GET_SEALS) & F_SEAL_WRITE, "sealed");
    CHECK_STR(cbx_json_get_string(h.message, "op", ""), "inputs", "the message");
    CHECK_INT(cbx_json_get_int(cbx_json_at(cbx_json_get(h.message, "arrays"), 0), "set", 0), 1, "names the set");
    CHECK_OK(cbx_npy_map_fd(f->ctx, h.fds[0], &in, &err), &err, "its input");
    const float *a = cbx_array_data(in);
    const double *y = cbx_array_data(h.answers[0]), *first = cbx_array_data(f->toy.w->answers[0]);
    CHECK(f->toy.w->nfresh == CBX__FRESH_MAX, "inputs of their own");
    CHECK(cbx_params_int(f->toy.w->fresh[1]->point, "seed") != cbx_params_int(f->toy.w->point, "seed"),
          "of another seed");
    CHECK_OK(cbx_npy_map_fd(f->ctx, f->toy.w->fresh[1]->input_fds[0], &base, &err), &err, "what they were turned from");
    CHECK(a[0] == ((const float *)cbx_array_data(base))[567], "shifted by as much as was drawn");
    cbx_array_free(base);
    for (size_t i = 0; i < cbx_array_count(in); i++) CHECK(y[i] == 2.0 * a[i] + 1.0, "the answer belongs to it");
    CHECK(y[0] != first[0], "and to no other");
    cbx_array_free(in);
    cbx__held_clear(&h);
    cbx__held_clear(&h);
}

TEST(no_rotation_without_the_functions)
{
    fixture *f = *test_state;
    cbx_workload *w = make_workload(f, &toy_still_case, "{\"n\":10}", 3);
    CHECK_INT(w->nsets, 1, "a case that does not rotate");
    cbx_launch_opts o = quick_opts();
    const cbx_launch_record *r = launch_on(f, w, "good", &o);
    CHECK_INT(r->failure, CBX_FAILURE_NONE, r->message);
    r = launch_on(f, w, "lazy", &o);
    CHECK_INT(r->failure, CBX_FAILURE_FIDELITY, "poisoned outputs show a lazy worker without rotation, too");
}

TEST(empty_arrays)
{
    fixture *f = *test_state;
    cbx_workload *w = make_workload(f, &toy_still_case, "{\"n\":0}", 0);
    cbx_launch_opts o = quick_opts();
    const cbx_launch_record *r = launch_on(f, w, "good", &o);
    CHECK_INT(r->failure, CBX_FAILURE_NONE, r->message);
    CHECK(r->fidelity.checked && r->fidelity.ok, "nothing is wrong with nothing");
}

/* Hash of a fresh workload at n = 77, and whether its oracle was cached. */
static bool cached_again(fixture *f, const char *point_json, char hash[CBX_HASH_SIZE])
{
    const cbx_workload *w = make_workload(f, &toy_case, point_json, 1);
    const double *y = cbx_array_data(w->answers[0]);
    CHECK(y[5] == 2 * (5.0 + (double)cbx_params_int(w->point, "seed")) + 1, "the answer");
    snprintf(hash, CBX_HASH_SIZE, "%s", cbx_workload_hash(w));
    return cbx_workload_oracle_cached(w);
}

static void damage(const char *folder, const char *suffix, bool cut)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    while ((e = readdir(d))) {
        char path[512];
        size_t len = strlen(e->d_name);
        if (len < strlen(suffix) || strcmp(e->d_name + len - strlen(suffix), suffix) != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        int fd = open(path, O_RDWR);
        CHECK(fd >= 0 && (cut ? ftruncate(fd, 20) == 0 : pwrite(fd, "\x55", 1, 200) == 1), "damage");
        close(fd);
    }
    closedir(d);
}

TEST(oracle_cache)
{
    fixture *f = *test_state;
    char a[CBX_HASH_SIZE], b[CBX_HASH_SIZE];
    CHECK(!cached_again(f, "{\"n\":77}", a), "computed once");
    CHECK(cached_again(f, "{\"n\":77}", b), "then found");
    CHECK_STR(b, a, "the inputs' hash is stable");
    CHECK(!cached_again(f, "{\"n\":77,\"seed\":1}", b), "another seed is another problem");
    CHECK(strcmp(a, b) != 0, "and has another hash");
    damage(f->cache, ".answer0.npy", false);
    CHECK(!cached_again(f, "{\"n\":77}", a), "a flipped byte is noticed");
    CHECK(cached_again(f, "{\"n\":77}", a), "and repaired");
    damage(f->cache, ".bound0.npy", true);
    CHECK(!cached_again(f, "{\"n\":77}", a), "a torn file is noticed");
    damage(f->cache, ".json", true);
    CHECK(!cached_again(f, "{\"n\":77}", a), "a torn list is noticed");
}

/* What workers get besides the point's own inputs is drawn again by every workload, and its answers
 * are nowhere on the disk. */
TEST(held_back_inputs_are_secret)
{
    fixture *f = *test_state;
    int64_t seeds[2] = { 0, 0 };
    for (int i = 0; i < 2; i++) {
        const cbx_workload *w = make_workload(f, &toy_case, "{\"n\":78}", 1);
        CHECK_GT(w->nfresh, 0, "a quick oracle");
        seeds[i] = cbx_params_int(w->fresh[0]->point, "seed");
        CHECK(!cbx_workload_oracle_cached(w->fresh[0]), "its answer was computed for this workload");
    }
    CHECK(seeds[0] != seeds[1], "one in 2^30 that these are the same by chance");
}

/* A launch may have more than the workload has, each of a seed of its own, till it has had
 * enough. */
TEST(further_inputs)
{
    fixture *f = *test_state;
    cbx__seeds seeds = f->toy.w->seeds;
    CHECK_INT(seeds.n, 1 + f->toy.w->nfresh, "the point's own seed, and those of the inputs that are held back");
    for (size_t i = seeds.n; i <= CBX__SEEDS_MAX; i++) {
        cbx_workload *other = NULL;
        cbx_err err = CBX_ERR_INIT;
        CHECK_OK(cbx__workload_other(f->ctx, f->toy.w, &seeds, &other, &err), &err, "another one");
        CHECK(!other == (i == CBX__SEEDS_MAX), "as long as there is a seed");
        if (!other) continue;
        CHECK_INT(cbx_params_int(other->point, "seed"), seeds.taken[i], "taken from now on");
        CHECK(!cbx_workload_oracle_cached(other), "its answer was computed for it");
        for (size_t k = 0; k < i; k++) CHECK(seeds.taken[k] != seeds.taken[i], "and was not before");
        cbx_workload_free(other);
    }
}

TEST(a_cache_that_cannot_be_written_costs_nothing_else)
{
    fixture *f = *test_state;
    cbx_workload_opts o = opts_of(f);
    cbx_workload *w = NULL;
    cbx_err err = CBX_ERR_INIT;
    o.cache_dir = "/proc/nowhere";
    CHECK_OK(cbx_workload_create(f->ctx, &toy_case, f->toy.point, &o, &w, &err), &err, "an unwritable cache");
    CHECK(!cbx_workload_oracle_cached(w), "computed");
    cbx_workload_free(w);
}

/* Entries of a cache folder whose names end so. */
static size_t entries(fixture *f, const char *folder, const char *suffix)
{
    cbx_arena arena;
    const char *const *names;
    size_t n = 0;
    cbx_err err = CBX_ERR_INIT;
    cbx_arena_init(&arena, cbx_allocator_default());
    CHECK_OK(cbx_dir_list(f->ctx, folder, suffix, &arena, &names, &n, &err), &err, folder);
    cbx_arena_clear(&arena);
    return n;
}

/* Where nothing else keeps workers from reading it, an answer is in memory alone as long as there
 * are workers. */
TEST(hidden_answers)
{
    fixture *f = *test_state;
    cbx_workload_opts o = CBX_WORKLOAD_OPTS_INIT;
    cbx_params *point = NULL;
    cbx_err err = CBX_ERR_INIT;
    char folder[64];
    cbx_test_folder(folder);
    o.cache_dir = folder;
    o.oracle_timeout_s = 20;
    o.hide_answers = true;
    CHECK_OK(cbx_case_point(f->ctx, &toy_case, "{\"n\":77}", "test", &point, &err), &err, "a point");
    for (int time = 0; time < 3; time++) {
        cbx_workload *w = NULL;
        CHECK_OK(cbx_workload_create(f->ctx, &toy_case, point, &o, &w, &err), &err, "a workload");
        CHECK(cbx_workload_oracle_cached(w) == (time > 0), "found the second time");
        CHECK_INT(entries(f, folder, ".npy"), 0, "nothing can be read meanwhile");
        CHECK_INT(entries(f, folder, ".json"), 0, "nor is it listed");
        cbx_workload_free(w);
        CHECK_GT(entries(f, folder, ".npy"), 1, "and given back");
    }
    cbx_params_free(point);
    cbx_test_folder_remove(folder);
}

TEST(failures)
{
    fixture *f = *test_state;
    cbx_workload_opts o = opts_of(f);
    cbx_workload *w = NULL;
    cbx_params *point = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_stop_flag stop = 1;
    CHECK_OK(cbx_case_point(f->ctx, &toy_case, "{\"n\":78}", "test", &point, &err), &err, "a point");
    o.struct_size = 1;
    CHECK_STATUS(cbx_workload_create(f->ctx, &toy_case, point, &o, &w, &err), CBX_EINVAL, "another version");
    o = opts_of(f);
    o.rotations = 1000;
    CHECK_STATUS(cbx_workload_create(f->ctx, &toy_case, point, &o, &w, &err), CBX_EINVAL, "too many rotations");
    o = opts_of(f);
    setenv("TOY_ORACLE_FAILS", "1", 1);
    CHECK_STATUS(cbx_workload_create(f->ctx, &toy_case, point, &o, &w, &err), CBX_ECHILD, "an oracle that fails");
    CHECK(strstr(err.message, "'toy'") && strstr(err.message, "the oracle does not know"), err.message);
    unsetenv("TOY_ORACLE_FAILS");
    setenv(TOY_SHAPE, "1", 1);
    CHECK_STATUS(cbx_workload_create(f->ctx, &toy_case, point, &o, &w, &err), CBX_ESHAPE, "an oracle of another shape");
    unsetenv(TOY_SHAPE);
    o.stop = &stop;
    CHECK_STATUS(cbx_workload_create(f->ctx, &toy_case, point, &o, &w, &err), CBX_EINTERRUPTED, "stopped");
    CHECK(w == NULL, "out is untouched");
    cbx_params_free(point);
}

static cbx_status create_once(cbx_ctx *ctx, void *user)
{
    fixture *f = user;
    cbx_workload_opts o = opts_of(f);
    cbx_workload *w = NULL;
    cbx_status st = cbx_workload_create(ctx, &toy_case, f->toy.point, &o, &w, NULL);
    cbx_workload_free(w);
    return st;
}

TEST(no_memory)
{
    fixture *f = *test_state;
    CHECK_STATUS(create_once(f->ctx, f), CBX_OK, "the answer is cached from here on");
    CHECK_GT(cbx_test_fail_each(create_once, *test_state, "cbx_workload_create"), 10, "allocations were made to fail");
}

TESTS(.seconds = 600, .before = launch_setup, .after = launch_teardown)
