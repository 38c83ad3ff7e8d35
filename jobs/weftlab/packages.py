"""Where a command finds the packages that it needs beyond Python itself."""

import importlib
import os
import pathlib
import sys

from weftlab import text

SYSTEM_PYTHON = "/usr/bin/python3"


def need(command, *modules):
    """Imports the modules, or ends the command with one sentence and status 3.

    The packages of a distribution belong to its own Python. Where another one comes first on PATH
    and lacks a module, the command starts once more by the distribution's.
    """
    try:
        for module in modules:
            importlib.import_module(module)
    except ImportError as missing:
        ours, others = os.path.realpath(sys.executable), os.path.realpath(SYSTEM_PYTHON)
        if ours != others and os.path.exists(others):
            folders = [str(pathlib.Path(__file__).resolve().parents[1]), os.getenv("PYTHONPATH")]
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
            os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, "-m", "weftlab." + command, *sys.argv[1:]])
        debian = " and ".join("python3-" + module.lower() for module in modules)
        why = "%s cannot import %s (%s)" % (sys.executable, module, missing)
        advice = "install Debian's %s, or 'pip install ./jobs'" % debian
        text.fail(command, why + ": " + advice, text.ENVIRONMENT_FAILURE)
