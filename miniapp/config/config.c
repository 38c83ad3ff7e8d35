/* From a deck to a config: every value by its row of the table, then what the values mean to each other:
 * sides in pairs, limits of stability, modes in range, axes no shorter than the radius. Invariant: what the
 * chosen kind does not use is set to one fixed value, so that two configs which say the same are equal as
 * memory. */
#include "config/config.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/config_table.h"
#include "output/picture.h"

/* Up to here reading a file back takes seconds. */
#define FULLY_VERIFIED_BYTES ((double)((int64_t)4 << 30))

typedef struct checking {
    config *c;
    const deck *d;
    sentence *why;
} checking;

static bool given(const checking *k, const char *key) { return deck_find(k->d, key) != NULL; }

/* "where: key = value: reason"; false. */
static bool refuse(const checking *k, const char *key, const char *format, ...)
{
    sentence reason;
    va_list args;
    va_start(args, format);
    sentence_set_list(&reason, format, args);
    va_end(args);
    const deck_entry *e = deck_find(k->d, key);
    const config_row *row = config_table_find(key);
    const char *hash =
        e && strstr(e->value, " #") ? "; a # begins a comment only at the start of a line" : "";
    if (e) sentence_set(k->why, "%s: %s = %.200s: %s%s", e->where, key, e->value, reason.text, hash);
    else if (row && row->preset) sentence_set(k->why, "%s = %s (default): %s", key, row->preset, reason.text);
    else sentence_set(k->why, "%s: %s", key, reason.text);
    return false;
}

static bool read_row(const checking *k, const config_row *row, const char *text)
{
    sentence reason;
    char allowed[256];
    if (config_table_read(k->c, row, text, &reason)) return true;
    if (reason.text[0]) return refuse(k, row->key, "%s", reason.text);
    config_table_allowed(row, allowed, sizeof allowed);
    size_t choices = 0;
    while (row->choices && row->choices[choices]) choices++;
    const char *near = deck_near(text, row->choices, choices);
    return refuse(k, row->key, "allowed: %s%s%s", allowed, near ? "; did you mean " : "", near ? near : "");
}

static bool all_known(const checking *k)
{
    for (size_t i = 0; i < k->d->count; i++) {
        const deck_entry *e = &k->d->entry[i];
        if (config_table_find(e->key)) continue;
        return sentence_refuse(k->why, "%s: unknown key %.200s, did you mean %s", e->where, e->key,
                               config_table_nearest(e->key));
    }
    return true;
}

/* Table order: grid.boundary stands before the sides that override it. */
static bool read_all(const checking *k)
{
    for (size_t i = 0; i < config_table_count; i++) {
        const config_row *row = &config_table[i];
        const deck_entry *e = deck_find(k->d, row->key);
        const char *text = e ? e->value : row->preset;
        if (text && !read_row(k, row, text)) return false;
        if (!e && row->preset_text && strcmp(row->preset_text, "required") == 0) {
            char allowed[256];
            config_table_allowed(row, allowed, sizeof allowed);
            return refuse(k, row->key, "required; allowed: %s", allowed);
        }
    }
    return true;
}

static bool uses_alpha(const config *c) { return config_kind_of(c)->alpha != KIND_ALPHA_NONE; }

static bool check_alpha(const checking *k)
{
    static const char *const stable[] = { [KIND_ALPHA_FROM_0] = "0 <= alpha <=",
                                          [KIND_ALPHA_ABOVE_0] = "0 < alpha <",
                                          [KIND_ALPHA_EITHER_SIGN] = "|alpha| <" };
    config *c = k->c;
    const kind_row *row = config_kind_of(c);
    const double a = c->problem.alpha,
                 limit = kind_alpha_limit(c->problem.kind, c->problem.order, config_two_d(c));
    const bool allowed[] = { [KIND_ALPHA_FROM_0] = a >= 0.0 && a <= limit,
                             [KIND_ALPHA_ABOVE_0] = a > 0.0 && a < limit,
                             [KIND_ALPHA_EITHER_SIGN] = fabs(a) < limit };
    if (!uses_alpha(c)) {
        c->problem.alpha = 0.0;
        return true;
    }
    if (!given(k, "problem.alpha"))
        return refuse(k, "problem.alpha", "required for %s; allowed up to %g", row->name, limit);
    return allowed[row->alpha] ||
           refuse(k, "problem.alpha", "%s of order %d in %dD is stable for %s %g", row->name,
                  c->problem.order, config_two_d(c) ? 2 : 1, stable[row->alpha], limit);
}

static bool fits_type(const config *c, double v)
{
    return c->problem.type == DTYPE_F64 || isfinite((float)v);
}

static bool finite_in_type(const checking *k, const char *key, const double *numbers, int count)
{
    for (int i = 0; i < count; i++)
        if (!fits_type(k->c, numbers[i])) return refuse(k, key, "%g is not finite in f32", numbers[i]);
    return true;
}

/* Sets the radius. */
static bool check_weights(const checking *k)
{
    config *c = k->c;
    const int count = c->problem.weights_count;
    if (config_kind_of(c)->stencil != KIND_STENCIL_WEIGHTS) {
        memset(c->problem.weights, 0, sizeof c->problem.weights);
        c->problem.weights_count = 0;
        return true;
    }
    if (!given(k, "problem.weights"))
        return refuse(k, "problem.weights", "required for custom; allowed: %s",
                      config_table_find("problem.weights")->allowed);
    const bool square = strchr(deck_find(k->d, "problem.weights")->value, '|') != NULL;
    if (config_two_d(c) && !square)
        return refuse(k, "problem.weights",
                      "one row; a 2D grid needs 2r+1 rows of 2r+1 numbers separated by |");
    if (!config_two_d(c) && square)
        return refuse(k, "problem.weights",
                      "several rows; a 1D grid (grid.ny = 1) needs one row of 2r+1 numbers");
    int row = count;
    if (square)
        for (row = 1; row * row < count; row++) continue;
    const int r = row / 2;
    if (row % 2 == 0 || r < 1 || r > STENCIL_RADIUS_MAX)
        return refuse(k, "problem.weights",
                      "a row of %d numbers; allowed are 3, 5, 7 .. %d (2r+1, radius r = 1 .. %d)", row,
                      2 * STENCIL_RADIUS_MAX + 1, STENCIL_RADIUS_MAX);
    c->problem.radius = r;
    return finite_in_type(k, "problem.weights", c->problem.weights, count);
}

/* Likewise. */
static bool check_factors(const checking *k)
{
    config *c = k->c;
    const kind_row *kind = config_kind_of(c);
    if (kind->stencil != KIND_STENCIL_FACTORS) {
        memset(c->problem.factors, 0, sizeof c->problem.factors);
        c->problem.factors_count = c->problem.products = 0;
        return true;
    }
    if (!given(k, "problem.factors"))
        return refuse(k, "problem.factors", "required for %s; allowed: %s", kind->name,
                      config_table_find("problem.factors")->allowed);
    if (!config_two_d(c))
        return refuse(k, "grid.ny",
                      "%s needs a 2D grid; allowed: 2 or more (in 1D problem.kind = custom serves)",
                      kind->name);
    const int row = c->problem.factors_count / (2 * c->problem.products), r = row / 2;
    if (row % 2 == 0 || r < 1 || r > STENCIL_SEPARABLE_RADIUS_MAX)
        return refuse(k, "problem.factors",
                      "rows of %d numbers; allowed are 3, 5, 7 and %d (2r+1, radius r = 1 .. %d)", row,
                      2 * STENCIL_SEPARABLE_RADIUS_MAX + 1, STENCIL_SEPARABLE_RADIUS_MAX);
    c->problem.radius = r;
    return finite_in_type(k, "problem.factors", c->problem.factors, c->problem.factors_count);
}

static bool check_order(const checking *k)
{
    config *c = k->c;
    if (c->problem.order % 2 != 0) return refuse(k, "problem.order", "allowed: 2, 4, 6 .. 16");
    switch (config_kind_of(c)->stencil) {
    case KIND_STENCIL_DIFFERENCES: c->problem.radius = c->problem.order / 2; break;
    case KIND_STENCIL_MEAN: c->problem.radius = 1; break;
    case KIND_STENCIL_WEIGHTS:
    case KIND_STENCIL_FACTORS: break; /* check_weights, check_factors */
    case KIND_STENCIL_NONE: c->problem.radius = 0; break;
    }
    return true;
}

/* ---- sides ---- */

static void set_periodic(boundary_side *s)
{
    s->kind = BOUNDARY_PERIODIC;
    s->value = 0.0;
}

static double sum_of_sizes(const double *numbers, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) sum += fabs(numbers[i]);
    return sum;
}

/* What a sum of V alone may reach: |c| summed over the terms of an update at the limit on alpha, and V + V
 * where a side reflects more than one node deep. */
static double largest_sum(const config *c)
{
    const double sum = config_kind_of(c)->v_sum[c->problem.radius > 1], *factors = c->problem.factors;
    const int side = 2 * c->problem.radius + 1;
    double products = 0, rows = 0;
    for (int k = 0; k < c->problem.products; k++, factors += 2 * side) {
        const double row = sum_of_sizes(factors, side);
        rows = fmax(rows, row);
        products += row * sum_of_sizes(factors + side, side);
    }
    return fmax(fmax(sum, sum_of_sizes(c->problem.weights, c->problem.weights_count)), fmax(rows, products));
}

static bool check_value(const checking *k, const char *key, const boundary_side *side)
{
    const double most = k->c->problem.type == DTYPE_F32 ? FLT_MAX : DBL_MAX, limit = most / largest_sum(k->c);
    if (fabs(side->value) <= limit) return true;
    return refuse(k, given(k, key) ? key : "grid.boundary",
                  "allowed is |V| up to %.4g: sums of it by this stencil must be finite in %s", limit,
                  dtype_name(k->c->problem.type));
}

static bool check_axis(const checking *k, const boundary_side *low, const boundary_side *high, char axis,
                       int64_t n)
{
    const config *c = k->c;
    char low_key[] = "grid.x_low", high_key[] = "grid.x_high", n_key[] = "grid.nx";
    low_key[5] = high_key[5] = axis;
    n_key[6] = axis;
    const char *blame = given(k, high_key) ? high_key : given(k, low_key) ? low_key : "grid.boundary";
    if ((low->kind == BOUNDARY_PERIODIC) != (high->kind == BOUNDARY_PERIODIC))
        return refuse(
            k, blame,
            "allowed is periodic on both sides of an axis or on neither, but %s is periodic and %s is not",
            low->kind == BOUNDARY_PERIODIC ? low_key : high_key,
            low->kind == BOUNDARY_PERIODIC ? high_key : low_key);
    if (config_kind_of(c)->odd && low->kind != high->kind)
        return refuse(
            k, blame,
            "%s with dirichlet on one side of an axis and neumann on the other is unstable at every "
            "alpha; allowed are two sides of the same kind",
            config_kind_of(c)->name);
    if (!check_value(k, low_key, low) || !check_value(k, high_key, high)) return false;
    if (n < c->problem.radius)
        return refuse(k, n_key, "allowed: %d or more, the stencil's radius", c->problem.radius);
    return true;
}

static bool check_grid(const checking *k)
{
    config *c = k->c;
    boundary *b = &c->grid.sides;
    const kind_row *row = config_kind_of(c);
    if (row->by_lines && !config_two_d(c))
        return refuse(k, "grid.ny", "%s needs a 2D grid; allowed: 2 or more", row->name);
    if (c->grid.nx > ((int64_t)1 << 60) / c->grid.ny)
        return refuse(k, "grid.nx", "nx * ny is at most 2^60, so with ny = %lld at most %lld",
                      (long long)c->grid.ny, (long long)(((int64_t)1 << 60) / c->grid.ny));
    if (!row->stencil) {
        set_periodic(&b->x_low);
        set_periodic(&b->x_high);
    }
    if (!row->stencil || !config_two_d(c)) {
        set_periodic(&b->y_low);
        set_periodic(&b->y_high);
    }
    if (!check_axis(k, &b->x_low, &b->x_high, 'x', c->grid.nx)) return false;
    return !config_two_d(c) || check_axis(k, &b->y_low, &b->y_high, 'y', c->grid.ny);
}

/* Periodic and neumann axes have modes 0 .. n-1, those with a dirichlet side 1 .. n. */
static bool check_mode(const checking *k, const char *key, int64_t *mode, const boundary_side *low,
                       const boundary_side *high, int64_t n)
{
    const int64_t first = low->kind == BOUNDARY_DIRICHLET || high->kind == BOUNDARY_DIRICHLET ? 1 : 0;
    const int64_t last = n - 1 + first;
    if (!given(k, key)) *mode = last < 1 ? 0 : 1;
    if (k->c->problem.initial != CONFIG_INITIAL_MODE || !config_kind_of(k->c)->modes) return true;
    if (*mode < first || *mode > last)
        return refuse(k, key, "allowed: %lld .. %lld with these sides and %lld cells", (long long)first,
                      (long long)last, (long long)n);
    return true;
}

static bool check_modes(const checking *k)
{
    config *c = k->c;
    const boundary *b = &c->grid.sides;
    if (!check_mode(k, "problem.mode_x", &c->problem.mode_x, &b->x_low, &b->x_high, c->grid.nx)) return false;
    if (config_two_d(c))
        return check_mode(k, "problem.mode_y", &c->problem.mode_y, &b->y_low, &b->y_high, c->grid.ny);
    c->problem.mode_y = 0;
    return true;
}

static bool check_time(const checking *k)
{
    config *c = k->c;
    if (c->time.tolerance < 0.0) return refuse(k, "time.tolerance", "allowed: a number, 0 or more");
    if (c->time.tolerance > 0.0 && !config_kind_of(c)->to_tolerance)
        return refuse(k, "time.tolerance", "only laplace runs to a tolerance; allowed for %s is 0",
                      config_kind_of(c)->name);
    if (!given(k, "time.norm_every")) c->time.norm_every = c->time.tolerance > 0.0 ? 1 : 0;
    if (c->time.tolerance > 0.0 && c->time.norm_every == 0)
        return refuse(k, "time.norm_every", "allowed with a tolerance: 1 or more");
    return true;
}

double config_state_bytes(const config *c)
{
    return (double)c->grid.nx * (double)c->grid.ny * (double)dtype_bytes(c->problem.type) *
           kind_fields(config_kind_of(c));
}

static bool choose_verify(const checking *k)
{
    if (!given(k, "checkpoint.verify"))
        k->c->checkpoint.verify = config_state_bytes(k->c) > FULLY_VERIFIED_BYTES ? STATE_VERIFY_SAMPLE
                                                                                  : STATE_VERIFY_FULL;
    return true;
}

static bool check_output(const checking *k)
{
    config *c = k->c;
    if (c->output.picture_low > c->output.picture_high)
        return refuse(
            k, given(k, "output.picture_high") ? "output.picture_high" : "output.picture_low",
            "allowed: picture_low (%g) below picture_high (%g), or the same for the range of the cells",
            c->output.picture_low, c->output.picture_high);
    if (c->output.picture[0] && !frames_png(c->output.picture))
        return refuse(k, "output.picture",
                      "allowed is a name that ends in .png or .apng, since PNG is written");
    if (!given(k, "output.series") && !c->output.picture[0])
        snprintf(c->output.series, sizeof c->output.series, "series");
    if (c->output.every > 0 && c->output.series[0] && strcmp(c->output.series, c->checkpoint.dir) == 0)
        return refuse(k, "output.series",
                      "allowed is another folder than checkpoint.dir, whose older files are deleted");
    return true;
}

/* A simulated rank has no threads: they have no simulated clock. Nor is its device's time known better by
 * trying. */
static bool leave_out_threads(const checking *k)
{
    config *c = k->c;
    if (!WEFT_SIM) return true;
    c->run.threads = 1;
    c->run.feed = CONFIG_FEED_SERIAL;
    c->run.tune = CONFIG_TUNE_OFF;
    c->run.stall_limit_s = 0;
    c->checkpoint.async = false;
    return true;
}

bool config_from_deck(config *c, const deck *d, sentence *why)
{
    const checking k = { c, d, why };
    memset(c, 0, sizeof *c);
    return all_known(&k) && read_all(&k) && check_order(&k) && check_weights(&k) && check_factors(&k) &&
           check_grid(&k) && check_alpha(&k) && check_modes(&k) && check_time(&k) && choose_verify(&k) &&
           check_output(&k) && leave_out_threads(&k);
}

/* ---- what is given and not used ---- */

/* A value that is the default is no request: a resolved deck has every key. */
void config_ignored_keys(const config *c, const deck *d, char *keys, size_t keys_bytes)
{
    const kind_row *kind = config_kind_of(c);
    const bool differences = uses_alpha(c), has_stencil = kind->stencil;
    const bool mode = c->problem.initial == CONFIG_INITIAL_MODE && kind->modes;
    const struct {
        const char *key, *none;
        bool used;
    } row[] = {
        { "problem.order", "2", differences },
        { "problem.alpha", "0", differences },
        { "problem.weights", "", kind->stencil == KIND_STENCIL_WEIGHTS },
        { "problem.factors", "", kind->stencil == KIND_STENCIL_FACTORS },
        { "problem.mode_x", c->problem.mode_x == 0 ? "0" : "1", mode },
        { "problem.mode_y", config_two_d(c) && c->problem.mode_y != 0 ? "1" : "0", mode && config_two_d(c) },
        { "problem.seed", "0", c->problem.initial == CONFIG_INITIAL_RANDOM },
        { "grid.boundary", "periodic", has_stencil },
        { "grid.x_low", "periodic", has_stencil },
        { "grid.x_high", "periodic", has_stencil },
        { "grid.y_low", "periodic", has_stencil && config_two_d(c) },
        { "grid.y_high", "periodic", has_stencil && config_two_d(c) },
        { "time.norm_every", "0", has_stencil },
    };
    size_t used = 0;
    keys[0] = '\0';
    for (size_t i = 0; i < sizeof row / sizeof *row && used < keys_bytes; i++) {
        const deck_entry *e = deck_find(d, row[i].key);
        if (e && !row[i].used && strcmp(e->value, row[i].none) != 0)
            used += (size_t)snprintf(keys + used, keys_bytes - used, "%s%s", used ? ", " : "", row[i].key);
    }
}

/* ---- comparison ---- */

static bool same_side(const boundary_side *a, const boundary_side *b)
{
    return a->kind == b->kind && a->value == b->value;
}

const char *config_first_difference(const config *a, const config *b)
{
    const boundary *s = &a->grid.sides, *t = &b->grid.sides;
    if (a->problem.kind != b->problem.kind) return "problem.kind";
    if (a->problem.type != b->problem.type) return "problem.dtype";
    if (uses_alpha(a) && a->problem.order != b->problem.order) return "problem.order";
    if (a->problem.alpha != b->problem.alpha) return "problem.alpha";
    if (a->problem.weights_count != b->problem.weights_count ||
        memcmp(a->problem.weights, b->problem.weights, sizeof a->problem.weights) != 0)
        return "problem.weights";
    if (a->problem.factors_count != b->problem.factors_count || a->problem.products != b->problem.products ||
        memcmp(a->problem.factors, b->problem.factors, sizeof a->problem.factors) != 0)
        return "problem.factors";
    if (a->problem.initial != b->problem.initial || strcmp(a->problem.file, b->problem.file) != 0 ||
        strcmp(a->problem.dataset, b->problem.dataset) != 0)
        return "problem.initial";
    if (a->problem.mode_x != b->problem.mode_x) return "problem.mode_x";
    if (a->problem.mode_y != b->problem.mode_y) return "problem.mode_y";
    if (a->problem.seed != b->problem.seed) return "problem.seed";
    if (a->grid.nx != b->grid.nx) return "grid.nx";
    if (a->grid.ny != b->grid.ny) return "grid.ny";
    if (!same_side(&s->x_low, &t->x_low)) return "grid.x_low";
    if (!same_side(&s->x_high, &t->x_high)) return "grid.x_high";
    if (!same_side(&s->y_low, &t->y_low)) return "grid.y_low";
    if (!same_side(&s->y_high, &t->y_high)) return "grid.y_high";
    return NULL;
}
