/* A file that appears whole under its name, or not at all: written under a name used once (checkpoint_temporary), fsynced, renamed,
 * its folder fsynced. For what is no checkpoint: pictures, timelines, the description of a series. By one rank. */
#ifndef REPLACE_H
#define REPLACE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct replace {
    FILE *to; /* between begin and end */
    char path[4200], tmp[4200];
} replace;

/* 0 or errno, and then there is nothing to end. */
int replace_begin(replace *r, const char *path);
/* keep: it gets its name; else, or where anything written to it failed, NAME is as it was and nothing of this is left. 0 or
 * errno. */
int replace_end(replace *r, bool keep);

#endif
