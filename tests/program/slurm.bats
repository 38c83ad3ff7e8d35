# jobs/weft.sbatch and check.sbatch under Slurm's own daemons: two "nodes" on this machine, everything of
# theirs in the test's folder. A job over two nodes ends with an exact verdict; one that is told to stop
# leaves a checkpoint, is requeued, and goes on.
#
# test-all: Slurm's daemons, and a minute
load ../support/helper

# Leaves the reason for setup to find: bats 1.8 takes a skip in setup_file for a failure.
cannot() { echo "$*" >"$BATS_FILE_TMPDIR/reason"; }
setup() {
    [ ! -e "$BATS_FILE_TMPDIR/reason" ] || skip "$(<"$BATS_FILE_TMPDIR/reason")"
    cd "$BATS_TEST_TMPDIR" || exit 1
}

queue_is_empty() { [ -z "$(squeue -h 2>/dev/null)" ]; }
nodes_are_idle() { [ "$(sinfo -h -N -o %t 2>/dev/null | grep -c '^idle$')" = 2 ]; }

setup_file() {
    [ "$(id -u)" = 0 ] || { cannot "not root: slurmd starts jobs for others"; return 0; }
    local tool
    for tool in slurmctld slurmd sbatch srun munged; do
        command -v $tool >/dev/null ||
            { cannot "$tool is missing; .ci/install-deps slurm installs it"; return 0; }
    done
    cd "$BATS_FILE_TMPDIR" || return 1
    local here=$BATS_FILE_TMPDIR host
    host=$(hostname -s)
    mkdir state spool.n1 spool.n2 tmp.n1 tmp.n2
    chmod 755 . state
    cat >slurm.conf <<END
ClusterName=weft
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$here/munge.socket,cred_expire=5
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmctldPidFile=$here/slurmctld.pid
SlurmdPidFile=$here/slurmd.%n.pid
SlurmdSpoolDir=$here/spool.%n
StateSaveLocation=$here/state
SlurmctldLogFile=$here/slurmctld.log
SlurmdLogFile=$here/slurmd.%n.log
SlurmdParameters=config_overrides
SchedulerParameters=sched_min_interval=100000,sched_interval=1,bf_interval=1
TmpFS=$here/tmp.%n
KillWait=5
GresTypes=gpu
NodeName=n[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[17001-17002] CPUs=4 Gres=gpu:2 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
    echo 'CgroupPlugin=cgroup/v1' >cgroup.conf
    # stand-ins for GPUs: Slurm asks only that the files are devices
    { mknod gpu0 c 1 3 && mknod gpu1 c 1 3; } || { cannot "no device files can be made here"; return 0; }
    echo "NodeName=n[1-2] Name=gpu File=$here/gpu[0-1]" >gres.conf
    export SLURM_CONF=$here/slurm.conf
    srun --mpi=list 2>&1 | grep pmix || { cannot "this Slurm has no pmix"; return 0; }
    head -c 1024 /dev/urandom >munge.key
    chmod 600 munge.key
    munged --force --key-file="$here/munge.key" --socket="$here/munge.socket" --pid-file="$here/munged.pid" \
        --log-file="$here/munged.log" --seed-file="$here/munged.seed" 3>&- 4>&-
    slurmctld 3>&- 4>&-
    slurmd -N n1 3>&- 4>&-
    slurmd -N n2 3>&- 4>&-
    wait_for nodes_are_idle || { cat ./*.log; return 1; }
}

teardown_file() {
    local name pid_file
    if [ -e "$BATS_FILE_TMPDIR/slurmctld.pid" ]; then # a test that failed may have left its job running
        scancel --user=root || true
        wait_for queue_is_empty || true
    fi
    for name in slurmd.n1 slurmd.n2 slurmctld munged; do
        pid_file=$BATS_FILE_TMPDIR/$name.pid
        if [ -e "$pid_file" ]; then kill "$(<"$pid_file")"; fi
    done
    sleep 1
}

# The two nodes are one machine, which Open MPI's shared memory transport does not expect. Its TCP transport
# ends a rank in MPI_Init, once in some hundred launches, with a call through a null pointer (4.1.4: two ranks
# connect to each other at once), so libfabric's comes first.
if ompi_info --parsable 2>/dev/null | grep -q '^mca:mtl:ofi:'; then
    export OMPI_MCA_pml=cm OMPI_MCA_mtl=ofi OMPI_MCA_mtl_ofi_provider_include=tcp
else
    export OMPI_MCA_btl=self,tcp
fi
export SLURM_CONF=$BATS_FILE_TMPDIR/slurm.conf WEFT=$weft

of_job() { scontrol show job "$job" | sed -n "s/.*\b$1=\([A-Z0-9:]*\).*/\1/p"; } # a word of scontrol's
reaches() { # state: the job $job, within a minute; its output is printed
    local i
    for ((i = 0; i < 300; i++)); do
        case $(of_job JobState) in
        "$1") cat "slurm-$job.out"; return 0 ;;
        COMPLETED | FAILED | CANCELLED | TIMEOUT) break ;;
        esac
        sleep 0.2
    done
    scontrol show job "$job"
    cat "slurm-$job.out"
    return 1
}

@test "a job on two nodes" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=61 grid.ny=47 time.steps=30 checkpoint.every=10
    printf '[site]\nlauncher = pmix\nmodules =\n    touch loaded\n' >site.ini
    job=$(WEFT_SITE=$PWD/site.ini sbatch --parsable --nodes=2 --ntasks-per-node=2 "$top/jobs/weft.sbatch" \
        d.ini run.device=host)
    reaches COMPLETED
    [ -e loaded ]
    expect "ranks, verdict" "4 exact" "$(record '"\(.ranks) \(.verdict)"')"
    grep -q '^ranks  *4 as .* on 2 hosts' "slurm-$job.out"
    [ -e "checkpoints/$job/step_0000000030.h5" ]
}

@test "a job that may not be requeued, or not once more, is left with status 75 and says how to go on" {
    stand_in stops '[ "$1" = info ] || { echo "words: $*"; exit 75; }'
    stopped_job() { WEFT=$PWD/stops sbatch --parsable --gpus-per-node=0 "$@" "$top/jobs/weft.sbatch" d.ini \
        time.steps=9; }
    jobs=("$(WEFT_REQUEUES=0 stopped_job)" "$(stopped_job --no-requeue)"
        "$(stopped_job --no-requeue --gpus-per-node=2)")
    for job in "${jobs[@]}"; do
        reaches FAILED
        expect "restarts, exit status" "0 75:0" "$(of_job Restarts) $(of_job ExitCode)"
        [ "$job" = "${jobs[2]}" ] && device='run.device=cuda ' || device=''
        grep -q "^words: run ${device}d.ini time.steps=9 checkpoint.dir=checkpoints/$job --restart-if-any check" \
            "slurm-$job.out"
        grep -q "^  WEFT_CHECKPOINTS=checkpoints/$job sbatch jobs/weft.sbatch d.ini time.steps=9" \
            "slurm-$job.out"
    done
}

@test "a job that is signalled leaves a checkpoint, is requeued, and ends with the uninterrupted run's bits" {
    local plate=(problem.kind=heat problem.alpha=0.2 grid.nx=300 grid.ny=200 checkpoint.every=500)
    deck d.ini "${plate[@]}" time.steps=1000000000
    job=$(sbatch --parsable --gpus-per-node=0 "$top/jobs/weft.sbatch" d.ini)
    wait_for is_there "checkpoints/$job/step_*.h5"
    scancel --batch --signal=USR1 "$job"
    reaches PENDING
    grep -q 'weft ended with status 75' "slurm-$job.out"
    expect "the record is of the stopped run" exact "$(record .verdict)"
    local stopped
    stopped=$(record .steps)
    deck d.ini "${plate[@]}" time.steps=$((stopped + 9)) # so that the second start comes to an end
    reaches COMPLETED
    expect restarts 1 "$(of_job Restarts)"
    grep -q "^job $job .* start 2," "slurm-$job.out"
    grep -q "^weft: restarted from step $stopped" "slurm-$job.out"
    expect "steps run by the second start" "9 exact" "$(record '"\(.steps_run) \(.verdict)"')"
    local requeued
    requeued=$(fingerprint)
    weft_alone d.ini checkpoint.every=0
    expect "the uninterrupted run's bits, after $stopped steps and 9" "$(fingerprint)" "$requeued"
}

@test "an array over the nodes checks each one once" {
    # each has its node's name
    stand_in named \
        'exec unshare --uts sh -c '"'"'hostname "$SLURMD_NODENAME" && exec "$0" "$@"'"'"" $weft \"\$@\""
    job=$(WEFT=$PWD/named WEFT_JOBS=$top/jobs sbatch --parsable --array=1-2 --gpus-per-node=0 \
        "$top/jobs/check.sbatch" device=host level=quick budget=0.01 reference=none)
    wait_for queue_is_empty
    cat weft-check-"$job"_[12].out
    expect files "n1.jsonl n2.jsonl" "$(ls checks | xargs)"
    for node in n1 n2; do
        expect "hosts, ranks, level" "$node 2 quick" \
            "$(record '.check | "\([.ranks[].host] | unique | join(" ")) \(.ranks | length) \(.level)"' \
                checks/$node.jsonl)"
        expect "checks of $node" 0 \
            "$(jq -s '[.[] | select(.check.round == 0)] | length - 1' checks/$node.jsonl)"
    done
}
