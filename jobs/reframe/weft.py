# ReFrame's tests of weft: decks of inputs/ on 1, 2 and 4 ranks. One passes where its record has the fingerprint that is written in
# the deck, and as many ranks as were asked for; the rate, and its part of the device copies' rate in the same run, are what a
# site gives references for. All of it is read from the record, nothing from what is printed.
#
#   reframe -C jobs/reframe/local.py -c jobs/reframe/weft.py -t quick -r
#   reframe -C SITE.py -c jobs/reframe/weft.py -n 'weft_deck.*heat2d_large' -S weft=/path/to/weft -r
#
# On a partition that has GPUs (devices of type gpu in SITE.py) it asks for one per rank, by the partition's resource _rfm_gpu, and
# runs with run.device=cuda, so that a test never passes on the host instead; -S keys=run.device=host is for the host.
import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typing
from reframe.core.builtins import parameter, performance_function, run_after, sanity_function, variable

top = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..'))
inputs = os.path.join(top, 'inputs')
built = os.path.join(top, 'build', 'weft')  # in a clone; beside installed files it is on PATH


def written_fingerprints():
    """Of the decks that run as they stand to a fingerprint: their names, and it."""
    found = {}
    for file in sorted(os.listdir(inputs)):
        if file.endswith('.ini'):
            with open(os.path.join(inputs, file)) as lines:
                said = [line.split()[-1] for line in lines if line.startswith('# fingerprint: ')]
            found.update({file[:-len('.ini')]: word for word in said})
    return found


def quick_decks():
    """Those that take a second on any machine: tests/program/decks.bats runs them as they stand too."""
    with open(os.path.join(inputs, 'fingerprints')) as lines:
        rows = [line.split() for line in lines if not line.startswith('#')]
    return {row[0] for row in rows if row[2:] == ['-']}


fingerprints = written_fingerprints()
quick = quick_decks()


@rfm.simple_test
class weft_deck(rfm.RunOnlyRegressionTest):
    deck = parameter(fingerprints)
    ranks = parameter([1, 2, 4])
    weft = variable(str, value=built if os.path.exists(built) else 'weft')
    keys = variable(typing.List[str], value=[])  # section.key=value of the run, which change nothing about its bits
    descr = 'a deck runs to the fingerprint written in it'
    valid_systems = ['*']
    valid_prog_environs = ['*']
    sourcesdir = inputs
    keep_files = ['record.jsonl']
    time_limit = '10m'

    @run_after('init')
    def describe(self):
        self.num_tasks = self.ranks
        self.tags = {'quick' if self.deck in quick else 'large'}
        self.executable = self.weft
        # the decks' own paths begin with inputs/
        self.prerun_cmds = ['ln -s . inputs']
        self.executable_opts = ['run', f'{self.deck}.ini', '--quiet', *self.keys, 'output.picture=none', 'checkpoint.every=0',
                                'output.record=record.jsonl']

    @run_after('setup')
    def ask_for_gpus(self):
        gpus = sum(d.num_devices for d in self.current_partition.devices if d.device_type == 'gpu')
        if gpus and 'run.device=host' not in self.keys:
            self.num_gpus_per_node = self.num_tasks_per_node = min(gpus, self.num_tasks)
            self.executable_opts[1:1] = ['run.device=cuda']

    @run_after('setup')
    def give_threads(self):
        self.env_vars['OMP_NUM_THREADS'] = self.num_cpus_per_task or 1

    def record(self, key):
        with open(os.path.join(self.stagedir, 'record.jsonl')) as lines:
            return json.loads(lines.read().splitlines()[-1])[key]

    @sanity_function
    def same_bits(self):
        return sn.all([
            sn.assert_eq(self.record('ranks'), self.num_tasks, 'the launcher started {0} ranks of {1}'),
            sn.assert_eq(self.record('fingerprint'), fingerprints[self.deck]),
            sn.assert_in(self.record('verdict'), ['exact', 'unchecked'])
        ])

    @performance_function('GCells/s')
    def rate(self):
        return self.record('gcells_per_s')

    @performance_function('of the copies')
    def fraction(self):
        return self.record('fraction_of_ceiling')
