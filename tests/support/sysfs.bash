# A made-up /sys below the folder $sysfs: NUMA nodes and GPUs of a host that this machine is not.
sysfs_file() { # path text
    mkdir -p "$sysfs/${1%/*}"
    echo "$2" >"$sysfs/$1"
}

sysfs_link() { # path target
    mkdir -p "$sysfs/${1%/*}"
    ln -sfn "$sysfs/$2" "$sysfs/$1"
}

sysfs_node() { sysfs_file "devices/system/node/node$1/cpulist" "$2"; } # number cpus

sysfs_gpu() { # path below devices/, node
    sysfs_file "devices/$1/numa_node" "$2"
    sysfs_link "devices/$1/local_cpulist" "devices/system/node/node$2/cpulist"
    sysfs_link "bus/pci/devices/${1##*/}" "devices/$1"
}

# Two sockets of 4 cores with 4 PCIe switches each; behind a switch a GPU.
sysfs_dgx() {
    local i
    sysfs_node 0 0-3
    sysfs_node 1 4-7
    for i in 0 1 2 3 4 5 6 7; do
        sysfs_gpu "pci0000:$i/0000:${i}0:00.0/0000:${i}1:00.0" $((i / 4))
    done
}
