"""Shapes of exports: records of several kinds, lines of orders, lists of people, titles above tables, and the like."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kbkit.errors import BadInputError
from kbkit.ingestion.inference import infer
from kbkit.readers import yaml_documents
from tests.ingestion.test_exports import Files, Nodes, check_export, written

NPI = "http://npi.example|17"


def _concept(text: str, code: str) -> dict[str, Any]:
    return {"coding": [{"system": "http://codes.example", "code": code, "display": text}], "text": text}


BUNDLES: Files = {
    "ann_0a1b.json": {
        "resourceType": "Bundle",
        "entry": [
            {
                "fullUrl": "urn:uuid:0a1b",
                "resource": {
                    "resourceType": "Patient",
                    "id": "0a1b",
                    "name": [{"use": "official", "family": "Lee", "given": ["Ann"]}],
                    "telecom": [{"system": "phone", "value": "5", "use": "home"}],
                },
            },
            {
                "resource": {
                    "resourceType": "Condition",
                    "id": "c1",
                    "code": _concept("Cold", "82"),
                    "subject": {"reference": "urn:uuid:0a1b"},
                    "participant": [{"individual": {"reference": f"Practitioner?identifier={NPI}"}}],
                    "onsetDateTime": "2020-05-01T23:30:00-04:00",
                }
            },
        ],
    },
    "bo_9f8e.json": {"resourceType": "Patient", "id": "9f8e", "name": [{"family": "Chen", "given": ["Bo"]}]},
    "people/staff.ndjson": [
        {"resourceType": "Practitioner", "id": "p1", "identifier": [{"system": "http://npi.example", "value": "17"}]},
        {
            "resourceType": "Condition",
            "id": "c2",
            "code": _concept("Flu", "6"),
            "subject": {"reference": "Patient/9f8e"},
        },
    ],
}
ARTICLE = {"type": "node--article", "links": {"self": {"href": "https://x.example/1"}}}
DOCUMENTS: Files = {
    "articles.json": {
        "jsonapi": {"version": "1.0"},
        "data": [
            {
                **ARTICLE,
                "id": "11111111-0000-4000-8000-000000000001",
                "attributes": {"title": "Reeds", "path": {"alias": "/reeds"}},
                "relationships": {
                    "uid": {"data": {"type": "user--user", "id": "22222222-0000-4000-8000-000000000001"}},
                    "tags": {"data": [{"type": "term--tags", "id": "a", "meta": {"n": 1}}]},
                    "kind": {"data": {"type": "node_type", "id": "k1"}, "links": {}},
                },
            },
            {
                **ARTICLE,
                "id": "11111111-0000-4000-8000-000000000002",
                "attributes": {"title": "Dunes"},
                "relationships": {
                    "related": {"data": [{"type": "node--article", "id": "missing"},
                                         {"type": "node--article", "id": "11111111-0000-4000-8000-000000000001"}]}
                },
            },
        ],
        "included": [{"type": "term--tags", "id": "a", "attributes": {"name": "wet"}}],
    },
    "people.json": {"data": [{"type": "user--user", "id": "22222222-0000-4000-8000-000000000001",
                              "attributes": {"name": "ann"}}]},
}  # fmt: skip
CATALOGUE: Files = {
    "teams.yaml": """
apiVersion: c/v1
kind: Group
metadata: {name: blue, annotations: {a/b: c}}
spec: {type: team}
---
apiVersion: c/v1
kind: System
metadata: {name: shop}
spec: {owner: "group:blue"}
""",
    "parts/cart/info.yaml": """
apiVersion: c/v1
kind: Component
metadata: {name: cart, tags: [web], since: 2020-05-01, logo: !!binary aGk=}
spec: {type: service, owner: group:default/blue, system: shop, dependsOn: ["resource:db", "component:default/pay"]}
""",
    "parts/pay/info.yaml": """
apiVersion: c/v1
kind: Component
metadata: {name: pay}
spec: {type: service, owner: blue, system: shop}
---
apiVersion: c/v1
kind: Resource
metadata: {name: db}
spec: {type: database}
""",
    "mkdocs.yml": "site_name: Shop\n",
}

ORDERS: Files = {
    "orders_export (1).csv": "Name,Email,Total,Line sku,Line name,Line price,Tags\n"
    "#1,ann@x.example,12,A1,Reed,5,new\n#1,,,B2,Dune,7,\n#2,bo@x.example,7,B2,Dune,7,\n"
    "#3,guest@x.example,15,A1,Reed,5,\n#3,,,A1,Reed,5,\n#3,,,,Gift,5,\n",
    "products.csv": "Handle,Title,Vendor,Variant SKU,Variant Price,Size,Image\n"
    "reed,Reed,Elm,A1,5,S,1.jpg\nreed,,,A2,6,L,2.jpg\ndune,Dune,Oak,B2,7,S,\ndune,,,B3,8,M,\ndune,,,B4,9,L,\ndune,,,,,,3.jpg\n",
    "customers.csv": "Customer ID,First Name,Last Name,Email\n'71,Ann,Lee,ann@x.example\n'72,Bo,Chen,bo@x.example\n",
    "Sales (sale.order).csv": "id,sum,partner/id,order_line/id,order_line/name,order_line/qty\n"
    "s.1,12,p.1,l.1,Reed,1\n,,,l.2,Dune,2\ns.2,7,p.2,l.3,Dune,1\ns.3,9,p.1,l.4,Reed,1\n,,,l.5,Reed,1\n",
    "Partner (res.partner).csv": "id,name\np.1,Ann Lee\np.2,Bo Chen\n",
}
LISTS: Files = {
    "Films.csv": "Title,Director,Cast,Screenings\n"
    'Reed,"Ann Lee,""Chen, Bo""",Cy Dow,"""Reed, 1st"",Mud @ 9"\n"Dune, Again",Ann Lee,"Cy Dow,Ann Lee",\n'
    'Mud,"""Chen, Bo""",Ann Lee,At noon\n',
    "People.csv": "Name,Films directed,Hotel nights\n"
    'Ann Lee,"Reed,""Dune, Again""",2\n"Chen, Bo","Reed,Mud",1\nCy Dow,,3\n',
    "Screenings.csv": 'Screening,Film,Seats\n"Reed, 1st",Reed,40\nMud @ 9,Reed,50\nAt noon,Mud,60\n',
    "My Library.csv": 'Key,Title,Author,Editor\nK1,Reeds,"Lee, Ann; Chen, Bo",\nK2,Dunes,"Chen, Bo; Dow, Cy; Lee, Ann",'
    '"Lee, Ann"\n',
}

YEARS = '"Source","World",\n\n"Updated","2023-09-19",\n\n"Place","Place Code","Measure","1990","1991","1992","1993",\n'
PLACES = "Place Code,Region,Name\nAUT,Europe,Austria\nJPN,Asia,Japan\nPER,America,Peru\n"
FOLDERS: Files = {
    "a_1/data_a_1.csv": f"{YEARS}Austria,AUT,heat,1,2,3,4,\nJapan,JPN,heat,,2,3,4,\nPeru,PER,heat,5,5,6,6,\n",
    "a_1/places_a_1.csv": PLACES,
    "b_2/data_b_2.csv": f"{YEARS}Austria,AUT,rain,1,2,3,4,\nJapan,JPN,rain,,2,3,4,\nPeru,PER,rain,5,5,6,6,\n",
    "b_2/places_b_2.csv": PLACES,
}


def _message(number: int, sender: int, text: Any, reply: int | None = None) -> dict[str, Any]:
    known = {"id": number, "from": ("Ann Lee", "Bo Chen")[sender], "from_id": f"user10000{sender}", "text": text}
    return {**known, **({"reply_to_message_id": reply} if reply else {})}


CHATS: Files = {
    "result.json": {
        "about": "An export",
        "contacts": {"about": "People", "list": [{"user_id": 7, "phone_number": "007", "name": "Ann Lee"}]},
        "chats": {
            "about": "All chats",
            "list": [
                {
                    "id": 11,
                    "name": "Choir",
                    "messages": [
                        _message(1, 0, "Hello"),
                        _message(2, 1, ["See ", {"type": "link", "text": "https://x.example"}, " there"], 1),
                        _message(3, 0, "Yes", 2),
                    ],
                },
                {"id": 12, "name": "Home", "messages": [_message(1, 1, "Tea?"), _message(2, 0, "Now", 1)]},
            ],
        },
    }
}
ISSUES: Files = {
    "issues.csv": "Issue key,Summary,Tag,Tag,Assignee,Assignee Id,Reporter,Reporter Id,Project key,Project name\n"
    "A-1,Leak,wet,old,Ann,user-00001,Bo,user-00002,A,Alpha\nA-2,Crack,wet,,,,Ann,user-00001,A,Alpha\n"
    "B-1,Rust,,,Bo,user-00002,Bo,user-00002,B,Beta\nB-2,Dust,old,dry,Ann,user-00001,Cy,user-00003,B,Beta\n"
    "B-3,Mud,,,Ann,user-00001,Cy,user-00003,B,Beta\nB-4,Ice,,,Bo,user-00002,Bo,user-00002,B,Beta\n"
}
POSTS: Files = {
    "Posts.xml": '<posts><row Id="1" Title="Why?" AcceptedAnswerId="3" Tags="&lt;bees&gt;&lt;honey&gt;"/>'
    '<row Id="2" Title="How?" AcceptedAnswerId="4" Tags="&lt;bees&gt;"/>'
    '<row Id="3" ParentId="1"/><row Id="4" ParentId="2"/><row Id="5" ParentId="1"/></posts>',
    "Tags.xml": '<tags><row Id="1" TagName="bees"/><row Id="2" TagName="honey"/></tags>',
}
CRM: Files = {
    "Account.csv": "Id,Name,ParentId\n001A00000000001AAA,Elm,000000000000000AAA\n"
    "001A00000000002AAA,Oak,001A00000000001AAA\n",
    "Deal.csv": "Id,Name,AccountId\n006A00000000001AAA,Roof,001A00000000001AAA\n006A00000000002AAA,Wall,\n",
    "Task.csv": "Id,Subject,WhatId\n00TA00000000001AAA,Call,001A00000000001AAA\n"
    "00TA00000000002AAA,Mail,006A00000000001AAA\n"
    "00TA00000000003AAA,Meet,006A00000000002AAA\n00TA00000000004AAA,Plan,001A00000000002AAA\n"
    "00TA00000000005AAA,Rest,a0XA00000000009AAA\n",
    "Personen.csv": "ID;Nachname;Vorname\nP1;Lee;Ann\nP2;Chen;Bo\nP3;Dow;Cy\n",
    "Briefe.csv": "Nr.;Absender;Seiten\nB1;Lee, Ann;2\nB2;Chen, Bo;1\nB3;Dow, Cy;4\nB4;Lee, Ann;1\n",
}


@pytest.mark.parametrize(
    ("files", "types", "relations", "nodes"),
    [
        pytest.param(
            BUNDLES,
            {"patient": 2, "condition": 2, "practitioner": 1},
            {"condition subject patient 2", "condition participant practitioner 1"},
            {
                "patient#0a1b": {"name": "Ann Lee", "telecom": "5"},
                "condition#c1": {"name": "Cold", "code_code": 82, "onsetDateTime": "2020-05-02 03:30:00"},
            },
            id="bundles",
        ),
        pytest.param(
            DOCUMENTS,
            {"article": 2, "user": 1, "tag": 1},
            {"article uid user 1", "article tag tag 1", "article related article 1"},
            {
                "article#11111111-0000-4000-8000-000000000001": {"name": "Reeds", "path_alias": "/reeds", "kind": "k1"},
                "tag#a": {"name": "wet"},
            },
            id="documents",
        ),
        pytest.param(
            CATALOGUE,
            {"group": 1, "system": 1, "component": 2, "resource": 1},
            {
                "system owner group 1",
                "component owner group 2",
                "component system system 2",
                "component depends_on_resource resource 1",
                "component depends_on_component component 1",
            },
            {"component#cart": {"since": "2020-05-01", "logo": "aGk=", "component_type": "service"}},
            id="catalogue",
        ),
        pytest.param(
            ORDERS,
            {
                "order": 3,
                "line": 6,
                "product": 2,
                "variant": 5,
                "customer": 3,
                "sale": 3,
                "order_line": 5,
                "partner": 2,
            },
            {
                "line order order 6",
                "line variant variant 5",
                "variant product product 5",
                "order customer customer 3",
                "order_line sale sale 5",
                "sale partner partner 3",
            },
            {
                "order##1": {"Total": 12, "Tags": "new"},
                "product#dune": {"name": "Dune", "Image": ["3.jpg"]},
                "customer#71": {"name": "Ann Lee"},
            },
            id="orders",
        ),
        pytest.param(
            LISTS,
            {"film": 3, "person": 3, "screening": 3, "library": 2, "author": 3},
            {
                "film director person 4",
                "film cast person 4",
                "screening film film 3",
                "library author author 5",
                "library editor author 1",
            },
            {"film#Dune, Again": {"name": "Dune, Again"}, "person#Chen, Bo": {"Hotel nights": 1}},
            id="lists",
        ),
        pytest.param(
            FOLDERS,
            {"data": 6, "place": 3},
            {"data place place 6"},
            {"place#JPN": {"name": "Japan"}, "data#PER/rain": {"1990": 5}},
            id="folders",
        ),
        pytest.param(
            CHATS,
            {"contact": 1, "chat": 2, "message": 5, "person": 2},
            {"message chat chat 5", "message from person 5", "message reply_to_message message 3"},
            {
                "message#11/2": {"text": "See https://x.example there"},
                "chat#11": {"name": "Choir"},
                "person#user100001": {"name": "Bo Chen"},
            },
            id="chats",
        ),
        pytest.param(
            ISSUES,
            {"issue": 6, "person": 3, "project": 2},
            {"issue assignee person 5", "issue reporter person 6", "issue project project 6"},
            {"issue#A-1": {"Tag": ["wet", "old"]}, "project#A": {"name": "Alpha"}},
            id="issues",
        ),
        pytest.param(
            POSTS,
            {"post": 5, "tag": 2},
            {"post accepted_answer post 2", "post parent post 3", "post tag tag 3"},
            {"post#1": {"name": "Why?"}},
            id="posts",
        ),
        pytest.param(
            CRM,
            {"account": 2, "deal": 2, "task": 5, "personen": 3, "briefe": 4},
            {
                "account parent account 1",
                "deal account account 1",
                "task what account 2",
                "task what deal 2",
                "briefe absender personen 4",
            },
            {"task#00TA00000000005AAA": {"WhatId": "a0XA00000000009AAA"}},
            id="crm",
        ),
    ],
)
def test_the_shape_of_an_export_is_recognized(
    files: Files, types: Mapping[str, int], relations: set[str], nodes: Nodes, tmp_path: Path
) -> None:
    check_export(tmp_path, files, types, relations, nodes)


def test_resources_without_identifiers_stay_apart(tmp_path: Path) -> None:
    names = [{"family": "Lee", "given": [None, "Ann"]}, {"family": "Chen"}]
    files = {"notes.json": [{"resourceType": "Note", "name": name} for name in names]}
    assert [table.rows for table in infer([written(tmp_path, files)], "x").tables] == [2]
    named = {"notes.json": [{**row, "id": str(number)} for number, row in enumerate(files["notes.json"])]}
    check_export(tmp_path / "named", named, {"note": 2}, set(), {"note#0": {"name": "Ann Lee"}})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: &a [x, x, x]\n" + "".join(f"{n}: &{n} [*{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}]\n"
                                        for p, n in zip("abcdefgh", "bcdefghi", strict=True)), "is too large"),
        ("- !!python/object/apply:os.system [ls]", "Invalid YAML: could not determine a constructor"),
        ("- {a: 1\n- b", "Invalid YAML.* line 3"),
        ("- 1\n- 2\n", "has no list of records"),
    ],
)  # fmt: skip
def test_other_yaml_is_refused_by_name(
    text: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_documents, "_MOST_VALUES", 10_000)
    path = tmp_path / "rows.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError, match=problem) as error:
        infer([path], "x")
    assert str(path) in error.value.message
