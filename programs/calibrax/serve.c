/*
 * calibrax serve: the pages of a store in a browser, until Ctrl-C.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/site/site_server.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"
#include "programs/common/stop.h"

#define WAIT_MS 250 /* within which Ctrl-C is seen */

typedef struct serve_args {
    select_args select;
    size_t port;
    const char *title;
    bool open;
} serve_args;

static const serve_args serve_defaults = { .port = 8317 };

#define AT(member) offsetof(serve_args, member)

static const opt_spec serve_options[] = {
    SELECT_STORE_ROWS,
    OPT("port", 'p', COUNT, port, "N", "8317", "port on 127.0.0.1; 0: one that is free, which the printed address has"),
    OPT("title", 0, STRING, title, "TEXT", "the name of the store's folder", "name of the store on the pages"),
    OPT_SWITCH("open", 0, open, "open the address in a web browser, by xdg-open"),
    OPT_SWITCH("json", 0, select.json, "print the address as one JSON document"),
};

/* In a session of its own, so that Ctrl-C does not end the browser; what it prints is not ours. */
static void open_browser(char *address)
{
    char *const argv[] = { "xdg-open", address, NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t pid;

    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    bool started = !posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDWR, 0) &&
                   !posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDOUT_FILENO) &&
                   !posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID) &&
                   !posix_spawnp(&pid, argv[0], &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (!started)
        fprintf(stderr, "calibrax serve: '--open' found no xdg-open: apt-get install xdg-utils, or open the address "
                        "yourself\n");
}

static int serve(const opt_run *run, cbx_site *site)
{
    const serve_args *a = run->args;
    const cbx_stop_flag *stop = stop_catch();
    cbx_site_server *server = NULL;
    cbx_site_served served;

    if (opt_check(run, cbx_site_server_open(run->ctx, site, (unsigned)a->port, &server, run->err))) return EXIT_ERROR;
    const unsigned port = cbx_site_server_port(server);
    char *address = cbx_arena_printf(run->arena, "http://127.0.0.1:%u/", port);
    int status = EXIT_PASS;
    if (a->select.json)
        status = print_json(run, cbx_json_document("calibrax-serve", J_TEXT("url", address), J_INT("port", port)));
    else
        puts(address);
    fflush(stdout);
    if (!a->select.json) fprintf(stderr, "calibrax serve: Ctrl-C ends it\n");
    if (!status && a->open) {
        signal(SIGCHLD, SIG_IGN); /* xdg-open is not waited for */
        open_browser(address);
    }
    while (!status && !*stop) status = opt_check(run, cbx_site_server_run(server, WAIT_MS, run->err));
    cbx_site_server_count(server, &served);
    if (*stop)
        fprintf(stderr, "calibrax serve: ended after %zu page%s, %zu unchanged, %zu refused\n", served.pages,
                served.pages == 1 ? "" : "s", served.unchanged, served.refused);
    cbx_site_server_close(server);
    return status;
}

static int run_serve(const opt_run *run)
{
    const serve_args *a = run->args;
    SCOPED(cbx_store) *store = NULL;
    cbx_site *site = NULL;
    CLEARED(cbx_store_list) none = { 0 };

    if (a->port > 65535) return opt_fail(run, "'--port' must be at most 65535, got %zu", a->port);
    int status = select_open(run, &a->select, false, &store);
    if (!status) { /* the index, before the first page waits for it */
        const cbx_store_query newest = { .limit = 1 };
        status = opt_check(run, cbx_store_query_runs(store, &newest, &none, run->err));
    }
    if (!status) select_warn(run, store);
    if (!status) status = opt_check(run, cbx_site_open(run->ctx, store, a->title, &site, run->err));
    if (!status) status = serve(run, site);
    cbx_site_close(site);
    return status;
}

const opt_command serve_command = {
    .name = "serve",
    .synopsis = "[--data DIR] [--port N]",
    .summary = "show a store in a web browser on this machine",
    .description = "Serves pages of the store on 127.0.0.1 and prints their address: runs with a filter, series over "
                   "time with the changes of their level, comparisons of two runs, the launches of a point, profiles, "
                   "and rows of nperf. The pages need neither a script nor a network; ?format=json gives their content "
                   "as JSON. Runs that are added, replaced or removed meanwhile are seen at the next request. Other "
                   "machines cannot connect. Ctrl-C ends it with exit status 0. 'calibrax export --format site' writes "
                   "the same pages as files.",
    OPT_OPTIONS(serve),
    .defaults = &serve_defaults,
};
