#include "writer/writers.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "files/replace.h"
#include "ranks/decomp.h"
#include "ranks/timer.h"
#include "state/checkpoint_directory.h"

/* ---- file systems ---- */

static const struct file_system {
    uint32_t type;
    const char *name;
    bool coherent; /* hosts never lose each other's bytes of a page */
} known[] = {
    { 0x0BD00BD0, "lustre", true }, { 0x47504653, "gpfs", true },     { 0x6969, "nfs", false },
    { 0xFE534D42, "smb2", false },  { 0xFF534D42, "cifs", false },    { 0x65735546, "fuse", false },
    { 0x01021997, "9p", false },    { 0x19830326, "beegfs", false },  { 0x00C36400, "ceph", false },
    { 0xEF53, "ext4", false },      { 0x58465342, "xfs", false },     { 0x01021994, "tmpfs", false },
    { 0x9123683E, "btrfs", false }, { 0x794C7630, "overlay", false }, { 0x2FC12FC1, "zfs", false },
};
enum { KNOWN = sizeof known / sizeof *known };

static bool is_coherent(uint32_t type)
{
    for (int i = 0; i < KNOWN; i++)
        if (known[i].type == type) return known[i].coherent;
    return false;
}

/* "nfs", or its number; "" for 0. */
static void file_system_name(char name[WRITERS_NAME_BYTES], uint32_t type)
{
    name[0] = '\0';
    if (type) snprintf(name, WRITERS_NAME_BYTES, "0x%x", type);
    for (int i = 0; i < KNOWN; i++)
        if (known[i].type == type) snprintf(name, WRITERS_NAME_BYTES, "%s", known[i].name);
}

static uint32_t pretended(void)
{
#ifdef WEFT_DEBUG
    const char *asked = getenv("WEFT_PRETEND_FS");
    for (int i = 0; i < KNOWN && asked; i++)
        if (strcmp(known[i].name, asked) == 0) return known[i].type;
#endif
    return 0;
}

uint32_t writers_file_system(const char *path, uint64_t *piece_bytes)
{
    char at[CHECKPOINT_PATH_BYTES];
    struct statfs info;
    const uint32_t instead = pretended();
    const int code = checkpoint_nearest_folder(at, path) != 0 ? -1 : statfs(at, &info);
    *piece_bytes = code == 0 ? (uint64_t)info.f_bsize : 0;
    return instead ? instead : code == 0 ? (uint32_t)info.f_type : 0;
}

/* ---- the rule ---- */

const char *writers_rule_name(writers_rule rule)
{
    static const char *const name[] = {
        [WRITERS_OWN_CELLS] = "own_cells", [WRITERS_COLLECT] = "collect", [WRITERS_ONE_HOST] = "one_host",
        [WRITERS_ALIGNED] = "aligned", [WRITERS_LOCKED] = "locked",
    };
    return name[rule];
}

box writers_box(const checkpoint_field *f, int ranks, int rank)
{
    assert(f->columns > 0);
    const decomp grid = { .nx = f->nx, .ny = f->ny, .ranks_x = f->columns, .ranks_y = ranks / f->columns };
    return decomp_box(&grid, rank);
}

static int smaller(int a, int b) { return a < b ? a : b; }

/* One for each row of the process grid if that is cut into columns, but not for pieces of rows of short_bytes
 * and more: the page cache puts them together. 0: none. */
static int collectors(const checkpoint_state *s, const writers_facts *f)
{
    const checkpoint_field *u = &s->field[0];
    int rows = 0;
    bool is_short = false;
    for (int r = 0; r < f->hosts->ranks && u->ny > 1; r++) {
        const box own = writers_box(u, f->hosts->ranks, r);
        if (box_empty(own)) continue;
        rows += own.x0 == 0;
        is_short = is_short || (box_width(own) < u->nx &&
                                box_width(own) * (int64_t)dtype_bytes(s->type) < f->short_bytes);
    }
    return is_short ? rows : 0;
}

static uint64_t piece_of(uint64_t asked_bytes)
{
    const bool larger = asked_bytes > WRITERS_PIECE_BYTES && asked_bytes % WRITERS_PIECE_BYTES == 0;
    return larger ? asked_bytes : WRITERS_PIECE_BYTES;
}

static void plan_one_host(writers *w, const checkpoint_state *s, const writers_facts *f)
{
    w->count = s->aggregators > 0 ? smaller(s->aggregators, f->hosts->ranks) : collectors(s, f);
    w->rule = w->count > 0 ? WRITERS_COLLECT : WRITERS_OWN_CELLS;
    sentence_set(&w->why, "%s", s->aggregators > 0 ? "checkpoint.aggregators asks for it"
                                : w->count > 0     ? "pieces of rows are short"
                                                   : "all ranks share one host's page cache");
}

static void plan_coherent(writers *w, const checkpoint_state *s, const writers_facts *f)
{
    w->count = s->aggregators > 0 ? smaller(s->aggregators, f->hosts->ranks) : f->hosts->ranks;
    w->rule = WRITERS_ALIGNED;
    w->piece_bytes = piece_of(f->piece_bytes);
    sentence_set(&w->why, "%s keeps the hosts' caches of a file coherent", w->file_system);
}

static void plan_incoherent(writers *w, const checkpoint_state *s, const writers_facts *f)
{
    const int here = f->hosts->begin[1];
    const bool locked = s->aggregators > here && here < f->hosts->ranks;
    w->rule = locked ? WRITERS_LOCKED : WRITERS_ONE_HOST;
    w->count = s->aggregators > 0 ? smaller(s->aggregators, f->hosts->ranks) : here;
    if (locked) w->piece_bytes = piece_of(f->piece_bytes);
    if (f->file_system)
        sentence_set(&w->why, "%s does not keep the hosts' caches of a file coherent", w->file_system);
    else sentence_set(&w->why, "the hosts see file systems of different types");
}

void writers_plan(writers *w, const checkpoint_state *s, const writers_facts *f)
{
    *w = (writers){ .hosts = f->hosts };
    file_system_name(w->file_system, f->file_system);
    if (f->hosts->count == 1) plan_one_host(w, s, f);
    else if (is_coherent(f->file_system)) plan_coherent(w, s, f);
    else plan_incoherent(w, s, f);
}

void writers_look(writers *w, MPI_Comm comm, const hosts *h, const char *path, int aggregators)
{
    uint64_t piece_bytes = 0;
    const timer_spread all = timer_over_ranks(writers_file_system(path, &piece_bytes), comm);
    const checkpoint_state asked = { .aggregators = aggregators };
    writers_plan(w, &asked, &(writers_facts){ .hosts = h, .piece_bytes = piece_bytes,
                                              .file_system = all.min == all.max ? (uint32_t)all.max : 0 });
}

void writers_sentence(const writers *w, sentence *out)
{
    const bool one = w->rule == WRITERS_ONE_HOST;
    out->text[0] = '\0';
    if (!one && w->rule != WRITERS_LOCKED) return;
    sentence_set(out, "%d rank%s of %s: %s", w->count, w->count == 1 ? "" : "s",
                 one ? "one host, for all hosts" : "several hosts, with file locks", w->why.text);
}

/* ---- ranks ---- */

/* Writers are spread over these. */
static int candidates(const writers *w)
{
    return w->rule == WRITERS_ONE_HOST ? w->hosts->begin[1] : w->hosts->ranks;
}

static int candidate(const writers *w, int index)
{
    return w->rule == WRITERS_ONE_HOST ? w->hosts->rank[index] : index;
}

int writers_rank(const writers *w, int number)
{
    return candidate(w, (int)((int64_t)number * candidates(w) / w->count));
}

int writers_number(const writers *w, int rank)
{
    int low = 0, high = w->count; /* the first whose rank is not below */
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (writers_rank(w, middle) < rank) low = middle + 1;
        else high = middle;
    }
    return low < w->count && writers_rank(w, low) == rank ? low : -1;
}

/* ---- shares ---- */

/* A field's bytes in the file, and the whole pieces among them, which hold no structure. */
typedef struct extent {
    uint64_t from, to, inner, pieces, piece_bytes;
} extent;

static extent extent_of(const writers *w, const checkpoint_state *s, const checkpoint_layout *l, int i)
{
    extent e = { .from = l->field_at_bytes[i], .piece_bytes = w->piece_bytes };
    e.to = e.from + checkpoint_field_bytes(s, i);
    e.inner = (e.from + e.piece_bytes - 1) / e.piece_bytes * e.piece_bytes;
    if (e.inner < e.to) e.pieces = (e.to - e.inner) / e.piece_bytes;
    return e;
}

static uint64_t border(const extent *e, int count, int number)
{
    return e->inner + e->pieces * (uint64_t)number / (uint64_t)count * e->piece_bytes;
}

static int aligned_ranges(const writers *w, const extent *e, int number, writers_range range[WRITERS_RANGES])
{
    const uint64_t end = e->inner + e->pieces * e->piece_bytes;
    int ranges = 0;
    if (e->pieces == 0) {
        if (number == 0) range[ranges++] = (writers_range){ e->from, e->to };
        return ranges;
    }
    const writers_range mine = { number == 0 ? e->from : border(e, w->count, number),
                                 border(e, w->count, number + 1) };
    if (mine.from < mine.to) range[ranges++] = mine;
    if (number == 0 && end < e->to) range[ranges++] = (writers_range){ end, e->to };
    return ranges;
}

static int block_ranges(const writers *w, const checkpoint_state *s, const checkpoint_layout *l, int i,
                        int number, writers_range range[WRITERS_RANGES])
{
    const checkpoint_field *f = &s->field[i];
    const uint64_t line_bytes = (uint64_t)(f->ny > 1 ? f->nx : 1) * dtype_bytes(s->type);
    const int64_t lines = checkpoint_block_lines(f, s->type), blocks = checkpoint_blocks(f, s->type),
                  all = f->ny > 1 ? f->ny : f->nx;
    const int64_t first = blocks * number / w->count * lines, end = blocks * (number + 1) / w->count * lines;
    const int64_t last = end < all ? end : all;
    if (first >= last) return 0;
    range[0] = (writers_range){ l->field_at_bytes[i] + (uint64_t)first * line_bytes,
                                l->field_at_bytes[i] + (uint64_t)last * line_bytes };
    return 1;
}

int writers_ranges(const writers *w, const checkpoint_state *s, const checkpoint_layout *l, int i, int number,
                   writers_range range[WRITERS_RANGES])
{
    if (number < 0) return 0;
    if (w->piece_bytes == 0) return block_ranges(w, s, l, i, number, range);
    const extent e = extent_of(w, s, l, i);
    return aligned_ranges(w, &e, number, range);
}

/* Cells [first, last) of the file's order: the rest of a row, whole rows, the begin of one. */
static int parts_of(const checkpoint_field *f, int64_t first, int64_t last, box *part)
{
    int parts = 0;
    const int64_t y = first / f->nx, x = first % f->nx, y_last = last / f->nx, x_last = last % f->nx;
    if (y == y_last) {
        part[parts++] = box_make(x, x_last, y, y + 1);
        return parts;
    }
    if (x > 0) part[parts++] = box_make(x, f->nx, y, y + 1);
    if (y + (x > 0) < y_last) part[parts++] = box_make(0, f->nx, y + (x > 0), y_last);
    if (x_last > 0) part[parts++] = box_make(0, x_last, y_last, y_last + 1);
    return parts;
}

int writers_parts(const writers *w, const checkpoint_state *s, const checkpoint_layout *l, int i, int number,
                  box part[WRITERS_PARTS])
{
    writers_range range[WRITERS_RANGES];
    const uint64_t cell_bytes = dtype_bytes(s->type), at = l->field_at_bytes[i];
    const int ranges = writers_ranges(w, s, l, i, number, range);
    int parts = 0;
    for (int r = 0; r < ranges; r++)
        parts += parts_of(&s->field[i], (int64_t)((range[r].from - at) / cell_bytes),
                          (int64_t)((range[r].to - at) / cell_bytes), part + parts);
    return parts;
}

/* ---- reading back ---- */

/* The number q of `all` things in order belongs to which of `count` shares that are cut as all * number /
 * count. */
static int share_of(uint64_t q, uint64_t all, int count)
{
    return (int)(((q + 1) * (uint64_t)count + all - 1) / all) - 1;
}

static int writer_at(const writers *w, const extent *e, uint64_t at_bytes)
{
    if (at_bytes < e->inner || at_bytes >= e->inner + e->pieces * e->piece_bytes) return 0;
    return share_of((at_bytes - e->inner) / e->piece_bytes, e->pieces, w->count);
}

/* A rank that is not on that host, another one for each part of the file. */
static int elsewhere(const hosts *h, int host, int64_t block, int64_t blocks)
{
    const int here = h->begin[host + 1] - h->begin[host], index = (int)(block * (h->ranks - here) / blocks);
    return h->rank[index < h->begin[host] ? index : index + here];
}

bool writers_read_back(const writers *w, const checkpoint_state *s, const checkpoint_layout *l, int i,
                       int64_t block, int rank, bool *at_border)
{
    const checkpoint_field *f = &s->field[i];
    const int64_t blocks = checkpoint_blocks(f, s->type);
    int first = 0, last = 0;
    *at_border = false;
    if (w->piece_bytes == 0) {
        first = last = share_of((uint64_t)block, (uint64_t)blocks, w->count);
    } else {
        const extent e = extent_of(w, s, l, i);
        const box cells = checkpoint_block(f, checkpoint_block_lines(f, s->type), block);
        const uint64_t from = e.from + (uint64_t)(cells.y0 * f->nx + cells.x0) * dtype_bytes(s->type);
        const uint64_t bytes = (uint64_t)box_cells(cells) * dtype_bytes(s->type);
        first = writer_at(w, &e, from);
        last = writer_at(w, &e, from + bytes - 1);
        *at_border = w->count > 1 && (first != last || bytes > e.piece_bytes);
    }
    const int reader = elsewhere(w->hosts, w->hosts->of[writers_rank(w, first)], block, blocks);
    if (reader == rank) return true;
    return *at_border && elsewhere(w->hosts, w->hosts->of[reader], block, blocks) == rank;
}

int writers_looks_at_structure(const writers *w)
{
    return w->hosts->rank[w->hosts->count > 1 ? w->hosts->begin[1] : 0];
}
