/* weft verify, weft diff: state files on their own, without a deck. Rows of the fields are spread over the
 * ranks, and no field is ever in memory as a whole. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cmd.h"
#include "ranks/check.h"
#include "ranks/printable.h"
#include "ranks/ranks.h"
#include "state/state_folder.h"

static void say_whole(const char *path, const state_info *s)
{
    const state_field *f = &s->field[s->main_field];
    printf("%s: whole, %s, %s, %" PRId64 " x %" PRId64 ", step %" PRId64 ", fingerprint %016" PRIx64
           ", %d part%s, %" PRId64 " block%s\n",
           printable_text(path), printable_text(s->kind), dtype_name(s->type), s->field[0].nx,
           s->field[0].ny, s->step, f->fingerprint, s->parts, s->parts == 1 ? "" : "s", s->blocks,
           s->blocks == 1 ? "" : "s");
}

/* The file with that name as rank 0 sees it; all 0: there is none. Collective. */
static struct stat look_at(int rank, const char *path)
{
    struct stat info = { .st_mode = 0 };
    if (rank == 0) (void)stat(path, &info);
    MPI_CHECK(ranks_bcast(&info, sizeof info, MPI_BYTE, 0, ranks_world()));
    return info;
}

/* A link that leads nowhere is still a name. Collective. */
static bool is_gone(int rank, const char *path)
{
    struct stat info;
    return agree_any(rank == 0 && lstat(path, &info) != 0 && errno == ENOENT, ranks_world());
}

/* listed: the file is one of a folder, in which a run may delete it meanwhile. What a run has replaced
 * meanwhile is looked at anew. */
static int verify_file(int rank, const char *path, bool listed)
{
    sentence why;
    state_info s;
    state_report r = { .damaged = 0 };
    int code = 0;
    const ino_t file = look_at(rank, path).st_ino;
    state_status status = state_open(ranks_world(), path, &s, &why);
    if (status == STATE_OK) status = state_verify(ranks_world(), &s, &r, &why);
    if (status != STATE_OK && look_at(rank, path).st_ino != file && !is_gone(rank, path)) {
        state_close(&s);
        return verify_file(rank, path, listed);
    }
    if (status == STATE_OK && rank == 0) say_whole(path, &s);
    else if (status != STATE_OK && listed && is_gone(rank, path)) {
        if (rank == 0) printf("%s: was deleted meanwhile\n", printable_text(path));
    } else if (r.damaged) {
        if (r.damaged > 1) sentence_add(&r.first, "; and %" PRId64 " more", r.damaged - 1);
        code = cmd_say(CHECK_EXIT_ENVIRONMENT, "%s is damaged: %s", path, r.first.text);
    } else if (status != STATE_OK) code = cmd_say(state_exit(status), "%s", why.text);
    state_close(&s);
    return code;
}

/* The steps of a folder's checkpoints, the caller's to free; else a sentence and its exit status. */
static int list_folder(const char *dir, int64_t **steps, size_t *count)
{
    const state_status status = state_list(ranks_world(), dir, steps, count);
    if (status == STATE_OK) return 0;
    return cmd_say(state_exit(status),
                   status == STATE_MISSING ? "%s holds no checkpoints" : "%s: the directory cannot be read",
                   dir);
}

/* Every checkpoint of a folder, from the first on (a list has the newest first). */
static int verify_folder(int rank, const char *dir)
{
    int64_t *steps = NULL;
    size_t count = 0;
    int worst = list_folder(dir, &steps, &count);
    for (size_t i = count; i-- > 0;) {
        char path[4224];
        state_path(path, sizeof path, dir, steps[i]);
        const int code = verify_file(rank, path, true);
        if (code > worst) worst = code;
    }
    free(steps);
    return worst;
}

int cmd_verify(int argc, char **argv)
{
    const int rank = cmd_begin(CMD_ALONE, NULL, argc, argv);
    if (argc < 2) return cmd_end(cmd_say(CHECK_EXIT_USAGE, "verify needs a state file or a folder of them"));
    int worst = 0;
    for (int i = 1; i < argc; i++) {
        const int code = S_ISDIR(look_at(rank, argv[i]).st_mode) ? verify_folder(rank, argv[i])
                                                         : verify_file(rank, argv[i], false);
        if (code > worst) worst = code;
    }
    return cmd_end(worst);
}

/* ---- diff ---- */

/* A NaN, where one of the two is one and the other is not, is the largest difference. */
static double number_of(state_place p)
{
    double d;
    memcpy(&d, &p.size, sizeof d);
    return d;
}

static void print_difference(const char *field, const state_difference *d)
{
    if (d->cells == 0) printf("%s: same bits\n", field);
    else
        printf("%s: %" PRId64 " cells differ, by at most %.3e at (x %" PRId64 ", y %" PRId64
               "); relative %.3e at (x %" PRId64 ", y %" PRId64 ")\n",
               field, d->cells, number_of(d->abs), d->abs.x, d->abs.y, number_of(d->rel), d->rel.x, d->rel.y);
}

static int diff_states(int rank, const state_info s[2])
{
    sentence why;
    state_difference diff[STATE_FIELDS_MAX];
    int code = 0;
    if (!state_is_alike(&s[0], &s[1]))
        return cmd_say(CHECK_EXIT_FAILED,
                       "%s (%s, %s, %" PRId64 " x %" PRId64 ") and %s (%s, %s, %" PRId64 " x %" PRId64
                       ") differ in kind, type or grid",
                       s[0].path, s[0].kind, dtype_name(s[0].type), s[0].field[0].nx, s[0].field[0].ny,
                       s[1].path, s[1].kind, dtype_name(s[1].type), s[1].field[0].nx, s[1].field[0].ny);
    const state_status status = state_diff(ranks_world(), &s[0], &s[1], diff, &why);
    if (status != STATE_OK) return cmd_say(state_exit(status), "%s", why.text);
    if (rank == 0 && s[0].step != s[1].step)
        printf("step: %" PRId64 " and %" PRId64 "\n", s[0].step, s[1].step);
    for (int i = 0; i < s[0].fields; i++) {
        if (diff[i].cells > 0) code = CHECK_EXIT_FAILED;
        if (rank == 0) print_difference(s[0].field[i].name, &diff[i]);
    }
    return code;
}

static int diff_files(int rank, const char *const path[2])
{
    sentence why;
    state_info s[2];
    memset(s, 0, sizeof s);
    state_status status = state_open(ranks_world(), path[0], &s[0], &why);
    if (status == STATE_OK) status = state_open(ranks_world(), path[1], &s[1], &why);
    const int code = status == STATE_OK ? diff_states(rank, s) : cmd_say(state_exit(status), "%s", why.text);
    for (int side = 0; side < 2; side++) state_close(&s[side]);
    return code;
}

/* Two runs, step by step from the first on (a list has the newest first), also behind one that cannot be
 * read; a step that only one folder has is a difference. */
static int diff_folders(int rank, const char *const dir[2])
{
    int64_t *steps[2] = { NULL, NULL };
    size_t left[2] = { 0, 0 };
    int worst = 0;
    for (int side = 0; side < 2 && worst == 0; side++)
        worst = list_folder(dir[side], &steps[side], &left[side]);
    if (worst != 0) left[0] = left[1] = 0;
    while (left[0] + left[1] > 0) {
        const int64_t a = left[0] > 0 ? steps[0][left[0] - 1] : INT64_MAX,
                      b = left[1] > 0 ? steps[1][left[1] - 1] : INT64_MAX;
        int code = CHECK_EXIT_FAILED;
        if (a == b) {
            char path[2][4224];
            for (int side = 0; side < 2; side++) state_path(path[side], sizeof path[side], dir[side], a);
            if (rank == 0) printf("step %" PRId64 "\n", a);
            code = diff_files(rank, (const char *const[]){ path[0], path[1] });
        } else if (rank == 0) {
            printf("step %" PRId64 ": only in %s\n", a < b ? a : b, printable_text(dir[b < a]));
        }
        if (code > worst) worst = code;
        left[0] -= a <= b;
        left[1] -= b <= a;
    }
    for (int side = 0; side < 2; side++) free(steps[side]);
    return worst;
}

int cmd_diff(int argc, char **argv)
{
    const int rank = cmd_begin(CMD_ALONE, NULL, argc, argv);
    if (argc != 3)
        return cmd_end(cmd_say(CHECK_EXIT_USAGE, "diff needs two state files, or two folders of them"));
    const char *const path[2] = { argv[1], argv[2] };
    const bool first = S_ISDIR(look_at(rank, path[0]).st_mode),
               second = S_ISDIR(look_at(rank, path[1]).st_mode);
    return cmd_end(first && second ? diff_folders(rank, path) : diff_files(rank, path));
}
