"""How a command speaks and ends.

Text of records, file names and arguments is other people's: a terminal obeys none of it.
"""

import argparse
import contextlib
import importlib
import os
import pathlib
import re
import signal
import sys

USER_MISTAKE, ENVIRONMENT_FAILURE = 2, 3
SYSTEM_PYTHON = "/usr/bin/python3"
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def printable(text):
    """The text with ? for each control character, end of line and byte that is no UTF-8."""
    return CONTROL.sub("?", text)


def complain(text):
    """One line on stderr, behind all that was printed before it."""
    sys.stdout.flush()
    print(printable(text), file=sys.stderr)


def fail(command, text, status=USER_MISTAKE):
    """Ends the command with one sentence on stderr."""
    complain("%s: %s" % (command, text))
    sys.exit(status)


def leave_with_the_reader():
    """A command whose output goes to `head` ends when head does, without a traceback; one whose reader is
    slow waits for it, also where the pipe does not block.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    with contextlib.suppress(OSError):  # closed
        os.set_blocking(1, True)


# ---- packages beyond Python itself ----


def module_path():
    """PYTHONPATH of a program that imports these modules."""
    folders = [str(pathlib.Path(__file__).resolve().parents[1]), os.getenv("PYTHONPATH")]
    return os.pathsep.join(filter(None, folders))


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
            os.environ["PYTHONPATH"] = module_path()
            os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
        debian = " and ".join("python3-" + module.lower() for module in modules)
        why = "%s cannot import %s (%s)" % (sys.executable, module, missing)
        advice = "install Debian's %s, or 'pip install ./jobs'" % debian
        fail(command, why + ": " + advice, ENVIRONMENT_FAILURE)


# ---- numbers ----


def scaled(value):
    """The factor and the letter of a value: 1e9 and "G" for 3.2e9."""
    for factor, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return factor, letter
    return 1, ""


def seconds(value):
    if value < 1e-3:
        return "%.4g us" % (value * 1e6)
    return "%.4g ms" % (value * 1e3) if value < 1 else "%.4g s" % value


# ---- arguments ----


def parser(command, description):
    """A parser of arguments whose errors are one sentence, where argparse prints its usage too."""
    made = argparse.ArgumentParser(
        prog=command,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.error = lambda why: fail(command, why + "; try --help")
    return made
