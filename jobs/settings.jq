# What makes two records of `weft run` runs of one setting: what was asked for, not what was chosen, nor the grid and the ranks.
def settings:
    {kind: .problem.kind, dtype: .problem.dtype, order: .problem.order, device, fuse: (.fuse // 1),
     norm_every: (((.deck // "") | capture("\nnorm_every = (?<n>[0-9]+)\n").n) // "0")}
    + ((.asked // {}) | {transport, feed, lanes, threads, ranks_x, ranks_y, tune});
def machine_name: .machine.gpus[0].name? // .machine.processor? // "host";
