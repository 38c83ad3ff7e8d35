# Checkpoints of ranks on several hosts. The sanitizers' build takes the ranks of this machine for
# WEFT_PRETEND_HOSTS hosts and its file system for WEFT_PRETEND_FS: who writes, who reads back what, and that
# the file's bytes depend on neither.
load ../support/helper

heat=(problem.kind=wave problem.alpha=0.2 grid.nx=1003 grid.ny=700 time.steps=3 checkpoint.every=3) # two fields of 5.6 MB, rows of 8024 bytes

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    weft=$weft_sanitize
    deck d.ini "${heat[@]}"
}

rule() { record '.checkpoint | "\(.rule) \(.file_system) \(.aggregators)"'; }

file=checkpoints/step_0000000003.h5

@test "any rule, number of hosts and of writers: the same bytes" {
    local ranks fs hosts n expected
    while read -r ranks fs hosts n expected; do
        if [ ! -e alone$n.h5 ]; then # the deck is in the file
            weft_run 1 d.ini checkpoint.aggregators=$n
            mv $file alone$n.h5
        fi
        WEFT_PRETEND_FS=$fs WEFT_PRETEND_HOSTS=$hosts weft_run $ranks d.ini checkpoint.aggregators=$n
        expect "$ranks ranks on $hosts hosts, $fs, aggregators = $n" "$expected" "$(rule)"
        cmp alone$n.h5 $file
    done <<'END'
4 nfs 2 0 one_host nfs 2
4 nfs 4 0 one_host nfs 1
4 lustre 2 0 aligned lustre 4
4 lustre 1 0 own_cells lustre 0
4 nfs 2 4 locked nfs 4
4 lustre 4 4 aligned lustre 4
3 beegfs 3 4 locked beegfs 3
END
}

@test "output.final, and the foreground: by the same rule" {
    weft_run 1 d.ini checkpoint.async=false output.final=final.h5
    mkdir one
    mv final.h5 $file one
    WEFT_PRETEND_FS=nfs WEFT_PRETEND_HOSTS=2 weft_run 4 d.ini checkpoint.async=false output.final=final.h5
    expect rule "one_host nfs 2" "$(rule)"
    cmp one/final.h5 final.h5
    cmp one/step_0000000003.h5 $file
}

@test "another host than the one that wrote finds what differs; all is written once more, or given up" {
    local fs reader
    export WEFT_PRETEND_HOSTS=2
    WEFT_PRETEND_FS=nfs WEFT_FAULT=checkpoint_flip:1 weft_run 4 d.ini
    "$weft_release" verify checkpoints/*.h5
    rm -rf checkpoints
    while read -r fs reader; do
        WEFT_PRETEND_FS=$fs WEFT_FAULT=checkpoint_flip_always:1 run weft_run 4 d.ini
        refused 3 step_0000000003.h5 "$reader read back values of /fields/u that differ from those it was given"
        expect "files" "" "$(cd checkpoints && ls -A)"
    done <<'END'
nfs rank 3
lustre
END
}

@test "the structure is looked at by another host" {
    WEFT_PRETEND_FS=nfs WEFT_PRETEND_HOSTS=2 WEFT_FAULT=checkpoint_structure:0 run weft_run 4 d.ini
    refused 3 step_0000000003.h5 "rank 2 read back a structure that differs from what rank 0 wrote"
    expect "files" "" "$(cd checkpoints && ls -A)"
}

@test "borders between writers are read back whatever checkpoint.verify says" {
    # the last cell of rank 1's share ends at a border
    WEFT_PRETEND_FS=lustre WEFT_PRETEND_HOSTS=2 WEFT_FAULT=checkpoint_flip_always:1 run weft_run 4 d.ini checkpoint.verify=off
    refused 3 step_0000000003.h5 "read back values of /fields/u that differ from those it was given"
}

@test "the table and --dry-run say where one host writes for all, and nothing of it elsewhere" {
    local said="2 ranks of one host, for all hosts: nfs does not keep"
    export WEFT_PRETEND_HOSTS=2
    WEFT_PRETEND_FS=nfs run weft_run 4 d.ini
    [[ $output == *"written by $said"* ]] || { echo "$output"; return 1; }
    WEFT_PRETEND_FS=nfs run weft_run 4 d.ini --dry-run
    [[ $output == *"# writers      $said"* ]] || { echo "$output"; return 1; }
    WEFT_PRETEND_FS=lustre run weft_run 4 d.ini --dry-run
    expect status 0 "$status"
    [[ $output != *"# writers "* ]] || { echo "$output"; return 1; }
}
