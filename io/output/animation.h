/* An animated picture (APNG) of numbered frames. Programs that do not know APNG show the picture as it was before.
 *
 * Frames are PNG files of their own, whole under their names, in a folder beside the picture: so a run that is killed or restarted
 * loses none, and other programs make films of them. By one rank. */
#ifndef ANIMATION_H
#define ANIMATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ANIMATION_FRAMES_A_SECOND = 20 };

/* Does it end as a PNG or an APNG does? */
bool animation_is_png(const char *picture);
/* "heat.png", "heat.apng" -> "heat.frames"; false: too long. */
bool animation_folder(char *out, size_t out_bytes, const char *picture);
/* FOLDER/NNNNNNNNNN.png */
void animation_frame(char *out, size_t out_bytes, const char *folder, int64_t step);
/* Deletes the frames of steps behind last, of all for -1: an older run's, and what a dead one left half written. 0 or errno. */
int animation_clear(const char *folder, int64_t last);
/* Puts the frames of steps 0, every, .. last that are in its folder and of its size behind the picture's own image. *frames: how
 * many; none leaves the picture as it is. False: one sentence in why, and the picture is as it was. */
bool animation_write(const char *picture, int64_t every, int64_t last, int64_t *frames, char *why, size_t why_bytes);

#endif
