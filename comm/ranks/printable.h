/* Text that is not ours (names of files and hosts, attributes of HDF5 files, values of decks, fields of
 * records) as text that a terminal or a log only shows: control characters, ESC, DEL, C1 (80 .. 9f, as UTF-8
 * has them too) and bytes that are no UTF-8 become \xNN. All that weft prints of such text goes through here;
 * cmd_say and check_fail do it to their whole line. */
#pragma once

#include <stddef.h>

/* Into out, cut where it is full; four times the text's bytes and one are enough. Returns out; text must not
 * be out. */
char *printable(char *out, size_t out_bytes, const char *text);
/* The same for printf's arguments, in memory of this thread that eight more calls leave alone, cut after 4300
 * bytes. */
const char *printable_text(const char *text);
/* This host's name, in the same way. */
const char *printable_host(void);
