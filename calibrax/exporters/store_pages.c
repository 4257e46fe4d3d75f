/* A store as a folder of pages, those that calibrax serve shows. */
#include "calibrax/exporters/job.h"
#include "calibrax/site/store_site.h"

static cbx_status put_page(void *user, const char *name, const cbx_text *page, cbx_err *err)
{
    return cbx__export_file(user, name, page, err);
}

static cbx_status export_store(cbx_export_job *job, cbx_store *store, cbx_err *err)
{
    cbx_site *site = NULL;
    cbx_site_pages pages = { 0 };
    cbx_status st = cbx_site_open(job->ctx, store, NULL, &site, err);

    if (!st) st = cbx_site_walk(site, job->opts.limit, put_page, job, &pages, err);
    cbx_site_close(site);
    if (st || !pages.left_out) return st;
    return cbx__export_note(
        job, err, "%zu more pages are not written, and what refers to them is text: a higher limit includes them",
        pages.left_out);
}

CBX__EXPORTER(site, .name = "site", .summary = "the pages of a store that 'calibrax serve' shows: index.html",
              .export_store = export_store);
