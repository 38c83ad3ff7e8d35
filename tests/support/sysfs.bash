# A made-up /sys below the folder $sysfs: NUMA nodes, GPUs and NICs of a host that this machine is not. Units source it too.
sysfs_file() { # path text
    mkdir -p "$sysfs/${1%/*}"
    echo "$2" >"$sysfs/$1"
}

sysfs_link() { # path target
    mkdir -p "$sysfs/${1%/*}"
    ln -sfn "$sysfs/$2" "$sysfs/$1"
}

sysfs_node() { sysfs_file "devices/system/node/node$1/cpulist" "$2"; } # number cpus

sysfs_device() { # path below devices/, node
    sysfs_file "devices/$1/numa_node" "$2"
    sysfs_link "devices/$1/local_cpulist" "devices/system/node/node$2/cpulist"
}

sysfs_gpu() { # path below devices/, node
    sysfs_device "$@"
    sysfs_link "bus/pci/devices/${1##*/}" "devices/$1"
}

sysfs_rdma() { # name, path below devices/, node
    sysfs_device "${@:2}"
    sysfs_link "class/infiniband/$1/device" "devices/$2"
}

sysfs_net() { # name, path below devices/, node
    sysfs_device "${@:2}"
    sysfs_link "class/net/$1/device" "devices/$2"
}

# Two sockets of 4 cores with 4 PCIe switches each; behind a switch a GPU and a NIC. Bridges as they are numbered in a DGX: by their buses.
sysfs_dgx() {
    local i path
    sysfs_node 0 0-3
    sysfs_node 1 4-7
    for i in 0 1 2 3 4 5 6 7; do
        path=pci0000:$i/0000:${i}0:00.0
        sysfs_gpu "$path/0000:${i}1:00.0" $((i / 4))
        sysfs_rdma "mlx5_$i" "$path/0000:${i}2:00.0" $((i / 4))
    done
    sysfs_net ib0 pci0000:0/0000:00:00.0/0000:02:00.0 0 # the same function as mlx5_0
    sysfs_net eno1 pci0000:f/0000:f0:00.0 0
    sysfs_file class/net/lo/operstate unknown # no device
}
