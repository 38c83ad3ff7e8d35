/* The version of this binary, for --version, records and state files. */
#pragma once

extern const char version_number[]; /* "1.0.0" */
extern const char version_git[];    /* "a1b2c3d", "a1b2c3d-dirty", or "unknown" outside checkouts and
                                     * archives */
