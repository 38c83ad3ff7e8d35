/* The forms of a step (step.h): all give the same bits. */
#pragma once

#include <stdbool.h>

typedef enum step_form {
    STEP_OVERLAPPED,
    STEP_EXCHANGE_FIRST,
    STEP_IN_KERNEL,
    STEP_MIXED,
    STEP_FORMS
} step_form;
extern const char *const step_form_name[STEP_FORMS]; /* as step_form of the records has them */

/* Kernels exchange, with all neighbours or with those within reach. */
static inline bool step_form_in_kernel(step_form form, int block_steps)
{
    return form == STEP_IN_KERNEL || (form == STEP_MIXED && block_steps == 1);
}
