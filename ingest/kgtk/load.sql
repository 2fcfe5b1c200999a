-- Escapes: \| \" \' \n \t \r \\. An escaped bar does not separate list items.
CREATE MACRO unescape(x) AS if(contains(x, '\'),
  replace(replace(replace(replace(replace(replace(
    x, '\\', chr(1)), '\n', chr(10)), '\t', chr(9)), '\r', chr(13)), '\', ''), chr(1), '\'), x);
-- 'text'@en: position of the tag, counted from the end.
CREATE MACRO tag(x) AS strpos(reverse(x), '@''');
CREATE MACRO language_text(x) AS unescape(substr(x, 2, length(x) - tag(x) - 2));
CREATE MACRO language_of(x) AS if(starts_with(x, '''') AND tag(x) > 0, right(x, tag(x) - 1), NULL);

-- ^1992-03-30T00:00:00Z/11: Wikidata's precision is 9 for a year (below: decades and more), 10 month, 11 day; 12 and
-- above are times.
CREATE MACRO cut_date(iso, precision) AS CASE
  WHEN precision >= 12 OR NOT contains(iso, 'T') THEN iso
  WHEN precision IS NULL THEN regexp_replace(iso, 'T00:00:00(\.0*)?Z?$', '')
  ELSE if(starts_with(iso, '-'), '-', '') || array_to_string(
    string_split(ltrim(split_part(iso, 'T', 1), '+-'), '-')[:greatest(least(precision, 11) - 8, 1)], '-') END;
CREATE MACRO date_text(x) AS
  cut_date(split_part(substr(x, 2), '/', 1), TRY_CAST(nullif(split_part(x, '/', 2), '') AS INT));

-- +10.5[10,11]Q174728: magnitude, tolerance, unit. Other values, such as 0xff, are unchanged.
CREATE MACRO coordinate(x, i) AS TRY_CAST(split_part(substr(x, 2), '/', i) AS DOUBLE)::VARCHAR;
CREATE MACRO is_based(x) AS left(x, 1) = '0' AND substr(x, 2, 1) IN ('x', 'X', 'b', 'B', 'o', 'O');
CREATE MACRO magnitude(x) AS regexp_extract(
  x, '^\+?(-?[0-9]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?)(?:\[[^]]*\])?([A-Za-z%].*)?$', 1);
CREATE MACRO unit(x) AS if(is_based(x), NULL, nullif(regexp_extract(
  x, '^[-+]?[0-9]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?(?:\[[^]]*\])?([A-Za-z%].*)?$', 1), ''));

-- The first character determines the type of a value.
CREATE MACRO kind(x) AS CASE left(x, 1)
  WHEN '"' THEN 'string' WHEN '''' THEN 'language' WHEN '^' THEN 'date' WHEN '@' THEN 'location' WHEN '!' THEN 'other'
  WHEN '+' THEN 'number' WHEN '-' THEN 'number' WHEN '.' THEN 'number'
  ELSE CASE WHEN left(x, 1) BETWEEN '0' AND '9' THEN 'number' WHEN x IN ('True', 'False')
  THEN 'other' ELSE 'symbol' END END;
CREATE MACRO plain(x) AS CASE left(x, 1)
  WHEN '"' THEN unescape(substr(x, 2, length(x) - 2))
  WHEN '''' THEN language_text(x)
  WHEN '^' THEN date_text(x)
  WHEN '@' THEN substr(x, 2)
  WHEN '!' THEN substr(x, 2)
  ELSE CASE WHEN kind(x) <> 'number' THEN unescape(x) WHEN is_based(x) THEN x
       ELSE coalesce(nullif(magnitude(x), ''), x) END END;
CREATE MACRO values_of(x) AS
  list_transform(string_split(replace(x, '\|', chr(2)), '|'), lambda part: replace(part, chr(2), '\|'));
CREATE MACRO plain_list(x) AS CASE
  WHEN x IS NULL THEN NULL WHEN NOT contains(x, '|') THEN [plain(x)]
  ELSE list_transform(values_of(x), lambda v: plain(v)) END;
CREATE MACRO listed(label, names) AS list_contains(string_split(replace(names, ' ', ''), ','), label);


-- The edges of all files, and those from the columns of the node file.
CREATE TABLE statement AS
SELECT row_number() OVER () AS statement_place, * REPLACE (coalesce(label, '_') AS label)
FROM edges WHERE node1 <> '' AND node2 <> ''
UNION ALL BY NAME
SELECT id AS node1, label, unnest(values_of(node2)) AS node2
FROM (UNPIVOT nodes ON COLUMNS(* EXCLUDE (id)) INTO NAME label VALUE node2);

-- An edge whose node1 is the id of an edge qualifies it. Qualifiers of qualifiers match no edge below and are dropped.
CREATE TABLE edge_id AS SELECT id AS edge FROM statement WHERE id IS NOT NULL;
CREATE TABLE qualifier AS
SELECT node1 AS key, label, node2, statement_place AS place, kind(node2) AS kind
FROM statement SEMI JOIN edge_id ON node1 = edge;
CREATE TABLE claim AS
SELECT * REPLACE (unescape(node1) AS node1), kind(node2) AS value_kind, CASE
  WHEN listed(label, getvariable('names')) THEN 'name' WHEN listed(label, getvariable('aliases')) THEN 'alias'
  WHEN listed(label, getvariable('text')) THEN 'text'
  WHEN listed(label, getvariable('type')) THEN 'type' END AS claim_role
FROM statement ANTI JOIN edge_id ON node1 = edge;
DROP TABLE statement;
DROP TABLE edge_id;

-- Names, aliases and texts, the requested language first.
CREATE TABLE wording AS
SELECT node1 AS key, claim_role AS role, plain(node2) AS text, coalesce(statement_place, 0) AS place,
       value_kind <> 'language' OR language_of(node2) IS NOT DISTINCT FROM getvariable('language') AS wanted
FROM claim WHERE claim_role IN ('name', 'alias', 'text');
CREATE TABLE called AS
SELECT key, arg_min(text, (NOT wanted, place)) AS name FROM wording WHERE role = 'name' GROUP BY key;
CREATE TABLE also_called AS
SELECT key, list(text ORDER BY role DESC, place) AS aliases
FROM wording LEFT JOIN called USING (key)
WHERE wanted AND role <> 'text' AND text IS DISTINCT FROM name GROUP BY key;

-- An edge label that only has a name is a relation, not a node.
CREATE TABLE relation AS SELECT DISTINCT label AS key FROM claim;
CREATE TABLE entity AS
SELECT key, min(place) AS place FROM (
  SELECT unescape(id) AS key, row_number() OVER () - 1000000000000 AS place FROM nodes WHERE id <> ''
  UNION ALL SELECT node1, 2 * statement_place FROM claim WHERE coalesce(claim_role, 'type') = 'type'
  UNION ALL SELECT key, 2 * place FROM wording ANTI JOIN relation USING (key)
  UNION ALL SELECT unescape(node2), 2 * statement_place + 1 FROM claim
            WHERE value_kind = 'symbol' AND coalesce(claim_role, 'type') = 'type')
GROUP BY key;

-- Types: the largest classes, called by their names if these are unique.
CREATE TABLE membership AS
SELECT node1 AS key, plain(node2) AS class, min(coalesce(statement_place, 0)) AS place
FROM claim WHERE claim_role = 'type' GROUP BY ALL;
CREATE TABLE class AS
SELECT class, if(count(*) OVER (PARTITION BY lower(coalesce(name, class))) = 1, coalesce(name, class), class) AS type
FROM (SELECT class, count(*) AS nodes FROM membership GROUP BY class
      ORDER BY nodes DESC, class LIMIT getvariable('most_types')::BIGINT)
LEFT JOIN called ON called.key = class;
CREATE TABLE typed AS
SELECT key, list(type ORDER BY place, type) AS all_types FROM membership JOIN class USING (class) GROUP BY key;

-- Literals of nodes, and qualifiers: units and coordinates have their own columns.
CREATE MACRO facts(source) AS TABLE
  SELECT key, label, place, kind, unnest(CASE
    WHEN kind = 'number' AND unit(node2) IS NOT NULL
      THEN [{'suffix': '', 'value': plain(node2)}, {'suffix': '_unit', 'value': unit(node2)}]
    WHEN kind = 'location' AND coordinate(node2, 1) IS NOT NULL AND coordinate(node2, 2) IS NOT NULL
      THEN [{'suffix': '_latitude', 'value': coordinate(node2, 1)},
            {'suffix': '_longitude', 'value': coordinate(node2, 2)}]
    ELSE [{'suffix': '', 'value': plain(node2)}] END, recursive := true)
  FROM query_table(source);
-- The most frequent labels; numbers distinguish those that differ only in case.
CREATE MACRO columns_of(source, most) AS TABLE
  SELECT label, row_number() OVER (PARTITION BY lower(label) ORDER BY uses DESC, label) AS number
  FROM (SELECT label, count(*) AS uses FROM query_table(source) GROUP BY label ORDER BY uses DESC, label
        LIMIT getvariable(most)::BIGINT);
CREATE MACRO column_name(label, number, taken) AS
  label || if(list_contains(taken, lower(label)), '_', '') || if(number > 1, '_' || number, '');

-- KGTK marks numbers and dates, so strings stay text ("007"). A column with values of several types is text.
CREATE MACRO type_of(value, kind, suffix) AS CASE
  WHEN suffix = '_unit' THEN 'VARCHAR'
  WHEN kind = 'location' AND suffix <> '' THEN 'DOUBLE'
  WHEN kind = 'number' OR kind = 'date' AND length(value) = 4 THEN CASE
    WHEN TRY_CAST(value AS BIGINT)::VARCHAR = value THEN 'BIGINT'
    WHEN isfinite(TRY_CAST(value AS DOUBLE)) THEN 'DOUBLE' ELSE 'VARCHAR' END
  WHEN kind = 'date' AND TRY_CAST(value AS DATE) IS NOT NULL AND length(value) = 10 THEN 'DATE'
  WHEN kind = 'date' AND TRY_CAST(value AS TIMESTAMP) IS NOT NULL AND contains(value, 'T') THEN 'TIMESTAMP'
  ELSE 'VARCHAR' END;
CREATE MACRO typed_columns(source) AS (
  SELECT 'SELECT key' || coalesce(string_agg(', "' || replace("column", '"', '""') || '"::' || type || '[] AS "'
           || replace("column", '"', '""') || '"', '' ORDER BY "column"), '') || ' FROM ' || source || '_text'
  FROM (SELECT "column", CASE
          WHEN count(DISTINCT type) = 1 THEN min(type)
          WHEN bool_and(type IN ('BIGINT', 'DOUBLE')) THEN 'DOUBLE' ELSE 'VARCHAR' END AS type
        FROM query_table(source || '_fact') GROUP BY "column"));

CREATE TABLE literal AS
SELECT node1 AS key, label, node2, coalesce(statement_place, 0) AS place, value_kind AS kind FROM claim
WHERE value_kind <> 'symbol' AND claim_role IS NULL;
CREATE TABLE literal_column AS FROM columns_of('literal', 'most_attributes');
CREATE TABLE literal_fact AS
SELECT key, place, value, type_of(value, kind, suffix) AS type,
       column_name(label, number, ['type', 'key', 'name', 'aliases', 'types', 'other_values']) || suffix AS "column"
FROM facts('literal') JOIN literal_column USING (label);
CREATE TABLE literal_text AS FROM (PIVOT (SELECT key, place, value, "column" FROM literal_fact)
                                   ON "column" USING list(value ORDER BY place) GROUP BY key);
SET VARIABLE literal_typed = typed_columns('literal');
CREATE TABLE attributes AS FROM query(getvariable('literal_typed'));
CREATE TABLE other_attributes AS
SELECT key, list(label || suffix || '=' || value ORDER BY place) AS other_values
FROM facts('literal') ANTI JOIN literal_column USING (label) GROUP BY key;

SET VARIABLE edge_columns = (SELECT list(lower(column_name)) FROM duckdb_columns() WHERE table_name = 'edges')
  || ['key', 'head', 'relation', 'tail', 'head_type', 'tail_type', 'qualifiers'];
CREATE TABLE qualifier_column AS FROM columns_of('qualifier', 'most_qualifiers');
CREATE TABLE qualifier_fact AS
SELECT key, place, value, type_of(value, kind, suffix) AS type,
       column_name(label, number, getvariable('edge_columns')) || suffix AS "column"
FROM facts('qualifier') JOIN qualifier_column USING (label);
CREATE TABLE qualifier_text AS FROM (PIVOT (SELECT key, place, value, "column" FROM qualifier_fact)
                                     ON "column" USING list(value ORDER BY place) GROUP BY key);
SET VARIABLE qualifier_typed = typed_columns('qualifier');
CREATE TABLE qualifiers AS FROM query(getvariable('qualifier_typed'));
CREATE TABLE other_qualifiers AS
SELECT key, list(label || suffix || '=' || value ORDER BY place) AS qualifiers
FROM facts('qualifier') ANTI JOIN qualifier_column USING (label) GROUP BY key;

CREATE TABLE texts AS
SELECT key, 'description' AS field, text FROM wording WHERE role = 'text' AND wanted ORDER BY place;

CREATE TABLE relation_names AS SELECT key AS relation, name AS label FROM relation JOIN called USING (key);

DROP VIEW nodes;
CREATE TABLE nodes AS
SELECT all_types[1] AS type, all_types AS types, e.key, name, aliases, a.* EXCLUDE (key), other_values
FROM entity e LEFT JOIN typed USING (key) LEFT JOIN called USING (key) LEFT JOIN also_called USING (key)
LEFT JOIN attributes a ON a.key = e.key LEFT JOIN other_attributes o ON o.key = e.key
ORDER BY e.place;

-- Columns other than node1, label and node2 may contain lists.
DROP VIEW edges;
CREATE TABLE edges AS
SELECT c.* EXCLUDE ("the id"), q.* EXCLUDE (key), qualifiers
FROM (
  SELECT node1 AS head, label AS relation, unescape(node2) AS tail, id AS "the id",
         plain_list(COLUMNS(lambda c: lower(c) NOT IN (
           'node1', 'label', 'node2', 'from', 'to', 'subject', 'object', 'predicate', 'relation', 'relationship',
           'head', 'tail', 'head_type', 'tail_type', 'statement_place', 'value_kind', 'claim_role')))
  FROM claim WHERE value_kind = 'symbol' AND coalesce(claim_role, 'type') = 'type') c
LEFT JOIN qualifiers q ON q.key = "the id" LEFT JOIN other_qualifiers o ON o.key = "the id";
