-- Lists arrive as text from CSV, and as lists from Parquet and JSON.
CREATE MACRO as_list(value) AS
  CASE WHEN typeof(value) LIKE '%[]' THEN value::VARCHAR[] ELSE string_split(value::VARCHAR, '|') END;

CREATE TABLE node_rows AS SELECT * REPLACE (as_list(aliases) AS aliases, as_list(types) AS types) FROM nodes;
DROP VIEW nodes;
ALTER TABLE node_rows RENAME TO nodes;
