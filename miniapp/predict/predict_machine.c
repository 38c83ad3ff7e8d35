#include "predict/predict_machine.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void predict_machine_init(predict_machine *m, bool cuda, double launch_s)
{
    static const double cuda_launch_s = 3.8e-6; /* pipelined */
    memset(m, 0, sizeof *m);
    m->cuda = cuda;
    m->launch_assumed = cuda && !(launch_s > 0);
    if (!(launch_s > 0)) launch_s = cuda ? cuda_launch_s : 0;
    m->launch_s = launch_s;
    for (int k = 0; k < PREDICT_KINDS; k++)
        for (int t = 0; t < 2; t++)
            for (int r = 0; r < PREDICT_ORDERS; r++) m->efficiency[k][t][r] = 1;
    /* launches and stamps of a step that a host thread feeds; in a graph the next kernel is in place when one
     * ends */
    const double inkernel[] = { 1.4, 0.4 }, neighbours[] = { 0.8, 0.14 }, by_host[] = { 4, 4 },
                 by_kernels[] = { 2.2, 1.1 };
    for (int f = 0; f < PREDICT_FEEDS; f++) {
        m->inkernel_s[f] = inkernel[f] * launch_s;
        m->neighbours_s[f] = neighbours[f] * launch_s;
        m->pass_fixed_s[f] = (f ? 0.8 : 1.5) * launch_s;
        for (int t = 0; t < PREDICT_TRANSPORTS; t++)
            m->overlapped_s[t][f] =
                (predict_by_kernels((transport_kind)t) ? by_kernels[f] : by_host[f]) * launch_s;
    }
    m->pass_neighbours_s = 3 * launch_s;
    m->norm_s = 2.5 * launch_s;
    m->norm_hop_s = NAN;
    m->norm_cell_s = cuda ? 0.6e-12 : 0; /* on H200s .41 to .76 in f32, .58 and .80 in f64 */
    m->processors = cuda ? 132 : 0; /* an H200's */
    for (int t = 0; t < PREDICT_TRANSPORTS; t++) m->exchange[t] = (predict_link){ NAN, NAN };
    m->between = (predict_link){ NAN, NAN };
    m->file_bytes_per_s = NAN;
}

void predict_add_copy(predict_machine *m, double bytes, double bytes_per_s)
{
    int at = 0;
    while (at < m->copies && m->copy[at].bytes < 0.95 * bytes) at++;
    if (at < m->copies && m->copy[at].bytes <= 1.05 * bytes) {
        m->copy[at].bytes_per_s = fmax(m->copy[at].bytes_per_s, bytes_per_s);
        return;
    }
    if (m->copies == PREDICT_RATES_MAX) return;
    memmove(&m->copy[at + 1], &m->copy[at], (size_t)(m->copies - at) * sizeof m->copy[0]);
    m->copy[at].bytes = bytes;
    m->copy[at].bytes_per_s = bytes_per_s;
    m->copies++;
}

/* Between two sizes by the logarithm of both; beyond the ends as at the ends. */
double predict_copy_rate(const predict_machine *m, double bytes)
{
    assert(m->copies > 0);
    int at = 0;
    while (at < m->copies && m->copy[at].bytes < bytes) at++;
    if (at == 0) return m->copy[0].bytes_per_s;
    if (at == m->copies) return m->copy[at - 1].bytes_per_s;
    const double along = log(bytes / m->copy[at - 1].bytes) / log(m->copy[at].bytes / m->copy[at - 1].bytes);
    return m->copy[at - 1].bytes_per_s * pow(m->copy[at].bytes_per_s / m->copy[at - 1].bytes_per_s, along);
}

const predict_transpose *predict_transpose_of(const predict_machine *m, transport_kind t, int ranks)
{
    for (int i = 0; i < PREDICT_TRANSPOSES_MAX; i++)
        if (m->transpose[t][i].ranks == ranks) return &m->transpose[t][i];
    return NULL;
}

void predict_add_transpose(predict_machine *m, transport_kind t, int ranks, double bytes_per_s)
{
    predict_transpose *transpose = m->transpose[t], *const end = transpose + PREDICT_TRANSPOSES_MAX;
    while (transpose < end && transpose->ranks > 0 && transpose->ranks != ranks) transpose++;
    if (transpose < end) *transpose = (predict_transpose){ ranks, bytes_per_s };
}

double predict_transpose_rate(const predict_machine *m, transport_kind t, int ranks)
{
    double rate = NAN, nearest = INFINITY;
    for (int i = 0; i < PREDICT_TRANSPOSES_MAX && m->transpose[t][i].ranks > 0; i++) {
        const double far = fabs(log((double)m->transpose[t][i].ranks / ranks));
        if (far >= nearest) continue;
        nearest = far;
        rate = m->transpose[t][i].bytes_per_s;
    }
    return rate;
}
