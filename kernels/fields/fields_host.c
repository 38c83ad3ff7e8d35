/* Whole fields on the host: given by a formula, reduced to norms and the fingerprint; memory patterns. */
#include "core/cell.h"
#include "core/pattern.h"
#include "device/device_host.h"

static inline uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* ---- one row of n cells; t is the same in all of a row, so that the compiler makes a loop for each ---- */

DEVICE_HOST_CLONES
static void value_row(dtype t, void *u, const value *v, int64_t x, int64_t y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) cell_set(t, u, i, cell_value(v, x + i, y));
}

/* Maxima are over patterns of |d|, in which NaN is above infinity. */
DEVICE_HOST_CLONES
static uint64_t error_row(dtype t, const void *u, const value *v, int64_t x, int64_t y, int64_t n)
{
    uint64_t most = 0;
    for (int64_t i = 0; i < n; i++)
        most = larger(most, cell_abs_bits(cell_get(t, u, i) - cell_value(v, x + i, y)));
    return most;
}

DEVICE_HOST_CLONES
uint64_t change_host_row(dtype t, const void *a, const void *b, int64_t n)
{
    const float *const af = a, *const bf = b;
    const double *const ad = a, *const bd = b;
    uint64_t most = 0;
    for (int64_t i = 0; i < n; i++)
        most = larger(most, cell_abs_bits(t == DTYPE_F32 ? (double)(af[i] - bf[i]) : ad[i] - bd[i]));
    return most;
}

DEVICE_HOST_CLONES
uint64_t fingerprint_host_row(dtype t, const void *u, uint64_t linear, int64_t n)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += cell_fingerprint(t == DTYPE_F32 ? cell_bits_f32(((const float *)u)[i])
                                               : cell_bits_f64(((const double *)u)[i]),
                                linear + (uint64_t)i);
    return sum;
}

/* ---- fields given by a formula: cell_value in double, rounded once to the field's type. This is usually the
 * first kernel that writes a field, so its shares of rows decide where their pages lie ---- */

int value_fill_host(device *d, const field_shape *f, void *field, const value *v, box cells, device_stream *s)
{
    const int team = device_host_team(d, box_cells(cells), 0);
#pragma omp parallel num_threads(team) if (team > 1)
    {
        const box part = device_host_part(cells);
        for (int64_t y = part.y0; y < part.y1; y++)
            value_row(f->type, field_at(f, field, part.x0, y), v, part.x0, y, box_width(part));
    }
    return 0;
}

/* ---- norms and the fingerprint: each thread reduces its rows, and the threads' results are joined by a
 * maximum of bit patterns or a sum mod 2^64. Both commute exactly, so the threads' shares do not matter
 * ---- */

int max_error_host(device *d, const field_shape *f, const void *field, const value *v, box cells,
                   uint64_t *result, device_stream *s)
{
    const int team = device_host_team(d, box_cells(cells), 0);
    uint64_t most = 0;
#pragma omp parallel num_threads(team) if (team > 1) reduction(max : most)
    {
        const box part = device_host_part(cells);
        for (int64_t y = part.y0; y < part.y1; y++) {
            const void *row = field_at_const(f, field, part.x0, y);
            most = larger(most, error_row(f->type, row, v, part.x0, y, box_width(part)));
        }
    }
    *result = most;
    return 0;
}

int max_change_host(device *d, const field_shape *f, const void *a, const void *b, box cells,
                           uint64_t *result, device_stream *s)
{
    const int team = device_host_team(d, box_cells(cells), device_host_moved(f->type, 2, box_cells(cells)));
    uint64_t most = 0;
#pragma omp parallel num_threads(team) if (team > 1) reduction(max : most)
    {
        const box part = device_host_part(cells);
        for (int64_t y = part.y0; y < part.y1; y++) {
            const void *p = field_at_const(f, a, part.x0, y), *q = field_at_const(f, b, part.x0, y);
            most = larger(most, change_host_row(f->type, p, q, box_width(part)));
        }
    }
    *result = most;
    return 0;
}

int fingerprint_host(device *d, const field_shape *f, const void *field, int64_t nx_global,
                            int64_t x_first, int64_t y_first, uint64_t *result, device_stream *s)
{
    const box own = field_own(f);
    const int team = device_host_team(d, box_cells(own), 0);
    uint64_t sum = 0;
#pragma omp parallel num_threads(team) if (team > 1) reduction(+ : sum)
    {
        const box part = device_host_part(own);
        for (int64_t y = part.y0; y < part.y1; y++) {
            const void *row = field_at_const(f, field, part.x0, y);
            const uint64_t linear =
                (uint64_t)(y_first + y) * (uint64_t)nx_global + (uint64_t)(x_first + part.x0);
            sum += fingerprint_host_row(f->type, row, linear, box_width(part));
        }
    }
    *result = sum;
    return 0;
}

/* ---- memory patterns: wrong words are counted; only a stretch that has one is searched by word ---- */

enum { STRETCH_WORDS = 4096 };

DEVICE_HOST_CLONES
static void write_words(uint64_t *to, memory_pattern p, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] = pattern_word(&p, i);
}

DEVICE_HOST_CLONES
static uint64_t wrong_words(const uint64_t *from, memory_pattern p, int64_t n)
{
    uint64_t wrong = 0;
    for (int64_t i = 0; i < n; i++) wrong += from[i] != pattern_word(&p, i);
    return wrong;
}

static uint64_t first_wrong(const uint64_t *from, const memory_pattern *p, int64_t i, int64_t end)
{
    while (i < end && from[i] == pattern_word(p, i)) i++;
    return i < end ? pattern_first_half((uint64_t)i, pattern_word(p, i), from[i]) : UINT64_MAX;
}

static memory_pattern from_word(memory_pattern p, int64_t i)
{
    p.first += (uint64_t)i;
    return p;
}

int pattern_write_host(device *d, uint64_t *to, int64_t words, const memory_pattern *p, device_stream *s)
{
    const int team = device_host_team(d, words, 0);
#pragma omp parallel num_threads(team) if (team > 1)
    {
        const box part = device_host_part(box_make(0, words, 0, 1));
        if (!box_empty(part)) write_words(to + part.x0, from_word(*p, part.x0), box_width(part));
    }
    return 0;
}

int pattern_check_host(device *d, const uint64_t *from, int64_t words, const memory_pattern *p,
                       pattern_wrong *result, device_stream *s)
{
    const int team = device_host_team(d, words, 0);
    uint64_t wrong = 0, first = UINT64_MAX;
#pragma omp parallel num_threads(team) if (team > 1) reduction(+ : wrong) reduction(min : first)
    {
        const box part = device_host_part(box_make(0, words, 0, 1));
        for (int64_t i = part.x0; i < part.x1; i += STRETCH_WORDS) {
            const int64_t end = i + STRETCH_WORDS < part.x1 ? i + STRETCH_WORDS : part.x1;
            const uint64_t here = wrong_words(from + i, from_word(*p, i), end - i);
            if (here > 0 && first == UINT64_MAX) first = first_wrong(from, p, i, end);
            wrong += here;
        }
    }
    *result = (pattern_wrong){ wrong, first };
    return 0;
}
