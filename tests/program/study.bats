# jobs/study and what it reads: any text is safe in names and values, site.ini tells who launches and what Slurm is asked for, and a
# study that is stopped waits for its run. What its runs and its table are is in jobs.bats, under Slurm's own daemons in slurm.bats.
load ../support/helper

export WEFT=$weft WEFT_MPIRUN_FLAGS=$LAUNCH_FLAGS
study=$top/jobs/study

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    mkdir bin
    PATH=$PWD/bin:$(dirname "$(command -v "$MPIRUN")"):$PATH
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=40 grid.ny=30 time.steps=20
}

stand_in() { # name; its script on stdin
    { echo '#!/bin/bash' && cat; } >"bin/$1"
    chmod +x "bin/$1"
}

# sbatch that writes its words to the file asked, one a line, and runs the elements of an array at once
sbatch_stands_in() {
    stand_in sbatch <<'END'
printf '%s\n' "$@" >>asked
last=0
while [[ $1 == -* ]]; do
    case $1 in --array=0-*) last=${1#*-*-*-} ;; esac
    shift
done
for ((i = 0; i <= last; i++)); do SLURM_ARRAY_TASK_ID=$i bash "$@" >>elements 2>&1 || echo "status $?" >>elements; done
echo 7
END
}

site() { PYTHONPATH=$top/jobs WEFT_SITE=$1 python3 -m weftlab.site "${@:2}"; } # file arguments

@test "the study and the site's file need Python 3.6 and no package of others" {
    python3 - "$top"/jobs/weftlab/{study*,site,records,text}.py <<'END'
import ast, sys
for file in sys.argv[1:]:
    ast.parse(open(file).read(), file, feature_version=(3, 6))
END
    python3 -E -s -S "$study" deck=d.ini ranks=2 --list >said # no folder of packages is looked in
    expect "what would be run" "2 ranks: weft run d.ini checkpoint.every=0 output.picture=none output.final=none run.threads=1" \
        "$(tail -n 1 said)"
}

@test "spaces, quotes and other people's characters in names and values are taken as they stand, here and by Slurm" {
    local odd=$'it\'s "a" $(touch PWNED) \xc3\xa4\xff'
    mv d.ini "$odd.ini"
    timeout $hang_s "$study" deck="$odd.ini" ranks=1 repeats=1 out="$odd.jsonl" 3>&- >said
    grep -q '^1/1  1 rank: median' said || { cat said; return 1; }
    "$study" deck="$odd.ini" ranks=1 repeats=1 out="$odd.jsonl" --table | grep '1 of 1 are in it'
    sbatch_stands_in
    timeout $hang_s "$study" deck="$odd.ini" ranks=1 repeats=3 out="$odd.jsonl" sbatch="--comment='two words'" --submit 3>&- >said
    grep -qx -- '--comment=two words' asked
    expect records 3 "$("$top/jobs/records" run "$odd.jsonl" | wc -l)" || { cat elements; return 1; }
    expect "what was run" "" "$(find . -name 'PWNED*')"
}

@test "site.ini tells how ranks are launched" {
    local name
    stand_in srun <<<'echo "pmix_v4"'
    stand_in mpirun <<<'echo "mpirun (Open MPI) 4.1.4"'
    launched() { # launcher: the words in front of the program, in a job of 6 ranks with 4 threads each
        printf '[site]\nlauncher = %s\n' "$1" >s.ini
        SLURM_JOB_ID=7 SLURM_NTASKS=6 SLURM_CPUS_PER_TASK=4 site s.ini --launch
    }
    local rest='--gpu-bind=none --kill-on-bad-exit=1 --cpus-per-task=4)'
    expect pmix "launch=(srun --mpi=pmix $rest" "$(launched pmix)"
    expect pmi2 "launch=(srun --mpi=pmi2 $rest" "$(launched pmi2)"
    expect cray "launch=(srun $rest" "$(launched cray)"
    expect auto "launch=(srun --mpi=pmix $rest" "$(launched auto)"
    expect "Open MPI" "launch=(mpirun -n 6 --map-by slot:PE=4 --bind-to core)" "$(launched mpirun)"
    stand_in mpirun <<<'echo "HYDRA build details"'
    stand_in srun <<<'echo "none pmi2"'
    expect "Hydra, since srun has no pmix" "launch=(mpirun -n 6 -bind-to core:4)" "$(launched auto)"
    stand_in mpirun <<<'echo "another MPI"'
    expect "another MPI" "launch=(mpirun -n 6)" "$(launched mpirun)"
    expect "the environment's" "launch=(srun --mpi=pmi2 $rest" "$(WEFT_LAUNCHER=pmi2 launched pmix)"
    expect "the site's srun" "launch=(srun $rest" "$(WEFT_LAUNCHER=srun launched cray)"
    # a study launches by the same words
    printf '[site]\nlauncher = pmi2\n' >s.ini
    stand_in srun <<<'echo "$@" >launched; while [[ $1 == -* ]]; do [ "$1" != -n ] || shift; shift; done; exec "$@"'
    timeout $hang_s "$study" deck=d.ini ranks=1 repeats=1 site=s.ini 3>&- >said
    expect "a study's srun" "--mpi=pmi2 --gpu-bind=none --kill-on-bad-exit=1 -n 1 $weft" "$(cut -d ' ' -f 1-6 launched)"
    for name in "launcher = ssh" "queue = long" "exclusive = maybe" "partition gpu"; do
        printf '[site]\n%s\n' "$name" >s.ini
        run "$study" deck=d.ini site=s.ini --list
        expect "status of $name" 2 "$status"
        expect "sentences of $name" 1 "$(grep -c '^study: .*s\.ini' <<<"$output")" || { echo "$output"; return 1; }
    done
    [[ $("$study" deck=d.ini site=nowhere.ini --list 2>&1) == "study: site = nowhere.ini: no such file" ]]
}

@test "site.ini tells what Slurm is asked for and what a job loads; a module line that fails ends the job" {
    cat >"my site.ini" <<'END'
[site]
account = physics
partition = gpu
exclusive = yes
mem = 0
gres = gpu:h100
modules =
    export LOADED="one; two"
    touch loaded
END
    sbatch_stands_in
    timeout $hang_s "$study" deck=d.ini ranks=3 ranks_per_node=2 repeats=1 run.device=cuda out=g.jsonl sbatch=--partition=test \
        site="my site.ini" launcher=mpirun --submit 3>&- >said
    expect "what sbatch was asked" "--parsable --account=physics --partition=gpu --mem=0 --exclusive --nodes=2 --ntasks-per-node=2 \
--gres=gpu:h100:2 --partition=test --array=0-0 $top/jobs/study.sbatch $study $PWD/g.plan.3 $PWD/my site.ini" "$(xargs <asked)"
    [ -e loaded ]
    sed -i 's/^gres.*/gres = gpu:4/; s/touch loaded/module_that_is_not_there/' "my site.ini"
    timeout $hang_s "$study" deck=d.ini ranks=2 repeats=1 run.device=cuda out=h.jsonl site="my site.ini" --submit 3>&- >said
    grep -qx -- '--gres=gpu:4' asked
    grep -q "^site.ini: 'module_that_is_not_there' failed" elements
    expect "status of the element" "status 3" "$(tail -n 1 elements)"
    # outside of a job weft.sbatch is its own sbatch
    rm asked
    stand_in sbatch <<<'printf "%s\n" "$@" >asked'
    WEFT_SITE="my site.ini" bash "$top/jobs/weft.sbatch" --nodes=2 "d d.ini" time.steps=9
    expect "what sbatch was asked" "--account=physics --partition=gpu --mem=0 --exclusive $top/jobs/weft.sbatch --nodes=2 d d.ini \
time.steps=9" "$(xargs <asked)"
}

@test "a second submission leaves the points of arrays that wait as they are" {
    stand_in sbatch <<<'printf "%s\n" "$@" >>asked; echo 7'
    "$study" deck=d.ini ranks=2 repeats=1 run.lanes=1,2,3 out=s.jsonl --submit >said
    cp s.plan.2 before
    "$study" deck=d.ini ranks=2 repeats=2 run.lanes=1,2 out=s.jsonl --submit >>said
    cmp s.plan.2 before
    expect "points of the second" "2 2" "$(jq .runs s.plan.2.2 | xargs)"
    expect "plans" "$PWD/s.plan.2 $PWD/s.plan.2.2" "$(grep plan asked | xargs)"
}

@test "jobs/site.ini as it stands changes nothing, and each of its lines is sound once its # is gone" {
    expect options "options=()" "$(site "$top/jobs/site.ini" --sbatch)"
    expect modules "" "$(site "$top/jobs/site.ini" --modules)"
    sed 's/^# \(\( \{4\}\)\{0,1\}[a-z ]*\(=.*\|module .*\)\)$/\1/' "$top/jobs/site.ini" >all.ini
    expect options "options=(--account=physics --partition=gpu --mem=0 --exclusive)" "$(site all.ini --sbatch)"
    expect "module lines" "module purge; module load gcc cuda openmpi hdf5;" "$(site all.ini --modules | sed 's/ ||.*/;/' | xargs)"
}

@test "a study that is interrupted waits for its run, and leaves with 130" {
    stand_in mpirun <<'END'
[ "$1" != --version ] || exit 0
trap 'sleep 1; echo ended >ended; exit 1' INT
echo $$ >begun
while :; do sleep 0.05; done
END
    # a shell's background command ignores INT, and so would Python
    python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.setsid(); os.execv(sys.argv[1], sys.argv[1:])' \
        "$study" deck=d.ini ranks=1 launcher=mpirun >said 2>&1 3>&- &
    mpirun=$!
    wait_for test -s begun
    kill -INT -- -$mpirun
    ends
    expect status 130 "$status"
    expect "the run" ended "$(<ended)"
    ! grep -q Traceback said || { cat said; return 1; }
}

@test "--plot draws the records, and tells the efficiency that the table has" {
    timeout $hang_s "$study" deck=d.ini ranks="1 2" repeats=3 out=s.jsonl 3>&- >said
    # three unlike runs on each number of ranks: medians 3 and 2, the fastest 2 and 1.9
    jq -c -s 'sort_by(.ranks) | to_entries[] | .key as $i | .value | .step_s.p50 = [2, 3, 7, 1.9, 2, 4][$i] * 1e-6' s.jsonl >made.jsonl
    "$study" deck=d.ini ranks="1 2" repeats=3 out=made.jsonl --table --plot >said || { cat said; return 1; }
    expect "of the table" 0.750 "$(awk '$1 == 2 && $2 == 3 { print $9 }' said)"
    grep -q '^made.png and made.svg: strong scaling, efficiency 0.75 on 2 ranks' said || { cat said; return 1; }
}
