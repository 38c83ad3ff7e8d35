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

#include "output/picture.h"

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
    const cmd_key *row = config_table_find(key);
    const char *hash =
        e && strstr(e->value, " #") ? "; a # begins a comment only at the start of a line" : "";
    if (e) sentence_set(k->why, "%s: %s = %.200s: %s%s", e->where, key, e->value, reason.text, hash);
    else if (row && row->preset) sentence_set(k->why, "%s = %s (default): %s", key, row->preset, reason.text);
    else sentence_set(k->why, "%s: %s", key, reason.text);
    return false;
}

static bool read_row(const checking *k, const cmd_key *row, const char *text)
{
    sentence reason;
    char allowed[CMD_KEY_ALLOWED_BYTES];
    if (config_table_read(k->c, row, text, &reason)) return true;
    if (reason.text[0]) return refuse(k, row->key, "%s", reason.text);
    return refuse(k, row->key, "allowed: %s", cmd_key_allowed(row, allowed));
}

/* Allowed are the keys of its section, or all where there is no such section. */
static bool all_known(const checking *k)
{
    const deck_entry *e = k->d->entry, *const end = e + k->d->count;
    while (e < end && config_table_find(e->key)) e++;
    if (e == end) return true;
    const size_t section_bytes = strcspn(e->key, ".") + 1;
    size_t in_section = 0;
    for (size_t i = 0; i < config_table_count; i++)
        in_section += strncmp(config_table[i].key, e->key, section_bytes) == 0;
    sentence_set(k->why, "%s: unknown key %.200s; allowed:", e->where, e->key);
    for (size_t i = 0; i < config_table_count; i++)
        if (in_section == 0 || strncmp(config_table[i].key, e->key, section_bytes) == 0)
            sentence_add(k->why, " %s", config_table[i].key);
    return false;
}

/* Table order: grid.boundary stands before the sides that override it. */
static bool read_all(const checking *k)
{
    for (size_t i = 0; i < config_table_count; i++) {
        const cmd_key *row = &config_table[i];
        const deck_entry *e = deck_find(k->d, row->key);
        const char *text = e ? e->value : row->preset;
        if (text && !read_row(k, row, text)) return false;
        if (!e && row->preset_text && strcmp(row->preset_text, "required") == 0) {
            char allowed[CMD_KEY_ALLOWED_BYTES];
            return refuse(k, row->key, "required; allowed: %s", cmd_key_allowed(row, allowed));
        }
    }
    return true;
}

bool config_uses(const config *c, int use)
{
    const kind_row *kind = config_kind_of(c);
    const bool mode = kind->modes && c->problem.initial == CONFIG_INITIAL_MODE;
    const int there = (kind->alpha != KIND_ALPHA_NONE ? CONFIG_USE_DIFFERENCES : 0) |
                      (kind->stencil == KIND_STENCIL_WEIGHTS ? CONFIG_USE_WEIGHTS : 0) |
                      (mode ? CONFIG_USE_MODE : 0) |
                      (c->problem.initial == CONFIG_INITIAL_RANDOM ? CONFIG_USE_RANDOM : 0) |
                      (kind->stencil != KIND_STENCIL_NONE ? CONFIG_USE_STENCIL : 0) |
                      (config_two_d(c) ? CONFIG_USE_2D : 0);
    return (use & ~there) == 0;
}

static bool clear_unused(const checking *k)
{
    sentence reason;
    for (size_t i = 0; i < config_table_count; i++) {
        const cmd_key *row = &config_table[i];
        const char *const fixed = row->unused ? row->unused : row->preset;
        if (fixed && !config_uses(k->c, row->use)) (void)config_table_read(k->c, row, fixed, &reason);
    }
    return true;
}

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
    if (!config_uses(c, CONFIG_USE_DIFFERENCES)) return true;
    if (!given(k, "problem.alpha"))
        return refuse(k, "problem.alpha", "required for %s; allowed up to %g", kind_name(c->problem.kind),
                      limit);
    return allowed[row->alpha] ||
           refuse(k, "problem.alpha", "%s of order %d in %dD is stable for %s %g", kind_name(c->problem.kind),
                  c->problem.order, config_two_d(c) ? 2 : 1, stable[row->alpha], limit);
}

static bool check_weights(const checking *k)
{
    static const char key[] = "problem.weights";
    config *c = k->c;
    const int count = c->problem.weights_count, most = 2 * STENCIL_RADIUS_MAX + 1; /* in a row */
    if (!config_uses(c, CONFIG_USE_WEIGHTS)) return true;
    if (!given(k, key))
        return refuse(k, key, "required for custom; allowed: %s", config_table_find(key)->allowed);
    const bool square = strchr(deck_find(k->d, key)->value, '|') != NULL;
    if (config_two_d(c) && !square)
        return refuse(k, key, "one row; a 2D grid needs 2r+1 rows of 2r+1 numbers separated by |");
    if (!config_two_d(c) && square)
        return refuse(k, key, "several rows; a 1D grid (grid.ny = 1) needs one row of 2r+1 numbers");
    int row = count;
    if (square)
        for (row = 1; row * row < count; row++) continue;
    if (row % 2 == 0 || row < 3 || row > most)
        return refuse(k, key, "a row of %d numbers; allowed are 3, 5, 7 .. %d (2r+1, radius r = 1 .. %d)",
                      row, most, STENCIL_RADIUS_MAX);
    c->problem.radius = row / 2;
    for (int i = 0; i < count; i++)
        if (c->problem.type == DTYPE_F32 && !isfinite((float)c->problem.weights[i]))
            return refuse(k, key, "%g is not finite in f32", c->problem.weights[i]);
    return true;
}

static bool check_order(const checking *k)
{
    config *c = k->c;
    if (c->problem.order % 2 != 0) return refuse(k, "problem.order", "allowed: 2, 4, 6 .. 16");
    switch (config_kind_of(c)->stencil) {
    case KIND_STENCIL_DIFFERENCES: c->problem.radius = c->problem.order / 2; break;
    case KIND_STENCIL_MEAN: c->problem.radius = 1; break;
    case KIND_STENCIL_WEIGHTS: break; /* check_weights */
    case KIND_STENCIL_NONE: c->problem.radius = 0; break;
    }
    return true;
}

/* ---- sides ---- */

/* Sums of V alone stay finite: no update at the limit on alpha adds up more than 6 |V|. */
static bool check_value(const checking *k, const char *key, const boundary_side *side)
{
    const config *c = k->c;
    double most = (c->problem.type == DTYPE_F32 ? FLT_MAX : DBL_MAX) / 6, weights = 0;
    for (int i = 0; i < c->problem.weights_count; i++) weights += fabs(c->problem.weights[i]) / 6;
    if (weights > 1) most /= weights;
    if (fabs(side->value) <= most) return true;
    return refuse(k, given(k, key) ? key : "grid.boundary",
                  "allowed is |V| up to %.4g: sums of it by this stencil must be finite in %s", most,
                  dtype_name(c->problem.type));
}

static bool check_axis(const checking *k, const boundary_side *low, const boundary_side *high, int64_t n,
                       const char *low_key, const char *high_key, const char *n_key)
{
    const config *c = k->c;
    const char *blame = given(k, high_key) ? high_key : given(k, low_key) ? low_key : "grid.boundary";
    if ((low->kind == BOUNDARY_PERIODIC) != (high->kind == BOUNDARY_PERIODIC))
        return refuse(
            k, blame,
            "allowed is periodic on both sides of an axis or on neither, but %s is periodic and %s is not",
            low->kind == BOUNDARY_PERIODIC ? low_key : high_key,
            low->kind == BOUNDARY_PERIODIC ? high_key : low_key);
    if (config_kind_of(c)->odd && low->kind != high->kind)
        return refuse(k, blame,
                      "%s with dirichlet on one side of an axis and neumann on the other is unstable at "
                      "every alpha; allowed are two sides of the same kind",
                      kind_name(c->problem.kind));
    if (!check_value(k, low_key, low) || !check_value(k, high_key, high)) return false;
    if (n < c->problem.radius)
        return refuse(k, n_key, "allowed: %d or more, the stencil's radius", c->problem.radius);
    return true;
}

static bool check_grid(const checking *k)
{
    const config *c = k->c;
    const boundary *b = &c->grid.sides;
    const kind_row *row = config_kind_of(c);
    if (row->by_lines && !config_two_d(c))
        return refuse(k, "grid.ny", "%s needs a 2D grid; allowed: 2 or more", kind_name(c->problem.kind));
    if (c->grid.nx > ((int64_t)1 << 60) / c->grid.ny)
        return refuse(k, "grid.nx", "nx * ny is at most 2^60, so with ny = %lld at most %lld",
                      (long long)c->grid.ny, (long long)(((int64_t)1 << 60) / c->grid.ny));
    return check_axis(k, &b->x_low, &b->x_high, c->grid.nx, "grid.x_low", "grid.x_high", "grid.nx") &&
           (!config_two_d(c) ||
            check_axis(k, &b->y_low, &b->y_high, c->grid.ny, "grid.y_low", "grid.y_high", "grid.ny"));
}

static bool check_mode(const checking *k, const char *key, int64_t *mode, const boundary_side *low,
                       const boundary_side *high, int64_t n)
{
    const int64_t first = config_first_mode(low->kind, high->kind);
    const int64_t last = n - 1 + first;
    const bool used = config_uses(k->c, config_table_find(key)->use);
    if (!given(k, key) || !used) *mode = last < 1 ? 0 : 1;
    if (!used || (*mode >= first && *mode <= last)) return true;
    return refuse(k, key, "allowed: %lld .. %lld with these sides and %lld cells", (long long)first,
                  (long long)last, (long long)n);
}

static bool check_modes(const checking *k)
{
    config *c = k->c;
    const boundary *b = &c->grid.sides;
    return check_mode(k, "problem.mode_x", &c->problem.mode_x, &b->x_low, &b->x_high, c->grid.nx) &&
           check_mode(k, "problem.mode_y", &c->problem.mode_y, &b->y_low, &b->y_high, c->grid.ny);
}

static bool check_time(const checking *k)
{
    config *c = k->c;
    if (c->time.tolerance > 0.0 && !config_kind_of(c)->to_tolerance)
        return refuse(k, "time.tolerance", "only laplace runs to a tolerance; allowed for %s is 0",
                      kind_name(c->problem.kind));
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

static bool check_output(const checking *k)
{
    config *c = k->c;
    if (c->output.picture_low > c->output.picture_high)
        return refuse(
            k, given(k, "output.picture_high") ? "output.picture_high" : "output.picture_low",
            "allowed: picture_low (%g) below picture_high (%g), or the same for the range of the cells",
            c->output.picture_low, c->output.picture_high);
    if (c->output.picture[0] && !frames_png(c->output.picture))
        return refuse(k, "output.picture", "allowed is a name that ends in .png, since PNG is written");
    if (!given(k, "output.series") && !c->output.picture[0])
        snprintf(c->output.series, sizeof c->output.series, "series");
    if (c->output.every > 0 && c->output.series[0] && strcmp(c->output.series, c->checkpoint.dir) == 0)
        return refuse(k, "output.series",
                      "allowed is another folder than checkpoint.dir, whose older files are deleted");
    return true;
}

/* Sets the keys whose values follow from others. A simulated rank has no threads, which have no simulated
 * clock; trying tells nothing of its device's time. */
static bool settle(const checking *k)
{
    config *c = k->c;
    if (!WEFT_SIM) return true;
    c->run.threads = 1;
    c->run.feed = CONFIG_FEED_SERIAL;
    c->run.tune = false;
    c->run.stall_limit_s = 0;
    c->checkpoint.async = false;
    return true;
}

bool config_from_deck(config *c, const deck *d, sentence *why)
{
    const checking k = { c, d, why };
    memset(c, 0, sizeof *c);
    return all_known(&k) && read_all(&k) && check_order(&k) && clear_unused(&k) && check_weights(&k) &&
           check_grid(&k) && check_alpha(&k) && check_modes(&k) && check_time(&k) && check_output(&k) &&
           settle(&k);
}
