-- 204-csv/253.csv, 204-csv/253.tsv and 204-page/253.json belong to the table csv/204-csv/253.csv.
CREATE MACRO table_id(file) AS
  regexp_replace(file, '.*?([^/]+)-(?:csv|page)/([^/]+)\.[a-z]+$', 'csv/\1-csv/\2.csv');

CREATE TABLE lines AS
SELECT table_id(file) AS table_id, position::BIGINT AS position, cells::VARCHAR[] AS cells FROM tsv
UNION ALL
SELECT table_id(file), position, cells FROM csv
WHERE table_id(file) NOT IN (SELECT table_id(file) FROM tsv WHERE file IS NOT NULL);

CREATE TABLE page AS
SELECT table_id(file) AS table_id,
       if(json_valid(text), text->>'title', error('The page of ' || table_id(file) || ' is not valid JSON')) AS title FROM pages;

-- Ids are sorted by their numbers.
CREATE TABLE source_tables AS
SELECT table_id, title, cells AS header FROM lines LEFT JOIN page USING (table_id) WHERE position = 0
ORDER BY list_transform(regexp_extract_all(table_id, '[0-9]+'), lambda number: number::BIGINT), table_id;

CREATE TABLE source_rows AS SELECT table_id, position, cells FROM lines WHERE position > 0;
