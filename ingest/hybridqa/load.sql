CREATE MACRO table_id(file) AS regexp_extract(file, '([^/]+)\.json$', 1);

CREATE TABLE document AS
SELECT table_id(file) AS table_id, title, section, header, data,
       CASE WHEN json_type(header) = 'ARRAY' AND json_type(data) = 'ARRAY' THEN true
            ELSE error('Table ''' || table_id(file) || ''' has no header and data') END AS is_complete
FROM (SELECT file, json->>'title' AS title, json->>'section_title' AS section, json->'header' AS header, json->'data' AS data
      FROM (SELECT file, if(json_valid(text), text::JSON,
                            error('Table ''' || table_id(file) || ''' is not valid JSON')) AS json FROM tables_tok));

-- A page can have several tables, which its sections tell apart.
CREATE TABLE source_tables AS
SELECT table_id, concat_ws(', ', nullif(trim(title), ''), nullif(trim(section), '')) AS title,
       list_transform(from_json(header, '["JSON"]'), lambda cell: cell->>'$[0]') AS header
FROM document WHERE is_complete ORDER BY table_id;

CREATE TABLE data_row AS
SELECT table_id, position, from_json(row, '["JSON"]') AS cells
FROM (SELECT table_id, unnest(from_json(data, '["JSON"]')) AS row, generate_subscripts(from_json(data, '["JSON"]'), 1) AS position
      FROM document);

CREATE TABLE source_rows AS
SELECT table_id, position, list_transform(cells, lambda cell: cell->>'$[0]') AS cells FROM data_row;

CREATE TABLE link AS
SELECT table_id, position, column_number, unnest(from_json(cell->1, '["VARCHAR"]')) AS key
FROM (SELECT table_id, position - 1 AS position, generate_subscripts(cells, 1) - 1 AS column_number, unnest(cells) AS cell
      FROM data_row);

CREATE TABLE passage AS
SELECT table_id, entry.key AS key, entry.value AS text
FROM (SELECT table_id(file) AS table_id,
             unnest(map_entries(if(json_valid(text), from_json(text, '"MAP(VARCHAR, VARCHAR)"'),
                                   error('The passages of table ''' || table_id(file) || ''' are not valid JSON')))) AS entry
      FROM request_tok);

CREATE TABLE source_links AS
SELECT table_id, position, column_number, key, replace(url_decode(regexp_replace(key, '^/wiki/', '')), '_', ' ') AS name, text
FROM link LEFT JOIN passage USING (table_id, key);
