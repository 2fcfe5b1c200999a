-- Lists are text in most formats, and lists in JSON.
CREATE MACRO as_list(value) AS
  CASE WHEN typeof(value) LIKE '%[]' THEN value::VARCHAR[] ELSE string_split(value::VARCHAR, '|') END;

ALTER VIEW nodes RENAME TO node_rows;
CREATE VIEW nodes AS SELECT * REPLACE (as_list(aliases) AS aliases, as_list(types) AS types) FROM node_rows;

CREATE TABLE symmetric_relations AS SELECT relation FROM undirected;
