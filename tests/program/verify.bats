# weft verify names the part, the block and the global rows that are damaged, whatever the ranks that wrote
# and read; weft diff says where two states differ. Damage of every byte and kind: test_state_damage_is_found.
load ../support/helper

# 8192 bytes a row: 512 rows a block of 4 MiB.
plate() {
    deck d.ini problem.kind=wave problem.alpha=0.2 grid.{nx=1024,ny=1400} time.steps=2 output.final=good.h5 \
        "$@"
}

@test "damage is one sentence of verify, restart and diff: the part, the block and its rows, of 1D columns" {
    plate checkpoint.writers=3
    weft_run 3 d.ini
    local parts damage k
    parts=$(echo good.????????)
    mkdir elsewhere links
    cp -r good.* elsewhere
    ln -s ../elsewhere/good.h5 links/latest.h5
    "$weft" verify links/latest.h5 | grep '^links/latest.h5: whole'
    flip_a_bit $parts/1.h5 /u 8192
    damage="good.h5 is damaged: part 1 ($parts/1.h5), block 0, rows 466 .. 932 of /fields/u:"
    refuses 3 launch 2 "$weft" verify good.h5 -- "$damage"
    refuses 3 "$weft" diff good.h5 elsewhere/good.h5 -- "$damage"
    refuses 3 weft_run 2 d.ini --restart good.h5 output.final=other.h5 -- "good.h5" "part 1"
    plate checkpoint.every=2
    weft_alone d.ini
    for k in 1 2; do flip_a_bit good.h5 /fields/u $((4194304 * k)); done
    refuses 3 "$weft" verify good.h5 -- "block 1, rows 512 .. 1023 of /fields/u" "; and 1 more"
    cp "$(checkpoint 2)" "$(checkpoint 7)"
    refuses 3 "$weft" verify checkpoints -- \
        "$(checkpoint 7) is damaged: it holds step 2 under the name of step 7"
    deck line.ini problem.kind=heat problem.alpha=0.2 grid.nx=1200000 time.steps=2 output.final=line.h5
    weft_alone line.ini
    flip_a_bit line.h5 /fields/u $((8 * 1199999))
    refuses 3 "$weft" verify line.h5 -- \
        "line.h5 is damaged: block 2, columns 1048576 .. 1199999 of /fields/u:"
}

@test "several files, and folders with a line for each checkpoint: the worst decides" {
    plate checkpoint.every=1 checkpoint.keep=0 checkpoint.dir=kept
    weft_alone d.ini
    launch 2 "$weft" verify kept | sed 's/: whole.*//' >seen
    expect "checkpoints" "$(checkpoint 1 kept) $(checkpoint 2 kept)" "$(echo $(<seen))"
    cp good.h5 bad.h5
    flip_a_bit bad.h5 /fields/u 12345
    echo "not HDF5" >text.h5
    mkdir empty
    run -3 "$weft" verify good.h5 bad.h5 text.h5 good.h5
    [[ $output == *"bad.h5 is damaged"*"text.h5"*"good.h5: whole"* ]]
    refuses 2 "$weft" verify empty -- "empty holds no checkpoints"
    run -2 "$weft" verify good.h5 nowhere.h5
    run -3 "$weft" verify bad.h5 nowhere.h5
    flip_a_bit "$(checkpoint 1 kept)" /fields/u 12345
    refuses 3 "$weft" verify kept -- "$(checkpoint 1 kept) is damaged: block 0, rows 0 .. 511 of /fields/u"
    [[ $output == *"$(checkpoint 2 kept): whole"* ]]
}

# ---- weft diff ----

differ() { # text, command...: the files differ, and the text says where
    run "${@:2}"
    [[ $status = 1 && $output == *"$1"* ]] || { echo "status $status, no '$1' in: $output"; return 1; }
}

@test "weft diff: equal and damaged states, the first of two fields, a zero's sign, the last bit of f32" {
    deck ab.ini problem.kind=transpose problem.initial=random grid.nx=8 grid.ny=6 time.steps=0
    for seed in 1 2; do weft_alone ab.ini problem.seed=$seed output.final=$seed.h5; done
    run "$weft" diff 1.h5 2.h5
    expect "of two fields the first differs" "1 same" \
        "$status $(sed -n 's/^b: \(same\) bits$/\1/p' <<<"$output")"
    cp 1.h5 same.h5
    "$weft" diff 1.h5 same.h5
    flip_a_bit same.h5 /fields/a 9
    refuses 3 "$weft" diff same.h5 1.h5 -- same.h5 /fields/a
    refuses 2 "$weft" diff 1.h5 -- "diff needs two state files"
    deck d.ini problem.kind=custom problem.initial=zero "problem.weights=0 0 1" grid.nx=5 time.steps=1 \
        "grid.x_low=dirichlet 0"
    ends_with() { weft_alone d.ini "grid.x_high=dirichlet $1" "output.final=v$1.h5" "${@:2}"; }
    for v in 0 -0; do ends_with $v "problem.weights=-1 -1 1"; done
    launch 7 "$weft" verify v0.h5 v-0.h5 # more ranks than rows
    differ "u: 1 cells differ, by at most 0.000e+00 at (x 4, y 0)" launch 3 "$weft" diff v0.h5 v-0.h5
    for v in 1 1.00000011920929; do ends_with $v problem.dtype=f32; done
    differ "u: 1 cells differ, by at most 1.192e-07 at (x 4, y 0)" "$weft" diff v1.h5 v1.00000011920929.h5
    refuses 1 "$weft" diff v1.h5 v0.h5 -- \
        "v1.h5 (custom, f32, 5 x 1)" "v0.h5 (custom, f64, 5 x 1) differ in kind, type or grid"
}

@test "weft diff: the largest absolute and relative difference, where they are; whole runs by their steps" {
    deck d.ini problem.kind=custom "problem.weights=0 1 0" grid.nx=4 grid.ny=1 time.steps=2 \
        checkpoint.every=1 \
        checkpoint.keep=0
    printf '1.5 2 1000 0\n' >a.txt
    printf '1.96875 2.75 1001 0\n' >b.txt
    printf '%s\n' 'PATH /fields/u' 'INPUT-CLASS TEXTFP' 'RANK 1' 'DIMENSION-SIZES 4' 'OUTPUT-CLASS FP' \
        'OUTPUT-SIZE 64' \
        >conf
    local name
    for name in a b; do
        h5import $name.txt -c conf -o start_$name.h5
        weft_alone d.ini problem.initial=start_$name.h5 checkpoint.dir=$name --quiet
    done
    differ "u: 3 cells differ, by at most 1.000e+00 at (x 2, y 0); relative 2.727e-01 at (x 1, y 0)" \
        launch 3 "$weft" diff "$(checkpoint 2 a)" "$(checkpoint 2 b)"
    run -1 "$weft" diff a b
    expect "steps of two runs" 2 "$(grep -c '^step' <<<"$output")"
    cp -r a same
    rm same/step_0000000001.h5 b/step_0000000002.h5
    run "$weft" diff a same
    expect "a run that lacks a step" "1 step 1: only in a step 2 u: same bits" "$status $(echo $output)"
    run "$weft" diff b same
    expect "runs without a common step" "1 step 1: only in b step 2: only in same" "$status $(echo $output)"
    cp -r same other
    head -c 99 same/step_0000000002.h5 >other/step_0000000001.h5
    cp other/step_0000000001.h5 same
    run -3 "$weft" diff same other
    [[ $(tail -n 2 <<<"$output" | xargs) == "step 2 u: same bits" ]] || { echo "$output"; return 1; }
    mkdir empty
    refuses 2 "$weft" diff a empty -- empty
}

@test "no damage: a state deleted or replaced meanwhile, an error of the disk, no fsync of folders" {
    cc -w -shared -fPIC -o unlucky.so -x c - <<'END'
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
int open(const char *path, int how, int mode)
{
    if (getenv("GOES") && strstr(path, getenv("GOES"))) unlink(path), rename("new.h5", "parts.h5");
    return (int)syscall(SYS_openat, -100, path, how, mode);
}
ssize_t pread(int fd, void *data, size_t bytes, off_t at)
{
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    (void)!readlink(link, path, sizeof path - 1);
    if (!getenv("FAILS") || !strstr(path, getenv("FAILS")) || bytes < strtoul(getenv("LEAST"), NULL, 10))
        return syscall(SYS_pread64, fd, data, bytes, at);
    errno = EIO;
    return -1;
}
int fsync(int fd)
{
    struct stat info;
    if (!getenv("SYNC") || fstat(fd, &info) != 0 || !S_ISDIR(info.st_mode)) return syscall(SYS_fsync, fd);
    errno = atoi(getenv("SYNC"));
    return -1;
}
END
    plate checkpoint.every=1 checkpoint.keep=0
    weft_alone d.ini --quiet
    h5copy -i good.h5 -s /fields/u -o plain.h5 -d /u
    weft_run 2 d.ini --quiet output.final=parts.h5 checkpoint.writers=2
    export LD_PRELOAD=$PWD/unlucky.so
    run -0 env GOES=step_0000000001.h5 "$weft" verify checkpoints
    [[ $output == *"step_0000000001.h5: was deleted meanwhile"*"step_0000000002.h5: whole"* ]]
    weft_run 2 d.ini --quiet output.final=new.h5 checkpoint.writers=2
    run -0 env GOES="$(echo parts.*/0.h5)" "$weft" verify parts.h5
    [[ $output == "parts.h5: whole"* ]]
    for LEAST in 1000000 1; do # of the cells; of all
        export LEAST
        FAILS=plain.h5 refuses 3 "$weft" run d.ini problem.initial=plain.h5:/u output.final=other.h5 -- \
            "cannot read plain.h5: Input/output error"
    done
    HDF5_USE_FILE_LOCKING=TRUE refuses 3 flock plain.h5 "$weft" run d.ini problem.initial=plain.h5:/u -- \
        "cannot read plain.h5: Resource temporarily unavailable"
    FAILS=/1.h5 refuses 3 "$weft" verify parts.h5 -- "parts.h5: part 1 (" "cannot be read: Input/output error"
    local code outputs=(grid.nx=16 grid.ny=9 output.final=new.h5 output.picture=p.png output.trace=t.json
        output.every=1 output.record=new/r.jsonl checkpoint.dir=c/new output.series=s/new)
    for code in 22 38 95 13 1; do # EINVAL ENOSYS EOPNOTSUPP EACCES EPERM: a folder cannot be synced
        SYNC=$code "$weft" run d.ini --quiet "${outputs[@]}"
        rm -r new c s
    done
    SYNC=5 refuses 3 "$weft" run d.ini --quiet "${outputs[@]}" -- "Input/output error"
}
