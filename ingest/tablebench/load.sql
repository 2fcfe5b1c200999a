CREATE MACRO valid(json, place) AS if(json_valid(json), json::JSON, error('Invalid JSON in ' || place));

CREATE TABLE record AS
SELECT file, record, record->>'id' AS id, row_number() OVER () AS place FROM (
  SELECT file, unnest(CASE WHEN ltrim(text) LIKE '[%' THEN from_json(valid(text, file), '["JSON"]')
                           ELSE list_filter(list_transform(string_split(text, chr(10)), lambda line, number:
                                                           if(trim(line) <> '', valid(line, file || ', line ' || number), NULL)),
                                            lambda record: record IS NOT NULL) END) AS record
  FROM questions);

-- The table is a JSON text in some versions and an object in others.
CREATE TABLE given AS
SELECT id, place,
       CASE WHEN json_type(content, '$.columns') = 'ARRAY' AND json_type(content, '$.data') = 'ARRAY' THEN content
            ELSE error('Question ' || coalesce(id, place::VARCHAR) || ' has no table with columns and data') END AS content
FROM (SELECT *, if(json_type(record, '$.table') = 'VARCHAR', valid(record->>'table', file || ', question ' || coalesce(id, place::VARCHAR)), record->'table') AS content
      FROM record);

CREATE TABLE distinct_table AS
SELECT coalesce(arg_min(id, place), 'table ' || min(place)) AS table_id, min(place) AS place, content->'columns' AS columns,
       content->'data' AS data
FROM given GROUP BY ALL;

CREATE MACRO texts_of(list) AS list_transform(from_json(list, '["JSON"]'), lambda cell: cell->>'$');

CREATE TABLE source_tables AS
SELECT table_id, table_id AS title, texts_of(columns) AS header FROM distinct_table ORDER BY place;

CREATE TABLE source_rows AS
SELECT table_id, position, texts_of(row) AS cells
FROM (SELECT table_id, unnest(from_json(data, '["JSON"]')) AS row, generate_subscripts(from_json(data, '["JSON"]'), 1) AS position
      FROM distinct_table);
