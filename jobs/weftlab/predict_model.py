"""The model of a step, from a machine's ceilings: what bytes, launches and messages cost (docs/predict.md).

What a run chooses is not modelled: `weft run --dry-run --json` says that (predict_plan.py).
"""

import math
from dataclasses import dataclass, field, replace

BY_KERNELS = ("peer", "nccl")  # MPI moves no cell of these
TRANSPORTS = ("staged", "aware", "mapped", *BY_KERNELS)
BESIDE_KERNELS = 0.2  # the part of the interior behind which kernels that move cells hide; on H200s .15 to .3
PARTS = ("memory", "arithmetic", "launches", "exchange", "transpose", "norm")
WORD = {"f32": 4, "f64": 8}
NAN, INFINITY = math.nan, math.inf


@dataclass(frozen=True)
class Case:
    """A run on some number of ranks."""

    problem: dict  # of the plan's JSON: kind, dtype, radius, stencil, words, two_levels, transposes, by_lines
    nx: float
    ny: float
    ranks: int
    ranks_x: int
    ranks_y: int
    per_host: int
    form: str  # step_form of records
    graph: bool  # else a host thread feeds each step
    transport: str  # within a host
    norm_every: int
    steps: int  # of a pass; 1: no blocks
    pass_cells: float = 0  # that a rank would compute in the time of a pass
    norm_in_pass: bool = False
    exchange_s: float = 0  # an exchange alone, as it was measured; 0: by the links
    sides: tuple = ()

    @property
    def cells(self):
        return self.nx * self.ny / self.ranks

    @property
    def bytes(self):
        return self.cells * WORD[self.problem["dtype"]]

    @property
    def hosts(self):
        return -(-self.ranks // self.per_host)

    @property
    def of(self):
        """What the efficiency of a single step depends on."""
        return tuple(self.problem[key] for key in ("kind", "dtype", "radius"))

    @property
    def kernel(self):
        """What passes of one cost per cell have in common."""
        keys = ("stencil", "two_levels", "dtype", "radius")
        return (*(self.problem[key] for key in keys), self.steps)

    @property
    def work(self):
        problem = tuple(self.problem.items())
        return replace(self, exchange_s=0, pass_cells=0, norm_in_pass=False, problem=problem)


@dataclass
class Machine:
    """What its records tell. Costs of a step are multiples of a launch until runs tell them, as on H200s."""

    cuda: bool
    name: str
    launch_s: float  # NaN: not measured
    ranks_per_host: int = 0  # the most of any record
    copies: list = field(default_factory=list)  # (bytes, bytes per s) of one device while all copy, ascending
    efficiency: dict = field(default_factory=dict)  # of copies, by kind, dtype and radius
    pass_cell_s: dict = field(default_factory=dict)  # by Case.kernel
    exchange: dict = field(default_factory=dict)  # (s, bytes per s) within a host, by transport
    transposes: dict = field(default_factory=dict)  # bytes per s sent by a rank, by transport and ranks
    between: tuple = None  # hosts: (s, bytes per s out of each)
    between_assumed: bool = False
    file_bytes_per_s: float = NAN
    norm_hop_s: float = NAN  # for each doubling of the hosts

    def __post_init__(self):
        self.launch_assumed = self.cuda and math.isnan(self.launch_s)
        if math.isnan(self.launch_s):
            self.launch_s = 3.8e-6 if self.cuda else 0
        launch_s = self.launch_s
        self.inkernel_s = {False: 1.4 * launch_s, True: 0.4 * launch_s}  # by Case.graph
        self.neighbours_s = {False: 0.8 * launch_s, True: 0.14 * launch_s}
        self.pass_fixed_s = {False: 1.5 * launch_s, True: 0.8 * launch_s}
        self.overlapped_s = {}
        for transport in TRANSPORTS:
            for graph, times in ((False, 2.2), (True, 1.1)):
                self.overlapped_s[transport, graph] = (times if transport in BY_KERNELS else 4) * launch_s
        self.pass_neighbours_s, self.norm_s = 3 * launch_s, 2.5 * launch_s
        self.norm_cell_s = 0.6e-12 if self.cuda else 0  # of a block that takes a norm with it; .41 to .80

    def add_copy(self, size, rate):
        """Keeps the best rate of copies of about that size."""
        for i, (known, best) in enumerate(self.copies):
            if 0.95 * size <= known <= 1.05 * size:
                self.copies[i] = (known, max(best, rate))
                return
        self.copies = sorted(self.copies + [(size, rate)])

    def copy_rate(self, size):
        """Between two sizes by the logarithm of both; beyond the ends as at the ends."""
        below = [copy for copy in self.copies if copy[0] < size]
        above = self.copies[len(below) :]
        if not below or not above:
            return (above or below[-1:])[0][1]
        (a, slow), (b, fast) = below[-1], above[0]
        return slow * (fast / slow) ** (math.log(size / a) / math.log(b / a))

    def transpose_rate(self, transport, ranks):
        """Of the nearest number of ranks, by their ratio."""
        rates = self.transposes.get(transport, {})
        nearest = min(rates, key=lambda known: abs(math.log(known / ranks)), default=None)
        return NAN if nearest is None else rates[nearest]


# ---- exchanges ----


def messages(case, between):
    """Those that wait for one another: along the second axis for those along the first, where MPI moves
    them."""
    return 1 if case.transport in BY_KERNELS and not between else (case.ranks_x > 1) + (case.ranks_y > 1)


def link_bytes(case, between):
    """Of all messages that share a link: of a rank within a host; of a host, which has a strip of a row of
    ranks, or whole rows of them."""
    depth = case.problem["radius"] * case.steps * WORD[case.problem["dtype"]]
    row = case.nx / case.ranks_x * depth if case.ranks_y > 1 else 0
    column = case.ny / case.ranks_y * depth if case.ranks_x > 1 else 0
    if not between:
        return row + column
    along_x = min(case.per_host, case.ranks_x)
    return 2 * along_x * row + (2 * column if case.per_host < case.ranks_x else 0)


def exchange_over(machine, case, between):
    alpha_s, rate = machine.between if between else machine.exchange.get(case.transport, (NAN, NAN))
    return alpha_s * messages(case, between) + link_bytes(case, between) / rate


def exchange_alone(machine, case):
    if case.ranks == 1 or case.exchange_s > 0:
        return case.exchange_s if case.ranks > 1 else 0
    seconds = [exchange_over(machine, case, False)] if case.per_host > 1 else []
    seconds += [exchange_over(machine, case, True)] if case.hosts > 1 else []
    return max((s for s in seconds if not math.isnan(s)), default=0)


def transpose_once(machine, case):
    """All but a rank's own part leaves it; between hosts one message after another."""
    if case.ranks == 1:
        return 0
    rate = machine.transpose_rate(case.transport, case.ranks)
    inside_s = case.bytes * (case.ranks - 1) / case.ranks / rate
    if case.hosts == 1:
        return inside_s
    boxes = min(case.ranks - 1, max(case.ranks_x / case.ranks_y, case.ranks_y / case.ranks_x))
    leaves = case.bytes * case.per_host * (case.ranks - case.per_host) / case.ranks
    return max(inside_s, machine.between[0] * boxes + leaves / machine.between[1])


# ---- steps ----


def knows(machine, case):
    """Whether the records tell all that the step costs."""
    if not machine.copies or (case.steps > 1 and case.kernel not in machine.pass_cell_s):
        return False
    if case.ranks == 1:
        return True
    if case.hosts > 1 and machine.between is None:
        return False
    if case.problem["transposes"]:
        return not math.isnan(machine.transpose_rate(case.transport, case.ranks))
    if case.form == "in_kernel" or case.exchange_s > 0 or case.per_host == 1:
        return True
    return case.transport in machine.exchange or (case.hosts > 1 and not machine.between_assumed)


def norm(machine, case):
    doublings = math.ceil(math.log2(case.hosts))
    hop_s = machine.between[0] if doublings and math.isnan(machine.norm_hop_s) else machine.norm_hop_s
    return machine.norm_s + (doublings * hop_s if doublings else 0)


def pass_s(machine, case):
    return case.pass_cells * machine.pass_cell_s[case.kernel]


def parts_of_block(machine, case):
    """Per step of a block. Of two levels both come and both go: a word more than in a single step."""
    exchange_s, whole_s, steps = exchange_alone(machine, case), pass_s(machine, case), case.steps
    size = (4 if case.problem["two_levels"] else case.problem["words"]) * case.bytes
    copied_s = min(whole_s, size / machine.copy_rate(size))
    neighbours_s = machine.pass_neighbours_s if case.ranks > 1 else 0
    beyond_s = max(0, exchange_s - whole_s) + neighbours_s
    of_pass = (copied_s, whole_s - copied_s, machine.pass_fixed_s[case.graph], beyond_s, 0, 0)
    parts = {part: s / steps for part, s in zip(PARTS, of_pass)}
    if case.norm_every > 0:
        longer_s = machine.norm_cell_s * case.cells
        if not case.norm_in_pass:  # it wants a single step
            single = replace(case, steps=1, norm_every=0, exchange_s=0)
            longer_s = step_s(machine, single) - sum(parts.values())
        parts["norm"] = (longer_s + norm(machine, case)) / case.norm_every
    return parts


def parts_of_step(machine, case):
    """What each part adds to a step, in seconds."""
    if case.steps > 1:
        return parts_of_block(machine, case)
    size = case.problem["words"] * case.bytes
    memory_s = size / (machine.copy_rate(size) * machine.efficiency.get(case.of, 1))
    exchange_s = transpose_s = 0
    if case.problem["transposes"]:
        launches_s, transpose_s = machine.inkernel_s[False], transpose_once(machine, case)
        # a transpose is bound by the link or by the memory; a sweep has stencils beside its two
        transpose_s = 2 * transpose_s if case.problem["by_lines"] else max(0, transpose_s - memory_s)
    elif case.form == "in_kernel":
        launches_s = machine.inkernel_s[case.graph]
        exchange_s = machine.neighbours_s[case.graph] if case.ranks > 1 else 0
    else:  # between hosts MPI moves cells, whatever does so within one
        kernels, far = case.transport in BY_KERNELS, case.hosts > 1
        launches_s = machine.overlapped_s["aware" if kernels and far else case.transport, case.graph]
        hidden_s = (BESIDE_KERNELS if kernels and not far else 1) * memory_s
        exchange_s = max(0, exchange_alone(machine, case) - hidden_s)
    norm_s = norm(machine, case) / case.norm_every if case.norm_every > 0 else 0
    return dict(zip(PARTS, (memory_s, 0, launches_s, exchange_s, transpose_s, norm_s)))


def step_s(machine, case):
    return sum(parts_of_step(machine, case).values())


# ---- checkpoints ----


def interval_daly(write_s, mtbf_s):
    """J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, FGCS 22
    (2006), eq. 37."""
    if write_s >= 2 * mtbf_s:
        return mtbf_s
    x = write_s / (2 * mtbf_s)
    return math.sqrt(2 * write_s * mtbf_s) * (1 + math.sqrt(x) / 3 + x / 9) - write_s


def waste(interval_s, write_s, mtbf_s):
    """The part of the time that checkpoints and lost work take."""
    part = write_s / (interval_s + write_s) + (interval_s + write_s) / (2 * mtbf_s)
    return min(part, 1) if part == part else part
