/* The terminal's page of a check: verdict, table of figures, suspects, what was not tried. */
#pragma once

#include <stdio.h>

#include "check/verdict.h"

enum { CHECK_PAGE_LINES = 40 }; /* at most, whatever the number of ranks; of at most TERMINAL_COLUMNS */

/* reference: NULL, or the one the verdict was made with. */
void check_page_print(FILE *to, const check_findings *f, const check_verdict *v,
                      const check_reference *reference);
