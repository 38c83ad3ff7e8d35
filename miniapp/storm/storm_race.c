#include "storm/storm_race.h"

#include <pthread.h>

const char *const storm_race_name[STORM_RACES] = {
    [STORM_NO_RACE] = "none",
    [STORM_EXCHANGE_BEFORE_LEVEL] = "the exchange does not wait for the level",
    [STORM_STRIP_BEFORE_LEVEL] = "a strip of the interior does not wait for the level",
    [STORM_NEXT_BEFORE_STRIP] = "the next step does not wait for a strip of the interior",
    [STORM_NEXT_BEFORE_SHELL] = "the next step does not wait for the shell",
    [STORM_MESSAGE_BEFORE_PACK] = "a message does not wait for its pack",
    [STORM_MESSAGE_BEFORE_FIELD] = "a message out of the field does not wait for the level",
    [STORM_NORM_BEFORE_IT_IS_THERE] = "the host does not wait for a norm",
    [STORM_STRIP_BEFORE_IMAGES] = "a strip does not wait for the images beyond a periodic side",
    [STORM_PART_BEFORE_TRANSPOSE] = "a message of a transpose does not wait for its part",
    [STORM_ASIDE_BEFORE_LEVEL] = "a copy beside the steps does not wait for the level",
    [STORM_NEXT_UNDER_SNAPSHOT] = "the next step does not wait for the snapshot of its level",
    [STORM_BLOCK_BEFORE_FLAG_WORDS] = "a block of an in-kernel exchange does not wait for its flag words",
    [STORM_PART_BEFORE_FLAG] = "a part of a peer exchange does not wait for its flag",
    [STORM_CHUNK_BEFORE_FLAG] = "a block that takes a chunk of a transpose does not wait for its flag",
    [STORM_COPY_BEFORE_MEETING] = "copies into other ranks' ghosts do not wait for a meeting",
    [STORM_UNPACK_BEFORE_CHUNKS] = "an unpack does not wait for the chunks that are copied in beside it",
};

enum { PLACES_MAX = 512 };

typedef struct stream_place {
    const device_stream *s;
    storm_work last;
} stream_place;

typedef struct event_place {
    const device_event *e;
    const device_stream *on; /* recorded there last, */
    storm_work behind;       /* behind this */
} event_place;

static struct {
    const step_streams *steps;
    storm_race race;
    pthread_mutex_t lock; /* of the two lists */
    stream_place stream[PLACES_MAX];
    event_place event[PLACES_MAX];
    int streams, events;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

void storm_race_begin(const sim *s, storm_race race)
{
    all.steps = &s->streams;
    all.race = race;
    all.streams = all.events = 0;
}

bool storm_race_is(storm_race race) { return all.race == race; }

static stream_place *place_of(const device_stream *s)
{
    int i = 0;
    (void)pthread_mutex_lock(&all.lock);
    while (i < all.streams && all.stream[i].s != s) i++;
    if (i == all.streams && i < PLACES_MAX - 1)
        all.stream[all.streams++] = (stream_place){ s, STORM_WORK_OTHER };
    (void)pthread_mutex_unlock(&all.lock);
    return &all.stream[i];
}

static event_place *event_at(const device_event *e)
{
    int i = 0;
    (void)pthread_mutex_lock(&all.lock);
    while (i < all.events && all.event[i].e != e) i++;
    if (i == all.events && i < PLACES_MAX - 1) all.event[all.events++] = (event_place){ .e = e };
    (void)pthread_mutex_unlock(&all.lock);
    return &all.event[i];
}

void storm_race_worked(const device_stream *s, storm_work work) { place_of(s)->last = work; }

void storm_race_recorded(const device_event *e, const device_stream *s)
{
    event_place *p = event_at(e);
    p->on = s;
    p->behind = place_of(s)->last;
}

static bool is_strip(const device_event *e)
{
    for (int i = 1; i < all.steps->count; i++)
        if (all.steps->stream_done[i] == e) return true;
    return false;
}

bool storm_race_is_aside(const device_stream *s)
{
    for (int i = 0; i < all.steps->count; i++)
        if (all.steps->stream[i] == s) return false;
    return s != all.steps->comm;
}

bool storm_race_skips_record(const device_event *e)
{
    return all.race == STORM_STRIP_BEFORE_IMAGES && e == all.steps->level &&
           event_at(e)->behind == STORM_WORK_FILL;
}

bool storm_race_skips_wait(const device_event *e, const device_stream *s)
{
    const step_streams *own = all.steps;
    const bool first = s == own->stream[0];
    switch (all.race) {
    case STORM_EXCHANGE_BEFORE_LEVEL: return e == own->level && s == own->comm;
    case STORM_STRIP_BEFORE_LEVEL: return e == own->level && s != own->comm;
    case STORM_NEXT_BEFORE_STRIP: return first && is_strip(e);
    case STORM_NEXT_BEFORE_SHELL: return first && e == own->shell_done;
    case STORM_ASIDE_BEFORE_LEVEL: return storm_race_is_aside(s) && event_at(e)->on == own->stream[0];
    case STORM_NEXT_UNDER_SNAPSHOT: return first && event_at(e)->behind == STORM_WORK_SNAPSHOT;
    case STORM_UNPACK_BEFORE_CHUNKS:
        return storm_race_is_aside(event_at(e)->on) && event_at(e)->behind != STORM_WORK_SNAPSHOT;
    default: return false;
    }
}

bool storm_race_skips_sync(const device_event *e)
{
    const storm_work behind = event_at(e)->behind;
    return (all.race == STORM_MESSAGE_BEFORE_PACK && behind == STORM_WORK_PACK) ||
           (all.race == STORM_PART_BEFORE_TRANSPOSE && behind == STORM_WORK_TRANSPOSE) ||
           (all.race == STORM_NORM_BEFORE_IT_IS_THERE && behind == STORM_WORK_NORM);
}

bool storm_race_skips_stream_done(void) { return all.race == STORM_MESSAGE_BEFORE_FIELD; }

bool storm_race_skips_stream_sync(const device_stream *s)
{
    return all.race == STORM_NORM_BEFORE_IT_IS_THERE && place_of(s)->last == STORM_WORK_NORM;
}
