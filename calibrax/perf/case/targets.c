/* Judging targets through validation/accuracy.h; what that cannot know (a missing metric, a failed
 * launch) has names here. */
#include "calibrax/perf/case/targets.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/json_put.h"
#include "calibrax/validation/accuracy.h"

static const struct {
    const char *words;
    int exit_code;
} outcomes[] = {
#define ROW(name, words, exit_code) { words, exit_code },
    CBX_TARGET_MAP(ROW)
#undef ROW
};

const char *cbx_target_outcome_name(cbx_target_outcome o)
{
    return (unsigned)o < CBX_TARGET_COUNT ? outcomes[o].words : "?";
}
int cbx_target_exit_code(cbx_target_outcome o) { return (unsigned)o < CBX_TARGET_COUNT ? outcomes[o].exit_code : 2; }

cbx_target_check cbx_target_judge(const cbx_metric *value, const cbx_metric_def *def, double target)
{
    cbx_target_check t = { .unit = def && def->unit ? def->unit : "",
                           .direction = def ? def->direction : CBX_DIRECTION_INFO,
                           .target = target,
                           .value = value ? *value : cbx_metric_of(NAN),
                           .margin = NAN };
    static const cbx_target_outcome outcome_of[] = {
        [CBX_ACCURACY_MET] = CBX_TARGET_MET,
        [CBX_ACCURACY_MISSED] = CBX_TARGET_MISSED,
        [CBX_ACCURACY_UNDECIDED] = CBX_TARGET_UNDECIDED,
        [CBX_ACCURACY_NO_DIRECTION] = CBX_TARGET_NO_DIRECTION,
        [CBX_ACCURACY_NOT_FINITE] = CBX_TARGET_NOT_A_NUMBER,
        [CBX_ACCURACY_IMPOSSIBLE] = CBX_TARGET_NOT_A_NUMBER,
    };
    cbx_accuracy_result r;
    bool finite = value && isfinite(value->value);

    for (size_t i = 0; finite && i < value->nsamples; i++) finite = isfinite(value->samples[i]);
    if (!value) {
        t.outcome = CBX_TARGET_MISSING;
        return t;
    }
    r = cbx_accuracy_check(value, target, &(cbx_metric_def){ .unit = t.unit, .direction = t.direction });
    t.outcome = finite ? outcome_of[r.outcome] : CBX_TARGET_NOT_A_NUMBER;
    t.margin = r.margin;
    return t;
}

const char *cbx_target_sentence(const cbx_target_check *t, char *buf, size_t size)
{
    const char *side = t->direction == CBX_DIRECTION_LOWER ? "at most" : "at least";
    const char *unit = strcmp(t->unit, "1") == 0 ? "" : t->unit, *blank = unit[0] ? " " : "";

    switch (t->outcome) {
    case CBX_TARGET_MET:
    case CBX_TARGET_MISSED:
        snprintf(buf, size, "'%s': '%s' is %.6g%s%s, %s %.6g%s%s is the target: %s", t->benchmark, t->metric,
                 t->value.value, blank, unit, side, t->target, blank, unit, cbx_target_outcome_name(t->outcome));
        break;
    case CBX_TARGET_UNDECIDED:
        snprintf(buf, size,
                 "'%s': the interval of '%s', %.6g to %.6g%s%s, holds the target %.6g: more launches are needed",
                 t->benchmark, t->metric, fmin(t->value.value, t->value.lower), fmax(t->value.value, t->value.upper),
                 blank, unit, t->target);
        break;
    case CBX_TARGET_MISSING:
        snprintf(buf, size, "'%s': no metric '%s', for which there is a target", t->benchmark, t->metric);
        break;
    case CBX_TARGET_NO_DIRECTION:
        snprintf(buf, size, "'%s': '%s' has a target and no direction: define it as higher or lower", t->benchmark,
                 t->metric);
        break;
    case CBX_TARGET_INCOMPLETE:
        snprintf(buf, size, "'%s': a launch failed, so the target of '%s' is not met", t->benchmark, t->metric);
        break;
    default: snprintf(buf, size, "'%s': '%s' or its target is not a number", t->benchmark, t->metric); break;
    }
    return buf;
}

cbx_json *cbx_target_json(const cbx_target_check *t)
{
    return cbx_json_finish(
        cbx_json_object(J_TEXT("benchmark", t->benchmark), J_TEXT("metric", t->metric), J_NUMBER("target", t->target),
                        J_TEXT("direction", cbx_direction_name(t->direction)), J_NUMBER("value", t->value.value),
                        J_KNOWN("lower", isfinite(t->value.lower) ? t->value.lower : NAN),
                        J_KNOWN("upper", isfinite(t->value.upper) ? t->value.upper : NAN),
                        J_TEXT("outcome", cbx_target_outcome_name(t->outcome)), J_KNOWN("margin", t->margin)));
}

int cbx_targets_exit_code(const cbx_target_check *checks, size_t n)
{
    static const int rank[] = { 0, 3, 2, 1 }; /* of codes 0..3: a miss counts most */
    int code = 0;

    for (size_t i = 0; i < n; i++) {
        int c = cbx_target_exit_code(checks[i].outcome);
        if (rank[c] > rank[code]) code = c;
    }
    return code;
}
