/* weft verify, weft diff: state files on their own, without a deck. Rows of the fields are spread over the
 * ranks, and no field is ever in memory as a whole. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cmd.h"
#include "ranks/check.h"
#include "ranks/printable.h"
#include "ranks/ranks.h"
#include "state/checkpoint.h"
#include "state/checkpoint_directory.h"

/* One sentence per damaged block, so that each can be looked up. */
static int say_damaged(const char *path, const checkpoint_report *r)
{
    const int64_t listed = r->damaged < CHECKPOINT_DAMAGE_LISTED ? r->damaged : CHECKPOINT_DAMAGE_LISTED;
    for (int64_t i = 0; i < listed; i++) cmd_say(0, "%s is damaged: %s", path, r->damage[i].text);
    if (r->damaged > listed) cmd_say(0, "%s is damaged: %" PRId64 " more blocks", path, r->damaged - listed);
    return CHECK_EXIT_ENVIRONMENT;
}

static void say_whole(const char *path, const checkpoint_report *r)
{
    printf("%s: whole, %s, %s, %" PRId64 " x %" PRId64 ", step %" PRId64 ", fingerprint %016" PRIx64,
           printable_text(path), printable_text(r->info.kind), dtype_name(r->info.type), r->info.nx,
           r->info.ny, r->info.step, r->info.fingerprint);
    if (r->blocks) printf(", %" PRId64 " block%s", r->blocks, r->blocks == 1 ? "" : "s");
    else printf(", no block checksums");
    printf("%s\n", r->info.sealed ? "" : ", no checksum of its structure");
}

static int verify_file(int rank, const char *path)
{
    sentence why;
    checkpoint_report r;
    const checkpoint_status status = checkpoint_verify(ranks_world(), path, &r, &why);
    int code = 0;
    if (status == CHECKPOINT_OK && rank == 0) say_whole(path, &r);
    else if (r.damaged) code = say_damaged(path, &r);
    else if (status != CHECKPOINT_OK) code = cmd_say(checkpoint_exit(status), "%s", why.text);
    checkpoint_info_free(&r.info);
    return code;
}

/* The steps of a folder's checkpoints, the caller's to free; else a sentence and its exit status. */
static int list_folder(const char *dir, int64_t **steps, size_t *count)
{
    const checkpoint_status status = checkpoint_list(ranks_world(), dir, steps, count);
    if (status == CHECKPOINT_OK) return 0;
    return cmd_say(
        checkpoint_exit(status),
        status == CHECKPOINT_MISSING ? "%s holds no checkpoints" : "%s: the directory cannot be read", dir);
}

/* Every checkpoint of a folder, from the first on (a list has the newest first). */
static int verify_folder(int rank, const char *dir)
{
    int64_t *steps = NULL;
    size_t count = 0;
    int worst = list_folder(dir, &steps, &count);
    for (size_t i = count; i-- > 0;) {
        char path[4224];
        checkpoint_path(path, sizeof path, dir, steps[i]);
        const int code = verify_file(rank, path);
        if (code > worst) worst = code;
    }
    free(steps);
    return worst;
}

static bool is_folder(int rank, const char *path)
{
    struct stat info;
    int folder = rank == 0 && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    MPI_CHECK(ranks_bcast(&folder, 1, MPI_INT, 0, ranks_world()));
    return folder != 0;
}

int cmd_verify(int argc, char **argv)
{
    const int rank = cmd_begin(CMD_ALONE, NULL, argc, argv);
    sentence why;
    if (!cmd_option_all_known(cmd_option_none, argc, argv, &why))
        return cmd_end(cmd_say(CHECK_EXIT_USAGE, "%s", why.text));
    if (argc < 2) return cmd_end(cmd_say(CHECK_EXIT_USAGE, "verify needs a state file or a folder of them"));
    int worst = 0;
    for (int i = 1; i < argc; i++) {
        const int code = is_folder(rank, argv[i]) ? verify_folder(rank, argv[i]) : verify_file(rank, argv[i]);
        if (code > worst) worst = code;
    }
    return cmd_end(worst);
}

/* ---- diff ---- */

/* A NaN, where one of the two is one and the other is not, is the largest difference. */
static double number_of(checkpoint_place p)
{
    double d;
    memcpy(&d, &p.size, sizeof d);
    return d;
}

static void print_difference(const checkpoint_difference *d)
{
    if (d->cells == 0) {
        printf("%s: same bits\n", d->field);
        return;
    }
    printf("%s: %" PRId64 " cells differ", d->field, d->cells);
    printf(", by at most %.3e at (x %" PRId64 ", y %" PRId64 ")", number_of(d->abs), d->abs.x, d->abs.y);
    printf("; relative %.3e at (x %" PRId64 ", y %" PRId64 ")", number_of(d->rel), d->rel.x, d->rel.y);
    printf("; %" PRIu64 " ulp at (x %" PRId64 ", y %" PRId64 ")\n", d->ulp.size, d->ulp.x, d->ulp.y);
}

static int diff_files(int rank, const char *const path[2])
{
    sentence why;
    checkpoint_info info[2];
    checkpoint_difference diff[CHECKPOINT_FIELDS_MAX];
    int fields = 0, code = 0;
    const checkpoint_status status = checkpoint_compare(ranks_world(), path, info, diff, &fields, &why);
    if (status != CHECKPOINT_OK) {
        code = cmd_say(checkpoint_exit(status), "%s", why.text);
    } else if (fields == 0) {
        code = cmd_say(CHECK_EXIT_FAILED,
                       "%s (%s, %s, %" PRId64 " x %" PRId64 ") and %s (%s, %s, %" PRId64 " x %" PRId64
                       ") differ in kind, type or grid",
                       path[0], info[0].kind, dtype_name(info[0].type), info[0].nx, info[0].ny, path[1],
                       info[1].kind, dtype_name(info[1].type), info[1].nx, info[1].ny);
    } else if (rank == 0 && info[0].step != info[1].step) {
        printf("step: %" PRId64 " and %" PRId64 "\n", info[0].step, info[1].step);
    }
    for (int i = 0; i < fields && status == CHECKPOINT_OK; i++) {
        if (diff[i].cells > 0) code = CHECK_EXIT_FAILED;
        if (rank == 0) print_difference(&diff[i]);
    }
    for (int side = 0; side < 2; side++) checkpoint_info_free(&info[side]);
    return code;
}

static bool holds(const int64_t *steps, size_t count, int64_t step)
{
    for (size_t i = 0; i < count; i++)
        if (steps[i] == step) return true;
    return false;
}

/* Two runs: the checkpoints of each step that both folders have, from the first on (a list has the newest
 * first). */
static int diff_folders(int rank, const char *const dir[2])
{
    int64_t *steps[2] = { NULL, NULL };
    size_t count[2] = { 0, 0 };
    int worst = 0, both = 0;
    for (int side = 0; side < 2 && worst == 0; side++)
        worst = list_folder(dir[side], &steps[side], &count[side]);
    for (size_t i = count[0]; i-- > 0 && worst < CHECK_EXIT_USAGE;) {
        char path[2][4224];
        const char *const pair[2] = { path[0], path[1] };
        if (!holds(steps[1], count[1], steps[0][i])) continue;
        for (int side = 0; side < 2; side++)
            checkpoint_path(path[side], sizeof path[side], dir[side], steps[0][i]);
        if (rank == 0) printf("step %" PRId64 "\n", steps[0][i]);
        both++;
        const int code = diff_files(rank, pair);
        if (code > worst) worst = code;
    }
    if (worst < CHECK_EXIT_USAGE && both == 0)
        worst = cmd_say(CHECK_EXIT_USAGE, "%s and %s hold no checkpoint of the same step", dir[0], dir[1]);
    for (int side = 0; side < 2; side++) free(steps[side]);
    return worst;
}

int cmd_diff(int argc, char **argv)
{
    const int rank = cmd_begin(CMD_ALONE, NULL, argc, argv);
    sentence why;
    if (!cmd_option_all_known(cmd_option_none, argc, argv, &why))
        return cmd_end(cmd_say(CHECK_EXIT_USAGE, "%s", why.text));
    if (argc != 3)
        return cmd_end(cmd_say(CHECK_EXIT_USAGE, "diff needs two state files, or two folders of them"));
    const char *const path[2] = { argv[1], argv[2] };
    const bool first = is_folder(rank, path[0]), second = is_folder(rank, path[1]);
    return cmd_end(first && second ? diff_folders(rank, path) : diff_files(rank, path));
}
