-- Attributes of the edges by relation, with the number of values.
-- The query is generated from the list of columns.

CREATE OR REPLACE TEMP MACRO identifier(name) AS '"' || replace(name, '"', '""') || '"';
CREATE OR REPLACE TEMP MACRO literal(string) AS '''' || replace(string, '''', '''''') || '''';

SET VARIABLE statement = coalesce((
  SELECT string_agg(
    'SELECT relation, ' || literal(column_name) || ' AS attribute, ' || literal(data_type) || ' AS data_type, count('
    || identifier(column_name) || ') AS filled, count(*) AS edges FROM edges GROUP BY relation', ' UNION ALL ')
  FROM duckdb_columns()
  WHERE database_name = current_database() AND table_name = 'edges'
    AND column_name NOT IN ('head', 'relation', 'tail')),
  'SELECT NULL AS relation, NULL AS attribute, NULL AS data_type, 0 AS filled, 0 AS edges');

SELECT relation, attribute, data_type, filled, round(filled / edges, 4) AS share
FROM query(getvariable('statement'))
WHERE filled > 0
ORDER BY relation, filled DESC, attribute;
