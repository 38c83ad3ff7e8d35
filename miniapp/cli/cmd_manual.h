/* What `make install` leaves beside the program, made from the same table as --help: the manual page weft.1 and the completion
 * for bash. */
#pragma once

#include <stdio.h>

#define CMD_MANUAL_PAGE "--man"
#define CMD_MANUAL_COMPLETION "--completion"

void cmd_manual_page(FILE *to);
void cmd_manual_completion(FILE *to);
