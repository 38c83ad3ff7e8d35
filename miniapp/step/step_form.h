/* The forms of a step (step.h): all give the same bits. */
#pragma once

typedef enum step_form { STEP_OVERLAPPED, STEP_EXCHANGE_FIRST, STEP_IN_KERNEL, STEP_MIXED, STEP_FORMS } step_form;
extern const char *const step_form_name[STEP_FORMS]; /* as step_form of the records has them */
