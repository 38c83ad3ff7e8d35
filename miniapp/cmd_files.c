/* weft verify, weft diff: state files on their own, without a deck. Rows of the fields are spread over the ranks. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "check.h"
#include "checkpoint.h"
#include "cmd.h"
#include "cmd_table.h"
#include "decomp.h"

typedef struct loaded {
    checkpoint_info info;
    checkpoint_state state;
} loaded;

/* /fields/NAME as this rank's share; the turned one of a transpose has nx and ny exchanged. */
static void add_field(checkpoint_state *s, const char *name, int64_t nx, int64_t ny)
{
    int rank = 0, ranks = 1;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    checkpoint_field f = { name, nx, ny, decomp_share(nx, ny, ranks, rank), NULL, 0 };
    const size_t bytes = (size_t)box_cells(f.own) * dtype_bytes(s->type);
    f.data = malloc(bytes > 0 ? bytes : 1);
    if (!f.data) check_fail(__FILE__, __LINE__, "malloc", "out of memory");
    s->field[s->fields++] = f;
}

static void unload(loaded *l)
{
    for (int i = 0; i < l->state.fields; i++) free(l->state.field[i].data);
    checkpoint_info_free(&l->info);
    memset(l, 0, sizeof *l);
}

/* Reading checks every fingerprint. */
static checkpoint_status load(loaded *l, const char *path, char *why, size_t why_bytes)
{
    memset(l, 0, sizeof *l);
    const checkpoint_status status = checkpoint_read_info(MPI_COMM_WORLD, path, &l->info, why, why_bytes);
    if (status != CHECKPOINT_OK) return status;
    const char *kind = l->info.kind;
    l->state.kind = kind;
    l->state.type = l->info.type;
    if (strcmp(kind, "transpose") == 0) {
        add_field(&l->state, "a", l->info.nx, l->info.ny);
        add_field(&l->state, "b", l->info.ny, l->info.nx);
    } else {
        add_field(&l->state, "u", l->info.nx, l->info.ny);
        if (strcmp(kind, "wave") == 0 || strcmp(kind, "advect") == 0) add_field(&l->state, "u_prev", l->info.nx, l->info.ny);
    }
    return checkpoint_read(MPI_COMM_WORLD, path, &l->state, why, why_bytes);
}

static int status_exit(checkpoint_status s) { return s == CHECKPOINT_MISSING ? CHECK_EXIT_USAGE : CHECK_EXIT_ENVIRONMENT; }

/* One sentence a damaged block, so that each can be looked up. */
static int say_damaged(const char *path, const checkpoint_report *r)
{
    const int64_t listed = r->damaged < CHECKPOINT_DAMAGE_LISTED ? r->damaged : CHECKPOINT_DAMAGE_LISTED;
    for (int64_t i = 0; i < listed; i++) cmd_say(CHECK_EXIT_FAILED, "%s is damaged: %s", path, r->damage[i]);
    if (r->damaged > listed)
        cmd_say(CHECK_EXIT_FAILED, "%s is damaged: %" PRId64 " more blocks", path, r->damaged - listed);
    return CHECK_EXIT_FAILED;
}

static void say_whole(const char *path, const checkpoint_report *r)
{
    printf("%s: whole, %s, %s, %" PRId64 " x %" PRId64 ", step %" PRId64 ", fingerprint %016" PRIx64, path, r->info.kind,
           dtype_name(r->info.type), r->info.nx, r->info.ny, r->info.step, r->info.fingerprint);
    if (r->blocks) printf(", %" PRId64 " block%s\n", r->blocks, r->blocks == 1 ? "" : "s");
    else printf(", no block checksums\n");
}

int cmd_verify(int argc, char **argv)
{
    const int rank = cmd_begin();
    char why[1024];
    if (!cmd_table_options_known("verify", argc, argv, why, sizeof why)) return cmd_end(cmd_say(CHECK_EXIT_USAGE, "%s", why));
    if (argc < 2) return cmd_end(cmd_say(CHECK_EXIT_USAGE, "verify needs a state file"));
    int worst = 0;
    for (int i = 1; i < argc; i++) {
        checkpoint_report r;
        const checkpoint_status status = checkpoint_verify(MPI_COMM_WORLD, argv[i], &r, why, sizeof why);
        int code = 0;
        if (status == CHECKPOINT_OK && rank == 0) say_whole(argv[i], &r);
        else if (r.damaged) code = say_damaged(argv[i], &r);
        else if (status != CHECKPOINT_OK) code = cmd_say(status_exit(status), "%s", why);
        if (code > worst) worst = code;
        checkpoint_info_free(&r.info);
    }
    return cmd_end(worst);
}

typedef struct difference {
    int64_t cells;        /* whose bits differ */
    double max_abs;
    int64_t x, y;         /* where the largest is, global; -1: none */
} difference;

static double cell_at(const checkpoint_field *f, dtype t, int64_t k)
{
    return t == DTYPE_F32 ? (double)((const float *)f->data)[k] : ((const double *)f->data)[k];
}

static difference compare(const checkpoint_field *a, const checkpoint_field *b, dtype t)
{
    difference d = { 0, 0, -1, -1 };
    uint64_t largest = 0;
    const int64_t width = box_width(a->own), cells = box_cells(a->own);
    for (int64_t k = 0; k < cells; k++) {
        const double u = cell_at(a, t, k), w = cell_at(b, t, k);
        if (cell_bits_f64(u) == cell_bits_f64(w)) continue;
        d.cells++;
        const uint64_t size = cell_abs_bits(u - w); /* NaN counts as larger than anything */
        if (d.x < 0 || size > largest) {
            largest = size;
            d.x = a->own.x0 + k % width;
            d.y = a->own.y0 + k / width;
        }
    }
    memcpy(&d.max_abs, &largest, sizeof largest);

    int rank = 0;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    /* 0 and -0 differ by nothing: still more than where no cell differs */
    struct { double size; int rank; } mine = { d.x < 0 ? -1 : isnan(d.max_abs) ? INFINITY : d.max_abs, rank }, all;
    MPI_CHECK(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD));
    const int64_t cells_here = d.cells;
    int64_t cells_all = 0;
    MPI_CHECK(MPI_Allreduce(&cells_here, &cells_all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Bcast(&d, sizeof d, MPI_BYTE, all.rank, MPI_COMM_WORLD));
    d.cells = cells_all;
    return d;
}

static int diff_loaded(const loaded *a, const loaded *b, const char *const path[2])
{
    int rank = 0, differ = 0;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    if (strcmp(a->info.kind, b->info.kind) != 0 || a->info.type != b->info.type || a->info.nx != b->info.nx ||
        a->info.ny != b->info.ny)
        return cmd_say(CHECK_EXIT_FAILED, "%s is %s %s %" PRId64 " x %" PRId64 ", %s is %s %s %" PRId64 " x %" PRId64, path[0],
                       a->info.kind, dtype_name(a->info.type), a->info.nx, a->info.ny, path[1], b->info.kind,
                       dtype_name(b->info.type), b->info.nx, b->info.ny);
    if (rank == 0 && a->info.step != b->info.step)
        printf("step: %" PRId64 " and %" PRId64 "\n", a->info.step, b->info.step);
    for (int i = 0; i < a->state.fields; i++) {
        const difference d = compare(&a->state.field[i], &b->state.field[i], a->info.type);
        differ |= d.cells > 0;
        if (rank != 0) continue;
        if (d.cells == 0) printf("%s: same bits\n", a->state.field[i].name);
        else printf("%s: %" PRId64 " cells differ, most by %.3e at (x %" PRId64 ", y %" PRId64 ")\n", a->state.field[i].name, d.cells,
                    d.max_abs, d.x, d.y);
    }
    return differ ? CHECK_EXIT_FAILED : 0;
}

int cmd_diff(int argc, char **argv)
{
    (void)cmd_begin();
    char why[1024];
    if (!cmd_table_options_known("diff", argc, argv, why, sizeof why)) return cmd_end(cmd_say(CHECK_EXIT_USAGE, "%s", why));
    if (argc != 3) return cmd_end(cmd_say(CHECK_EXIT_USAGE, "diff needs two state files"));
    loaded side[2];
    memset(side, 0, sizeof side);
    const char *const path[2] = { argv[1], argv[2] };
    int status = 0;
    for (int i = 0; i < 2 && status == 0; i++) {
        const checkpoint_status read = load(&side[i], path[i], why, sizeof why);
        if (read != CHECKPOINT_OK) status = cmd_say(status_exit(read), "%s", why);
    }
    if (status == 0) status = diff_loaded(&side[0], &side[1], path);
    unload(&side[0]);
    unload(&side[1]);
    return cmd_end(status);
}
