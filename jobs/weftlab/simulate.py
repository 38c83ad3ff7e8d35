"""Runs weft on a thousand ranks of a simulated machine: the real program under SimGrid's SMPI.

  make SIM=1                                                          builds build/sim/weft
  jobs/simulate --ranks 64,256 --weak run inputs/heat2d.ini grid.nx=64 grid.ny=64 time.steps=20 \\
      output.picture=none output.record=many.jsonl
  jobs/simulate --ranks 16 bench halo alltoall >rungs.jsonl

WORDS are those of `weft run` or `weft bench`. Every cell is computed and every message is sent; time
is simulated. A call of a rank's device takes a launch, and the bytes that it moves at the device's
rate, 2 us and 4 TB/s without --device; a message takes the latency and bandwidth of the links that
it crosses, beside all others on them. A host has --per-host ranks, joined by a link that each pair
has to itself; a host's link to the network has --bandwidth for each of its ranks. Records say so:
machine.simulated.

What is not simulated: threads, so that nothing but messages goes on beside a call of the device;
transports other than staged; file systems, whose writes take no time; noise.

SIMULATED_WEFT names another program than build/sim/weft.

Exit status: that of the first run that failed, else 0; 2 a mistake on the command line, 3 no SimGrid
or no program.
"""

import contextlib
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from weftlab import files, records, text

HERE = pathlib.Path(__file__).resolve().parents[2]
NETWORKS = ("fat_tree", "dragonfly")
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<cluster id="hosts" prefix="host-" suffix="" radical="0-%d" speed="1Tf" core="%d" bw="%gBps" lat="%gs"
 loopback_bw="%gBps" loopback_lat="%gs" topology="%s" topo_parameters="%s"/>
</platform>
"""
# A device's time is given, not that of this processor. A message takes what its links take: the factors
# that SMPI has measured are those of an old Ethernet. A look at messages costs 0.1 us. Collectives are
# trees; SMPI's own choices send a message from each rank to each other.
SETTINGS = (
    "smpi/simulate-computation:no",
    "smpi/privatization:dlopen",
    "smpi/grow-injected-times:no",
    "smpi/test:1e-7",
    "smpi/iprobe:1e-7",
    "smpi/lat-factor:0:1",
    "smpi/bw-factor:0:1",
    "smpi/allreduce:rdb",
    "smpi/allgather:rdb",
    "smpi/barrier:ompi_recursivedoubling",
    "smpi/bcast:binomial_tree",
    "smpi/gather:ompi_binomial",
    "smpi/reduce:binomial",
    "contexts/guard-size:0",
)


# ---- the machine ----


def factors(hosts):
    """Two numbers of that product, the first at most 16: hosts of a switch, and switches."""
    low = math.gcd(hosts, 16)
    return low, hosts // low


def fat_tree(hosts):
    """Two levels, with as many links up from a switch as there are hosts below it."""
    low, high = factors(hosts)
    return "1;%d;1;1" % hosts if high == 1 else "2;%d,%d;1,%d;1,1" % (low, high, low)


def dragonfly(hosts):
    """Groups of up to 16 hosts: up to 2 chassis of 4 routers with 2 hosts each."""
    low, groups = factors(hosts)
    of_router = math.gcd(low, 2)
    routers = math.gcd(low // of_router, 4)
    return "%d,2;%d,2;%d,1;%d" % (groups, low // of_router // routers, routers, of_router)


def write_machine(folder, ranks, asked):
    """The files for smpirun of a machine with that many ranks: its options."""
    hosts = ranks // asked.per_host
    parameters = {"fat_tree": fat_tree, "dragonfly": dragonfly}[asked.network](hosts)
    numbers = (hosts - 1, asked.per_host, asked.bandwidth * asked.per_host, asked.latency)
    inside = (asked.inside_bandwidth, asked.inside_latency)
    platform, where = folder / "platform.xml", folder / "hosts"
    platform.write_text(PLATFORM % (*numbers, *inside, asked.network.upper(), parameters))
    where.write_text("".join(("host-%d\n" % host) * asked.per_host for host in range(hosts)))
    return ["-np", str(ranks), "-platform", str(platform), "-hostfile", str(where)]


# ---- what is run ----


def device_of(path, command):
    """Bytes per second and seconds per launch of the devices of a record: its copies, its launches."""
    rate, launch = None, None
    for record in records.read([path], "any", command):
        if record.get("ceiling_bytes_per_s") and record.get("ranks"):
            rate = record["ceiling_bytes_per_s"] / record["ranks"]
        if record.get("family") == "launch" and record.get("rung") == "pipelined":
            launch = records.at(record, "time_s", "p50")
    if not rate:
        text.fail(command, "--device %s: no record of weft run with ceiling_bytes_per_s" % path)
    return rate, launch


def grid_of(ranks):
    """The process grid that is nearest to a square: columns and rows."""
    columns = max(c for c in range(1, math.isqrt(ranks) + 1) if ranks % c == 0)
    return columns, ranks // columns


def words_of(words, ranks, weak):
    """Those of one number of ranks: with --weak grid.nx and grid.ny are of one rank."""
    if not weak:
        return words
    columns, rows = grid_of(ranks)
    scaled = []
    for word in words:
        for key, times in (("grid.nx=", columns), ("grid.ny=", rows)):
            if word.startswith(key) and word[len(key) :].isdigit():
                word = key + str(int(word[len(key) :]) * times)
        scaled.append(word)
    return scaled + ["run.ranks_x=%d" % columns, "run.ranks_y=%d" % rows]


def ended(line, environment):
    """The status of smpirun, which leaves its child behind unless all of its group is ended."""
    with subprocess.Popen(line, env=environment, start_new_session=True) as program:
        try:
            return program.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)


def run(asked, ranks, weft, command):
    about = "%s of %d hosts with %d ranks, %g GB/s per rank, %g us per link" % (
        asked.network,
        ranks // asked.per_host,
        asked.per_host,
        asked.bandwidth / 1e9,
        asked.latency * 1e6,
    )
    environment = dict(os.environ, WEFT_SIM_PLATFORM=about)
    if asked.device:
        rate, launch = device_of(asked.device, command)
        environment["WEFT_SIM_BYTES_PER_S"] = "%g" % rate
        if launch:
            environment["WEFT_SIM_LAUNCH_S"] = "%g" % launch
    with tempfile.TemporaryDirectory() as folder:
        line = ["smpirun"] + write_machine(pathlib.Path(folder), ranks, asked)
        if asked.calls:
            line += ["-trace-ti", "-trace-file", os.path.realpath(asked.calls)]
        line += ["--cfg=" + setting for setting in SETTINGS] + ["--log=root.thres:error", "-quiet"]
        return ended(line + [weft] + words_of(asked.words, ranks, asked.weak), environment)


# ---- the command ----


def ranks_in(words):
    return [int(word) for word in words.split(",")]


def arguments_of():
    parser = text.parser("simulate", __doc__)
    parser.usage = "simulate [--ranks N,...] [--weak] [--network ...] ... run|bench WORDS"
    add = parser.add_argument
    add("--ranks", type=ranks_in, default=[64], metavar="N,...", help="64; multiples of --per-host")
    add("--weak", action="store_true", help="grid.nx and grid.ny among WORDS are those of one rank")
    add("--network", choices=NETWORKS, default="fat_tree", help="fat_tree (as many links up as down)")
    add("--per-host", type=int, default=8, metavar="N", help="ranks of a host (8)")
    add("--bandwidth", type=float, default=50e9, metavar="B/S", help="of a host's link, per rank")
    add("--latency", type=float, default=5e-7, metavar="S", help="of each link that is crossed")
    add("--inside-bandwidth", type=float, default=400e9, metavar="B/S", help="between two ranks of a host")
    add("--inside-latency", type=float, default=1e-6, metavar="S", help="of that")
    add("--device", metavar="FILE", help="records whose rate of copies and launch/pipelined the devices have")
    add("--calls", metavar="FILE", help="list the MPI calls of all ranks there (SMPI's TI format)")
    add("words", nargs="...", metavar="WORDS", help="of weft")
    asked = parser.parse_args()
    for ranks in asked.ranks:
        if asked.per_host < 1 or ranks < 1 or ranks % asked.per_host:
            parser.error("--ranks %d is no multiple of --per-host %d" % (ranks, asked.per_host))
    if not asked.words or asked.words[0] not in ("run", "bench"):
        parser.error("WORDS begin with run or bench")
    if asked.calls:
        files.check(asked.calls, parser.prog)
    return parser.prog, asked


def main():
    command, asked = arguments_of()
    weft = os.environ.get("SIMULATED_WEFT") or str(HERE / "build" / "sim" / "weft")
    if not shutil.which("smpirun"):
        text.fail(command, "no smpirun on PATH: .ci/install-deps simgrid", text.ENVIRONMENT_FAILURE)
    if not os.access(weft, os.X_OK):
        text.fail(command, "no %s: make SIM=1" % weft, text.ENVIRONMENT_FAILURE)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # with what was started
    try:
        for ranks in asked.ranks:
            status = run(asked, ranks, weft, command)
            if status != 0:
                return status
    except KeyboardInterrupt:
        return 130
    return 0
