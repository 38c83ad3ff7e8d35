# ReFrame's settings for one machine without a batch system: ranks by mpirun, as many as a test wants, one test at a time.
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
            'env_vars': [['OMPI_MCA_rmaps_base_oversubscribe', '1'], ['OMPI_MCA_hwloc_base_binding_policy', 'none'],
                         ['OMPI_MCA_mpi_yield_when_idle', '1']]
        }]
    }]
}
