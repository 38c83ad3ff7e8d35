#include "core/kind.h"

/* docs/numerics.md, "Stability limits on alpha"; a wave's are twice those of heat: in 2D heat's in 1D. */
static const double heat_1d[KIND_ORDERS] = { .5, .375, .330882, .307617, .292968, .282767, .275186, .269290 };
static const double heat_2d[KIND_ORDERS] = {
    .25, .1875, .165441, .153808, .146484, .141383, .137593, .134645
};
static const double wave_1d[KIND_ORDERS] = { 1., .75, .661764, .615234, .585937, .565535, .550373, .538581 };
static const double advect_1d[KIND_ORDERS] = { 1.,      .728745, .630525, .577834,
                                               .544235, .520603, .502896, .489028 };
static const double advect_2d[KIND_ORDERS] = { .5,      .364372, .315262, .288917,
                                               .272117, .260301, .251448, .244514 };

const char *const kind_names[KIND_ROWS + 1] = {
    [KIND_HEAT] = "heat",       [KIND_WAVE] = "wave",           [KIND_ADVECT] = "advect",
    [KIND_LAPLACE] = "laplace", [KIND_CUSTOM] = "custom",       [KIND_TRANSPOSE] = "transpose",
    [KIND_SWEEP] = "sweep",
};

static const kind_row row[KIND_ROWS] = {
    [KIND_HEAT] = { .stencil = KIND_STENCIL_DIFFERENCES,
                    .modes = KIND_MODES_POWER,
                    .words = 2,
                    .alpha = KIND_ALPHA_FROM_0,
                    .alpha_limit = { heat_1d, heat_2d },
                    .field = { "u" } },
    [KIND_WAVE] = { .stencil = KIND_STENCIL_DIFFERENCES,
                    .modes = KIND_MODES_COSINE,
                    .two_levels = true,
                    .words = 3,
                    .alpha = KIND_ALPHA_ABOVE_0,
                    .alpha_limit = { wave_1d, heat_1d },
                    .field = { "u", "u_prev" } },
    [KIND_ADVECT] = { .stencil = KIND_STENCIL_DIFFERENCES,
                      .modes = KIND_MODES_ROTATION,
                      .two_levels = true,
                      .odd = true,
                      .words = 3,
                      .alpha = KIND_ALPHA_EITHER_SIGN,
                      .alpha_limit = { advect_1d, advect_2d },
                      .field = { "u", "u_prev" } },
    [KIND_LAPLACE] = { .stencil = KIND_STENCIL_MEAN,
                       .modes = KIND_MODES_POWER,
                       .to_tolerance = true,
                       .words = 2,
                       .field = { "u" } },
    [KIND_CUSTOM] = { .stencil = KIND_STENCIL_WEIGHTS,
                      .modes = KIND_MODES_POWER,
                      .words = 2,
                      .field = { "u" } },
    [KIND_TRANSPOSE] = { .transposes = 1,
                         .words = 4,
                         .field = { "a", "b" },
                         .main_field = 1 },
    [KIND_SWEEP] = { .stencil = KIND_STENCIL_DIFFERENCES,
                     .modes = KIND_MODES_POWER,
                     .by_lines = true,
                     .transposes = 2,
                     .words = 4,
                     .alpha = KIND_ALPHA_FROM_0,
                     .alpha_limit = { heat_1d, heat_1d },
                     .field = { "u" } },
};

const kind_row *kind_of(kind_id id) { return &row[id]; }

double kind_alpha_limit(kind_id id, int order, bool two_d)
{
    const double *limit = row[id].alpha_limit[two_d];
    return limit ? limit[order / 2 - 1] : 0.0;
}

const char *kind_name(kind_id id) { return kind_names[id]; }
