/* Rates that machines of this kind were measured to deliver: a JSON file {"gpu": "NVIDIA H200", "made": "of
 * which checks", "ranks": 1, "hosts": 1, "rates": {"copy": {"low": 4.1e12, "high": 4.2e12, "machines": 3},
 * ...}} by the keys of check_like_key, which jobs/check_reference makes of records. A rate that is a number
 * alone is one machine's. Built-in ones stand beside the program: inputs/reference of the tree in which it
 * was built, share/weft/reference where it was installed. All functions are rank 0's. */
#pragma once

#include "check/findings.h"

typedef struct check_reference {
    char gpu[256];    /* findings' device_name must be the same */
    char name[256];   /* of its file, without folders */
    int ranks, hosts; /* that measured it: rates of the job and the disk count for as many alone. 0: not
                       * given */
    double low[CHECK_LIKES], high[CHECK_LIKES]; /* per second, of all machines; NaN: none */
    int machines[CHECK_LIKES];                  /* that measured it */
} check_reference;

/* asked: a file, "none", or NULL for the built-in one of this GPU. Reads of the findings only what runs and
 * where, so that it may be asked before anything is measured. True: out is it, or has name "" where there is
 * none to be used; note is then why, for people, else "". False: the file asked for cannot be read, or is no
 * reference; note is the sentence. */
bool check_reference_find(const check_findings *f, const char *asked, check_reference *out, sentence *note);

/* Does the rate repeat? Two machines have it at least, and they differ by at most CHECK_LEAST_DIFFERENCE.
 * Others are shown and not judged. */
bool check_reference_repeats(const check_reference *r, check_like l);
