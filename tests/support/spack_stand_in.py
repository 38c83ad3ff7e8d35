"""Reads a recipe of Spack without Spack: prints, as JSON, its directives in their order, its attributes, and for the spec of each
set of variants given (as +cuda,+nccl) what it hands to make.

  spack_stand_in.py RECIPE [VARIANTS ...]
"""

import json
import runpy
import sys
import types

directives = []


def directive(name):
    def record(*values, **options):
        directives.append([name, list(map(str, values)), {key: str(value) for key, value in options.items()}])

    return record


class Spec:
    """A spec with variants; any dependency is in /opt/NAME."""

    def __init__(self, variants):
        architectures = [v.partition("=")[2] for v in variants if v.startswith("cuda_arch=")]
        self.asked, self.variants = variants, {"cuda_arch": types.SimpleNamespace(value=architectures or ["none"])}

    def satisfies(self, variant):
        return variant in self.asked

    def __getitem__(self, name):
        return types.SimpleNamespace(prefix="/opt/" + name, mpicc="mpicc")


class MakefilePackage:
    prefix = "/opt/weft"


class CudaPackage:
    cuda_arch_values = ("80", "90")


package = types.ModuleType("spack.package")
for name in ("license", "version", "variant", "depends_on", "maintainers", "conflicts", "requires"):
    setattr(package, name, directive(name))
package.MakefilePackage, package.CudaPackage = MakefilePackage, CudaPackage
package.__all__ = [name for name in vars(package) if not name.startswith("_")]
sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": package})

recipe = runpy.run_path(sys.argv[1])["Weft"]
made = {}
for variants in sys.argv[2:]:
    weft = recipe()
    weft.spec = Spec(variants.split(","))
    made[variants] = {"build": weft.build_targets, "install": weft.install_targets}
json.dump({"directives": directives, "git": recipe.git, "url": recipe.url, "make": made}, sys.stdout)
