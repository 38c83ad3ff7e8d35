# Spack's recipe of weft, for Spack 0.23 and 1; it takes the tag of a release, or what is committed (@main),
# from the clone around it:
#
#   spack repo add jobs/spack
#   spack install weft +cuda cuda_arch=90 ^openmpi fabrics=ucx
#   spack install weft@main
#   spack test run weft
import os

from spack.package import *

try:  # since Spack 1 they come with the packages; before, with spack.package
    from spack_repo.builtin.build_systems.cuda import CudaPackage
    from spack_repo.builtin.build_systems.makefile import MakefilePackage
except ImportError:
    pass


class Weft(MakefilePackage, CudaPackage):
    """Mini-app for machines with many GPUs: stencils and transposes over MPI, every result exact
    to the bit, every rate beside the ceiling measured in the same run."""

    # Where this file was copied elsewhere, the addresses of a repository and of a release's archive stand
    # here.
    git = "file://" + os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
    url = git + "/weft-1.0.0.tar.gz"

    maintainers("weft-authors")

    license("MIT")

    version("main", branch="main")
    version("1.0.0", tag="v1.0.0")

    variant("nccl", default=False, when="+cuda", description="transport over NCCL")

    depends_on("c", type="build")
    depends_on("gmake@4:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3.1:")
    depends_on("hdf5@1.10: ~mpi")  # weft makes no parallel HDF5 call, and one of another MPI crashes
    depends_on("jansson")
    depends_on("libpng")
    depends_on("cuda@12.0:", when="+cuda")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("nccl", when="+nccl")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"nccl cuda_arch={arch}", when=f"+nccl cuda_arch={arch}")

    # `make test` is for a clone: it installs packages of the system.
    build_time_test_callbacks = []

    @property
    def build_targets(self):
        spec = self.spec
        variables = [
            f"MPICC={spec['mpi'].mpicc}",
            f"HDF5_DIR={spec['hdf5'].prefix}",
            f"CUDA={int(spec.satisfies('+cuda'))}",
            f"NCCL={int(spec.satisfies('+nccl'))}",
        ]
        if spec.satisfies("+cuda"):
            variables.append(f"CUDA_HOME={spec['cuda'].prefix}")
            arch = [a for a in spec.variants["cuda_arch"].value if a != "none"]
            if arch:
                variables.append("ARCH=" + " ".join(arch))
        if spec.satisfies("+nccl"):
            variables.append(f"NCCL_HOME={spec['nccl'].prefix}")
        return variables

    @property
    def install_targets(self):
        return self.build_targets + [f"PREFIX={self.prefix}", "install"]

    def test_heat(self):
        """a line of heat runs to the fingerprint written in its deck"""
        deck = join_path(self.prefix.share.weft.inputs, "heat1d.ini")
        with open(deck) as lines:
            wanted = [line.split()[-1] for line in lines if line.startswith("# fingerprint: ")][0]
        weft = which(self.prefix.bin.weft)
        weft("run", deck, "output.picture=none", "output.record=heat1d.jsonl")
        with open("heat1d.jsonl") as record:
            assert f'"fingerprint":"{wanted}"' in record.read(), f"the fingerprint is not {wanted}"
