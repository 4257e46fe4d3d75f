/* doctor: what there is to compute with, and what is missing. */
#include "python/answers.h"

static bool look(cx_call *c, cbx_doctor_report *report, cbx_err *err)
{
    cbx_devices *devices = NULL;
    cbx_settings settings;
    cbx_machine machine;

    cbx_doctor_see_settings(report, &settings);
    cbx_doctor_see_backends(report, &settings);
    (void)cbx_doctor_see_machine(c->ctx, report, &machine);
    cbx_doctor_see_libraries(c->ctx, report);
    if (cbx_devices_probe(c->ctx, NULL, &devices, err)) {
        cbx_doctor_missing(report, "devices", "devices", err, NULL);
    } else {
        cbx_doctor_see_devices(c->ctx, report, devices, &settings);
        cbx_doctor_see_topology(report, devices);
        cbx_devices_free(devices);
    }
    return cbx_doctor_check(report, err) == CBX_OK;
}

static PyObject *do_doctor(cx_call *c)
{
    cbx_doctor_report report;
    bool fine;

    if (!cx_begin_long(c)) return NULL; /* libraries are loaded */
    cbx_doctor_init(&report, cx_arena(c));
    fine = look(c, &report, &c->err);
    return cx_fine(c, fine ? CBX_OK : c->err.status) ? cx_answer_list(c->st, CX_DOCTOR_ITEM, report.items, report.count)
                                                     : NULL;
}

/* clang-format off */
#define DOCTOR(X) \
    X(doctor, "", "tuple[DoctorItem, ...]", do_doctor, 0, "The parts of this machine to compute with, and those that are missing with the command that adds them: a tuple of DoctorItem.\n\n>>> len(cx.doctor()) > 3\nTrue")
/* clang-format on */
CX_FUNCTIONS(cx_doctor_methods, DOCTOR, LIGHT)
