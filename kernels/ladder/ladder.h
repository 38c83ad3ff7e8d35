/* The teaching ladder: families of small programs (rungs), each showing one way to move or compute data, that
 * `weft bench` verifies, times and prints beside the ceiling of the same run. Nothing else calls them.
 *
 * A family on one kind of device is a table of rungs; the engine (miniapp/bench/bench_measure.c) does the
 * same with each:
 *   prepare   allocate, fill with random data (never zeros), set `size` and `work`
 *   enqueue   one repetition on c->stream; then
 *   verify    against the host's answer, before anything is timed
 *   enqueue   warm-up and samples
 *   destroy   what the engine does not give back itself (ladder_close); also after a prepare that failed
 *             half-way
 * docs/architecture.md, Recipes, has how a rung or a family is added. Functions return 0 or an error code of
 * c->d. */
#pragma once

#include "core/cell.h"
#include "core/sentence.h"
#include "device/device.h"

LINKAGE_C_BEGIN

enum { LADDER_PARAMETERS_MAX = 8 };

/* A number that the command line may set as key=value. */
typedef struct ladder_parameter {
    const char *key;
    int64_t usual, least, most;
    const char *help;
} ladder_parameter;

/* per second, as rates are given */
typedef enum ladder_unit { LADDER_BYTES, LADDER_FLOPS, LADDER_CALLS } ladder_unit;

/* DEVICE: between two events on c->stream around the repetitions. HOST: the wall clock until the stream has
 * drained, for work that the host does or that begins before it reaches a stream. */
typedef enum ladder_clock { LADDER_CLOCK_DEVICE, LADDER_CLOCK_HOST } ladder_clock;

/* The prediction of theory for a point, printed and recorded beside its rate: 4 sectors per load, say. */
typedef struct ladder_predicted {
    const char *what; /* NULL: nothing */
    double value;
} ladder_predicted;
enum { LADDER_PREDICTED_MAX = 2 };

typedef struct ladder_rung ladder_rung;

typedef struct ladder_owned {
    device_memory where;
    void *memory;
} ladder_owned;
enum { LADDER_OWNED_MAX = 9 };

/* One point of one rung while it is measured. */
typedef struct ladder_case {
    const ladder_rung *rung;
    device *d;
    device_stream *stream;
    const void *world; /* of the ranks that climb together (miniapp/bench/bench_world.h); else NULL */
    /* as asked; prepare may set what it takes instead, and so it is recorded */
    dtype type;
    int64_t value[LADDER_PARAMETERS_MAX]; /* of the family's parameters, in their order */
    /* set by prepare: */
    int64_t size; /* elements that one repetition works on */
    double work;  /* bytes, flops or calls of one repetition, counted from the algorithm */
    double flops; /* where `work` counts bytes: the arithmetic done with them; 0: not counted */
    ladder_predicted predicted[LADDER_PREDICTED_MAX]; /* by verify as well */
    const char *way;          /* of a rung that is beside others: its name as their ceiling */
    const char *ceiling_name; /* by the engine */
    double ceiling_rate;
    sentence missing; /* with a return of 0: why this point cannot run here; then only destroy is called */
    bool uneven;      /* the ranks' shares of the work differ, so that a slow one is no news */
    void *in, *out;   /* what a repetition reads and writes; as a rule by ladder_open */
    int64_t out_cells;
    int blocks;                           /* on a GPU: of a launch */
    void *state;                          /* prepare's own (ladder_state) */
    ladder_owned owned[LADDER_OWNED_MAX]; /* what ladder_close frees */
    int owned_count;
} ladder_case;

/* c->missing says why; 0, as prepare returns then. */
#define ladder_missing(c, ...) sentence_fail(0, &(c)->missing, __VA_ARGS__)

typedef struct ladder_verdict {
    bool right;
    sentence why; /* the first thing that is wrong */
} ladder_verdict;

struct ladder_rung {
    const char *name;
    const char *why; /* what it shows, in about six words */
    int (*prepare)(ladder_case *c);
    int (*enqueue)(ladder_case *c);
    int (*verify)(ladder_case *c, ladder_verdict *v); /* after exactly one repetition; v is right so far */
    const char *ceiling; /* the rung of family `ceiling` that bounds it, unless fma does; NULL: none */
    /* For ladder_verify_cells: the right cell i of c->out, which is rounded to the case's type; NaN: it stays
     * poisoned. Called by several threads at once. NULL: random cell number i, as in c->in. */
    double (*answer)(const ladder_case *c, int64_t i);
    int variant;         /* for enqueue and prepare functions that serve several rungs */
    ladder_unit unit;
    ladder_clock clock;
    void (*destroy)(ladder_case *c); /* NULL, or: gives back what ladder_close does not know of */
    int (*before)(ladder_case *c);   /* NULL, or untimed: sets the stage anew before every repetition */
    const ladder_rung *beside; /* NULL, or one that does the same work in the shortest way, at each point */
    unsigned ignores;          /* bit i: the family's parameter i means nothing to this rung */
    int scan;                  /* index of the parameter that is scanned where scan_count > 0 */
    int scan_count;
    const int64_t *scan_values; /* ascending or not; the last one is the rung's own figure */
};

/* Does the family's parameter mean anything to the rung? Does it take several values in one run? */
static inline bool ladder_takes(const ladder_rung *r, int parameter)
{
    return !(r->ignores >> parameter & 1u);
}
static inline bool ladder_scans(const ladder_rung *r, int parameter)
{
    return r->scan_count > 0 && r->scan == parameter;
}

typedef struct ladder_family {
    device_kind kind;
    const char *name;
    const char *shows;        /* one line */
    const char *type_name[2]; /* by dtype; NULL where the type of the data does not matter */
    const ladder_parameter *parameter;
    int parameters;
    const ladder_rung *rung;
    int rungs;
    /* NULL, or of families that all ranks climb together: why this rung cannot run on that device and that
     * many ranks, "needs at least 2 ranks"; NULL where it can */
    const char *(*refusal)(const ladder_rung *r, device_kind kind, int ranks);
} ladder_family;

/* Parts of a row of a table: what most rungs have, counted in bytes, and the values of a scan. C++ takes
 * members in the struct's order. */
#define LADDER_ROW(NAME, WHY, PREPARE, ENQUEUE, VERIFY, CEILING) \
    .name = NAME, .why = WHY, .prepare = PREPARE, .enqueue = ENQUEUE, .verify = VERIFY, .ceiling = CEILING
#define LADDER_SCAN(PARAMETER, VALUES) \
    .scan = PARAMETER, .scan_count = sizeof VALUES / sizeof VALUES[0], .scan_values = VALUES

/* A family of tables, or of a file's tables `parameters` and `rungs`. F32, F64: the names of its types. */
#define LADDER_FAMILY_OF(PARAMETERS, RUNGS, KIND, NAME, SHOWS, F32, F64, REFUSAL)                 \
    { KIND, NAME, SHOWS, { F32, F64 }, PARAMETERS, sizeof PARAMETERS / sizeof *PARAMETERS, RUNGS, \
      sizeof RUNGS / sizeof *RUNGS, REFUSAL }
#define LADDER_FAMILY(...) LADDER_FAMILY_OF(parameters, rungs, __VA_ARGS__)

/* One per family and kind of device, defined in the family's file. */
extern const ladder_family ladder_ceiling_host, ladder_access_host, ladder_transpose_host,
    ladder_stencil_host, ladder_fused_host, ladder_reduce_host, ladder_roofline_host, ladder_streaming_host;
extern const ladder_family ladder_ceiling_cuda, ladder_memory_cuda, ladder_access_cuda, ladder_shared_cuda,
    ladder_transpose_cuda, ladder_stencil_cuda, ladder_fused_cuda, ladder_reduce_cuda, ladder_launch_cuda,
    ladder_constant_cuda, ladder_arith_cuda, ladder_streams_cuda, ladder_roofline_cuda, ladder_streaming_cuda;

/* ---- what families share ---- */

/* Cells number first, first + 1, .. of one row without end, uniform in [-1, 1), each a hash of its number:
 * the host can tell any cell without the others. */
enum { LADDER_SEED = 1 };
static inline double ladder_cell(int64_t i) { return cell_random(LADDER_SEED, (uint64_t)i); }
int ladder_fill_random(ladder_case *c, void *device_data, int64_t first, int64_t cells);
/* In a field with rows of nx such cells, whose own cell (0,0) is at (x_first, y_first). */
int ladder_fill_field(const ladder_case *c, const field_shape *f, void *field, box cells, int64_t nx,
                      int64_t x_first, int64_t y_first);
void ladder_random(dtype t, void *host_data, int64_t first, int64_t cells);
/* An fma of that type, of cells as cell_get has them: the compiler leaves out the conversions of floats to
 * double and back where it knows the type, and takes that question out of loops. */
static inline double ladder_fma_of(dtype t, double a, double b, double c)
{
    return t == DTYPE_F32 ? (double)cell_fma_f32((float)a, (float)b, (float)c) : cell_fma_f64(a, b, c);
}
/* 0xff bytes, which are NaN: a cell that a rung does not write shows. */
int ladder_poison(ladder_case *c, void *device_data, size_t bytes);

/* Waits for c->stream and compares with random cells number first, first + 1, .., bit by bit. */
int ladder_compare_random(ladder_case *c, const void *device_data, int64_t first, int64_t cells,
                          ladder_verdict *v);
/* Copies between the host's memory and the device's; waits. */
int ladder_fetch(ladder_case *c, void *to, const void *from, size_t bytes);
/* Compares one number of 4 or 8 bytes on the device; what: "sum", say. */
int ladder_compare_number(ladder_case *c, const char *what, const void *device_number, size_t bytes,
                          uint64_t wanted, ladder_verdict *v);
__attribute__((format(printf, 2, 3))) void ladder_wrong(ladder_verdict *v, const char *format, ...);

/* ---- what a point holds, until ladder_close ---- */

/* Waits for the device, then destroys what the rung made, then all that the functions below made. */
void ladder_close(ladder_case *c);
/* c->state: zeroed, freed by ladder_close. */
void *ladder_state(ladder_case *c, size_t bytes);
int ladder_alloc(ladder_case *c, device_memory where, size_t bytes, void **out);
/* In device memory: random cells of the case's type; poisoned bytes; zeros. */
int ladder_alloc_random(ladder_case *c, int64_t cells, void **out);
int ladder_alloc_poisoned(ladder_case *c, size_t bytes, void **out);
int ladder_alloc_zeroed(ladder_case *c, size_t bytes, void **out);
static inline size_t ladder_bytes(const ladder_case *c, int64_t cells)
{
    return (size_t)cells * dtype_bytes(c->type);
}

/* The usual problem: c->in holds random cells, c->out poisoned ones. */
int ladder_open(ladder_case *c, int64_t in_cells, int64_t out_cells);
/* A repetition works on `cells` cells and moves `words` words for each of them: sets size and work. */
void ladder_moves(ladder_case *c, int64_t cells, double words);
/* Copies c->in to c->out, as many cells as that has (a rung's enqueue). */
int ladder_copy(ladder_case *c);
/* All of c->out against the rung's answer, as its verify, or against a block of whole cells that repeats. */
int ladder_verify_cells(ladder_case *c, ladder_verdict *v);
int ladder_verify_blocks(ladder_case *c, const void *block, size_t block_bytes, ladder_verdict *v);
/* The one word at c->out against the xor of all 32-bit words of the first out_cells cells of c->in: a kernel
 * that only reads. */
int ladder_verify_xor(ladder_case *c, ladder_verdict *v);
/* The same of 4 or 8 bytes against the sum, mod 2^32 or 2^64, of the bit patterns of `size` cells. */
int ladder_verify_sum(ladder_case *c, size_t bytes, ladder_verdict *v);

/* ---- the transpose, which two families climb (ladder_transpose.c) ---- */

/* A is (ny,nx), row-major, dense and random; B is (nx,ny) and must become A^T, bit by bit. */
enum { LADDER_TRANSPOSE_NX, LADDER_TRANSPOSE_NY, LADDER_TRANSPOSE_PARAMETERS };
int ladder_transpose_prepare(ladder_case *c); /* A is c->in, B is c->out; work: A read once, B written once */
double ladder_transpose_answer(const ladder_case *c, int64_t i);
int ladder_transpose_production(ladder_case *c); /* enqueue: the device's own transpose */

LINKAGE_C_END
