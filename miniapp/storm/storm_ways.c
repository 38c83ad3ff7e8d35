#include "storm/storm_ways.h"

#include <stdio.h>
#include <string.h>

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

static int throw(dice *d, int sides_of_it)
{
    d->state = d->state * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((d->state >> 33) % (uint64_t)sides_of_it);
}

static void read_deck(config *c, const char *text)
{
    sentence why = { "" };
    deck d = { 0 };
    if (!deck_read_text(&d, text, "storm", &why) || !config_from_deck(c, &d, &why)) check_fail(__FILE__, __LINE__, text, why.text);
    deck_free(&d);
}

/* A number of columns that divides the ranks. */
static int columns_of(dice *d, int ranks)
{
    int columns = 1 + throw(d, ranks);
    while (ranks % columns != 0) columns--;
    return columns;
}

void storm_way_make(storm_way *w, unsigned seed, int number, int ranks, config_device on)
{
    static const int fuse[] = { 1, 3, 1, 8, 2, 1, 5 };
    static const config_feed feeds[] = { CONFIG_FEED_OPENMP, CONFIG_FEED_SERIAL, CONFIG_FEED_GRAPH };
    const bool host = on == CONFIG_DEVICE_HOST, line = number % PROBLEMS >= PROBLEMS - LINES;
    char text[1024];
    dice d = { (uint64_t)seed << 32 | (uint64_t)number };
    for (int i = 0; i < 4; i++) (void)throw(&d, 1);
    const int nx = line ? 613 + 64 * ranks : 61 + 8 * ranks + throw(&d, 7), ny = line ? 1 : 47 + 8 * ranks + throw(&d, 5);
    snprintf(text, sizeof text, "[problem]\n%s\ninitial = random\nseed = %d\n[grid]\nnx = %d\nny = %d\n%s\n[time]\nsteps = 1000000\n%s\n"
             "[run]\nthreads = 1\ntune = off\n", problems[number % PROBLEMS], 1 + throw(&d, 1000), nx, ny,
             line ? sides[throw(&d, 2)] : sides[throw(&d, SIDES)], strstr(problems[number % PROBLEMS], "laplace") ? "norm_every = 3" : "");
    read_deck(&w->c, text);
    w->c.run.device = on;
    w->c.run.ranks_x = line ? ranks : columns_of(&d, ranks);
    w->c.run.ranks_y = ranks / w->c.run.ranks_x;
    w->c.run.fuse = config_kind_of(&w->c)->transposes > 0 ? 1 : fuse[throw(&d, 7)];
    w->c.run.feed = feeds[throw(&d, host ? 2 : 3)];
    w->c.run.streams = w->c.run.feed == CONFIG_FEED_OPENMP ? 3 : 1 + throw(&d, 3); /* more threads than cores do not spin */
    const int transport = throw(&d, 2 * TRANSPORT_KINDS); /* half of the time the one whose kernels wait for flags */
    w->c.run.transport = host ? TRANSPORT_STAGED : transport < TRANSPORT_KINDS ? (transport_kind)transport : TRANSPORT_PEER;
    w->form = throw(&d, 3) == 0 && w->c.run.fuse > 1 ? STEP_EXCHANGE_FIRST : STEP_OVERLAPPED;
    w->in_kernel = throw(&d, 3) > 0;
    w->aside = throw(&d, 2) == 0;
}
