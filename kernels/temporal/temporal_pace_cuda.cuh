/* How long items of the border last beside those of the interior (temporal_border_plan_cuda.cuh), by what was fastest on an H200 at
 * 10007 x 9973 and 16384 x 16384 together (NOTES.md). Beside passes of fewer steps rows come later, as these keep memory busier. */
#ifndef TEMPORAL_PACE_CUDA_CUH
#define TEMPORAL_PACE_CUDA_CUH

#include "temporal/temporal_border_plan_cuda.cuh"

/* How long an item's row lasts, in rows of an interior one; waves of interior items, at most. Columns of the longest passes, whose
 * halo depth is TEMPORAL_DEPTH_LONGEST or more, and of shorter ones; waves_prev: of two levels. */
struct temporal_pace_row {
    double side_longest, side_shorter, band_longest, band_shorter;
    int waves_longest, waves_shorter, waves_prev;
};

constexpr temporal_pace_row temporal_star_paces[2][4] = { /* [type][radius - 1] */
    /* side_longest, side_shorter, band_longest, band_shorter, waves_longest, waves_shorter, waves_prev */
    { { 1.4,         2.1,          1.5,          3.3,          1,             1,             3 }, /* f32, radius 1 */
      { 1.2,         1.2,          1.5,          1.5,          1,             1,             3 },
      { 1.8,         1.8,          2.2,          2.2,          1,             1,             3 },
      { 1.8,         1.8,          2.2,          2.2,          1,             1,             3 } },
    { { 1.2,         2.4,          1.4,          2.6,          2,             2,             2 }, /* f64, radius 1 */
      { 1.2,         2.4,          1.4,          2.6,          2,             2,             3 },
      { 1.2,         2.4,          1.4,          2.6,          2,             2,             3 },
      { 1.6,         2.4,          1.4,          2.6,          1,             2,             3 } },
};
constexpr temporal_pace_row temporal_box_paces[2] = {
    /* side_longest, side_shorter, band_longest, band_shorter, waves_longest, waves_shorter, waves_prev */
    { 1.2,           1.2,          1.8,          1.8,          1,             1,             0 }, /* f32 */
    { 1.2,           1.2,          1.8,          1.8,          2,             2,             0 }, /* f64 */
};

/* Times as long last rows of stars of two levels, and of passes that take a norm. */
struct temporal_pace_factors {
    double side_longest, side_shorter, band;
};
constexpr temporal_pace_factors temporal_prev_factors[2] = {
    /* side_longest, side_shorter, band */
    { 1.5,           1.5,          1.5 }, /* f32 */
    { 1.5,           1,            1 },   /* f64 */
};
constexpr temporal_pace_factors temporal_norm_factors[2] = {
    /* side_longest, side_shorter, band */
    { 1,             1,            1.5 }, /* f32 */
    { 1,             1,            .7 },  /* f64 */
};
enum { TEMPORAL_NORM_WAVES = 2 };

template <stencil_form FORM, typename T, int R, int DEPTH, bool PREV, bool CHANGE> constexpr temporal_pace temporal_pace_make()
{
    constexpr bool F64 = sizeof(T) == 8, BOX = FORM == STENCIL_BOX, LONGEST = DEPTH >= TEMPORAL_DEPTH_LONGEST;
    constexpr temporal_pace_row P = BOX ? temporal_box_paces[F64] : temporal_star_paces[F64][R - 1];
    constexpr temporal_pace_factors F = PREV     ? temporal_prev_factors[F64]
                                        : CHANGE ? temporal_norm_factors[F64]
                                                 : temporal_pace_factors{ 1, 1, 1 };
    constexpr int WAVES = CHANGE ? TEMPORAL_NORM_WAVES : PREV ? P.waves_prev : LONGEST ? P.waves_longest : P.waves_shorter;
    return { BOX ? R : 0, temporal_border_warps<T, PREV, CHANGE>, WAVES,
             LONGEST ? F.side_longest * P.side_longest : F.side_shorter * P.side_shorter,
             F.band * (LONGEST ? P.band_longest : P.band_shorter) };
}

#endif
