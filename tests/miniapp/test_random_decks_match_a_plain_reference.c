/* Random decks give, bit by bit, what a plain reference computes (plain_reference.h): every kind, type, order
 * and pair of sides, in 1D and 2D, sizes that are multiples of nothing, ranks 1 to 7 in any grid, lanes,
 * feeds, blocks of steps, kernels tuned or not, and restarts in the middle on other ranks.
 *
 * A deck follows from WEFT_RANDOM_SEED (4629, whose first 20 have every kind) and its number;
 * WEFT_RANDOM_DECKS of them (20), from WEFT_RANDOM_FIRST (0) on, are run by BUILD/weft under mpirun. What is
 * compared is the fingerprint, of 64 bits, of the field that all others follow from; where it differs, the
 * deck is printed.
 * release: seven times as many decks */
#include <hdf5.h>
#include <limits.h>
#include <unistd.h>

#include "support/plain_deck.h"
#include "support/sanitized.h"
#include "support/unit.h"

enum { RANKS_MAX = 7, STEPS_MAX = 12, EXTRA_CELLS = 33, DEPTH_MAX = 16, COMMAND_BYTES = 3 * PATH_MAX };

typedef struct launch_drawn {
    int ranks, ranks_x, ranks_y; /* ranks_x = 0: weft chooses the grid */
    int lanes, fuse, threads;
    bool tune;
    const char *feed;
} launch_drawn;

typedef struct drawn {
    plain p;
    bool has_prev;                     /* the initial file holds the level before */
    int steps, restart_at, norm_every; /* restart_at = 0: in one run */
    launch_drawn launch[2];            /* before the restart, and after it */
} drawn;

/* A process grid; where weft is to choose it, room for any. */
static void draw_launch(launch_drawn *l, const plain *p, int *least_x, int *least_y)
{
    static const char *const feeds[] = { "auto", "openmp", "serial", "graph" };
    l->ranks = one_in(3) ? 1 : 1 + (int)chance(RANKS_MAX);
    do l->ranks_x = p->two_d ? 1 + (int)chance((uint64_t)l->ranks) : l->ranks;
    while (l->ranks % l->ranks_x != 0);
    l->ranks_y = l->ranks / l->ranks_x;
    l->fuse = one_in(3) ? 0 : 1 + (int)chance(5);
    if (l->fuse * p->radius > DEPTH_MAX) l->fuse = 1;
    l->lanes = one_in(2) ? 0 : 1 + (int)chance(4);
    l->threads = 1 + (int)chance(2);
    l->feed = feeds[chance(4)];
    l->tune = one_in(2);
    const bool chooses = one_in(4);
    const int depth = p->kind == PLAIN_TRANSPOSE ? 1 : p->radius * (l->fuse > 0 ? l->fuse : 1);
    const int most_x = chooses || p->kind == PLAIN_TRANSPOSE ? l->ranks : l->ranks_x;
    const int most_y = chooses || p->kind == PLAIN_TRANSPOSE ? l->ranks : l->ranks_y;
    if (chooses) l->ranks_x = l->ranks_y = 0;
    if (most_x > 1 && most_x * depth > *least_x) *least_x = most_x * depth;
    if (most_y > 1 && most_y * depth > *least_y) *least_y = most_y * depth;
}

static drawn draw(uint64_t seed, uint64_t number)
{
    drawn d = { .steps = 0 };
    plain *p = &d.p;
    chance_state = plain_mix(seed) + number;
    for (int i = 0; i < 4; i++) (void)chance(2);
    *p = plain_draw();
    d.has_prev = plain_two_levels(p) && one_in(2);
    d.steps = (int)chance(STEPS_MAX + 1);
    d.restart_at = d.steps >= 2 && one_in(3) ? 1 + (int)chance((uint64_t)d.steps - 1) : 0;
    d.norm_every = one_in(4) && p->kind != PLAIN_TRANSPOSE ? 1 + (int)chance(3) : 0;
    int least_x = p->radius, least_y = p->two_d && p->radius < 2 ? 2 : p->radius;
    for (int i = 0; i < 2; i++) draw_launch(&d.launch[i], p, &least_x, &least_y);
    p->nx = least_x + (int)chance(EXTRA_CELLS);
    p->ny = p->two_d ? least_y + (int)chance(EXTRA_CELLS) : 1;
    return d;
}

/* ---- the initial file; H5close closes all that is open ---- */

static void put_field(hid_t file, const char *name, const plain *p, const double *u)
{
    const hsize_t shape[2] = { (hsize_t)p->ny, (hsize_t)p->nx };
    const hid_t space = p->two_d ? H5Screate_simple(2, shape, NULL) : H5Screate_simple(1, shape + 1, NULL);
    const hid_t set = H5Dcreate2(file, name, p->f32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE, space,
                                 H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, u) >= 0);
}

static void put_initial(const drawn *d, const double *u, const double *prev)
{
    const hid_t file = H5Fcreate("initial.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Gcreate2(file, "fields", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put_field(file, "/fields/u", &d->p, u);
    if (d->has_prev) put_field(file, "/fields/u_prev", &d->p, prev);
    assert_true(H5close() >= 0);
}

/* ---- a run ---- */

static const char *setting(const char *name, const char *otherwise)
{
    const char *text = getenv(name);
    return text && text[0] ? text : otherwise;
}

/* On what is drawn for that launch; 0, or what the shell gives. */
static int launch(const char *weft, const launch_drawn *l, const char *arguments)
{
    char command[COMMAND_BYTES], mpirun[PATH_MAX] = "";
    if (l->ranks > 1)
        snprintf(mpirun, sizeof mpirun, "%s %s -n %d ", setting("MPIRUN", "mpirun"),
                 setting("LAUNCH_FLAGS", "--oversubscribe --bind-to none"), l->ranks);
    snprintf(command, sizeof command,
             "%s%s run d.ini run.device=host run.ranks_x=%d run.ranks_y=%d run.lanes=%d run.fuse=%d "
             "run.feed=%s run.threads=%d "
             "run.tune=%s %s >out 2>&1 </dev/null",
             mpirun, weft, l->ranks_x, l->ranks_y, l->lanes, l->fuse, l->feed, l->threads,
             l->tune ? "on" : "off", arguments);
    FILE *log = fopen("commands", "a");
    fprintf(log, "%s\n", command);
    fclose(log);
    return system(command);
}

static int run(const char *weft, const drawn *d)
{
    char arguments[128];
    int status = 0;
    if (d->restart_at > 0) {
        snprintf(arguments, sizeof arguments, "time.steps=%d checkpoint.every=%d", d->restart_at,
                 d->restart_at);
        status = launch(weft, &d->launch[0], arguments);
    }
    if (status == 0) status = launch(weft, &d->launch[1], d->restart_at > 0 ? "--restart checkpoints" : "");
    return status;
}

/* The cells at the end: u, prev (b of a transpose). */
static void refer(const drawn *d, double *u, double *prev)
{
    const plain *p = &d->p;
    const size_t bytes = (size_t)(p->nx * p->ny) * sizeof *u;
    double *next = malloc(bytes), *between = malloc(bytes);
    for (int step = 0; step < d->steps && p->kind == PLAIN_TRANSPOSE; step++) plain_transpose(p, prev, u);
    for (int step = 0; step < d->steps && p->kind != PLAIN_TRANSPOSE; step++) {
        plain_step(p, next, u, prev, between);
        memcpy(prev, u, bytes);
        memcpy(u, next, bytes);
    }
    free(next);
    free(between);
}

static bool right(const char *weft, const drawn *d, uint64_t number)
{
    const plain *p = &d->p;
    const size_t cells = (size_t)(p->nx * p->ny);
    char find[80];
    double *u = malloc(cells * sizeof *u), *prev = calloc(cells, sizeof *prev);
    for (size_t i = 0; i < cells; i++) u[i] = plain_round(p, (double)chance(1 << 30) / (1 << 29) - 1.0);
    for (size_t i = 0; i < cells; i++) prev[i] = d->has_prev ? plain_round(p, 0.9 * u[i]) : u[i];
    if (p->kind == PLAIN_TRANSPOSE) memset(prev, 0, cells * sizeof *prev);
    put_initial(d, u, prev);
    FILE *deck = fopen("d.ini", "w");
    plain_put(deck, p, "initial = initial.h5");
    fprintf(deck, "[time]\nsteps = %d\nnorm_every = %d\n[output]\nrecord = none\n", d->steps, d->norm_every);
    fclose(deck);
    const int status = run(weft, d);
    refer(d, u, prev);
    const uint64_t wanted = plain_fingerprint(p, p->kind == PLAIN_TRANSPOSE ? prev : u);
    snprintf(find, sizeof find, "grep -q '^fingerprint  %016llx$' out", (unsigned long long)wanted);
    const bool good = status == 0 && system(find) == 0;
    if (!good) {
        fprintf(stderr, "deck %llu: status %d, fingerprint wanted: %016llx\n", (unsigned long long)number,
                status, (unsigned long long)wanted);
        (void)!system("cat d.ini commands out >&2");
    }
    free(u);
    free(prev);
    return good;
}

static void test_random_decks(void **unused)
{
    char weft[PATH_MAX], path[PATH_MAX], home[PATH_MAX], folder[] = "/tmp/weft_random.XXXXXX";
    const uint64_t seed = strtoull(setting("WEFT_RANDOM_SEED", "4629"), NULL, 10);
    const uint64_t first = strtoull(setting("WEFT_RANDOM_FIRST", "0"), NULL, 10);
    /* the sanitizers see the reference; the program is the release's */
    const uint64_t decks = strtoull(setting("WEFT_RANDOM_DECKS", SANITIZED ? "3" : "20"), NULL, 10);
    uint64_t wrong = 0, restarts = 0, ranks = 0, of_kind[PLAIN_KINDS] = { 0 };
    snprintf(path, sizeof path, "%s/weft", setting("BUILD", "build"));
    assert_non_null(realpath(path, weft));
    assert_non_null(getcwd(home, sizeof home));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    for (uint64_t i = first; i < first + decks; i++) {
        const drawn d = draw(seed, i);
        assert_int_equal(system("rm -rf checkpoints *.h5 commands"), 0);
        wrong += !right(weft, &d, i);
        restarts += d.restart_at > 0;
        ranks += (uint64_t)d.launch[1].ranks;
        of_kind[d.p.kind]++;
    }
    assert_int_equal(chdir(home), 0);
    snprintf(path, sizeof path, "rm -rf %s", folder);
    assert_int_equal(system(path), 0);
    printf("%llu decks from number %llu of seed %llu, %llu with a restart, %.1f ranks on average:",
           (unsigned long long)decks, (unsigned long long)first, (unsigned long long)seed,
           (unsigned long long)restarts, (double)ranks / (double)decks);
    for (int k = 0; k < PLAIN_KINDS; k++)
        printf(" %s %llu", plain_kind_name[k], (unsigned long long)of_kind[k]);
    printf("; %llu differ\n", (unsigned long long)wrong);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_decks) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
