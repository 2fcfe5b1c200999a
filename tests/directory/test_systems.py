"""What differs between systems: here as the system that runs the tests does it, and as the others would.

Windows is played by its rules: its lock call stands on ``flock``, and a folder in which a file is open is not renamed.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.directory import systems
from kbkit.directory.generations import KbDirectory
from kbkit.directory.workspace import Workspace
from kbkit.errors import LockedError
from tests.directory.test_directory import names, publish

PACKAGE = Path(kbkit.__file__).parent

LOCK_VIOLATION, NOT_SUPPORTED = 33, 50


class Kernel:
    """``LockFileEx`` as Windows documents it, on top of ``flock``."""

    def __init__(self, refusal: int = LOCK_VIOLATION) -> None:
        self.error, self.refusal, self.calls = 0, refusal, []

    def __call__(self, native: int, flags: int, reserved: int, low: int, high: int, overlapped: Any) -> int:
        start = overlapped._obj
        self.calls.append((flags, reserved, low, high, start.offset, start.offset_high))
        if self.refusal != LOCK_VIOLATION:
            self.error = self.refusal
            return 0
        try:
            fcntl.flock(native, (fcntl.LOCK_EX if flags & 2 else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            self.error = LOCK_VIOLATION
            return 0
        return 1


def become_windows(patch: pytest.MonkeyPatch, kernel: Kernel) -> None:
    patch.setattr(systems, "WINDOWS", True)
    patch.setattr(systems, "_PAUSE", 0)
    library = types.SimpleNamespace(LockFileEx=kernel)
    patch.setattr(ctypes, "WinDLL", lambda name, use_last_error: library, raising=False)
    patch.setattr(ctypes, "get_last_error", lambda: kernel.error, raising=False)
    patch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(get_osfhandle=lambda descriptor: descriptor))
    patch.setattr(Path, "rename", windows_rename)


def windows_rename(old: Path, new: Path) -> None:
    """Refuses a folder in which this process has a file open, and a name that is taken."""
    held = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]  # noqa: PTH208
    if any(Path(path).is_relative_to(old.resolve()) for path in held):
        raise PermissionError(13, "Access is denied", str(old))
    if new.exists():
        raise FileExistsError(17, "Cannot create a file when that file already exists", str(new))
    os.rename(old, new)  # noqa: PTH104


@pytest.fixture(params=["posix", "windows"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test twice: as here, and as on Windows."""
    if request.param == "windows":
        become_windows(monkeypatch, Kernel())
    return str(request.param)


HOLDER = """
import sys
from pathlib import Path
import pytest
from kbkit.directory import systems
from tests.directory.test_systems import Kernel, become_windows

patch = pytest.MonkeyPatch()
if sys.argv[1] == "windows":
    become_windows(patch, Kernel())
with Path(sys.argv[2]).open("ab") as handle:
    print(systems.lock(handle, shared=sys.argv[3] == "shared"), flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def held_elsewhere(system: str, path: Path, how: str = "exclusive") -> Iterator[subprocess.Popen[str]]:
    """Another process that holds a lock until the block ends."""
    root = PACKAGE.parent
    command = [sys.executable, "-c", HOLDER, system, str(path), how]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        yield process
        process.kill()


# -- locks ------------------------------------------------------------------------------------------------------------


def test_readers_share_and_builders_do_not(system: str, tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    with path.open("rb") as one, path.open("rb") as two, path.open("ab") as three:
        assert systems.lock(one, shared=True)
        assert systems.lock(two, shared=True)
        assert not systems.lock(three, shared=False)
        one.close()
        assert not systems.lock(three, shared=False)
        two.close()
        assert systems.lock(three, shared=False)
        with path.open("rb") as late:
            assert not systems.lock(late, shared=True)


@pytest.mark.system
@pytest.mark.parametrize("how", ["shared", "exclusive"])
def test_a_lock_of_another_process_ends_with_it(system: str, tmp_path: Path, how: str) -> None:
    path = tmp_path / "lock"
    path.touch()
    with path.open("ab") as handle, held_elsewhere(system, path, how) as process:
        assert not systems.lock(handle, shared=False)
        process.kill()
        process.wait()
        assert systems.lock(handle, shared=False)


def test_windows_locks_one_byte_behind_the_text_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kernel = Kernel()
    become_windows(monkeypatch, kernel)
    with (tmp_path / "lock").open("ab") as handle:
        assert systems.lock(handle, shared=True)
        assert systems.lock(handle, shared=False)
    assert kernel.calls == [(1, 0, 1, 0, 1 << 30, 0), (3, 0, 1, 0, 1 << 30, 0)]
    assert ctypes.sizeof(systems._Overlapped) == 2 * ctypes.sizeof(ctypes.c_void_p) + 8 + ctypes.sizeof(ctypes.c_void_p)


def test_where_a_file_system_has_no_locks_readers_go_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    become_windows(monkeypatch, Kernel(NOT_SUPPORTED))
    with (tmp_path / "lock").open("ab") as handle:
        assert systems.lock(handle, shared=True)
        assert not systems.lock(handle, shared=False)
    monkeypatch.undo()

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (tmp_path / "lock").open("ab") as handle:
        assert systems.lock(handle, shared=True)
        assert not systems.lock(handle, shared=False)


def test_a_lock_file_is_made_and_goes_again(system: str, tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with systems.exclusive(path, "busy", "wait"):
        assert path.exists()
        with pytest.raises(LockedError, match=r"^busy. wait.$"), systems.exclusive(path, "busy", "wait"):
            pass
        assert path.exists()
    assert not path.exists()
    with systems.exclusive(path, "busy", "wait"):
        assert names(tmp_path) == ["lock"]


@pytest.mark.system
def test_a_lock_file_of_another_process(system: str, tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with held_elsewhere(system, path) as process:
        with pytest.raises(LockedError), systems.exclusive(path, "busy", "wait"):
            pass
        process.kill()
        process.wait()
        with systems.exclusive(path, "busy", "wait"):
            assert path.exists()
    assert not path.exists()


def test_same_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("ab") as handle:
        assert systems.same_file(handle, path)
        path.unlink()
        assert not systems.same_file(handle, path)
        path.touch()
        (tmp_path / "other").touch()
        assert not systems.same_file(handle, tmp_path / "other")


# -- names in a folder ------------------------------------------------------------------------------------------------


def failing(times: int) -> tuple[Callable[[], None], list[int]]:
    tried: list[int] = []

    def action() -> None:
        tried.append(1)
        if len(tried) <= times:
            raise PermissionError(13, "Access is denied")

    return action, tried


def test_windows_tries_again_while_a_scanner_holds_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    become_windows(monkeypatch, Kernel())
    action, tried = failing(3)
    systems.retry(action)
    assert len(tried) == 4
    action, tried = failing(10_000)
    with pytest.raises(PermissionError):
        systems.retry(action)
    assert len(tried) == 50


def test_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systems, "WINDOWS", False)
    action, tried = failing(1)
    with pytest.raises(PermissionError):
        systems.retry(action)
    assert len(tried) == 1


def test_rename_replace_remove(system: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("new", encoding="utf-8")
    systems.rename(tmp_path / "a", tmp_path / "b")
    (tmp_path / "c").write_text("old", encoding="utf-8")
    systems.replace(tmp_path / "b", tmp_path / "c")
    assert names(tmp_path) == ["c"]
    assert (tmp_path / "c").read_text(encoding="utf-8") == "new"
    systems.remove(tmp_path / "c")
    systems.remove(tmp_path / "c")
    (tmp_path / "d" / "e").mkdir(parents=True)
    systems.remove_tree(tmp_path / "d")
    systems.remove_tree(tmp_path / "d")
    assert names(tmp_path) == []


def test_a_swap_that_fails_restores_the_old_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "file").write_text("old", encoding="utf-8")
    monkeypatch.setattr(systems, "exchange", lambda one, other: False)
    with pytest.raises(FileNotFoundError):
        systems.swap(tmp_path / "missing", old)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (old / "file").read_text(encoding="utf-8") == "old"


@pytest.mark.system
def test_a_folder_is_renamed_unless_it_is_locked(system: str, tmp_path: Path) -> None:
    folder, new = tmp_path / "old", tmp_path / "new"
    folder.mkdir()
    (folder / "lock").touch()
    with held_elsewhere(system, folder / "lock", "shared"):
        assert not systems.rename_unless_locked(folder, new, "lock")
    assert not systems.rename_unless_locked(folder, new, "lock", lambda: False)
    assert names(tmp_path) == ["old"]
    assert systems.rename_unless_locked(folder, new, "lock")
    assert names(tmp_path) == ["new"]


def test_windows_leaves_a_folder_in_which_a_file_is_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    become_windows(monkeypatch, Kernel())
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "lock").touch()
    with (tmp_path / "old" / "mapped").open("w", encoding="utf-8"):
        assert not systems.rename_unless_locked(tmp_path / "old", tmp_path / "new", "lock")
    assert systems.rename_unless_locked(tmp_path / "old", tmp_path / "new", "lock")


def test_generations_come_and_go_on_either_system(system: str, tmp_path: Path) -> None:
    directory = KbDirectory(tmp_path / "x.kb")
    publish(directory, "1")
    pin = directory.pin()
    for text in "234":
        publish(directory, text)
    assert names(tmp_path / "x.kb" / "generations") == ["0001", "0003", "0004"]
    pin.close()
    with directory.pin().folder.joinpath("data").open("rb"):
        assert [name for name, _ in directory.collect()] == ["0001", "0003"]
    busy = r"being built by process \d+ on .* \(one, since"
    with directory.building("one", replace=True), pytest.raises(LockedError, match=busy):
        directory.collect()


# -- links, modes, disks ----------------------------------------------------------------------------------------------


def refuse_links(*_: object, **__: object) -> None:
    raise OSError(errno.EPERM, "A required privilege is not held by the client")


def test_links_or_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("x", encoding="utf-8")
    systems.link_or_copy(str(tmp_path / "a"), str(tmp_path / "hard"))
    systems.symlink_or_copy(tmp_path / "a", tmp_path / "soft")
    assert (tmp_path / "hard").samefile(tmp_path / "a")
    assert (tmp_path / "soft").is_symlink()
    monkeypatch.setattr(os, "link", refuse_links)
    monkeypatch.setattr(os, "symlink", refuse_links)
    systems.link_or_copy(str(tmp_path / "a"), str(tmp_path / "copy"))
    systems.symlink_or_copy(tmp_path / "a", tmp_path / "copy2")
    for name in ("copy", "copy2"):
        assert (tmp_path / name).read_text(encoding="utf-8") == "x"
        assert not (tmp_path / name).is_symlink()
        assert not (tmp_path / name).samefile(tmp_path / "a")


@pytest.fixture
def flushes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What was asked of the disk: (call, name of the file), in order; the calls themselves are made too."""
    seen: list[tuple[str, str]] = []
    fsync = os.fsync

    def name(descriptor: int) -> str:
        return Path(os.path.realpath(f"/proc/self/fd/{descriptor}")).name

    def plain(descriptor: int) -> None:
        seen.append(("fsync", name(descriptor)))
        fsync(descriptor)

    def full(descriptor: int, command: int) -> None:
        seen.append((f"fcntl {command}", name(descriptor)))

    monkeypatch.setattr(os, "fsync", plain)
    monkeypatch.setattr(fcntl, "fcntl", full)
    return seen


def test_sync_reaches_the_disk(flushes: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").touch()
    monkeypatch.setattr(systems, "MACOS", False)
    systems.sync_path(tmp_path / "a")
    systems.sync_path(tmp_path)
    assert flushes == [("fsync", "a"), ("fsync", tmp_path.name)]


def test_on_macos_the_drive_empties_its_cache_once(
    flushes: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").touch()
    monkeypatch.setattr(systems, "MACOS", True)
    systems.sync_tree(tmp_path)
    assert sorted(flushes[:-1]) == [("fsync", "a"), ("fsync", "b")]
    assert flushes[-1] == ("fcntl 51", tmp_path.name)


def test_on_macos_where_the_call_is_refused(
    flushes: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(systems, "MACOS", True)
    monkeypatch.setattr(fcntl, "fcntl", refuse)
    systems.sync_path(tmp_path)
    assert flushes == [("fsync", tmp_path.name)]


def test_windows_opens_no_folders(
    flushes: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    become_windows(monkeypatch, Kernel())
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").touch()
    systems.sync_tree(tmp_path)
    assert flushes == [("fsync", "b")]


# -- names, processes, pipes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("big", "big"),
        ("near france", "near%20france"),
        ("a/b\\c:d", "a%2Fb%5Cc%3Ad"),
        ("..", ".."),
        ("Big", "Big-DIGEST"),
        ("con", "con-DIGEST"),
        ("nul.txt", "_nul.txt-DIGEST"),
        ("console", "console"),
        ("é", "%C3%A9"),
        ("x" * 151, "x" * 100 + "-DIGEST"),
    ],
)
def test_file_names(name: str, expected: str) -> None:
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    assert systems.file_name(name) == expected.replace("DIGEST", digest)


@given(st.lists(st.text(min_size=1, max_size=60) | st.sampled_from(["con", "CON", "Nul.a", "a" * 500]), max_size=5))
def test_file_names_are_different_and_allowed_everywhere(given_names: list[str]) -> None:
    made = {name: systems.file_name(name) for name in given_names}
    assert len({text.lower() for text in made.values()}) == len(made)
    for text in made.values():
        assert text.isascii()
        assert len(text) <= 160
        assert not set(text) & set('<>:"/\\|?*\0')
        assert text.split(".")[0].lower() not in {"con", "prn", "aux", "nul", "com1", "lpt1"}


def members(*keys: str) -> pl.DataFrame:
    return pl.DataFrame({"type": "thing", "key": list(keys)})


def test_saved_sets_that_differ_in_capitals_only(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    for place, name in enumerate(("big", "Big", "BIG", "con", "a:b")):
        workspace.save(name, "thing", None, "0001", members(str(place)))
    files = names(workspace.sets_folder)
    assert len({name.lower() for name in files}) == len(files) == 5
    assert [workspace.members(name)["key"].item() for name in ("big", "Big", "BIG", "con")] == ["0", "1", "2", "3"]


def test_saved_sets_of_before_are_found_under_their_former_names(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.save("Big films", "film", None, "0001", members("1"))
    [path] = workspace.sets_folder.iterdir()
    path.rename(path.with_name("Big%20films.parquet"))
    assert workspace.members("Big films")["key"].to_list() == ["1"]
    workspace.save("Big films", "film", None, "0001", members("2"))
    assert names(workspace.sets_folder) == ["Big%20films.parquet"]
    assert workspace.members("Big films")["key"].to_list() == ["2"]
    workspace.drop("Big films")
    assert workspace.sets() == []


def test_cores_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    assert systems.cores() == len(os.sched_getaffinity(0))
    monkeypatch.delattr(os, "sched_getaffinity")
    assert systems.cores() == os.cpu_count()


def test_a_closed_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    invalid = OSError(errno.EINVAL, "Invalid argument")
    assert systems.is_closed_pipe(BrokenPipeError())
    assert not systems.is_closed_pipe(invalid)
    monkeypatch.setattr(systems, "WINDOWS", True)
    assert systems.is_closed_pipe(invalid)
    assert not systems.is_closed_pipe(OSError(errno.ENOSPC, "No space left on device"))


# -- nothing of the kind elsewhere ------------------------------------------------------------------------------------

MODULES = {
    "crypt", "ctypes", "curses", "fcntl", "grp", "msvcrt", "multiprocessing", "nt", "posix", "pty", "pwd", "readline",
    "resource", "spwd", "syslog", "termios", "tty", "winreg",
}  # fmt: skip
OF_OS = {
    "abort", "chmod", "chown", "chroot", "cpu_count", "fchmod", "fchown", "fdatasync", "fork", "forkpty", "fsync",
    "getegid", "geteuid", "getgid", "getgroups", "getloadavg", "getpgid", "getpgrp", "getpriority", "getsid", "getuid",
    "kill", "killpg", "lchown", "link", "lockf", "mkfifo", "name", "nice", "openpty", "pread", "pwrite", "rename",
    "renames", "replace", "sched_getaffinity", "sched_setaffinity", "sendfile", "setpgid", "setsid", "setuid",
    "startfile", "statvfs", "symlink", "sync", "sysconf", "umask", "uname", "wait", "waitpid",
}  # fmt: skip
OF_SIGNAL = {
    "SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGTSTP", "SIGUSR1", "SIGUSR2", "SIGWINCH",
    "alarm", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "sigwait",
}  # fmt: skip
OF_OTHERS = {("sys", "platform"), ("shutil", "rmtree"), ("shutil", "chown"), ("platform", "system")}
OF_PATHS = {"chmod", "group", "hardlink_to", "lchmod", "owner", "symlink_to"}
KEYWORDS = {"preexec_fn", "start_new_session", "process_group", "pass_fds", "user", "group", "umask"}
PLACES = ("/dev/", "/proc/", "/tmp/", "/etc/", "/bin/", "/usr/")


_EXAMINED = (ast.Import, ast.ImportFrom, ast.Attribute, ast.Constant, ast.Call)


def offences(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """What a module may not use, with its line."""
    for node in ast.walk(tree):
        if not isinstance(node, _EXAMINED):
            continue
        match node:
            case ast.Import(names=imported):
                yield from ((node.lineno, a.name) for a in imported if a.name.split(".")[0] in MODULES)
            case ast.ImportFrom(module=module, names=imported) if module:
                all_banned = {"os": OF_OS, "signal": OF_SIGNAL, "sys": {"platform"}, "shutil": {"rmtree"}}
                banned = all_banned.get(module, set())
                if module.split(".")[0] in MODULES:
                    yield node.lineno, module
                yield from ((node.lineno, f"{module}.{a.name}") for a in imported if a.name in banned)
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                known = {"os": OF_OS, "signal": OF_SIGNAL}.get(owner, set())
                if name in known or (owner, name) in OF_OTHERS:
                    yield node.lineno, f"{owner}.{name}"
            case ast.Constant(value=str(text)) if text.startswith(PLACES):
                yield node.lineno, text
        if isinstance(node, ast.Call):
            yield from _calls(node)


def _calls(call: ast.Call) -> Iterator[tuple[int, str]]:
    keywords = {keyword.arg for keyword in call.keywords}
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    of_process = name in {"Popen", "run", "call", "check_call", "check_output"}
    if of_process:
        yield from ((call.lineno, f"{name}({word}=)") for word in keywords & KEYWORDS)
    if not isinstance(function, ast.Attribute):
        return
    if name in OF_PATHS and not (isinstance(function.value, ast.Name) and function.value.id == "systems"):
        yield call.lineno, f".{name}()" if name not in {"group", "owner"} or not call.args else ""
    # A path's have one argument; a text's replace has two, and a frame's rename takes a mapping.
    plain = len(call.args) == 1 and not keywords and not isinstance(call.args[0], ast.Dict)
    if name in {"rename", "replace"} and plain:
        yield call.lineno, f"path.{name}()"
    mode = next((a.value for a in call.args[:2] if isinstance(a, ast.Constant) and isinstance(a.value, str)), "")
    text = name == "open" and mode in {"r", "w", "a", "x", "r+", "w+", "a+"}
    if (text and "encoding" not in keywords) or (name == "read_text" and not call.args and "encoding" not in keywords):
        yield call.lineno, f"{name}() without encoding"
    of_click = isinstance(function.value, ast.Name) and function.value.id == "formatter"  # writes help, no file
    written = (text and mode != "r") or (name == "write_text" and len(call.args) < 3 and not of_click)
    if written and not keywords >= {"encoding", "newline"}:
        yield call.lineno, f"{name}() without encoding and newline"


@pytest.mark.system
def test_only_systems_differs_between_systems() -> None:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE).as_posix()
        if relative != "directory/systems.py":
            # A pool of spawned processes works the same on all systems.
            allowed = {"multiprocessing"} if relative == "readers/wikidata/passes.py" else set()
            found_here = offences(ast.parse(path.read_bytes()))
            problems = [(line, what) for line, what in found_here if what and what not in allowed]
            found.update({f"kbkit/{relative}:{line}": what for line, what in problems})
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "import fcntl", "from pwd import getpwuid", "import multiprocessing.pool", "os.fork()", "os.kill(1, 9)",
        "from os import chmod", "signal.SIGKILL", "if sys.platform == 'win32': pass", "open('/dev/null')",
        "Popen(x, start_new_session=True)", "path.symlink_to(x)", "path.chmod(1)", "shutil.rmtree(x)", "a.rename(b)",
        "a.replace(b)", "a.write_text(b, encoding='utf-8')", "a.open('w', encoding='utf-8')", "a.open('r')",
        "a.read_text()",
    ],
)  # fmt: skip
def test_that_check_sees(text: str) -> None:
    assert list(offences(ast.parse(text)))


@pytest.mark.parametrize(
    "text", ["a.replace('b', 'c')", "frame.rename({'a': 'b'})", "a.open('rb')", "replace(a, b=1)", "match.group(1)"]
)
def test_and_only_that(text: str) -> None:
    assert not [what for _, what in offences(ast.parse(text)) if what]
