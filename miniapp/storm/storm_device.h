/* What stands between a run and its device while a storm blows: it puts itself into the device's struct of functions, so the code of a
 * step knows nothing of it and costs nothing without it. Through it go
 *   delays    of streams (on a GPU a kernel that waits; the host's run later anyway, device_deferred.h), and of the thread that calls,
 *             before it sends, after it has received and between its streams; by a hash of seed, rank, thread and number of the call
 *   poison    NaN over received cells as soon as they have been put into the field or, over peer memory, into its ghosts
 *   copies    of the cells that passes read (storm_reads.h)
 *   races     put in on purpose: one wait of the step is left out
 * In debug builds kernels that wait for other blocks' words are told to hold up some of their warps (late.h). */
#pragma once

#include "sim/sim.h"

/* A wait that is left out. */
typedef enum storm_race {
    STORM_NO_RACE,
    STORM_EXCHANGE_BEFORE_LEVEL, STORM_STRIP_BEFORE_LEVEL, STORM_NEXT_BEFORE_STRIP, STORM_NEXT_BEFORE_SHELL, STORM_MESSAGE_BEFORE_PACK,
    STORM_MESSAGE_BEFORE_FIELD, STORM_NORM_BEFORE_IT_IS_THERE, STORM_STRIP_BEFORE_IMAGES, STORM_PART_BEFORE_TRANSPOSE,
    STORM_ASIDE_BEFORE_LEVEL, STORM_NEXT_UNDER_SNAPSHOT,
    STORM_RACES_OF_HOST, /* those that follow are of GPUs, in debug builds */
    STORM_BLOCK_BEFORE_FLAG_WORDS = STORM_RACES_OF_HOST, STORM_PART_BEFORE_FLAG,
    STORM_RACES
} storm_race;
extern const char *const storm_race_name[STORM_RACES];

/* From now on, until the sim is destroyed, which is to be told beforehand: one sim at a time. */
void storm_device_begin(sim *s, unsigned seed, storm_race race);
void storm_device_end(void);
/* The steps that are enqueued next begin from s->level; false: their reads are not copied. May delay this rank. */
void storm_device_step(bool copies);
/* NaN into all ghosts of the field that the last step read, where no later step relies on them. */
void storm_device_poison_ghosts(void);
/* The longest time in nanoseconds for which this rank was held up on purpose in that step or the one before it. */
int64_t storm_device_late_ns(int64_t step);
