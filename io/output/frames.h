/* The numbered frames of a run: PNG files in a folder beside the picture, each whole under its name, so that
 * a run that is killed or restarted loses none. Other programs join them to a film. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FRAMES_PER_SECOND = 20 }; /* of the film that a note proposes */

/* Does the picture's name end as a PNG's or an APNG's does? */
bool frames_png(const char *picture);
/* "heat.png", "heat.apng" -> "heat.frames"; false: too long. */
bool frames_folder(char *out, size_t out_bytes, const char *picture);
/* FOLDER/NNNNNNNNNN.png */
void frames_path(char *out, size_t out_bytes, const char *folder, int64_t step);
/* Deletes the frames of steps behind last, of all for -1: an older run's, and what a dead one left half
 * written. 0 or errno. */
int frames_clear(const char *folder, int64_t last);
