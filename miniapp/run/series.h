/* The levels that a run keeps on its way: every output.every steps, from step 0 on, a state file in
 * output.series and a frame of output.picture. The steps wait meanwhile, and none of it counts as theirs. */
#pragma once

#include "output/picture.h"
#include "sim/sim.h"
#include "state/state_write.h"

typedef struct series { /* before series_open all else is zero */
    sim *sim;
    const char *deck_text; /* the resolved deck, stored in every state file; neither is owned */
    state_writer *writer;  /* into output.series */
    picture_scale scale;   /* of the frames */
    int64_t states;        /* files that this run added */
} series;

/* Is level one of those that are kept? */
bool series_due(const config *c, int64_t level);
/* The folders, before the first step; rank 0 says what dead runs had left there. 0, or the exit status with
 * one sentence in why. Collective, as are all below. */
int series_open(series *v, sentence *why);
/* This level, which is due; nothing else may use the sim's host memory meanwhile. False: why. */
bool series_add(series *v, sentence *why);
/* output.picture: the last level, and the frames of those before. False: why. */
bool series_picture(const series *v, sentence *why);
void series_close(series *v);
