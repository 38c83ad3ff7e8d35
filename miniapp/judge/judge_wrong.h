/* Whose bits are wrong. */
#pragma once

#include "judge/judge.h"

/* Adds the suspects of all faults to v: a GPU that is wrong by itself, or in pairs with two others or more,
 * answers for its pairs too; a pair otherwise is a link; a fault of all ranks counts where nobody else is
 * suspected. */
void check_judge_faults(const check_findings *f, check_verdict *v);

/* A new suspect at the end of v's, zeroed. */
check_suspect *check_add_suspect(check_verdict *v);
