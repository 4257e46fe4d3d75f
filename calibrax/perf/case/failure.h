/**
 * The one table of failures: cause -> v1 row status -> reason word -> sentence with the remedy.
 * A cause is always known from structure (a message's field, a signal, an errno, a watchdog), never
 * from searching text.  Returned text is static, never NULL; nothing allocates; all is safe from
 * any thread.
 */
#ifndef CALIBRAX_PERF_CASE_FAILURE_H
#define CALIBRAX_PERF_CASE_FAILURE_H

#include <stdbool.h>

#include "calibrax/base/status.h"

CBX_BEGIN_DECLS

/* cause, word on the wire, row status, reason in failure_detail, remedy for people ("": no
 * remedy) */
#define CBX_FAILURE_MAP(X)                                                                                             \
    X(NONE, "none", "ok", "", "")                                                                                      \
    X(SKIPPED_BY_CONFIG, "skipped_by_config", "skipped", "skipped_by_config", "choose it too, or do not skip it")      \
    X(SLOW_SKIPPED, "slow_skipped", "skipped", "slow_skipped", "measure slow baselines too, or choose it by name")     \
    X(BUDGET_SPENT, "budget_spent", "skipped", "budget_spent", "raise the budget, or resume the run")                  \
    X(POINT_UNSUPPORTED, "point_unsupported", "skipped", "point_unsupported", "")                                      \
    X(BACKEND_UNAVAILABLE, "backend_unavailable", "skipped", "backend_unavailable",                                    \
      "run on a machine with that device")                                                                             \
    X(HOST_UNSUPPORTED, "host_unsupported", "skipped", "host_unsupported", "")                                         \
    X(INTERPRETER_MISSING, "interpreter_missing", "env_failed", "provider_env_missing", "run scripts/setup-refs.sh")   \
    X(MODULE_MISSING, "module_missing", "env_failed", "provider_env_missing", "run scripts/setup-refs.sh")             \
    X(IMPORT_FAILED, "import_failed", "env_failed", "import_failed",                                                   \
      "rebuild the environment with scripts/setup-refs.sh")                                                            \
    X(WORKER_MISSING, "worker_missing", "env_failed", "worker_missing", "build or install the worker programs")        \
    X(COMPILE_ERROR, "compile_error", "compile_error", "compile_error", "")                                            \
    X(RUN_ERROR, "run_error", "run_error", "exception_in_run", "")                                                     \
    X(OUT_OF_MEMORY, "out_of_memory", "oom", "allocation_failed", "choose a smaller point, or free memory")            \
    X(MEMORY_LIMIT, "memory_limit", "oom", "memory_limit", "raise the memory limit, or choose a smaller point")        \
    X(TIMEOUT, "timeout", "timeout", "message_timeout", "raise the time limit of a worker")                            \
    X(CRASHED, "crashed", "crashed", "worker_killed", "")                                                              \
    X(EXITED, "exited", "no_answer", "worker_exited", "")                                                              \
    X(PROTOCOL, "protocol", "protocol_error", "bad_message", "")                                                       \
    X(WRONG_SHAPE, "wrong_shape", "fidelity_failed", "wrong_shape", "")                                                \
    X(FIDELITY, "fidelity", "fidelity_failed", "outside_bound", "")                                                    \
    X(FASTER_THAN_ROOF, "faster_than_roof", "refused", "faster_than_roof", "")                                         \
    X(CLOCKS_DISAGREE, "clocks_disagree", "refused", "clocks_disagree", "leave the machine alone while it measures")   \
    X(CONTENDED, "contended", "refused", "machine_too_busy",                                                           \
      "leave the machine alone while it measures, or give it more CPUs")                                               \
    X(LAZY_RESULT, "lazy_result", "refused", "work_done_after_the_clock", "")                                          \
    X(PINNING, "pinning", "refused", "left_its_cores", "")                                                             \
    X(POLICY, "policy", "refused", "policy_not_kept", "")                                                              \
    X(ORACLE_FAILED, "oracle_failed", "fidelity_inconclusive", "oracle_failed", "")                                    \
    X(INTERRUPTED, "interrupted", "interrupted", "interrupted", "resume the run")                                      \
    X(MACHINE, "machine", "env_failed", "machine_error", "")

typedef enum cbx_failure {
#define CBX_FAILURE_ENUM(name, word, status, reason, remedy) CBX_FAILURE_##name,
    CBX_FAILURE_MAP(CBX_FAILURE_ENUM)
#undef CBX_FAILURE_ENUM
        CBX_FAILURE_COUNT
} cbx_failure;

/** The columns of the table; a number outside the list reads as MACHINE. */
CBX_API const char *cbx_failure_word(cbx_failure f);
CBX_API const char *cbx_failure_row_status(cbx_failure f);
CBX_API const char *cbx_failure_reason(cbx_failure f);
CBX_API const char *cbx_failure_remedy(cbx_failure f);
/** Cause of a word on the wire; false for an unknown word or NULL, *out is then untouched. */
CBX_API bool cbx_failure_parse(const char *word, cbx_failure *out);

CBX_END_DECLS
#endif
