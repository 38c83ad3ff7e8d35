/* Who waits for what in a step, and races put in on purpose, each of which leaves out one of these waits.
 * Streams are known by what ran on them last, events by where they were recorded last and behind what. */
#pragma once

#include "sim/sim.h"

/* The wait that is left out. */
typedef enum storm_race {
    STORM_NO_RACE,
    STORM_EXCHANGE_BEFORE_LEVEL,
    STORM_STRIP_BEFORE_LEVEL,
    STORM_NEXT_BEFORE_STRIP,
    STORM_NEXT_BEFORE_SHELL,
    STORM_MESSAGE_BEFORE_PACK,
    STORM_MESSAGE_BEFORE_FIELD,
    STORM_NORM_BEFORE_IT_IS_THERE,
    STORM_STRIP_BEFORE_IMAGES,
    STORM_PART_BEFORE_TRANSPOSE,
    STORM_ASIDE_BEFORE_LEVEL,
    STORM_NEXT_UNDER_SNAPSHOT,
    STORM_RACES_OF_HOST, /* those that follow are of GPUs, in debug builds */
    STORM_BLOCK_BEFORE_FLAG_WORDS = STORM_RACES_OF_HOST,
    STORM_PART_BEFORE_FLAG,
    STORM_CHUNK_BEFORE_FLAG,
    STORM_COPY_BEFORE_MEETING,
    STORM_UNPACK_BEFORE_CHUNKS,
    STORM_RACES
} storm_race;
extern const char *const storm_race_name[STORM_RACES];

/* Work on a stream, as far as the races tell it apart. */
typedef enum storm_work {
    STORM_WORK_OTHER,
    STORM_WORK_PACK,
    STORM_WORK_TRANSPOSE,
    STORM_WORK_FILL,
    STORM_WORK_NORM,
    STORM_WORK_SNAPSHOT
} storm_work;

/* Of the steps of s, until the next begin. What follows may be called by any thread. */
void storm_race_begin(const sim *s, storm_race race);
bool storm_race_is(storm_race race);
void storm_race_worked(const device_stream *s, storm_work work);
void storm_race_recorded(const device_event *e, const device_stream *s);

/* Is the stream none of those that take the steps? It reads a level beside them, or brings something for
 * them. */
bool storm_race_is_aside(const device_stream *s);

/* Is that call left out: the record of an event; a stream's wait for one; the host's; its question whether a
 * stream is done; its wait for a stream? */
bool storm_race_skips_record(const device_event *e);
bool storm_race_skips_wait(const device_event *e, const device_stream *s);
bool storm_race_skips_sync(const device_event *e);
bool storm_race_skips_stream_done(void);
bool storm_race_skips_stream_sync(const device_stream *s);
