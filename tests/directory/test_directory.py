"""The KB directory without stores: folders, links, checksums, locks, deletion, atomic writes."""

from __future__ import annotations

import _thread
import contextlib
import errno
import hashlib
import json
import os
import resource
import shutil
from pathlib import Path
from typing import Any

import pytest

from kbkit.directory import generations as layout
from kbkit.directory import limits, systems
from kbkit.directory.damage import reading
from kbkit.directory.files import replacing, write_files
from kbkit.directory.generations import KbDirectory
from kbkit.directory.manifest import FORMAT, Manifest, RecipeRecord, StoreRecord
from kbkit.errors import DamagedError, KbError, LockedError, NotAKbError, ShortageError
from kbkit.schema import NodeType, Schema
from tests.wording import Wording


def manifest() -> Manifest:
    node_type = NodeType(name="thing", first=0, count=1, others=0, table="thing", iri="urn:thing")
    recipe: RecipeRecord = {"name": "small", "title": "Small", "licence": "CC0-1.0", "options": {}}
    schema = Schema("small", "urn:x:", (node_type,), (), ())
    return Manifest(schema, "", layout.now(), recipe, [], {}, {})


def publish(directory: KbDirectory, text: str = "x") -> Path:
    """A generation of one file."""
    with directory.building("a test", replace=True) as folder:
        (folder / "data").write_text(text)
        return directory.publish(folder, manifest())


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


# -- tools ------------------------------------------------------------------------------------------------------------


def test_fingerprint_is_size_and_sha256(tmp_path: Path) -> None:
    data = bytes(range(256)) * 5_000
    (tmp_path / "file").write_bytes(data)
    assert layout.fingerprint(tmp_path / "file") == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def test_fingerprint_of_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(KbError, match="nothing: No such file or directory"):
        layout.fingerprint(tmp_path / "nothing")
    with pytest.raises(KbError, match="Is a directory"):
        layout.fingerprint(tmp_path)


def test_link_tree_shares_the_files(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_text("x")
    (tmp_path / "a" / ".hidden").write_text("y")
    layout.link_tree(tmp_path / "a", tmp_path / "c")
    assert (tmp_path / "c" / "b" / "file").samefile(tmp_path / "a" / "b" / "file")
    assert (tmp_path / "c" / ".hidden").samefile(tmp_path / "a" / ".hidden")
    layout.link_tree(tmp_path / "a" / ".hidden", tmp_path / "single")
    assert (tmp_path / "single").samefile(tmp_path / "a" / ".hidden")


def test_link_tree_copies_where_links_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("x")
    monkeypatch.setattr(os, "link", refuse)  # stands for another file system
    layout.link_tree(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b" / "file").read_text() == "x"
    assert not (tmp_path / "b" / "file").samefile(tmp_path / "a" / "file")


def test_remove_tree_leaves_what_links_point_to(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "link").symlink_to(tmp_path / "kept")
    systems.remove_tree(tmp_path / "a")
    systems.remove_tree(tmp_path / "never was")
    assert names(tmp_path) == ["kept"]
    assert names(tmp_path / "kept") == ["file"]


def test_tree_bytes(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "x").write_bytes(b"12")
    (tmp_path / "a" / "b" / "y").write_bytes(b"345")
    assert layout.tree_bytes(tmp_path) == 5
    assert layout.tree_bytes(tmp_path / "none") == 0


def test_a_manifest_reads_as_it_was_written(tmp_path: Path) -> None:
    made = manifest()
    made.stores["text"] = StoreRecord({"documents": 1}, 0.5, {"analyzer": "english"})
    made.write(tmp_path)
    assert Manifest.read(tmp_path) == made


def test_a_manifest_tells_that_it_was_changed(tmp_path: Path) -> None:
    manifest().write(tmp_path)
    assert not Manifest.is_changed(tmp_path)
    path = tmp_path / "manifest.json"
    path.write_text(path.read_text().replace(manifest().created, "2001-01-01T00:00:00Z"))
    assert Manifest.is_changed(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", f'{{"format": {FORMAT}}}', "null", "\xff"])
def test_a_broken_manifest(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text, encoding="latin-1")
    with pytest.raises(NotAKbError, match=r"manifest\.json"):
        Manifest.read(tmp_path)


def test_a_manifest_of_a_newer_format(tmp_path: Path, wording: Wording) -> None:
    manifest().write(tmp_path)
    data = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**data, "format": FORMAT + 1, "news": 1}))
    with pytest.raises(NotAKbError, match=f"format {FORMAT + 1}.*format {FORMAT}") as error:
        Manifest.read(tmp_path)
    wording(str(error.value), replace={str(tmp_path): "DIR"})


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        (("stores",), None, "Invalid value null in the manifest, stores: expected an object"),
        (("stores", "text"), [], "the manifest, stores, text: expected an object"),
        (("stores", "text", "counts", "documents"), "1", 'Invalid value "1" in the manifest, stores, text, counts'),
        (("stores", "text", "settings", "analyzer"), {"a": []}, "stores, text, settings, analyzer"),
        (("recipe",), "small", "the manifest, recipe: expected an object"),
        (("recipe", "title"), None, "Invalid value null in the manifest, recipe, title"),
        (("files",), [], "the manifest, files: expected an object"),
        (("schema", "base"), 1, "Invalid value 1 in the manifest, schema, base"),
        (("schema", "node_types"), [[[]]], "the manifest, schema, node_types"),
        (("schema", "node_types", 0, "count"), 10**400, "invalid number of nodes"),
        (("schema", "node_types", 0, "count"), -1, "invalid number of nodes"),
        (("schema", "node_types", 0, "overlaps"), ["none"], "overlap of type 'thing'"),
        (("schema", "name_weight"), float("nan"), "NaN is not a finite number"),
        (("schema", "name_weight"), "NESTED", "maximum recursion depth"),
        (("schema", "name"), "\ud800", "unpaired surrogate"),
        (("schema", "news"), 1, "Unknown field 'news' in the manifest, schema"),
        (("format",), "3", "the manifest, format"),
    ],
)
def test_a_manifest_with_another_value(tmp_path: Path, where: tuple[Any, ...], value: object, said: str) -> None:
    made = manifest()
    made.stores["text"] = StoreRecord({"documents": 1}, 0.5, {"analyzer": "english"})
    made.write(tmp_path)
    part = data = json.loads((tmp_path / "manifest.json").read_text())
    for name in where[:-1]:
        part = part[name]
    part[where[-1]] = value
    text = json.dumps(data).replace('"NESTED"', "[" * 100_000 + "]" * 100_000)
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(NotAKbError) as error:
        Manifest.read(tmp_path)
    assert said in str(error.value)
    assert "manifest.json" in str(error.value)
    assert "\n" not in str(error.value)


class PanicException(BaseException):
    pass


def test_what_an_engine_raises_is_damage_unless_it_is_a_bug(tmp_path: Path) -> None:
    for error in (PanicException("range end\nindex"), OSError(5, "Input/output error"), EOFError(), IndexError("7")):
        with (
            pytest.raises(DamagedError, match=r"text is damaged: .*kbkit build KB text") as caught,
            reading("text", tmp_path / "text"),
        ):
            raise error
        assert "\n" not in str(caught.value)
    for error in (KeyboardInterrupt(), TypeError("a bug"), KbError("refused")):
        with pytest.raises(type(error)) as same, reading("text", tmp_path):
            raise error
        assert same.value is error


@pytest.mark.parametrize(
    ("error", "shortage"),
    [
        (MemoryError(), "out of memory"),
        (RuntimeError("Out of Memory Error: Failed to allocate block of 2048 bytes"), "out of memory"),
        (OSError(24, "Too many open files"), "too many open files"),
        (ValueError("IO error: Too many open files (os error 24)"), "too many open files"),
        (RuntimeError("can't start new thread"), "too many threads"),
        (PanicException("failed to spawn thread: Resource temporarily unavailable"), "too many threads"),
        (ValueError("System error.'Failed to spawn segment merging thread'"), "too many threads"),
        (RuntimeError("Binder Error: Max expression depth limit of 1000 exceeded"), "an expression is nested too"),
    ],
)
def test_a_shortage_is_not_damage(tmp_path: Path, error: BaseException, shortage: str) -> None:
    message = rf"^Cannot read {tmp_path}: {shortage}"
    with pytest.raises(ShortageError, match=message) as caught, reading("text", tmp_path):
        raise error
    assert "damaged" not in str(caught.value)


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [
        (resource.RLIMIT_AS, 1 << 30, "The limit of the address space is too low: 1.1 of at least 4 GB"),
        (resource.RLIMIT_NOFILE, 32, "The limit of open files is too low: 32 of at least 128"),
    ],
)
def test_limits_that_are_too_low_for_the_engines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, value: int, message: str
) -> None:
    known = resource.getrlimit
    monkeypatch.setattr(resource, "getrlimit", lambda which: (value, value) if which == limit else known(which))
    with pytest.raises(ShortageError, match=message):
        KbDirectory(tmp_path / "x.kb")


def test_too_few_threads_for_the_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    start, left = _thread.start_new_thread, iter(range(3))

    def failing(*given: Any) -> int:
        if next(left, None) is None:
            raise RuntimeError("can't start new thread")
        return start(*given)

    limits._check_threads_once.cache_clear()
    monkeypatch.setattr(_thread, "start_new_thread", failing)
    with pytest.raises(ShortageError, match=r"Cannot start \d+ threads"):
        limits.check_limits()
    monkeypatch.undo()
    limits.check_limits()


@pytest.mark.parametrize("name", ["line\nbreak.kb", "back\\slash.kb"])
def test_paths_that_an_engine_cannot_use(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotAKbError, match="Unsupported character"):
        KbDirectory(tmp_path / name)


@pytest.mark.parametrize("name", ["build.lock", "CURRENT.new", "partial", "workspace", "generations"])
def test_no_build_follows_a_link_out_of_the_kb(tmp_path: Path, name: str) -> None:
    directory = KbDirectory(tmp_path / "x.kb")
    publish(directory)
    outside = tmp_path / "outside"
    outside.write_text("mine")
    systems.remove_tree(directory.path / name)
    (directory.path / name).symlink_to(outside)
    with pytest.raises(NotAKbError, match=rf"{name} is a link"):
        publish(directory)
    with pytest.raises(NotAKbError, match=r"is a link"):
        directory.collect()
    assert outside.read_text() == "mine"


# -- generations ------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_generations_are_numbered_and_the_last_two_kept(tmp_path: Path) -> None:
    directory = KbDirectory(tmp_path / "x.kb")
    for number in range(1, 5):
        assert publish(directory, str(number)).name == f"{number:04d}"
        assert directory.current() == f"{number:04d}"
    assert names(tmp_path / "x.kb" / "generations") == ["0003", "0004"]
    assert directory.generations() == ["0003", "0004"]
    assert (tmp_path / "x.kb" / "CURRENT").read_bytes() == b"0004\n"
    assert names(tmp_path / "x.kb") == ["CURRENT", "build.lock", "generations"]


def test_more_than_9999_generations(tmp_path: Path) -> None:
    directory = KbDirectory(tmp_path / "x.kb")
    publish(directory)
    (tmp_path / "x.kb" / "generations" / "0001").rename(tmp_path / "x.kb" / "generations" / "9999")
    (tmp_path / "x.kb" / "CURRENT").write_text("9999\n")
    publish(directory, "a")
    assert directory.current() == "10000"
    publish(directory, "b")
    assert directory.current() == "10001"
    assert names(tmp_path / "x.kb" / "generations") == ["10000", "10001"]
    publish(directory, "c")
    assert (directory.generation(directory.current()) / "data").read_text() == "c"


def test_checksums_of_all_but_volatile_files(tmp_path: Path) -> None:
    directory = KbDirectory(tmp_path / "x.kb")
    with directory.building("a test", replace=True) as folder:
        (folder / "store").mkdir()
        for name in ("data", "LOG", "LOCK", ".tantivy-meta.lock"):
            (folder / "store" / name).write_text(name)
        final = directory.publish(folder, manifest())
    made = Manifest.read(final)
    assert made.generation == "0001"
    assert made.files == {"store/data": {"bytes": 4, "sha256": hashlib.sha256(b"data").hexdigest()}}
    assert layout.check_files(final, made) == []
    (final / "store" / "LOG").unlink()
    assert layout.check_files(final, made) == []
    (final / "store" / "data").write_text("dato")
    (final / "stray").touch()
    assert layout.check_files(final, made) == [
        "stray is not in the manifest",
        "store/data differs from its checksum",
    ]
    (final / "store" / "data").unlink()
    assert "store/data is missing" in layout.check_files(final, made)


def test_a_pinned_generation_stays(tmp_path: Path) -> None:
    directory = KbDirectory(tmp_path / "x.kb")
    publish(directory, "1")
    pin, again = directory.pin(), directory.pin()
    for text in "234":
        publish(directory, text)
    assert names(tmp_path / "x.kb" / "generations") == ["0001", "0003", "0004"]
    pin.close()
    assert [name for name, _ in directory.collect()] == ["0003"]
    assert (again.folder / "data").read_text() == "1"
    again.close()
    assert [name for name, _ in directory.collect()] == ["0001"]
    assert names(tmp_path / "x.kb" / "generations") == ["0004"]
    assert directory.collect() == []


def test_collect_deletes_leftovers_of_interrupted_builds(tmp_path: Path) -> None:
    directory = KbDirectory(tmp_path / "x.kb")
    publish(directory, "1")
    for name in ("0002", "0003.building", "0000.removed"):
        (tmp_path / "x.kb" / "generations" / name).mkdir()
    (tmp_path / "x.kb" / "generations" / "0003.building" / "part").write_bytes(b"12345")
    assert directory.collect() == [("0000.removed", 0), ("0002", 0), ("0003.building", 5)]
    assert names(tmp_path / "x.kb" / "generations") == ["0001"]


def test_no_kb(tmp_path: Path, wording: Wording) -> None:
    for path, fact in ((tmp_path / "none", "none does not exist"), (tmp_path, "CURRENT")):
        with pytest.raises(NotAKbError, match=fact) as error:
            KbDirectory(path).pin()
        wording(str(error.value), replace={str(tmp_path): "DIR"})
    (tmp_path / "file").touch()
    with pytest.raises(NotAKbError):
        KbDirectory(tmp_path / "file").pin()
    with pytest.raises(NotAKbError):
        KbDirectory(tmp_path / "none").collect()
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("text", ["", "0009\n", "..\n", "\xff", "0001/../0009"])
def test_current_names_nothing(tmp_path: Path, text: str) -> None:
    directory = KbDirectory(tmp_path / "x.kb")
    publish(directory)
    (tmp_path / "x.kb" / "CURRENT").write_text(text, encoding="latin-1")
    with pytest.raises(NotAKbError):
        directory.pin()


@pytest.mark.parametrize("part", ["", "lock"])
def test_a_generation_of_another_kind_of_file_is_named(tmp_path: Path, part: str) -> None:
    kb = KbDirectory(tmp_path / "a.kb")
    path = publish(kb) / part
    if part:
        path.unlink()
        path.mkdir()
    else:
        shutil.rmtree(path)
        path.touch()
    with pytest.raises(NotAKbError, match=r"Cannot read .*lock"):
        kb.pin()


def test_a_generation_that_lost_its_lock_file_still_opens_or_says_so(tmp_path: Path) -> None:
    directory = KbDirectory(tmp_path / "x.kb")
    (publish(directory) / "lock").unlink()  # as by a copy that leaves out empty files
    try:
        directory.pin().close()
    except NotAKbError as error:
        assert "lock" in error.message


# -- building ---------------------------------------------------------------------------------------------------------


class BrokenError(Exception):
    pass


def fail(directory: KbDirectory) -> None:
    with pytest.raises(BrokenError), directory.building("a test", replace=True) as folder:
        (folder / "half").mkdir()
        raise BrokenError


def test_foreign_folders_are_refused_and_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(NotAKbError, match=r"thesis\.tex"):
        fail(KbDirectory(tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(NotAKbError, match="is a file"):
        fail(KbDirectory(tmp_path / "file"))
    assert names(tmp_path) == ["file", "thesis.tex"]


def test_a_kb_with_a_foreign_file_can_be_rebuilt(tmp_path: Path) -> None:
    directory = KbDirectory(tmp_path / "x.kb")
    publish(directory)
    (tmp_path / "x.kb" / "README.md").write_text("mine")
    publish(directory)
    assert (tmp_path / "x.kb" / "README.md").read_text() == "mine"


def test_a_failed_first_build_deletes_the_folders_it_created(tmp_path: Path) -> None:
    fail(KbDirectory(tmp_path / "a" / "b" / "x.kb"))
    assert names(tmp_path) == []


def test_an_empty_directory_is_empty_after_a_failure(tmp_path: Path) -> None:
    fail(KbDirectory(tmp_path))
    assert tmp_path.is_dir()
    assert names(tmp_path) == []


def test_a_workspace_survives_a_failed_first_build(tmp_path: Path) -> None:
    (tmp_path / "x.kb" / "workspace").mkdir(parents=True)
    (tmp_path / "x.kb" / "workspace" / "mine").write_text("x")
    fail(KbDirectory(tmp_path / "x.kb"))
    assert (tmp_path / "x.kb" / "workspace" / "mine").read_text() == "x"


def test_a_failed_build_leaves_the_kb(tmp_path: Path) -> None:
    directory = KbDirectory(tmp_path / "x.kb")
    publish(directory)
    fail(directory)
    assert names(tmp_path / "x.kb" / "generations") == ["0001"]
    assert directory.current() == "0001"


def test_a_build_after_a_failed_one(tmp_path: Path) -> None:
    directory = KbDirectory(tmp_path / "x.kb")
    fail(directory)
    assert publish(directory).name == "0001"


def test_an_exception_after_publishing_leaves_what_was_published(tmp_path: Path) -> None:
    directory = KbDirectory(tmp_path / "x.kb")
    with pytest.raises(BrokenError), directory.building("a test", replace=True) as folder:
        directory.publish(folder, manifest())
        raise BrokenError
    directory.pin().close()


def test_one_builder_at_a_time(tmp_path: Path) -> None:
    directory = KbDirectory(tmp_path / "x.kb")
    publish(directory)
    with directory.building("kbkit ingest here", replace=True) as folder:
        for attempt in (lambda: fail(directory), directory.collect):
            with pytest.raises(
                LockedError, match=rf"is being built by process {os.getpid()} on .* \(kbkit ingest here, "
            ):
                attempt()
        assert folder.is_dir()
    assert (tmp_path / "x.kb" / "build.lock").read_text() == ""
    publish(directory)


def test_the_text_of_a_lock_file_does_not_lock(tmp_path: Path) -> None:
    directory = KbDirectory(tmp_path / "x.kb")
    publish(directory)
    (tmp_path / "x.kb" / "build.lock").write_text("process 1 on here (kbkit ingest, since for ever)")
    assert publish(directory).name == "0002"


def test_a_refused_first_build_leaves_the_other_one_alone(tmp_path: Path) -> None:
    directory = KbDirectory(tmp_path / "x.kb")
    with directory.building("a test", replace=True) as folder:
        with contextlib.suppress(LockedError):
            fail(directory)
        (folder / "data").write_text("x")
        directory.publish(folder, manifest())
    assert directory.current() == "0001"


# -- atomic writes ----------------------------------------------------------------------------------------------------


def test_write_files_creates_folders_and_replaces_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    write_files({tmp_path / "a": "é\n", tmp_path / "b" / "c": b"\xff"})
    assert (tmp_path / "a").read_bytes() == "é\n".encode()
    assert (tmp_path / "b" / "c").read_bytes() == b"\xff"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "c"]


@pytest.mark.parametrize("wrong", ["folder", "a/below"])
def test_write_files_writes_all_or_none(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "folder" / "x").mkdir(parents=True)
    with pytest.raises(KbError, match=f"Cannot write .*{wrong}"):
        write_files({tmp_path / wrong: "new", tmp_path / "a": "new"})
    assert (tmp_path / "a").read_text() == "old"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "folder", "x"]


def test_files_are_renamed_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    renamed = []
    replace = systems.replace
    monkeypatch.setattr(systems, "replace", lambda old, new: (renamed.append(new.name), replace(old, new)))
    write_files({tmp_path / name: name for name in "cab"})
    assert renamed == ["c", "a", "b"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_replacing_is_all_or_nothing(tmp_path: Path, kind: str) -> None:
    """A failure leaves the old version; success replaces it, whether file, folder or the target of a link."""

    def write(path: Path, text: str) -> None:
        if kind == "folder":
            path.mkdir()
        (path / "inner" if kind == "folder" else path).write_text(text)

    def read() -> str:
        return (tmp_path / "link" / "inner" if kind == "folder" else tmp_path / "link").read_text()

    write(tmp_path / "x", "old")
    (tmp_path / "link").symlink_to(tmp_path / "x")
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "link") as temporary:
        write(temporary, "half")
        raise ZeroDivisionError
    assert read() == "old"
    with replacing(tmp_path / "link") as temporary:
        write(temporary, "new")
        assert read() == "old"
    assert read() == "new"
    assert names(tmp_path) == ["link", "x"]
    assert (tmp_path / "link").is_symlink()
