/* What stands between a run and its device while a storm blows: it puts itself into the device's struct of
 * functions, so the code of a step knows nothing of it and costs nothing without it. Through it go
 *   delays    of streams before each piece of work, and of the thread that calls, before it sends, after it
 *             has received and between its streams (storm_delay.h)
 *   poison    NaN over received cells as soon as they have been put into the field or, over peer memory, into
 *             its ghosts
 *   copies    of the cells that passes read (storm_reads.h)
 *   races     put in on purpose (storm_race.h)
 *
 * Of most kernels nobody sees the blocks apart: who waits for one waits for its end, and who does not finds
 * all of its cells as they were where its stream was held up before it. So a late stream finds what late
 * blocks would. It does not where blocks wait for other blocks or tell them something while their kernels
 * run, which in debug builds are told to hold up some of their warps (late.h): steps with in-kernel exchange,
 * peer exchanges and distributed transposes over peer memory, and passes of several steps, whose border and
 * interior are kernels side by side. The meeting of ranks is one block, whose threads wait for one rank each.
 * */
#pragma once

#include "storm/storm_race.h"

/* From now on, until the sim is destroyed, which is to be told beforehand: one sim at a time. Steps that are
 * captured before know nothing of it. full: the device has no room for a copy of a level. */
void storm_device_begin(sim *s, unsigned seed, bool full, storm_race race);
void storm_device_end(void);
/* The steps that are enqueued next begin from s->level; false: their reads are not copied. May delay this
 * rank. */
void storm_device_step(bool copies);
/* NaN into all ghosts of the field that the last step read, where no later step relies on them. */
void storm_device_poison_ghosts(void);
