/* Each rank adds its cells up into the picture's pixels, MPI adds the ranks, rank 0 divides, colours and
 * writes. A pixel covers cells_x x cells_y cells (fewer at the right and lower edge) and is drawn as zoom_x x
 * zoom_y dots: one of the two is 1, except in a strip of a long narrow field. What is gathered is pixels,
 * never dots or cells. */
#include "output/picture.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/cell.h"
#include "core/fp.h"
#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/ranks.h"

enum {
    SIDE_PIXELS_MAX = 2048, /* of a very long field; others are held by PICTURE_PIXELS_MAX */
    WIDTH_DOTS_MIN = 256,   /* small fields are enlarged to this */
    HEIGHT_DOTS_MIN = 64,   /* and strips to this */
    COLOURS = 255,          /* of the map; the palette's last entry is for what is no number */
    NOT_A_NUMBER = COLOURS
};

typedef struct raster {
    int64_t nx, ny;           /* cells of the field */
    int64_t cells_x, cells_y; /* of a pixel */
    int width, height;        /* in pixels */
    int zoom_x, zoom_y;
} raster;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static raster raster_of(int64_t nx, int64_t ny)
{
    /* the smallest square block of cells that fits, then each side for itself */
    int64_t block = 1;
    while (ceil_div(nx, block) > PICTURE_PIXELS_MAX / ceil_div(ny, block)) block++;
    raster r = { .nx = nx, .ny = ny, .cells_x = block, .cells_y = block, .zoom_x = 1, .zoom_y = 1 };
    if (ceil_div(nx, block) > SIDE_PIXELS_MAX) r.cells_x = ceil_div(nx, SIDE_PIXELS_MAX);
    if (ceil_div(ny, block) > SIDE_PIXELS_MAX) r.cells_y = ceil_div(ny, SIDE_PIXELS_MAX);
    r.width = (int)ceil_div(nx, r.cells_x);
    r.height = (int)ceil_div(ny, r.cells_y);
    if (r.width < WIDTH_DOTS_MIN) r.zoom_x = r.zoom_y = (WIDTH_DOTS_MIN + r.width - 1) / r.width;
    while (r.zoom_y > 1 && r.height * r.zoom_y > 2 * SIDE_PIXELS_MAX) r.zoom_y--; /* tall and narrow */
    if (r.height * r.zoom_y < HEIGHT_DOTS_MIN) r.zoom_y = (HEIGHT_DOTS_MIN + r.height - 1) / r.height;
    return r;
}

/* Sums of own cells per pixel; pixels are row-major, width x height. */
static void add_cells(const raster *r, dtype type, box own, const void *data, double *sums)
{
    const int64_t width = box_width(own);
    for (int64_t y = own.y0; y < own.y1; y++) {
        double *const row = sums + y / r->cells_y * r->width;
        const int64_t first = (y - own.y0) * width - own.x0;
        for (int64_t x = own.x0; x < own.x1;) {
            const int64_t pixel = x / r->cells_x, next = (pixel + 1) * r->cells_x,
                          end = next < own.x1 ? next : own.x1;
            double sum = 0;
            for (; x < end; x++) sum += cell_get(type, data, first + x);
            row[pixel] += sum;
        }
    }
}

/* ---- colours ---- */

/* Dark blue over grey to yellow, after the idea of cividis (Nunez, Anderton, Renslow 2018): luminance rises
 * all the way and no pair of colours differs in red against green alone. Linear between these; our own choice
 * of points. */
static void make_palette(png_color palette[COLOURS + 1])
{
    static const double points[][3] = { { 0, 32, 81 },     { 17, 54, 108 },   { 60, 77, 110 },
                                        { 98, 100, 111 },  { 127, 124, 117 }, { 154, 148, 120 },
                                        { 187, 175, 113 }, { 226, 203, 92 },  { 253, 234, 69 } };
    const int spans = (int)(sizeof points / sizeof points[0]) - 1;
    for (int i = 0; i < COLOURS; i++) {
        const double at = (double)i * spans / (COLOURS - 1);
        const int span = at < spans ? (int)at : spans - 1;
        const double *const low = points[span], *const high = points[span + 1];
        png_byte *const to[] = { &palette[i].red, &palette[i].green, &palette[i].blue };
        for (int c = 0; c < 3; c++)
            *to[c] = (png_byte)lround(low[c] + (at - span) * (high[c] - low[c]));
    }
    palette[NOT_A_NUMBER] = (png_color){ 220, 40, 60 };
}

/* Sums to means, and their range over the pixels that are numbers; 0, 0 where none is. */
static picture_scale finish_pixels(const raster *r, double *pixels)
{
    picture_scale s = PICTURE_SCALE_OF_CELLS;
    for (int y = 0; y < r->height; y++)
        for (int x = 0; x < r->width; x++) {
            const int64_t left_x = r->nx - x * r->cells_x, left_y = r->ny - y * r->cells_y;
            const int64_t cells =
                (left_x < r->cells_x ? left_x : r->cells_x) * (left_y < r->cells_y ? left_y : r->cells_y);
            double *const p = &pixels[(size_t)y * (size_t)r->width + (size_t)x];
            *p /= (double)cells;
            if (!isfinite(*p)) continue;
            if (*p < s.low) s.low = *p;
            if (*p > s.high) s.high = *p;
        }
    if (s.low > s.high) s.low = s.high = 0;
    return s;
}

static png_byte colour_of(picture_scale s, double v)
{
    if (!isfinite(v)) return NOT_A_NUMBER;
    const double range = s.high - s.low;
    if (!(range > 0)) return COLOURS / 2;
    if (!isfinite(range)) return v > 0 ? COLOURS - 1 : 0;
    if (v <= s.low || v >= s.high) return v < s.high ? 0 : COLOURS - 1;
    return (png_byte)((v - s.low) / range * (COLOURS - 1) + 0.5);
}

/* ---- the file ---- */

static void on_error(png_structp png, png_const_charp text)
{
    (void)text; /* out of memory, or what errno says */
    png_longjmp(png, 1);
}

/* libpng leaves by longjmp: all that it may lose is made before setjmp, or the caller's. */
static bool encode(FILE *out, const raster *r, const double *pixels, picture_scale s, const char *title,
                   png_byte *line)
{
    char name[1024], low[32], high[32];
    const png_text words[] = {
        { .compression = PNG_TEXT_COMPRESSION_NONE, .key = (char[]){ "Title" }, .text = name },
        { .compression = PNG_TEXT_COMPRESSION_NONE, .key = (char[]){ "min" }, .text = low },
        { .compression = PNG_TEXT_COMPRESSION_NONE, .key = (char[]){ "max" }, .text = high },
    };
    snprintf(name, sizeof name, "%s", title);
    snprintf(low, sizeof low, "%.9g", s.low);
    snprintf(high, sizeof high, "%.9g", s.high);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info || setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return false;
    }
    png_init_io(png, out);
    png_color palette[COLOURS + 1];
    make_palette(palette);
    png_set_IHDR(png, info, (png_uint_32)(r->width * r->zoom_x), (png_uint_32)(r->height * r->zoom_y), 8,
                 PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_PLTE(png, info, palette, COLOURS + 1);
    png_set_text(png, info, words, 3);
    png_write_info(png, info);
    for (int y = 0; y < r->height; y++) {
        for (int x = 0; x < r->width * r->zoom_x; x++)
            line[x] = colour_of(s, pixels[(size_t)y * (size_t)r->width + (size_t)(x / r->zoom_x)]);
        for (int z = 0; z < r->zoom_y; z++) png_write_row(png, line);
    }
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return true;
}

static bool write_file(const char *path, const raster *r, const double *pixels, picture_scale s,
                       const char *title, sentence *why)
{
    replace file;
    png_byte *const line = malloc((size_t)r->width * (size_t)r->zoom_x);
    int code = line ? replace_begin(&file, path) : ENOMEM;
    if (!code) {
        const bool whole = encode(file.to, r, pixels, s, title, line);
        if (!whole) code = ferror(file.to) ? errno : ENOMEM;
        const int end_code = replace_end(&file, whole);
        if (!code) code = end_code;
    }
    free(line);
    return !code || sentence_refuse(why, "cannot write the picture %s: %s", path, strerror(code));
}

bool picture_write(MPI_Comm comm, const char *path, const picture *p, sentence *why)
{
    assert(p->nx > 0 && p->ny > 0);
    fp_default();
    picture_scale *const scale = p->scale;
    const int rank = ranks_mine(comm);
    const raster r = raster_of(p->nx, p->ny);
    const int count = r.width * r.height;
    double *const pixels = CHECK_CALLOC(count, sizeof *pixels);
    add_cells(&r, p->type, p->own, p->data, pixels);
    MPI_CHECK(MPI_Reduce(rank == 0 ? MPI_IN_PLACE : pixels, pixels, count, MPI_DOUBLE, MPI_SUM, 0, comm));
    bool ok = true;
    if (rank == 0) {
        const picture_scale range = finish_pixels(&r, pixels);
        if (!scale->fixed) {
            scale->low = fmin(scale->low, range.low);
            scale->high = fmax(scale->high, range.high);
        }
        ok = write_file(path, &r, pixels, *scale, p->title, why);
    }
    free(pixels);
    return agree_or_say(ok, why, comm);
}

/* ---- frames ---- */

enum { FRAME_DIGITS = 10 };

bool frames_png(const char *path)
{
    const char *const dot = strrchr(path, '.');
    return dot && dot > path && dot[-1] != '/' && strcasecmp(dot, ".png") == 0;
}

bool frames_folder(char *out, size_t out_bytes, const char *path)
{
    const int stem = (int)(strlen(path) - strlen(".png"));
    return snprintf(out, out_bytes, "%.*s.frames", stem, path) < (int)out_bytes;
}

void frames_path(char *out, size_t out_bytes, const char *folder, int64_t step)
{
    snprintf(out, out_bytes, "%s/%010lld.png", folder, (long long)step);
}

/* NNNNNNNNNN.png, or what a dead run called it while it wrote it. -1: no frame. */
static int64_t step_of(const char *name)
{
    const size_t digits = strspn(name, "0123456789");
    if (digits == FRAME_DIGITS && strcmp(name + digits, ".png") == 0) return strtoll(name, NULL, 10);
    return digits == FRAME_DIGITS && strncmp(name + digits, ".png.tmp", 8) == 0 ? INT64_MAX : -1;
}

int frames_clear(const char *folder, int64_t last)
{
    DIR *const all = opendir(folder);
    int code = all ? 0 : errno;
    for (const struct dirent *e; all && (e = readdir(all));)
        if (step_of(e->d_name) > last && unlinkat(dirfd(all), e->d_name, 0) != 0 && !code) code = errno;
    if (all) closedir(all);
    return code;
}
