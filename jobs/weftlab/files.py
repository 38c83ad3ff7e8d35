"""Files that are whole or absent: written under another name beside theirs, fsynced, then renamed."""

import configparser
import contextlib
import fcntl
import os
import pathlib
import tempfile

from weftlab import text


def opened(path, mode="r", **how):
    """The file; a pipe without a writer is empty, no wait for ever."""
    file = open(path, mode, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK), **how)
    os.set_blocking(file.fileno(), True)
    return file


def text_of(path, **how):
    """All of the file."""
    with opened(path, encoding="utf-8", **how) as file:
        whole = file.read()
    if not whole and not os.path.isfile(path):
        raise OSError(0, "it is no file, and has nothing to say")
    return whole


def ini(path, command, **how):
    """The sections of a file; the command ends with status 2 where it cannot be read."""
    parser = configparser.ConfigParser(interpolation=None, default_section="", **how)
    try:
        parser.read_string(text_of(path), str(path))
    except (configparser.Error, OSError, UnicodeDecodeError) as error:
        why = " ".join(str(error).split())
        text.fail(command, why if str(path) in why else "%s: %s" % (path, why))
    return parser


def check(path, command, inputs=()):
    """Ends the command with status 2 where the file would replace a lock, an input or what is no file."""
    path = pathlib.Path(path)
    wrong = path.is_symlink() or (path.exists() and not path.is_file()) or path.suffix == ".lock"
    if wrong or path.resolve() in [pathlib.Path(one).resolve() for one in inputs]:
        what = "a link, pipe, device, folder, lock or input"
        text.fail(command, f"{path} is {what}; allowed is a new name or that of a file")


@contextlib.contextmanager
def held(path, command):
    """One command at a time: PATH.lock is there, empty and locked, until its end."""
    path = os.path.realpath(path)
    name = path + ".lock"
    check(path, command)
    try:
        os.makedirs(os.path.dirname(name), exist_ok=True)
        lock = open(os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666))
    except OSError as error:
        text.fail(command, f"{name}: {error.strerror}", text.ENVIRONMENT_FAILURE)
    with lock:
        if not os.path.isfile(name) or os.path.getsize(name) > 0:
            text.fail(command, f"{name} is no lock of a study; allowed is another out=")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            text.fail(command, "%s: another study writes there; allowed is another out=" % path)
        except OSError:  # a file system without locks
            pass
        try:
            yield
        finally:
            os.unlink(name)


@contextlib.contextmanager
def replaced(path, command):
    """Yields the name to write to, with the ending of `path`, whose file it becomes at the end.

    After an exception nothing is left of it, and an OSError ends the command with status 3.
    """
    check(path, command)
    path = pathlib.Path(path)
    try:
        handle, name = tempfile.mkstemp(path.suffix, ".weft-", path.parent)
        os.close(handle)
        try:
            yield name
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(name, 0o666 & ~umask)  # mkstemp lets the owner alone read it
            with open(name, "rb") as whole:
                os.fsync(whole)
            os.replace(name, path)
            with contextlib.suppress(OSError):  # not all file systems sync folders
                folder = os.open(path.parent, os.O_RDONLY)
                os.fsync(folder)
                os.close(folder)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
    except OSError as error:
        text.fail(command, f"{path}: {error.strerror or error}", text.ENVIRONMENT_FAILURE)


def write(path, content, command):
    with replaced(path, command) as whole:
        pathlib.Path(whole).write_text(content, encoding="utf-8")
