-- Attributes of the nodes by type, with the number of values.
-- The query is generated from the list of columns. Nodes with several types count for each of them.

CREATE OR REPLACE TEMP MACRO identifier(name) AS '"' || replace(name, '"', '""') || '"';
CREATE OR REPLACE TEMP MACRO literal(string) AS '''' || replace(string, '''', '''''') || '''';

SET VARIABLE statement = coalesce((
  SELECT string_agg(
    'SELECT ' || literal(type) || ' AS type, ' || literal(column_name) || ' AS attribute, ' || literal(data_type)
    || ' AS data_type, count(' || identifier(column_name) || ') AS filled, count(*) AS nodes FROM '
    || identifier(sql_name), ' UNION ALL ')
  FROM duckdb_columns() JOIN types ON sql_name = table_name
  WHERE database_name = current_database() AND column_name NOT IN ('id', 'key', 'name')),
  'SELECT NULL AS type, NULL AS attribute, NULL AS data_type, 0 AS filled, 0 AS nodes');

SELECT type, attribute, data_type, filled, round(filled / nodes, 4) AS share
FROM query(getvariable('statement'))
WHERE filled > 0
ORDER BY type, filled DESC, attribute;
