/* The process grid. Invariant: along each axis part i of n cells among p ranks is [floor(n i/p), floor(n
 * (i+1)/p)), so the parts tile the axis, differ by at most one cell, and the smallest has floor(n/p) cells:
 * that is the one to test against the halo's depth. */
#include "ranks/decomp.h"

#include <assert.h>

const int decomp_dx[DECOMP_NEIGHBOURS] = { -1, 0, 1, -1, 1, -1, 0, 1 };
const int decomp_dy[DECOMP_NEIGHBOURS] = { -1, -1, -1, 0, 0, 1, 1, 1 };

int decomp_direction(int dx, int dy)
{
    const int place = 3 * (dy + 1) + dx + 1;
    return place == 4 ? -1 : place - (place > 4);
}

/* floor(n i/p) without the overflow of n * i: n = q p + r gives q i + floor(r i/p). */
int64_t decomp_part_start(int64_t n, int64_t part, int64_t parts)
{
    return n / parts * part + n % parts * part / parts;
}

/* The most ranks that an axis of `cells` can be cut into. */
static int64_t ranks_max(int64_t cells, int depth)
{
    const int64_t most = cells / (depth > 1 ? depth : 1);
    return most > 1 ? most : 1;
}

/* The cost of a cell of a column, in cells of a row: columns are gathered one sector per cell, and every row
 * of tiles has blocks that pass them on. On two H200s single steps break even between 4 and 16; blocks of
 * steps are up to 4 % faster with columns cut, but small grids and overlapped steps lose more. */
static const double column_cost = 4;

/* The cells that cross the cuts in one exchange, in cells of rows and units of the depth: each cut moves a
 * column (or row) both ways. */
static double halo_cost(const decomp *d, int ranks_x, int ranks_y)
{
    const int cuts_x = ranks_x == 1 ? 0 : d->periodic_x ? ranks_x : ranks_x - 1;
    const int cuts_y = ranks_y == 1 ? 0 : d->periodic_y ? ranks_y : ranks_y - 1;
    return 2.0 * column_cost * (double)cuts_x * (double)d->ny + 2.0 * (double)cuts_y * (double)d->nx;
}

/* The process grid with the cheapest halo among those that fit and agree with what was asked (0: not asked).
 * ranks_x ascends, so that a tie goes to the grid with more cuts between rows. */
static bool choose_grid(decomp *d, int ranks, int depth)
{
    const int asked_x = d->ranks_x, asked_y = d->ranks_y;
    double least = 0.0;
    bool found = false;
    for (int x = 1; x <= ranks; x++) {
        const int y = ranks / x;
        if (ranks % x != 0 || (asked_x && x != asked_x) || (asked_y && y != asked_y)) continue;
        if (x > ranks_max(d->nx, depth) || y > ranks_max(d->ny, depth)) continue;
        const double cost = halo_cost(d, x, y);
        if (found && cost >= least) continue;
        found = true;
        least = cost;
        d->ranks_x = x;
        d->ranks_y = y;
    }
    return found;
}

/* Why choose_grid found none: the first limit that what was asked breaks. */
static void explain(const decomp *d, int ranks, int depth, sentence *why)
{
    const int asked_x = d->ranks_x, asked_y = d->ranks_y;
    if (asked_x && asked_y && (int64_t)asked_x * asked_y != ranks)
        sentence_set(why, "run.ranks_x = %d and run.ranks_y = %d need %lld ranks, and there are %d", asked_x,
                     asked_y, (long long)asked_x * asked_y, ranks);
    else if (asked_x && ranks % asked_x != 0)
        sentence_set(why, "run.ranks_x = %d: %d rank%s cannot be cut into %d columns", asked_x, ranks,
                     ranks == 1 ? "" : "s", asked_x);
    else if (asked_y && ranks % asked_y != 0)
        sentence_set(why, "run.ranks_y = %d: %d rank%s cannot be cut into %d rows", asked_y, ranks,
                     ranks == 1 ? "" : "s", asked_y);
    else
        sentence_set(why,
                     "grid.nx = %lld and grid.ny = %lld cannot be cut among %d ranks with at least %d cells "
                     "per rank along a cut axis (radius x fuse): run.ranks_x may be at most %lld, "
                     "run.ranks_y at most %lld",
                     (long long)d->nx, (long long)d->ny, ranks, depth > 1 ? depth : 1,
                     (long long)ranks_max(d->nx, depth), (long long)ranks_max(d->ny, depth));
}

/* Grid coordinate c + step, or -1: outside the domain or an axis that is not cut. */
static int neighbour_coordinate(int c, int step, int parts, bool periodic)
{
    if (step == 0) return c;
    if (parts == 1) return -1;
    const int n = c + step;
    if (n >= 0 && n < parts) return n;
    return periodic ? (n + parts) % parts : -1;
}

box decomp_box(const decomp *d, int rank)
{
    assert(rank >= 0 && rank < d->ranks_x * d->ranks_y);
    const int x = rank % d->ranks_x, y = rank / d->ranks_x;
    return box_make(decomp_part_start(d->nx, x, d->ranks_x), decomp_part_start(d->nx, x + 1, d->ranks_x),
                    decomp_part_start(d->ny, y, d->ranks_y), decomp_part_start(d->ny, y + 1, d->ranks_y));
}

box decomp_share(int64_t nx, int64_t ny, int ranks, int rank)
{
    return decomp_box(&(decomp){ .nx = nx, .ny = ny, .ranks_x = ny == 1 ? ranks : 1,
                                 .ranks_y = ny == 1 ? 1 : ranks },
                      rank);
}

decomp decomp_of_rank(const decomp *d, int rank)
{
    decomp r = *d;
    r.rank = rank;
    r.own = decomp_box(d, rank);
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        const int x = neighbour_coordinate(rank % d->ranks_x, decomp_dx[k], d->ranks_x, d->periodic_x);
        const int y = neighbour_coordinate(rank / d->ranks_x, decomp_dy[k], d->ranks_y, d->periodic_y);
        r.neighbour[k] = x < 0 || y < 0 ? -1 : y * d->ranks_x + x;
    }
    return r;
}

bool decomp_make(decomp *d, int ranks, int depth, sentence *why)
{
    assert(d->nx >= 1 && d->ny >= 1 && ranks >= 1 && d->rank >= 0 && d->rank < ranks);
    assert(d->ranks_x >= 0 && d->ranks_y >= 0 && depth >= 0);
    decomp grid = *d;
    const bool short_x = d->nx < depth, short_y = d->ny > 1 && d->ny < depth;
    if (short_x || short_y)
        return sentence_refuse(why,
                               "grid.n%c = %lld is too short: the stencil needs at least %d cells along %c "
                               "(radius x fuse)%s",
                               short_x ? 'x' : 'y', (long long)(short_x ? d->nx : d->ny), depth,
                               short_x ? 'x' : 'y', short_x ? "" : ", or 1 for a 1D problem");
    if (!choose_grid(&grid, ranks, depth)) {
        explain(d, ranks, depth, why);
        return false;
    }
    *d = decomp_of_rank(&grid, d->rank);
    return true;
}
