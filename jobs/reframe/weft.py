# ReFrame's tests of weft (4.6 or newer):
#
#   weft_deck    decks of inputs/ on 1, 2 and 4 ranks; one passes where its record has the fingerprint that is
#                written in the deck, the device, and as many ranks as were asked for. Its rate, and its
#                fraction of the device copies' rate in the same run
#   weft_bench   families of `weft bench`; one passes where every rung is verified. Each rung's fraction of
#                its ceiling in the same run
#
#   reframe -C jobs/reframe/local.py -c jobs/reframe/weft.py -t quick -r
#   reframe -C SITE.py -c jobs/reframe/weft.py -n 'weft_deck.*heat2d_large' -S weft=/path/to/weft -r
#
# make builds weft once per environment in ReFrame's own folder, from the clone around this file; -S weft=
# names a program that is there. Tests on GPUs run on partitions of SITE.py with the feature gpu, a GPU per
# rank, by the partition's resource _rfm_gpu and as many per node as its devices of type gpu say; tests on the
# host run on the others. The rates of a machine are its own: a partition whose extras have weft_records, a
# file of records from that machine, passes where fractions are at most -S tolerance=0.1 below the medians
# there. -S keys=section.key=value,... adds arguments of weft. All of it is read from the record, nothing from
# what is printed.
import json
import os
import shlex
import statistics

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typing
from reframe.core.builtins import fixture, parameter, run_after, run_before, sanity_function, variable

top = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..'))
inputs = os.path.join(top, 'inputs')
in_a_clone = os.path.exists(os.path.join(top, 'Makefile'))  # beside installed files weft is on PATH

host_families = [
    'ceiling', 'access', 'transpose', 'stencil', 'fused', 'reduce', 'roofline', 'streaming', 'halo',
    'alltoall', 'io'
]
cuda_families = host_families + ['arith', 'constant', 'launch', 'memory', 'shared', 'streams']
several_ranks = ['halo', 'alltoall', 'io']


def written_fingerprints():
    """Of the decks that run as they stand to a fingerprint: their names, and it."""
    found = {}
    for file in sorted(os.listdir(inputs)):
        if file.endswith('.ini'):
            with open(os.path.join(inputs, file)) as lines:
                written = [line.split()[-1] for line in lines if line.startswith('# fingerprint: ')]
            found.update({file[:-len('.ini')]: word for word in written})
    return found


def quick_decks():
    """Those that take a second on any machine: tests/program/decks.bats runs them as they stand too."""
    with open(os.path.join(inputs, 'fingerprints')) as lines:
        rows = [line.split() for line in lines if not line.startswith('#')]
    return {row[0] for row in rows if row[2:] == ['-']}


def read_records(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines if line.strip()]


def setting_of(record):
    """What two records have in common whose fractions may be compared."""
    keys = ('family', 'rung', 'dtype', 'parameters', 'swept', 'grid', 'ranks', 'device')
    parts = {key: record.get(key) for key in keys}
    parts.update(problem=[record.get('problem', {}).get(key) for key in ('kind', 'dtype', 'order')],
                 fuse=record.get('asked', {}).get('fuse'))
    return json.dumps(parts, sort_keys=True)


def fraction_of(record):
    """A rung's fraction of the ceiling; a run's by its median step: fraction_of_ceiling is of the mean."""
    step_s, fraction = record.get('step_s'), record.get('fraction_of_ceiling')
    return fraction * step_s['mean'] / step_s['p50'] if step_s and fraction else fraction


def fractions_of(records):
    """The median fraction of the ceiling of each setting, and its name: after the rung, of decks fraction."""
    found = {}
    for record in records:
        if fraction_of(record):
            name = '_'.join(filter(None, [record.get('rung', 'fraction'), record.get('dtype')]))
            found.setdefault(setting_of(record), (name, []))[1].append(fraction_of(record))
    return {setting: (name, statistics.median(fractions)) for setting, (name, fractions) in found.items()}


fingerprints = written_fingerprints()
quick = quick_decks()


class weft_build(rfm.CompileOnlyRegressionTest):
    """The program: the given one, or what make builds of the clone."""
    weft = variable(str, value='' if in_a_clone else 'weft')
    make_options = variable(typing.List[str], value=[])
    sourcesdir = None
    build_time_limit = '1h'

    @run_before('compile')
    def build(self):
        if self.weft:
            self.build_system = 'CustomBuild'
            self.build_system.commands = [f'command -v {shlex.quote(self.weft)}']
            return
        self.build_system = 'Make'
        self.build_system.max_concurrency = self.current_partition.processor.num_cpus or 4
        self.build_system.flags_from_environ = False
        cuda = int('gpu' in self.current_partition.features)
        built = os.path.join(self.stagedir, 'build')
        options = ['-C', shlex.quote(top), shlex.quote(f'BUILD={built}'), f'CUDA={cuda}']
        self.build_system.options = options + self.make_options

    def program(self):
        return self.weft or os.path.join(self.stagedir, 'build', 'weft')


class weft_run(rfm.RunOnlyRegressionTest):
    """What all tests have in common: where they run, and what they are measured by."""
    device = variable(str)
    keys = variable(typing.List[str], value=[])
    tolerance = variable(float, value=0.1)
    build = fixture(weft_build, scope='environment')
    valid_prog_environs = ['*']
    sourcesdir = None
    keep_files = ['record.jsonl']
    time_limit = '10m'

    def place(self, device, ranks):
        self.device, self.num_tasks = device, ranks
        self.valid_systems = ['+gpu'] if device == 'cuda' else ['-gpu']

    @run_after('setup')
    def ask_for_nodes(self):
        gpus = sum(d.num_devices for d in self.current_partition.devices if d.device_type == 'gpu')
        if self.device == 'cuda':
            self.num_tasks_per_node = min(gpus or self.num_tasks, self.num_tasks)
            self.num_gpus_per_node = self.num_tasks_per_node
        else:
            # never on the host instead of on GPUs that nobody declared
            self.skip_if(gpus > 0, f"{self.current_partition.fullname} has GPUs, but not the feature 'gpu'")
            cores = self.current_partition.processor.num_cores or self.num_tasks
            self.num_tasks_per_node = min(cores, self.num_tasks)
        self.env_vars['OMP_NUM_THREADS'] = self.num_cpus_per_task or 1
        self.executable = self.build.program()

    def records(self):
        return read_records(os.path.join(self.stagedir, 'record.jsonl'))

    @run_before('performance')
    def compare_with_this_machine(self):
        if self.is_dry_run():
            return
        wanted = self.current_partition.extras.get('weft_records')
        before, references = fractions_of(read_records(wanted) if wanted else []), {}
        for setting, (name, reached) in fractions_of(self.records()).items():
            self.perf_variables[name] = sn.make_performance_function(sn.defer(reached), 'of the ceiling')
            if setting in before:
                references[name] = (before[setting][1], -self.tolerance, None, 'of the ceiling')
        rate = self.records()[-1].get('gcells_per_s')
        if rate:
            self.perf_variables['rate'] = sn.make_performance_function(sn.defer(rate), 'GCells/s')
        self.reference = {self.current_partition.fullname: references}


@rfm.simple_test
class weft_deck(weft_run):
    deck = parameter(fingerprints)
    ranks = parameter([1, 2, 4])
    on = parameter(['host', 'cuda'])
    descr = 'a deck runs to the fingerprint written in it'
    sourcesdir = inputs

    @run_after('init')
    def describe(self):
        self.place(self.on, self.ranks)
        self.tags = {'quick' if self.deck in quick else 'large', self.on}
        # the decks' own paths begin with inputs/
        self.prerun_cmds = ['ln -s . inputs']
        nothing_else = ['output.picture=none', 'checkpoint.every=0', 'output.record=record.jsonl']
        deck = ['run', f'run.device={self.on}', f'{self.deck}.ini', '--quiet']
        self.executable_opts = deck + self.keys + nothing_else

    @sanity_function
    def same_bits(self):
        record = self.records()[-1]
        return sn.all([
            sn.assert_eq(record['ranks'], self.num_tasks, 'the launcher started {0} ranks of {1}'),
            sn.assert_eq(record['device'], self.on),
            sn.assert_eq(record['fingerprint'], fingerprints[self.deck]),
            sn.assert_in(record['verdict'], ['exact', 'unchecked'])
        ])


@rfm.simple_test
class weft_bench(weft_run):
    of_devices = {'host': host_families, 'cuda': cuda_families}
    family = parameter([(d, name) for d, names in of_devices.items() for name in names], fmt='/'.join)
    descr = 'the rungs of a family are right, and come to their fractions of the ceiling'

    @run_after('init')
    def describe(self):
        device, name = self.family
        self.place(device, 2 if name in several_ranks else 1)
        self.tags = {'bench', device}
        self.executable_opts = ['bench', name, f'device={device}', *self.keys, 'output=record.jsonl']

    @sanity_function
    def verified(self):
        rungs = [record for record in self.records() if record['family'] == self.family[1]]
        wrong = [record['rung'] for record in rungs if not record['verified']]
        return sn.all([sn.assert_ne(rungs, [], 'no rung ran'), sn.assert_eq(wrong, [])])
