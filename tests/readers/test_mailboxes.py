"""Mailboxes: their messages and people, and their links in a KB; odd and hostile files."""

from __future__ import annotations

from pathlib import Path

import pytest

import kbkit
from kbkit.errors import BadInputError, KbError
from kbkit.readers import mailboxes
from tests.readers.hostile import changed, check_linear

PAGE = "<html><head><title>No</title></head><body><p>See &amp; <b>hear</b></p><script>x()</script></body></html>"
MAILS = (
    "From ann@x.example Tue May 14 17:12:10 2024\n"
    "Message-ID: <m1@x.example>\nDate: Tue, 14 May 2024 17:12:10 +0200\n"
    'From: "Lee, Ann" <Ann@x.example>\nTo: =?utf-8?q?Bj=C3=B6rn?= <bo@x.example>, cy@x.example\n'
    "Subject: =?utf-8?b?VGVhw6k=?=\n again\nContent-Type: text/plain; charset=iso-8859-1\n"
    "Content-Transfer-Encoding: quoted-printable\n\nCaf=E9 at three\n>From the door.\n\n"
    "From bo@x.example Tue May 14 18:12:10 2024\n"
    "Message-ID: <m2@x.example>\nDate: soon\nFrom: bo@x.example\nTo: Team: Ann@X.example, cy@x.example;\n"
    "Cc: Cy <cy@x.example>\nIn-Reply-To: <m1@x.example>\nSubject: Re: Tea\nMIME-Version: 1.0\n"
    'Content-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/html; charset=utf-8\n\n'
    f"{PAGE}\n--b\nContent-Type: text/plain\nContent-Disposition: attachment\n\nleft out\n--b--\n"
)


def test_a_mailbox_has_messages_and_people(tmp_path: Path) -> None:
    path = tmp_path / "Inbox.mbox"
    path.write_text(MAILS, encoding="utf-8")
    found = mailboxes.read(path)
    assert found["messages"] == [
        {"id": "m1@x.example", "subject": "Teaé again", "date": "2024-05-14 15:12:10", "from": "ann@x.example",
         "to": ["bo@x.example", "cy@x.example"], "in_reply_to": None, "body": "Café at three\nFrom the door."},
        {"id": "m2@x.example", "subject": "Re: Tea", "date": "soon", "from": "bo@x.example",
         "to": ["ann@x.example", "cy@x.example"], "cc": ["cy@x.example"], "in_reply_to": "m1@x.example",
         "body": "See & hear"},
    ]  # fmt: skip
    assert found["people"] == [
        {"id": "ann@x.example", "name": "Lee, Ann"}, {"id": "bo@x.example", "name": "Björn"},
        {"id": "cy@x.example", "name": "Cy"},
    ]  # fmt: skip


def test_mailboxes_and_contacts_make_a_kb(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "Inbox.mbox").write_text(MAILS, encoding="utf-8")
    sent = MAILS.replace("<m1@", "<m3@").replace("<m2@", "<m4@")
    (folder / "Sent.mbox").write_text(sent + "\n" + MAILS, encoding="utf-8")  # two are in both
    (folder / "contacts.csv").write_text(
        "Name,E-mail,Phone\n" + "".join(f"{n.title()},{n}@x.example,0{i}\n" for i, n in enumerate(("ann", "bo", "cy"))),
        encoding="utf-8",
    )
    with kbkit.ingest(str(folder), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        found = {f"{s.head} {r.name} {s.tail} {s.edges}" for r in kb.schema.relations for s in r.signatures}
        assert found == {
            "message from person 4", "message to person 8", "message cc person 2", "message in_reply_to message 2",
            "contact e_mail person 3",
        }  # fmt: skip


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.mbox"
    path.write_text("Subject: a\n\nb\n", encoding="utf-8")
    with pytest.raises(BadInputError, match=r"x.mbox is no mailbox: line 1 does not begin with 'From '"):
        mailboxes.read(path)


START = "From a\nContent-Type: multipart/mixed; boundary=b\nSubject: "


@pytest.mark.parametrize(
    "part",
    ["=?a?q?", '"', "a,", "<", "(", "\nFrom a\n\n", "\n\nFrom a\n", "\nTo: a@b",
     "\n\n--b\nContent-Type: multipart/mixed; boundary=b\n", "\n ", "\n\n<p><", "@",
     "\nTo: " + "(" * 500, "=?utf-8?b?AA==?= "],
)  # fmt: skip
def test_hostile_mailboxes_take_time_that_grows_with_their_length(part: str, tmp_path: Path) -> None:
    check_linear(mailboxes.read, tmp_path / "x.mbox", START + part * (200_000 // len(part)), may_refuse=False)


def test_changed_mailboxes_are_read_or_refused(tmp_path: Path) -> None:
    path, read = tmp_path / "x.mbox", 0
    for content in changed(MAILS.encode(), (b"=?", b"\n", b"--b", b"\xff", b'"', b"\0", b":", b""), seed=4):
        path.write_bytes(content)
        try:
            read += len(mailboxes.read(path)["messages"]) > 0
        except KbError as error:
            assert str(path) in str(error)
    assert read > 400
