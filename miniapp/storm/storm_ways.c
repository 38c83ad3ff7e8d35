#include "storm/storm_ways.h"

#include <stdio.h>
#include <string.h>

#include "core/cell.h"
#include "ranks/check.h"

/* One-dimensional ones last. */
static const char *const problems[] = {
    "kind = heat\nalpha = 0.2",
    "kind = sweep\nalpha = 0.2",
    "kind = custom\ndtype = f32\nweights = .06 .12 .05 | .11 .25 .125 | .07 .1 .115",
    "kind = wave\nalpha = 0.2\norder = 6\ndtype = f32",
    "kind = transpose\ndtype = f32",
    "kind = laplace",
    "kind = heat\nalpha = 0.15\norder = 6\ndtype = f32",
    "kind = advect\nalpha = 0.3\norder = 4",
    "kind = wave\nalpha = 0.3",
    "kind = heat\nalpha = 0.2\norder = 8",
};
enum { PROBLEMS = sizeof problems / sizeof *problems, LINES = 1 };

static const char *const sides[] = {
    "boundary = periodic",
    "boundary = neumann",
    "x_low = periodic\nx_high = periodic\ny_low = dirichlet 2\ny_high = dirichlet -1.5",
    "x_low = neumann\nx_high = neumann\ny_low = periodic\ny_high = periodic",
};
enum { SIDES = sizeof sides / sizeof *sides };

typedef struct dice {
    uint64_t state;
} dice;

/* Mixed well: by a linear generator begun at neighbouring numbers all periodic sides came with single steps
 * alone. */
static int throw(dice *d, int sides_of_it)
{
    d->state += 0x9E3779B97F4A7C15ull;
    return (int)((cell_fmix64(d->state) >> 33) % (uint64_t)sides_of_it);
}

static void read_deck(config *c, const char *text)
{
    sentence why = { "" };
    deck d = { 0 };
    if (!deck_read_text(&d, text, "storm", &why) || !config_from_deck(c, &d, &why))
        check_fail(__FILE__, __LINE__, text, why.text);
    deck_free(&d);
}

/* A number of columns that divides the ranks. */
static int columns_of(dice *d, int ranks)
{
    int columns = 1 + throw(d, ranks);
    while (ranks % columns != 0) columns--;
    return columns;
}

/* On GPUs: half of the time the one whose kernels wait for flags, else each in turn; distributed transposes
 * by messages or over peer. */
static transport_kind transport_in_turn(unsigned seed, int number, bool transposes)
{
    const int turn = (int)((seed + (unsigned)(number + number / PROBLEMS)) % (2 * TRANSPORT_KINDS));
    const bool messages = (number + number / PROBLEMS) % 2 == 0;
    if (transposes) return messages ? (transport_kind)(turn % (TRANSPORT_MAPPED + 1)) : TRANSPORT_PEER;
    return turn < TRANSPORT_KINDS ? (transport_kind)turn : TRANSPORT_PEER;
}

/* Of blocks of steps: half of the time a periodic axis is not cut, so that images of own cells come before
 * the interior. 0: any. */
static int columns_that_leave_images(dice *d, const config *c, int ranks)
{
    const bool x = c->grid.sides.x_low.kind == BOUNDARY_PERIODIC,
               y = c->grid.sides.y_low.kind == BOUNDARY_PERIODIC;
    if (c->run.fuse == 1 || throw(d, 2) == 0) return 0;
    return y ? ranks : x ? 1 : 0;
}

/* Copy engines take whole rows; aware has messages out of the field then, which no other transport has on a
 * GPU, and packs now and then. */
static bool rows_alone(transport_kind t, int number)
{
    return t == TRANSPORT_COPY || (t == TRANSPORT_AWARE && number / PROBLEMS % 4 < 3);
}

/* The run's own form where kernels exchange, or which it takes for best, and those beside it. */
static step_form form_in_turn(unsigned seed, int number, bool block)
{
    static const step_form of_steps[] = { STEP_FORMS, STEP_OVERLAPPED, STEP_FORMS };
    static const step_form of_blocks[] = { STEP_OVERLAPPED, STEP_EXCHANGE_FIRST, STEP_FORMS };
    return (block ? of_blocks : of_steps)[(seed + (unsigned)number) % 3];
}

void storm_way_make(storm_way *w, unsigned seed, int number, int ranks, config_device on)
{
    static const int fuse[] = { 1, 3, 1, 8, 2, 1, 5 };
    static const config_feed feeds[] = { CONFIG_FEED_OPENMP, CONFIG_FEED_SERIAL, CONFIG_FEED_GRAPH };
    const bool host = on == CONFIG_DEVICE_HOST, line = number % PROBLEMS >= PROBLEMS - LINES;
    const char *what = problems[number % PROBLEMS],
               *side = sides[(seed + (unsigned)(number + number / SIDES)) % (line ? 2 : SIDES)];
    char text[1024];
    dice d = { (uint64_t)seed << 32 | (uint64_t)number };
    const int nx = line ? 613 + 64 * ranks : 61 + 8 * ranks + throw(&d, 7),
              ny = line ? 1 : 47 + 8 * ranks + throw(&d, 5);
    snprintf(text, sizeof text,
             "[problem]\n%s\ninitial = random\nseed = %d\n[grid]\nnx = %d\nny = %d\n%s\n[time]\nsteps = "
             "1000000\n%s\n"
             "[run]\nthreads = 1\ntune = off\n",
             what, 1 + throw(&d, 1000), nx, ny, side, strstr(what, "laplace") ? "norm_every = 3" : "");
    read_deck(&w->c, text);
    const bool transposes = config_kind_of(&w->c)->transposes > 0;
    w->c.run.device = on;
    w->c.run.transport = host ? TRANSPORT_STAGED : transport_in_turn(seed, number, transposes);
    w->c.run.fuse = transposes ? 1 : fuse[(seed + (unsigned)number) % 7];
    const int columns = columns_that_leave_images(&d, &w->c, ranks);
    w->c.run.ranks_x = line                                     ? ranks
                       : rows_alone(w->c.run.transport, number) ? 1
                       : columns > 0                            ? columns
                                                                : columns_of(&d, ranks);
    w->c.run.ranks_y = ranks / w->c.run.ranks_x;
    w->c.run.feed = feeds[(seed + (unsigned)(number / 3)) % (host ? 2 : 3)];
    /* more threads than cores do not spin */
    w->c.run.streams = w->c.run.feed == CONFIG_FEED_OPENMP ? 3 : 1 + throw(&d, 3);
    w->chunked = w->c.run.transport == TRANSPORT_STAGED && !host && number / PROBLEMS % 4 < 3;
    w->form = form_in_turn(seed, number, w->c.run.fuse > 1);
    w->aside = throw(&d, 4) > 0;
    w->full = throw(&d, 2) == 0;
    w->hosts = !host && ranks > 2 && w->c.run.transport == TRANSPORT_PEER && throw(&d, 2) == 0 ? 2 : 1;
}
