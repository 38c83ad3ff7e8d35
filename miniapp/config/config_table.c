/* Invariant: config_table_read sets the same bytes for the same value (no padding, nothing left of an earlier
 * value), so that two configs can be compared as memory. */
#include "config/config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(config, member)
#define STEPS_MAX 9999999999 /* ten digits in a checkpoint's name */
#define CELLS_MAX ((int64_t)1 << 40)
#define SECONDS_MAX 1000000000
#define BEYOND_WHOLE 0x1p63 /* any int64_t is within */

static const char *const dtypes[] = { "f32", "f64", NULL };
static const char *const initials[] = { "mode", "random", "gaussian", "zero", NULL };
static const char *const memories[] = { "auto", "device", "host", NULL };
static const char *const feeds[] = { "auto", "openmp", "serial", "graph", NULL };
static const char *const tunes[] = { "off", "on", NULL };
static const char *const verifies[] = { "full", "off", NULL };
static const char *const on_errors[] = { "stop", "continue", NULL };
static const char *const progresses[] = { "auto", "on", "off", NULL };
const char *const config_sides[] = { "periodic", "dirichlet", "neumann", NULL };
static const char side_values[] = "periodic, dirichlet V (a number) or neumann";

const cmd_key config_table[] = {
    { "problem.kind", CMD_KEY_WORD, AT(problem.kind), .preset_text = "required", .word = kind_names,
      .help = "the update" },
    { "problem.dtype", CMD_KEY_WORD, AT(problem.type), .preset = "f64", .word = dtypes,
      .help = "type of a cell" },
    { "problem.order", CMD_KEY_INT, AT(problem.order), .preset = "2", .use = CONFIG_USE_DIFFERENCES,
      .least = 2, .most = 16, .allowed = "2, 4, 6 .. 16",
      .help = "order of the central differences; radius = order / 2" },
    { "problem.alpha", CMD_KEY_NUMBER, AT(problem.alpha),
      .preset_text = "required for heat wave advect sweep", .use = CONFIG_USE_DIFFERENCES, .unused = "0",
      .allowed = "a number",
      .help = "heat, sweep: nu dt/h^2; wave: (c dt/h)^2; advect: c dt/h; along x and y" },
    { "problem.weights", CONFIG_WEIGHTS, AT(problem.weights), .preset_text = "required for custom",
      .use = CONFIG_USE_WEIGHTS, .unused = "",
      .allowed = "2r+1 numbers in 1D, 2r+1 rows of 2r+1 numbers separated by | in 2D, radius r = 1 .. 8",
      .help = "next = sum w(dy,dx) u(y+dy, x+dx), first row dy = -r" },
    { "problem.initial", CONFIG_INITIAL, AT(problem.initial), .preset = "mode", .word = initials,
      .allowed = "mode, random, gaussian, zero or FILE.h5[:/dataset]",
      .help = "level 0; a file's dataset, /fields/u unless named, is (ny,nx), or (nx) in 1D" },
    { "problem.mode_x", CMD_KEY_WHOLE, AT(problem.mode_x), .preset_text = "1, or 0 where n = 1",
      .use = CONFIG_USE_MODE, .most = CELLS_MAX,
      .help = "which mode along x: 0 .. n-1, or 1 .. n with a dirichlet side" },
    { "problem.mode_y", CMD_KEY_WHOLE, AT(problem.mode_y), .preset_text = "1, or 0 where n = 1",
      .use = CONFIG_USE_MODE | CONFIG_USE_2D, .most = CELLS_MAX, .help = "the same along y" },
    { "problem.seed", CMD_KEY_WHOLE, AT(problem.seed), .preset = "0", .use = CONFIG_USE_RANDOM,
      .least = -BEYOND_WHOLE, .most = BEYOND_WHOLE, .allowed = "a whole number of 64 bits",
      .help = "for initial = random" },

    { "grid.nx", CMD_KEY_WHOLE, AT(grid.nx), .preset_text = "required", .unit = "cells", .least = 1,
      .most = CELLS_MAX, .allowed = "1 .. 2^40", .help = "along x, contiguous in memory" },
    { "grid.ny", CMD_KEY_WHOLE, AT(grid.ny), .preset = "1", .unit = "cells", .least = 1, .most = CELLS_MAX,
      .allowed = "1 .. 2^40", .help = "along y; 1 means 1D" },
    { "grid.boundary", CONFIG_SIDES, AT(grid.sides), .preset = "periodic", .use = CONFIG_USE_STENCIL,
      .allowed = side_values, .help = "all four sides; the key of a single side overrides it" },
    { "grid.x_low", CONFIG_SIDE, AT(grid.sides.x_low), .preset_text = "grid.boundary",
      .use = CONFIG_USE_STENCIL, .unused = "periodic", .allowed = side_values,
      .help = "dirichlet: the node outside has the value V; neumann: mirror at the face" },
    { "grid.x_high", CONFIG_SIDE, AT(grid.sides.x_high), .preset_text = "grid.boundary",
      .use = CONFIG_USE_STENCIL, .unused = "periodic", .allowed = side_values,
      .help = "periodic on both sides of an axis or on neither" },
    { "grid.y_low", CONFIG_SIDE, AT(grid.sides.y_low), .preset_text = "grid.boundary",
      .use = CONFIG_USE_STENCIL | CONFIG_USE_2D, .unused = "periodic", .allowed = side_values },
    { "grid.y_high", CONFIG_SIDE, AT(grid.sides.y_high), .preset_text = "grid.boundary",
      .use = CONFIG_USE_STENCIL | CONFIG_USE_2D, .unused = "periodic", .allowed = side_values },

    { "time.steps", CMD_KEY_WHOLE, AT(time.steps), .preset_text = "required", .unit = "steps",
      .most = STEPS_MAX, .help = "the number of the last step, also after a restart" },
    { "time.tolerance", CMD_KEY_NUMBER, AT(time.tolerance), .preset = "0", .most = BEYOND_WHOLE,
      .allowed = "a number, 0 or more",
      .help = "laplace stops at the first checked level with max |next - u| <= tolerance" },
    { "time.norm_every", CMD_KEY_WHOLE, AT(time.norm_every), .preset_text = "0; 1 with a tolerance",
      .use = CONFIG_USE_STENCIL, .unused = "0", .unit = "steps", .most = STEPS_MAX,
      .help = "steps between measurements of max |next - u|; 0: never" },

    { "run.device", CMD_KEY_WORD, AT(run.device), .preset = "auto", .word = topology_choice_words,
      .help = "where fields live; auto: GPUs, or the host where neither job nor machine has any" },
    { "run.memory", CMD_KEY_WORD, AT(run.memory), .preset = "auto", .word = memories,
      .help = "where cells are between steps; auto: host, through which rows stream, if they do not fit" },
    { "run.device_memory", CMD_KEY_WHOLE, AT(run.device_memory_bytes), .preset = "0", .unit = "bytes",
      .most = (int64_t)1 << 50, .allowed = "0 .. 2^50",
      .help = "of the device's memory that a rank may fill; 0: what is free" },
    { "run.transport", CMD_KEY_WORD, AT(run.transport), .preset = "auto", .least = TRANSPORT_AUTO,
      .word = transport_kind_words, .help = "how halos are exchanged; the host device has staged only" },
    { "run.feed", CMD_KEY_WORD, AT(run.feed), .preset = "auto", .word = feeds,
      .help = "who enqueues the steps: one thread per lane, one thread, or a captured graph of many steps" },
    { "run.lanes", CMD_KEY_INT, AT(run.streams), .preset = "0", .unit = "streams", .most = 64,
      .help = "strips per rank, one stream each; 0: choose" },
    { "run.fuse", CMD_KEY_INT, AT(run.fuse), .preset = "0", .unit = "steps", .most = 1024,
      .help = "temporal blocking: time steps per pass over memory; 0: choose by a trial (run.tune)" },
    { "run.threads", CMD_KEY_INT, AT(run.threads), .preset = "0", .unit = "threads", .most = 4096,
      .help = "per rank; 0: choose" },
    { "run.ranks_x", CMD_KEY_INT, AT(run.ranks_x), .preset = "0", .unit = "ranks", .most = 1 << 24,
      .help = "process grid along x; 0: choose" },
    { "run.ranks_y", CMD_KEY_INT, AT(run.ranks_y), .preset = "0", .unit = "ranks", .most = 1 << 24,
      .help = "process grid along y; 0: choose" },
    { "run.tune", CMD_KEY_WORD, AT(run.tune), .preset = "on", .word = tunes,
      .help = "time the variants of a kernel at the start and take the fastest" },
    { "run.wall_limit", CMD_KEY_NUMBER, AT(run.wall_limit_s), .preset = "0", .unit = "s",
      .most = SECONDS_MAX, .allowed = "a number, 0 .. 1e9",
      .help = "end in time for a last checkpoint, exit 75; 0: take SLURM_JOB_END_TIME, if set" },
    { "run.stall_limit", CMD_KEY_NUMBER, AT(run.stall_limit_s), .preset = "3600", .unit = "s",
      .most = SECONDS_MAX, .allowed = "a number, 0 .. 1e9",
      .help = "after this long without a step or a new phase every rank says where it is, exit 3; 0: never" },

    { "checkpoint.dir", CONFIG_PATH, AT(checkpoint.dir), .preset = "checkpoints", .allowed = "a path",
      .help = "holds step_NNNNNNNNNN.h5" },
    { "checkpoint.every", CMD_KEY_WHOLE, AT(checkpoint.every), .preset = "0", .unit = "steps",
      .most = STEPS_MAX, .help = "0: none" },
    { "checkpoint.keep", CMD_KEY_INT, AT(checkpoint.keep), .preset = "2", .unit = "files",
      .most = 1000000, .help = "how many of the newest to keep; 0: all" },
    { "checkpoint.keep_every", CMD_KEY_INT, AT(checkpoint.keep_every), .preset = "0", .unit = "files",
      .most = 1000000, .help = "keep those of multiples of N * checkpoint.every as well; 0: none" },
    { "checkpoint.writers", CMD_KEY_INT, AT(checkpoint.writers), .preset = "0", .unit = "ranks",
      .most = 1 << 24,
      .help = "how many ranks write a part of a state each; 1: one file; 0: one per 64 MiB, at most 256" },
    { "checkpoint.async", CMD_KEY_WORD, AT(checkpoint.async), .preset = "true",
      .word = (const char *const[]){ "false", "true", NULL }, .allowed = "true or false",
      .help = "each rank writes in a thread while time steps go on; false: the steps wait for the file" },
    { "checkpoint.on_error", CMD_KEY_WORD, AT(checkpoint.on_error), .preset = "stop", .word = on_errors,
      .help = "what to do when a checkpoint cannot be written; older ones stay" },
    { "checkpoint.verify", CMD_KEY_WORD, AT(checkpoint.verify), .preset = "full", .word = verifies,
      .help = "what to read back before a file gets its name: everything, or nothing" },

    { "output.record", CONFIG_PATH, AT(output.record), .preset = "results.jsonl", .allowed = "a path or none",
      .help = "one JSON line per run, appended: to a file, a pipe, a device or through a link" },
    { "output.final", CONFIG_PATH, AT(output.final), .preset = "none", .allowed = "a path or none",
      .help = "the last state, in the checkpoint format" },
    { "output.picture", CONFIG_PATH, AT(output.picture), .preset = "none",
      .allowed = "a path that ends in .png, or none",
      .help = "the last state, PNG; with output.every also frames, in the folder PICTURE.frames" },
    { "output.picture_low", CMD_KEY_NUMBER, AT(output.picture_low), .preset = "0", .allowed = "a number",
      .help = "value shown in the darkest colour; equal to picture_high: the range of the cells" },
    { "output.picture_high", CMD_KEY_NUMBER, AT(output.picture_high), .preset = "0",
      .allowed = "a number", .help = "value shown in the brightest colour" },
    { "output.every", CMD_KEY_WHOLE, AT(output.every), .preset = "0", .unit = "steps", .most = STEPS_MAX,
      .help = "steps between frames of output.series and output.picture, from step 0 on; 0: no frames" },
    { "output.series", CONFIG_PATH, AT(output.series), .preset_text = "series; none with a picture",
      .allowed = "a path or none",
      .help = "with output.every: folder for one state file per frame, all kept" },
    { "output.trace", CONFIG_PATH, AT(output.trace), .preset = "none", .allowed = "a path or none",
      .help = "timeline of some steps in Chrome's trace format, for ui.perfetto.dev" },
    { "output.progress", CMD_KEY_WORD, AT(output.progress), .preset = "auto", .word = progresses,
      .help = "a line every half second; auto: where stderr is no terminal, one per 10 % of the steps" },
};
const size_t config_table_count = sizeof config_table / sizeof config_table[0];

_Static_assert(sizeof(kind_id) == sizeof(unsigned) && sizeof(dtype) == sizeof(unsigned) &&
                   sizeof(config_progress) == sizeof(unsigned),
               "choices are stored as int");

const cmd_key *config_table_find(const char *key)
{
    for (size_t i = 0; i < config_table_count; i++)
        if (strcmp(config_table[i].key, key) == 0) return &config_table[i];
    return NULL;
}

const char *config_feed_name(config_feed f) { return feeds[f]; }
const char *config_initial_name(config_initial i) { return i == CONFIG_INITIAL_FILE ? "file" : initials[i]; }

void config_print_keys(void *file) { cmd_key_print(file, config_table, (int)config_table_count, 18); }

/* ---- reading ---- */

static bool read_side(const char *text, boundary_side *to)
{
    char word[16];
    const size_t length = strcspn(text, " \t");
    const char *const number = text + length + strspn(text + length, " \t");
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    const int side = cmd_key_word(config_sides, word);
    to->kind = (boundary_kind)(BOUNDARY_PERIODIC + side);
    to->value = 0.0;
    if (side >= 0 && to->kind == BOUNDARY_DIRICHLET) return cmd_key_number(number, &to->value);
    return side >= 0 && !*number;
}

/* Refuses what a deck cannot hold. */
static bool read_path(const char *text, char *to, size_t to_bytes, sentence *why)
{
    memset(to, 0, to_bytes);
    const char *const dollar = strchr(text, '$');
    if (*text == '~' || (dollar && (isalpha((unsigned char)dollar[1]) || dollar[1] == '{')))
        return sentence_refuse(why, "no shell expands ~ and $NAME in a deck; allowed is a path without them");
    for (const char *at = text; *at; at++) {
        const bool behind_blank = at > text && at[-1] == ' ',
                   comment = (*at == ';' && (at == text || behind_blank)) || (*at == '#' && behind_blank);
        if ((unsigned char)*at < ' ' || comment)
            return sentence_refuse(
                why,
                "a path with a control character, \" ;\", \" #\" or a ; in front cannot stand in a deck");
    }
    if (strlen(text) >= to_bytes) return sentence_refuse(why, "allowed are %zu bytes", to_bytes - 1);
    memcpy(to, text, strlen(text));
    return *text != '\0';
}

static bool read_initial(config *c, const char *text, sentence *why)
{
    char file[sizeof c->problem.file + 1]; /* a longer one is refused */
    const char *dataset = NULL;
    const int choice = cmd_key_word(initials, text);
    memset(c->problem.file, 0, sizeof c->problem.file);
    memset(c->problem.dataset, 0, sizeof c->problem.dataset);
    c->problem.initial = choice < 0 ? CONFIG_INITIAL_FILE : (config_initial)choice;
    if (choice >= 0) return true;
    if (!strchr(text, '/') && !strstr(text, ".h5") && !strstr(text, ".hdf5")) return false;
    for (const char *p = strstr(text, ":/"); p; p = strstr(p + 1, ":/")) dataset = p + 1;
    snprintf(file, sizeof file, "%.*s", (int)(dataset ? (size_t)(dataset - 1 - text) : strlen(text)), text);
    if (!dataset) dataset = "/fields/u";
    return read_path(file, c->problem.file, sizeof c->problem.file, why) &&
           read_path(dataset, c->problem.dataset, sizeof c->problem.dataset, why) && dataset[1] != '\0';
}

/* Rows of the same length, separated by bars, as many as numbers in a row, or a single row. config.c, which
 * knows whether the grid is 1D, checks the number. False, and why empty: there are too many. */
static bool read_weights(config *c, const char *text, sentence *why)
{
    static char copy[64 * STENCIL_WEIGHTS_MAX];
    char *rows_left = copy, *words_left;
    int count = 0, rows = 0, first_row = 0;
    memset(c->problem.weights, 0, sizeof c->problem.weights);
    c->problem.weights_count = 0;
    if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy) return false;
    for (char *row; (row = strsep(&rows_left, "|"));) {
        int in_row = 0;
        for (char *word = strtok_r(row, " \t", &words_left); word;
             word = strtok_r(NULL, " \t", &words_left)) {
            if (count == STENCIL_WEIGHTS_MAX) return false;
            if (!cmd_key_number(word, &c->problem.weights[count]))
                return sentence_refuse(why, "\"%.63s\" is not a finite number", word);
            count++;
            in_row++;
        }
        if (rows++ == 0) first_row = in_row;
        if (in_row != first_row || in_row == 0)
            return sentence_refuse(why, "row %d has %d numbers, the first has %d", rows, in_row, first_row);
    }
    c->problem.weights_count = count;
    return rows == 1 || rows == first_row ||
           sentence_refuse(why, "%d rows of %d numbers; as many rows as numbers in a row are allowed", rows,
                           first_row);
}

bool config_table_read(config *c, const cmd_key *row, const char *text, sentence *why)
{
    void *const to = (char *)c + row->at;
    why->text[0] = '\0';
    switch (row->kind) {
    case CONFIG_PATH:
        if (!read_path(text, to, sizeof c->output.record, why)) return false;
        if (strcmp(text, "none") == 0 && strstr(row->allowed, "none")) memset(to, 0, sizeof c->output.record);
        return true;
    case CONFIG_SIDE: return read_side(text, to);
    case CONFIG_SIDES:
        return read_side(text, &c->grid.sides.x_low) && read_side(text, &c->grid.sides.x_high) &&
               read_side(text, &c->grid.sides.y_low) && read_side(text, &c->grid.sides.y_high);
    case CONFIG_INITIAL: return read_initial(c, text, why);
    case CONFIG_WEIGHTS: return read_weights(c, text, why);
    default: return cmd_key_read(row, c, text, why);
    }
}
