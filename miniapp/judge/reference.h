/* What a machine of this kind was measured to deliver: a JSON file {"gpu": "NVIDIA H200", "measured": "when and by what", "ranks": 1,
 * "hosts": 1, "tolerance": 0.05, "rates": {"copy": 4.2e12, ...}} by the keys of check_like_key. Built-in ones stand beside the program:
 * inputs/reference of the tree in which it was built, share/weft/reference where it was installed. All functions are rank 0's. */
#pragma once

#include "judge/findings.h"

typedef struct check_reference {
    char gpu[256];  /* findings' device_name must be the same */
    char name[256]; /* of its file, without folders */
    int ranks, hosts; /* that measured it: rates of the job and the disk count for as many alone. 0: not given */
    double rate[CHECK_LIKES]; /* per second; NaN: none */
    double tolerance; /* a fraction: what lies further below a rate is slow */
} check_reference;

/* asked: a file, "none", or NULL for the built-in one of this GPU. Reads of the findings only what runs and where, so that it may be
 * asked before anything is measured. True: out is it, or has name "" where there is none to be used; note is then why, for people, else "".
 * False: the file asked for cannot be read, or is no reference; note is the sentence. */
bool check_reference_find(const check_findings *f, const char *asked, check_reference *out, sentence *note);

/* The medians of these findings become a reference: path appears whole or not at all. False with one sentence in why. */
bool check_reference_save(const char *path, const check_findings *f, sentence *why);
