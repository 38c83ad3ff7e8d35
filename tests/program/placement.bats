# The table of ranks and GPUs, on made-up hosts: the sanitizers' build reads WEFT_PRETEND_SYSFS
# in place of /sys, and its ranks are placed as if they drove the GPUs at WEFT_PRETEND_GPUS.
load ../support/helper

# A made-up /sys: two NUMA nodes, the second of cores that this process may not use, and a GPU behind each of
# eight PCIe switches.
setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    weft=$weft_sanitize
    export WEFT_PRETEND_SYSFS=$PWD/sys WEFT_PRETEND_GPUS="0000:01:00.0 0000:11:00.0 0000:41:00.0"
    local i nodes=$PWD/sys/devices/system/node gpu
    mkdir -p sys/bus/pci/devices $nodes/node{0,1}
    echo 0-4095 >$nodes/node0/cpulist
    echo 4096 >$nodes/node1/cpulist
    for i in {0..7}; do
        gpu=$PWD/sys/devices/pci0000:$i/0000:${i}0:00.0/0000:${i}1:00.0
        mkdir -p $gpu
        echo $((i / 4)) >$gpu/numa_node
        ln -s $nodes/node$((i / 4))/cpulist $gpu/local_cpulist
        ln -s $gpu sys/bus/pci/devices/
    done
}

@test "weft info: a table of every rank's GPU and cores, and what is wrong with them" {
    launch 6 env WEFT_PRETEND_HOSTS=2 "$weft" info >info
    local host="0000:01:00.0 0 0000:11:00.0 0 0000:41:00.0 1"
    expect "GPU and near node" "$host $host" "$(awk '/^[0-9]/ { print $4, $5 }' info | xargs)"
    expect "ranks" "0 1 2 3 4 5" "$(awk '/^[0-9]/ { print $1 }' info | xargs)"
    expect "faults" 2 "$(grep -c 'WRONG: bound' info)"
    grep -A 2 '^2 ' info | grep -q 'WRONG: bound to cores of NUMA node 0, far from its GPU on node 1'
    launch 6 env WEFT_PRETEND_HOSTS=2 "$weft" info --json >info.json
    jq -e '.ranks[2].gpu_cpus == "4096" and .ranks[2].numa_nodes == "0" and .ranks[2].gpu_numa_node == 1
        and (.note | test("rank 2 on .*far from its GPU.*2 of 6 ranks"))' info.json
    [ "$("$weft" info --json | jq '.ranks[0].wrong')" = null ] # a rank alone need not drive three GPUs
}

@test "a run tells the worst of it in one line, its record too" {
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=32 grid.ny=32 time.steps=2 run.fuse=1
    launch 2 sh -c 'p=$OMPI_COMM_WORLD_RANK$PMI_RANK; WEFT_PRETEND_GPUS=0000:${p}1:00.0 exec "$0" run d.ini' \
        "$weft" >table
    expect "notes, that of the record" "1 true" \
        "$(grep -c '^note' table) $(record '.machine.placement as $worst | .notes[0] | endswith($worst)')"
    run env OMP_NUM_THREADS=100000 "$weft_release" info # more than libgomp's stack holds
    [ "$status" = 0 ] || refused 3 "called exit"
    grep -q "rank 0 on .* sees one of the host's 2 or more GPUs.* --gpus-per-node=2 --gpu-bind=none" <(record .notes[0])
}
