/* Rungs of family access about two things that a program may decide: where rows start, and what should stay
 * in L2. */
#pragma once

#include "ladder_memory/ladder_access.cuh"

namespace
{

enum { ROW_X = 32, ROW_Y = 8, LOADS = 4, CHUNK = THREADS * LOADS };

/* ---- rows copied cell by cell: packed, or as cudaMallocPitch would lay them. work: own cells read and
 * written ---- */

enum { PACKED, PITCHED }; /* a rung's variant */

int64_t pitch_cells(const ladder_case *c)
{
    const int64_t row = c->value[ROW_CELLS], aligned = 512 / (int64_t)dtype_bytes(c->type);
    return c->rung->variant == PACKED ? row : (row + aligned - 1) / aligned * aligned;
}

int64_t rows_of(const ladder_case *c)
{
    const int64_t rows = c->value[N] / c->value[ROW_CELLS];
    return rows > 0 ? rows : 1;
}

template <typename T>
__global__ void copy_rows(T *out, const T *in, int64_t row_cells, int64_t rows, int64_t pitch)
{
    const int64_t x = (int64_t)blockIdx.y * ROW_X * LOADS + threadIdx.x,
                  y = (int64_t)blockIdx.x * ROW_Y + threadIdx.y;
    T u[LOADS];
    if (y >= rows) return;
#pragma unroll
    for (int k = 0; k < LOADS; k++)
        if (x + k * ROW_X < row_cells) u[k] = in[y * pitch + x + k * ROW_X];
#pragma unroll
    for (int k = 0; k < LOADS; k++)
        if (x + k * ROW_X < row_cells) out[y * pitch + x + k * ROW_X] = u[k];
}

/* Between the rows stands the poison still. */
void answer_rows(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const ladder_case *c = (const ladder_case *)context;
    const int64_t pitch = pitch_cells(c), row = c->value[ROW_CELLS];
    const size_t word = dtype_bytes(t);
    ladder_random(t, out, first, count, LADDER_SEED);
    for (int64_t i = 0; i < count; i++)
        if ((first + i) % pitch >= row) memset((char *)out + (size_t)i * word, 0xff, word);
}

/* A warp has ROW_X cells of a row, fewer at its end; the alignments come round again after 32 rows. */
double row_sectors(const ladder_case *c)
{
    const int64_t pitch = pitch_cells(c), row = c->value[ROW_CELLS],
                  word_bytes = (int64_t)dtype_bytes(c->type);
    int64_t sectors = 0, requests = 0;
    for (int64_t y = 0; y < 32; y++)
        for (int64_t x = 0; x < row; x += ROW_X, requests++) {
            const int64_t cells = row - x < ROW_X ? row - x : (int64_t)ROW_X,
                          first_byte = (y * pitch + x) * word_bytes;
            sectors += (first_byte + cells * word_bytes - 1) / 32 - first_byte / 32 + 1;
        }
    return (double)sectors / (double)requests;
}

/* ---- a stream of cells, each added to a cell of a window that is read again and again. A rung's variant:
 * whether the window is declared persisting in L2. work: a cell and one of the window read, the sum written
 * ---- */

enum { NORMAL, PERSISTING };

/* The window lies behind the stream's n cells. */
template <typename T>
__global__ void __launch_bounds__(THREADS) add_window(T *out, const T *in, unsigned chunks, int64_t n)
{
    const int64_t first = (int64_t)blockIdx.x * CHUNK + threadIdx.x;
    const int64_t again = (int64_t)(blockIdx.x % chunks) * CHUNK + threadIdx.x;
    const T *window = in + n;
    T u[LOADS], w[LOADS];
#pragma unroll
    for (int k = 0; k < LOADS; k++) {
        if (first + k * THREADS < n) u[k] = in[first + k * THREADS];
        w[k] = window[again + k * THREADS];
    }
#pragma unroll
    for (int k = 0; k < LOADS; k++)
        if (first + k * THREADS < n) out[first + k * THREADS] = u[k] + w[k];
}

int64_t window_cells(const ladder_case *c)
{
    const int64_t cells = c->value[WINDOW_BYTES] / (int64_t)dtype_bytes(c->type) / CHUNK * CHUNK;
    return cells > 0 ? cells : (int64_t)CHUNK;
}

/* What the window needs of L2 is set aside, or as much as may be; then the window, for kernels on this
 * stream. Zero bytes take both back. */
cudaError_t declare_window(const ladder_case *c, void *base, size_t bytes)
{
    const cudaStream_t stream = device_cuda_stream(c->stream);
    cudaStreamAttrValue policy;
    int set_aside = 0, most = 0;
    cudaError_t e = cudaDeviceGetAttribute(&set_aside, cudaDevAttrMaxPersistingL2CacheSize, c->d->ordinal);
    if (e == cudaSuccess)
        e = cudaDeviceGetAttribute(&most, cudaDevAttrMaxAccessPolicyWindowSize, c->d->ordinal);
    if (e == cudaSuccess)
        e = cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize,
                               bytes < (size_t)set_aside ? bytes : (size_t)set_aside);
    if (e != cudaSuccess) return e;
    memset(&policy, 0, sizeof policy);
    policy.accessPolicyWindow.base_ptr = base;
    policy.accessPolicyWindow.num_bytes = bytes < (size_t)most ? bytes : (size_t)most;
    policy.accessPolicyWindow.hitRatio = bytes > 0 ? (float)c->value[HIT_PERCENT] / 100.0f : 0.0f;
    policy.accessPolicyWindow.hitProp = bytes > 0 ? cudaAccessPropertyPersisting : cudaAccessPropertyNormal;
    policy.accessPolicyWindow.missProp = bytes > 0 ? cudaAccessPropertyStreaming : cudaAccessPropertyNormal;
    return cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &policy);
}

void answer_window(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const ladder_case *c = (const ladder_case *)context;
    const int64_t cells = window_cells(c);
    ladder_random(t, out, first, count, LADDER_SEED);
    for (int64_t i = 0; i < count; i++) {
        double w; /* a sum of floats in double has bits enough to be rounded as theirs */
        ladder_random(t, &w, c->size + (first + i) % cells, 1, LADDER_SEED); /* whole chunks in both */
        ladder_put(t, out, i, ladder_get(t, out, i) + ladder_get(t, &w, 0));
    }
}

int rows_prepare(ladder_case *c)
{
    const int64_t cells = pitch_cells(c) * rows_of(c);
    ladder_moves(c, c->value[ROW_CELLS] * rows_of(c), 2);
    predict(c, row_sectors(c), row_sectors(c));
    return ladder_open(c, cells, cells);
}

int rows_enqueue(ladder_case *c)
{
    const int64_t row = c->value[ROW_CELLS], rows = rows_of(c), pitch = pitch_cells(c);
    const dim3 block(ROW_X, ROW_Y), grid(ladder_blocks(rows, ROW_Y), ladder_blocks(row, ROW_X * LOADS));
    return ladder_kernel(c, grid, block, 0, copy_rows<float>, copy_rows<double>, row, rows, pitch);
}

int rows_verify(ladder_case *c, ladder_verdict *v) { return ladder_verify(c, answer_rows, v); }

int window_prepare(ladder_case *c)
{
    ladder_moves(c, c->value[N], 3);
    const double stream = sectors_of(c, 0, 1), window = sectors_of(c, c->size, 1);
    predict(c, (stream + window) / 2, stream);
    const int code = ladder_open(c, c->size + window_cells(c), c->size);
    if (code || c->rung->variant == NORMAL) return code;
    return declare_window(c, (char *)c->in + (size_t)c->size * dtype_bytes(c->type),
                          (size_t)window_cells(c) * dtype_bytes(c->type));
}

int window_enqueue(ladder_case *c)
{
    const unsigned blocks = ladder_blocks(c->size, CHUNK), chunks = (unsigned)(window_cells(c) / CHUNK);
    return ladder_kernel(c, blocks, THREADS, 0, add_window<float>, add_window<double>, chunks, c->size);
}

int window_verify(ladder_case *c, ladder_verdict *v) { return ladder_verify(c, answer_window, v); }

void window_destroy(ladder_case *c)
{
    if (c->rung->variant == PERSISTING) {
        (void)c->d->synchronize(c->d);
        (void)declare_window(c, nullptr, 0);
        (void)cudaCtxResetPersistingL2Cache();
    }
}

const char *window_missing(device *d)
{
    int set_aside = 0;
    if (cudaDeviceGetAttribute(&set_aside, cudaDevAttrMaxPersistingL2CacheSize, d->ordinal) == cudaSuccess &&
        set_aside > 0)
        return nullptr;
    return "this GPU sets no part of its L2 aside";
}

} // namespace
