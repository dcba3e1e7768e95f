"""Tar files of Python's tarfile, in WebDataset's form, and environments of the lmdb module are read as they were written."""
import io
import json
import tarfile

import pytest
from support import cohort


def elements(kind, path):
    """Elements as lists: bytes of strings, numbers of the rest."""
    def leaf(told):
        return bytes.fromhex(told["values"][0]) if told["dtype"] == "string" else told["values"][0]
    return [[leaf(told) for told in json.loads(line)] for line in cohort(kind, path).splitlines()]


NAMES = ["000", "folder/001", "dotted.folder/002", "./003", "ä→/e\u0301", "long/" + "n" * 150, "f" * 120 + "/" + "k" * 90]


@pytest.mark.parametrize("mode", ["w", "w:gz"])
@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_tar_of_python(tmp_path, form, mode):
    path, expected = tmp_path / "samples.tar", []
    with tarfile.open(path, mode, format=form) as file:
        def add(name, contents, kind=tarfile.REGTYPE):
            member = tarfile.TarInfo(name)
            member.size, member.type, member.mtime = len(contents), kind, 1234567890.5
            file.addfile(member, io.BytesIO(contents))
        add("folder", b"", tarfile.DIRTYPE)
        for i, key in enumerate(NAMES):
            if form == tarfile.USTAR_FORMAT and len(key.encode()) > 150 and "/" not in key[-100:]:
                continue
            image = bytes(range(256)) * (i * 40)
            add(f"{key}.jpg" if i % 2 else f"{key}.PNG", image)
            add(f"{key}.cls", str(i * 7 - 3).encode())
            add("__info__.json", b"{}")
            add(f"{key}.seg.txt", b"x" * i)
            add(f"{key}.unwanted", b"passed by")
            expected.append([key.encode(), i * 7 - 3, image, b"x" * i])
    assert len(expected) >= 5
    assert elements("web_dataset", path) == expected


@pytest.mark.parametrize("subdir", [True, False])
def test_lmdb_of_python(tmp_path, subdir):
    lmdb = pytest.importorskip("lmdb")
    entries = {b"%06d" % (i * 7919 % 1000): bytes([i % 256]) * (i * 13) for i in range(1000)}
    path = str(tmp_path / "environment")
    with lmdb.open(path, map_size=1 << 28, subdir=subdir) as environment:
        for part in range(4):
            with environment.begin(write=True) as transaction:
                for key in list(entries)[part::4]:
                    transaction.put(key, entries[key])
    assert elements("lmdb", path) == [[key, entries[key]] for key in sorted(entries)]
