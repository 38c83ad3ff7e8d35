# ReFrame's settings for one machine without a batch system: ranks by mpirun, as many as a test wants, one
# test at a time. For its GPUs:
#   'features': ['gpu'], 'devices': [{'type': 'gpu', 'num_devices': 4}]
# and to hold its rates against records of its own: 'extras': {'weft_records': 'FILE.jsonl'}
site_configuration = {
    'systems': [{
        'name': 'local',
        'hostnames': ['.*'],
        'partitions': [{
            'name': 'default',
            'scheduler': 'local',
            'launcher': 'mpirun',
            'environs': ['builtin'],
            'max_jobs': 1,
            # Open MPI's names; others pass them by
            'env_vars': [
                ['OMPI_MCA_rmaps_base_oversubscribe', '1'],
                ['OMPI_MCA_hwloc_base_binding_policy', 'none'],
                ['OMPI_MCA_mpi_yield_when_idle', '1']
            ]
        }]
    }]
}
