/**
 * A validation: checks of one subject against one reference, gathered into a record that passes
 * only if every check did.
 *
 * A report without checks does not pass.  One thread uses a report at a time.  Text is copied.
 * Since 0.1.
 */
#ifndef CALIBRAX_VALIDATION_REPORT_H
#define CALIBRAX_VALIDATION_REPORT_H

#include "calibrax/base/json.h"
#include "calibrax/validation/accuracy.h"
#include "calibrax/validation/convergence.h"

CBX_BEGIN_DECLS

typedef struct cbx_validation cbx_validation;

/** @param reference  source of the reference values: a paper, a program with its version.  @return
 * CBX_OK; CBX_EINVAL (a name that is empty or NULL); CBX_ENOMEM */
CBX_API cbx_status cbx_validation_create(cbx_ctx *ctx, const char *name, const char *reference, cbx_validation **out,
                                         cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_validation_free(cbx_validation *v);

/** A value against a target.  @param def  name, unit and direction are used.  @return CBX_OK;
 * CBX_EEXIST (the name was checked); CBX_ENOMEM */
CBX_API cbx_status cbx_validation_add_accuracy(cbx_validation *v, const cbx_metric_def *def, const cbx_metric *achieved,
                                               double target, cbx_err *err);
/** A series of errors, which passes if it met the tolerance.  @return CBX_OK; CBX_EEXIST;
 * CBX_EINVAL; CBX_ENOMEM */
CBX_API cbx_status cbx_validation_add_convergence(cbx_validation *v, const char *name, const double *errors, size_t n,
                                                  double tolerance, size_t hold, cbx_err *err);
/** A fault that is not a number: the report no longer passes. */
CBX_API cbx_status cbx_validation_add_violation(cbx_validation *v, const char *sentence, cbx_err *err);

CBX_API bool cbx_validation_passed(const cbx_validation *v);
/** Checks made, and those that did not pass (violations among them). */
CBX_API size_t cbx_validation_checks(const cbx_validation *v);
CBX_API size_t cbx_validation_failures(const cbx_validation *v);
/**
 * {"schema":"calibrax-validation","version":1,"name","reference","passed","accuracy":[...],"convergence":[...],"violations":[...]};
 * NULL: out of memory.
 */
CBX_API cbx_json *cbx_validation_json(const cbx_validation *v);
/**
 * A check of that document, which lives until the function returns.
 * @param list  "accuracy", "convergence" or "violations"
 * @return not 0: stop
 */
typedef int (*cbx_validation_fn)(void *user, const char *list, const cbx_json *check);
/**
 * Passes the checks one by one, in the order of the document, for long reports.
 * @return CBX_OK, also if fn stopped; CBX_ENOMEM
 */
CBX_API cbx_status cbx_validation_each(const cbx_validation *v, cbx_validation_fn fn, void *user, cbx_err *err);

CBX_END_DECLS
#endif
