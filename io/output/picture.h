/* A PNG of a 2D field (a 1D field becomes a strip), averaged down on the ranks so that never more than 1
 * Mpixel is gathered; perceptual colour map (cividis-like: readable in print and for the colour-blind), scale
 * from min to max with the two values in the PNG's text chunk. NaN is drawn in a colour outside the map. Row
 * 0 on top. */
#pragma once

#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/box.h"
#include "core/dtype.h"
#include "core/sentence.h"

enum { PICTURE_PIXELS_MAX = 1000 * 1000 };

/* From which value to which the colours go. Fixed, or as wide as all pictures drawn with it so far, so that
 * frames of one run can be compared: PICTURE_SCALE_OF_CELLS before the first. Rank 0's counts. */
typedef struct picture_scale {
    double low, high;
    bool fixed;
} picture_scale;
#define PICTURE_SCALE_OF_CELLS ((picture_scale){ INFINITY, -INFINITY, .fixed = false })

/* nx x ny cells in all, of which this rank has `own`. */
typedef struct picture {
    dtype type;
    int64_t nx, ny;
    box own;
    const void *data; /* own cells, dense rows, host memory */
    const char *title;
    picture_scale *scale;
} picture;

/* Collective. Same result on all ranks; one sentence in why. */
bool picture_write(MPI_Comm comm, const char *path, const picture *p, sentence *why);

/* ---- the numbered frames of a run: PNG files in a folder beside the picture, each whole under its name, so
 * that a run that is killed or restarted loses none. Other programs join them to a film. ---- */

/* Does the picture's name end in .png? */
bool frames_png(const char *path);
/* "heat.png" -> "heat.frames"; false: too long. */
bool frames_folder(char *out, size_t out_bytes, const char *path);
/* FOLDER/NNNNNNNNNN.png */
void frames_path(char *out, size_t out_bytes, const char *folder, int64_t step);
/* Deletes the frames of steps behind last, of all for -1: an older run's, and what a dead one left half
 * written. 0 or errno. */
int frames_clear(const char *folder, int64_t last);
