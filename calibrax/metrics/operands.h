/* Inside the metrics: what operands of each kind may be. */
#ifndef CALIBRAX_METRICS_OPERANDS_H
#define CALIBRAX_METRICS_OPERANDS_H

#include "calibrax/metrics/internal.h"

typedef enum cbx__sum_rule { CBX__NO_SUM, CBX__SUM_OF_ALL, CBX__SUM_OF_ROWS } cbx__sum_rule;

enum { CBX__ALL_BUT_FIRST = -1 };

/*
 * Operands of a kind.  low and high: smallest and largest legal value, NaN: values are not checked.
 */
typedef struct cbx__operand_rule {
    double low, high;
    bool whole;    /* integers and booleans alone, in int64 */
    bool integral; /* integers alone, of any dtype */
    int item_axes; /* axes at the end that belong to one item; CBX__ALL_BUT_FIRST */
    cbx__sum_rule sum;
    double neutral;
    bool shared;                /* one for all items */
    bool single;                /* one thing, whose first axis is not that of items */
    cbx__definiteness matrix;   /* what is checked of values */
    cbx__definiteness of_trace; /* the same in a trace, of a kind whose values the code checks with data */
} cbx__operand_rule;

extern const cbx__operand_rule cbx__operand_rules[CBX_OPERAND_KINDS];

#endif
