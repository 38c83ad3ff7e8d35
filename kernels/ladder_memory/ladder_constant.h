/* The lookups of family `constant`: a table of words read at an index of each thread's own. */
#pragma once

#include "ladder/ladder.h"

enum { LADDER_CONSTANT_N, LADDER_CONSTANT_ADDRESSES, LADDER_CONSTANT_PARAMETERS };
enum { LADDER_CONSTANT_BANK, LADDER_CONSTANT_SHARED, LADDER_CONSTANT_LDG }; /* a rung's variant: where the table lies */

int ladder_constant_table_prepare(ladder_case *c); /* work: lookups */
int ladder_constant_table_enqueue(ladder_case *c);
int ladder_constant_table_verify(ladder_case *c, ladder_verdict *v);
