/* access: how many sectors of 32 bytes does a warp's request touch, and how many bytes are on their way?
 * The lesson: docs/teaching/access.md. Beside each rate stands what ncu counts as
 * l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio, and op_st. */
#include "ladder/ladder_kernel.cuh"

namespace {

enum { N, OFFSET, STRIDE, UNROLL, WIDTH_BYTES, ROW_CELLS, WINDOW_BYTES, PARAMETERS };
enum { OFFSET_MOST = 1024, THREADS = 256, LOADS = 4, CHUNK = THREADS * LOADS, SECTOR_BYTES = 32, LANES = 32 };

/* Sectors per request where thread k of a warp takes cell first + k * stride: the mean of 32 warps. */
double sectors_of(const ladder_case *c, int64_t first, int64_t stride)
{
    const int64_t word_bytes = (int64_t)dtype_bytes(c->type), warps = 32;
    int64_t sectors = 0;
    for (int64_t w = 0; w < warps; w++) {
        int64_t last = -1;
        for (int64_t k = 0; k < LANES; k++) {
            const int64_t s = (first + (w * LANES + k) * stride) * word_bytes / SECTOR_BYTES;
            sectors += s != last;
            last = s;
        }
    }
    return (double)sectors / (double)warps;
}

void predict(ladder_case *c, double load_sectors, double store_sectors)
{
    c->predicted[0] = { "sectors per load", load_sectors };
    c->predicted[1] = { "sectors per store", store_sectors };
}

/* One thread, one cell (or one group of them), in order. */
template <typename T> using kernel = void (*)(T *out, const T *in, int64_t n, int64_t step);
int launch(ladder_case *c, kernel<float> f32, kernel<double> f64, int64_t threads, int64_t step)
{
    return ladder_kernel(c, ladder_blocks(threads, THREADS), THREADS, 0, f32, f64, c->size, step);
}

/* ---- one side lies straight, the other one is shifted against lines, or its cells lie apart. Only cells
 * that are used count as work ---- */

enum { STORES = 1, STRIDED = 2 }; /* in a rung's variant: the displaced side, else loads; how, else shifted */

template <typename T, int HOW> __global__ void displaced_copy(T *out, const T *in, int64_t n, int64_t by)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    const int64_t there = HOW & STRIDED ? i * by : i + by;
    out[HOW & STORES ? there : i] = in[HOW & STORES ? i : there];
}

template <int HOW> int displaced_enqueue(ladder_case *c)
{
    return launch(c, displaced_copy<float, HOW>, displaced_copy<double, HOW>, c->size,
                  c->value[HOW & STRIDED ? STRIDE : OFFSET]);
}

/* Where the displaced side's cells lie: from `offset` on, `stride` apart. */
typedef struct place {
    int64_t offset, stride;
} place;

place place_of(const ladder_case *c)
{
    return c->rung->variant & STRIDED ? place{ 0, c->value[STRIDE] } : place{ c->value[OFFSET], 1 };
}

int displaced_prepare(ladder_case *c)
{
    const place p = place_of(c);
    const double straight = sectors_of(c, 0, 1), displaced = sectors_of(c, p.offset, p.stride);
    ladder_moves(c, c->value[N] / p.stride, 2);
    if (c->rung->variant & STORES) predict(c, straight, displaced);
    else predict(c, displaced, straight);
    return ladder_open(c, c->value[N] + OFFSET_MOST, c->value[N] + OFFSET_MOST);
}

int64_t displaced_source(const ladder_case *c, int64_t i)
{
    const place p = place_of(c);
    if (!(c->rung->variant & STORES)) return i < c->size ? p.offset + i * p.stride : -1;
    const int64_t from = i - p.offset;
    return from >= 0 && from % p.stride == 0 && from / p.stride < c->size ? from / p.stride : -1;
}

/* ---- more bytes on their way: more loads per thread, or wider ones ---- */

enum { MORE_LOADS, WIDER_LOADS }; /* a rung's variant */

int copy_prepare(ladder_case *c)
{
    const double straight = sectors_of(c, 0, 1),
                 wide = (double)c->value[WIDTH_BYTES]; /* 32 threads, each a 32nd of its bytes in sectors */
    const double sectors = c->rung->variant == WIDER_LOADS ? wide : straight;
    ladder_moves(c, c->value[N] & ~(int64_t)3, 2); /* whole vectors of the widest */
    predict(c, sectors, sectors);
    return ladder_open(c, c->size, c->size);
}

int unroll_enqueue(ladder_case *c)
{
    const int64_t loads = ladder_copy_loads(c->value[UNROLL]);
    return ladder_kernel(c, ladder_blocks(c->size, LADDER_COPY_THREADS * loads), LADDER_COPY_THREADS, 0,
                         ladder_copy_of<float>(loads), ladder_copy_of<double>(loads), c->size);
}

template <typename V> int launch_vectors(ladder_case *c)
{
    const int64_t vectors = (int64_t)(ladder_bytes(c, c->size) / sizeof(V));
    return ladder_words(c, ladder_blocks(vectors, LADDER_COPY_THREADS), LADDER_COPY_THREADS, 0,
                        ladder_copy_kernel<V, 1>, vectors);
}

int vector_enqueue(ladder_case *c)
{
    switch (c->value[WIDTH_BYTES]) {
    case 4: return launch_vectors<unsigned>(c);
    case 8: return launch_vectors<uint2>(c);
    case 16: return launch_vectors<uint4>(c);
    }
    return cudaErrorInvalidValue;
}

/* ---- where rows start: packed, or as cudaMallocPitch would lay them ---- */

enum { PACKED, PITCHED }; /* a rung's variant */
enum { ROW_X = 32, ROW_Y = 8 };

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

int64_t pitch_of(const ladder_case *c)
{
    const int64_t row = c->value[ROW_CELLS], aligned = 512 / (int64_t)dtype_bytes(c->type);
    return c->rung->variant == PACKED ? row : (row + aligned - 1) / aligned * aligned;
}

int64_t rows_of(const ladder_case *c)
{
    const int64_t rows = c->value[N] / c->value[ROW_CELLS];
    return rows > 0 ? rows : 1;
}

/* A warp has ROW_X cells of a row, fewer at its end; the alignments come round again after 32 rows. */
double row_sectors(const ladder_case *c)
{
    const int64_t pitch = pitch_of(c), row = c->value[ROW_CELLS], word_bytes = (int64_t)dtype_bytes(c->type);
    int64_t sectors = 0, requests = 0;
    for (int64_t y = 0; y < 32; y++)
        for (int64_t x = 0; x < row; x += ROW_X, requests++) {
            const int64_t cells = row - x < ROW_X ? row - x : (int64_t)ROW_X,
                          first_byte = (y * pitch + x) * word_bytes;
            sectors += (first_byte + cells * word_bytes - 1) / SECTOR_BYTES - first_byte / SECTOR_BYTES + 1;
        }
    return (double)sectors / (double)requests;
}

int rows_prepare(ladder_case *c)
{
    const int64_t cells = pitch_of(c) * rows_of(c);
    ladder_moves(c, c->value[ROW_CELLS] * rows_of(c), 2);
    predict(c, row_sectors(c), row_sectors(c));
    return ladder_open(c, cells, cells);
}

int rows_enqueue(ladder_case *c)
{
    const int64_t row = c->value[ROW_CELLS], rows = rows_of(c);
    const dim3 block(ROW_X, ROW_Y), grid(ladder_blocks(rows, ROW_Y), ladder_blocks(row, ROW_X * LOADS));
    return ladder_kernel(c, grid, block, 0, copy_rows<float>, copy_rows<double>, row, rows, pitch_of(c));
}

/* Between the rows nothing is written. */
int64_t rows_source(const ladder_case *c, int64_t i)
{
    return i % pitch_of(c) < c->value[ROW_CELLS] ? i : -1;
}

/* ---- what stays in L2: a stream of cells, each added to a cell of a window that is read again and again
 * ---- */

/* A rung's variant: is the window declared to persist; and how fields lie. */
enum { NORMAL, PERSISTING, ARRAY_OF_STRUCTURES, STRUCTURE_OF_ARRAYS };

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

/* L2 for the window is set aside, or as much as may be; then the window, for kernels on this
 * stream. Zero bytes take both back. */
int declare_window(const ladder_case *c, void *base, size_t bytes)
{
    cudaStreamAttrValue policy = {};
    int set_aside = 0, most = 0;
    int code = cudaDeviceGetAttribute(&set_aside, cudaDevAttrMaxPersistingL2CacheSize, c->d->ordinal);
    if (!code) code = cudaDeviceGetAttribute(&most, cudaDevAttrMaxAccessPolicyWindowSize, c->d->ordinal);
    if (!code)
        code = cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize,
                                  bytes < (size_t)set_aside ? bytes : (size_t)set_aside);
    if (code) return code;
    policy.accessPolicyWindow.base_ptr = base;
    policy.accessPolicyWindow.num_bytes = bytes < (size_t)most ? bytes : (size_t)most;
    policy.accessPolicyWindow.hitRatio = bytes > 0 ? 1.0f : 0.0f;
    policy.accessPolicyWindow.hitProp = bytes > 0 ? cudaAccessPropertyPersisting : cudaAccessPropertyNormal;
    policy.accessPolicyWindow.missProp = bytes > 0 ? cudaAccessPropertyStreaming : cudaAccessPropertyNormal;
    return cudaStreamSetAttribute(device_cuda_stream(c->stream), cudaStreamAttributeAccessPolicyWindow,
                                  &policy);
}

int window_prepare(ladder_case *c)
{
    ladder_moves(c, c->value[N], 3);
    const double stream = sectors_of(c, 0, 1), window = sectors_of(c, c->size, 1);
    predict(c, (stream + window) / 2, stream);
    const int code = ladder_open(c, c->size + window_cells(c), c->size);
    if (code || c->rung->variant == NORMAL) return code;
    return declare_window(c, (char *)c->in + ladder_bytes(c, c->size), ladder_bytes(c, window_cells(c)));
}

int window_enqueue(ladder_case *c)
{
    const unsigned blocks = ladder_blocks(c->size, CHUNK), chunks = (unsigned)(window_cells(c) / CHUNK);
    return ladder_kernel(c, blocks, THREADS, 0, add_window<float>, add_window<double>, chunks, c->size);
}

void window_destroy(ladder_case *c)
{
    if (c->rung->variant != PERSISTING) return;
    (void)c->d->synchronize(c->d);
    (void)declare_window(c, nullptr, 0);
    (void)cudaCtxResetPersistingL2Cache();
}

const char *window_missing(device *d)
{
    int set_aside = 0;
    const int code = cudaDeviceGetAttribute(&set_aside, cudaDevAttrMaxPersistingL2CacheSize, d->ordinal);
    return !code && set_aside > 0 ? nullptr : "this GPU sets no part of its L2 aside";
}

/* ---- the sum of two fields of four ---- */

enum { FIELDS = 4 };

template <typename T, int HOW> __global__ void sum_fields(T *out, const T *in, int64_t n, int64_t)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) out[i] = HOW == STRUCTURE_OF_ARRAYS ? in[i] + in[n + i] : in[FIELDS * i] + in[FIELDS * i + 1];
}

template <int HOW> int fields_enqueue(ladder_case *c)
{
    return launch(c, sum_fields<float, HOW>, sum_fields<double, HOW>, c->size, 0);
}

int fields_prepare(ladder_case *c)
{
    const bool together = c->rung->variant == ARRAY_OF_STRUCTURES;
    ladder_moves(c, c->value[N] / 2, 3);
    const double one = sectors_of(c, 0, together ? FIELDS : 1),
                 other = together ? sectors_of(c, 1, FIELDS) : sectors_of(c, c->size, 1);
    predict(c, (one + other) / 2, sectors_of(c, 0, 1));
    return ladder_open(c, FIELDS * c->size, c->size);
}

/* ---- the sums of both: cell i of c->out is the sum of these two cells of c->in ---- */

typedef struct operands {
    int64_t x, y;
} operands;

operands operands_of(const ladder_case *c, int64_t i)
{
    switch (c->rung->variant) {
    case ARRAY_OF_STRUCTURES: return { FIELDS * i, FIELDS * i + 1 };
    case STRUCTURE_OF_ARRAYS: return { i, c->size + i };
    default: return { i, c->size + i % window_cells(c) };
    }
}

/* A sum of floats in double has bits enough to be rounded as theirs. */
void sum_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    for (int64_t i = 0; i < count; i++) {
        const operands o = operands_of((const ladder_case *)context, first + i);
        double x, y;
        ladder_random(t, &x, o.x, 1, LADDER_SEED);
        ladder_random(t, &y, o.y, 1, LADDER_SEED);
        ladder_put(t, out, i, ladder_get(t, &x, 0) + ladder_get(t, &y, 0));
    }
}

/* ---- the table ---- */

const int64_t offsets[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                            17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33 };
const int64_t strides[] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
                            18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33 };
const int64_t loads[] = { 1, 2, 4, 8 }, widths[] = { 4, 8, 16 };
const int64_t windows[] = { 4 << 20, 8 << 20, 16 << 20, 24 << 20, 32 << 20, 40 << 20, 48 << 20, 64 << 20 };

constexpr ladder_way unroll = { copy_prepare, unroll_enqueue, ladder_verify_copy },
                     vector = { copy_prepare, vector_enqueue, ladder_verify_copy },
                     rows = { rows_prepare, rows_enqueue, ladder_by_places<rows_source> },
                     window = { window_prepare, window_enqueue, ladder_by_answer<sum_answer> };
template <int HOW>
constexpr ladder_way displaced = { displaced_prepare, displaced_enqueue<HOW>,
                                   ladder_by_places<displaced_source> };
template <int HOW>
constexpr ladder_way fields = { fields_prepare, fields_enqueue<HOW>, ladder_by_answer<sum_answer> };

/* takes: bits of the parameters that it takes beside n. */
constexpr ladder_rung rung(const char *name, const char *why, ladder_way way, int variant, unsigned takes)
{
    return ladder_row(name, why, way, variant, ladder_all_but(PARAMETERS, takes));
}

template <int COUNT>
constexpr ladder_rung scans(const char *name, const char *why, ladder_way way, int variant, int parameter,
                            const int64_t (&values)[COUNT])
{
    return ladder_scanned(parameter, values, rung(name, why, way, variant, 1u << parameter));
}

constexpr ladder_rung windowed(const char *name, const char *why, int policy)
{
    ladder_rung r = scans(name, why, window, policy, WINDOW_BYTES, windows);
    r.destroy = window_destroy;
    r.missing = window_missing;
    return r;
}

const ladder_rung rungs[] = {
    scans("offsetRead", "a shifted warp touches one more sector", displaced<0>, 0, OFFSET, offsets),
    scans("offsetWrite", "partial sectors wait in L2", displaced<STORES>, STORES, OFFSET, offsets),
    scans("strideRead", "sectors read, cells used", displaced<STRIDED>, STRIDED, STRIDE, strides),
    scans("strideWrite", "each partial sector costs a read too", displaced<STORES | STRIDED>,
          STORES | STRIDED, STRIDE, strides),
    scans("unroll", "independent loads per thread", unroll, MORE_LOADS, UNROLL, loads),
    scans("vector", "bytes per load", vector, WIDER_LOADS, WIDTH_BYTES, widths),
    rung("rowsPacked", "odd rows start anywhere in a line", rows, PACKED, 1u << ROW_CELLS),
    rung("rowsPitched", "every row on 512 bytes", rows, PITCHED, 1u << ROW_CELLS),
    windowed("windowNormal", "a stream pushes a table out", NORMAL),
    windowed("windowPersisting", "stays, if half of L2 holds it", PERSISTING),
    rung("arrayOfStructures", "unwanted fields travel along", fields<ARRAY_OF_STRUCTURES>,
         ARRAY_OF_STRUCTURES, 0),
    rung("structureOfArrays", "each field dense", fields<STRUCTURE_OF_ARRAYS>, STRUCTURE_OF_ARRAYS, 0),
};

const ladder_parameter parameters[PARAMETERS] = {
    { "n", 1 << 25, 1024, (int64_t)1 << 32, "cells" },
    { "offset", 0, 0, OFFSET_MOST, "cells between the start of a line and the first cell" },
    { "stride", 1, 1, 1024, "cells from one thread's to the next one's" },
    { "unroll", 4, 1, 8, "loads per thread: 1, 2, 4 or 8" },
    { "width_bytes", 16, 4, 16, "bytes per load: 4, 8 or 16" },
    { "row_cells", 1001, 1, 1 << 20, "cells of a row" },
    { "window_bytes", 64 << 20, 4096, (int64_t)1 << 32, "of the table that every cell needs again" },
};

} // namespace

const ladder_family ladder_access_cuda =
    LADDER_FAMILY(DEVICE_CUDA, "access", "sectors asked for, bytes in flight", "f32", "f64", nullptr);
