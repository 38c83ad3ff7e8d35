/* The XDMF 2 description beside a state file, and that of a series of them. */
#pragma once

#include <stddef.h>

#include "state/state.h"

/* The file that describes a state file, beside it: NAME.h5 -> NAME.xmf. False: too long. */
bool state_xdmf_path(char *out, size_t out_bytes, const char *path);
/* Writes the XDMF text for path, whole, to `to`. By one rank. Returns 0 or errno. */
int state_xdmf_write(const char *to, const char *path, const state_info *s);
/* The same for count > 0 files of the folder that `to` is in, of s's fields at these steps, newest first;
 * replaces `to` (replace.h). */
int state_xdmf_write_series(const char *to, const state_info *s, const int64_t *steps, size_t count);
