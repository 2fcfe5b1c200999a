-- The JSON form: one object of nodes and one of edges, whose `data` differ from kind to kind.
CREATE TABLE json_node AS
SELECT j->>'kind' AS kind, j->>'identifier' AS identifier, j->>'name' AS name, j->'data' AS data,
       row_number() OVER () AS place
FROM (SELECT unnest(json_extract(to_json(nodes), '$[*]')) AS j FROM graph);

CREATE TABLE json_edge AS
SELECT (j->>'$.source_id[0]') || '::' || (j->>'$.source_id[1]') AS head, j->>'kind' AS relation,
       (j->>'$.target_id[0]') || '::' || (j->>'$.target_id[1]') AS tail,
       j->>'direction' = 'both' AND j->>'$.source_id[0]' = j->>'$.target_id[0]' AS both_ways,
       j->'data' AS data, row_number() OVER () AS place
FROM (SELECT unnest(json_extract(to_json(edges), '$[*]')) AS j FROM graph);

-- The structure of the properties for from_json; nested objects stay JSON text.
CREATE MACRO structure(json) AS (
  SELECT coalesce(json_group_object(key, CASE
           WHEN json_type(value) = 'OBJECT' OR value::VARCHAR IN ('"NULL"', '"JSON"') THEN '"VARCHAR"'::JSON
           WHEN value::VARCHAR = '"UBIGINT"' THEN '"BIGINT"'::JSON
           WHEN json_type(value) = 'ARRAY' THEN '["VARCHAR"]'::JSON ELSE value END)::VARCHAR, '{}')
  FROM json_each(json));
SET VARIABLE node_structure = json_merge_patch('{"url": "VARCHAR"}',
  structure((SELECT coalesce(json_group_structure(data), '{}') FROM json_node
             WHERE json_type(data) = 'OBJECT')))::VARCHAR;
SET VARIABLE edge_structure = json_merge_patch('{"source": "VARCHAR"}',
  structure((SELECT coalesce(json_group_structure(data), '{}') FROM json_edge
             WHERE json_type(data) = 'OBJECT')))::VARCHAR;

CREATE TABLE node_properties AS
SELECT place, COLUMNS(lambda c: lower(c) NOT IN (
  'type', 'key', 'name', 'aliases', 'types', 'identifier', 'description', 'place'))
FROM (SELECT unnest(from_json(data, getvariable('node_structure'))), place FROM json_node);
CREATE TABLE edge_properties AS
SELECT place, COLUMNS(lambda c: lower(c) NOT IN ('head', 'relation', 'tail', 'head_type', 'tail_type', 'place'))
FROM (SELECT unnest(from_json(data, getvariable('edge_structure'))), place FROM json_edge);

CREATE TABLE all_nodes AS
SELECT coalesce(kind, split_part(id, '::', 1)) AS type, id AS key, name, substr(id, instr(id, '::') + 2) AS identifier
FROM nodes
UNION ALL BY NAME
(SELECT kind AS type, kind || '::' || identifier AS key, name, identifier, p.* EXCLUDE (place)
 FROM json_node JOIN node_properties p USING (place) ORDER BY place);

-- Abbreviations in the tables: kind of the source, verb in lower case, > if directed, kind of the target.
CREATE TABLE verb AS
SELECT abbreviation, first(verb ORDER BY given DESC) AS verb FROM (
  SELECT abbreviation, string_split_regex(metaedge, ' [-<>] ')[2] AS verb, true AS given FROM metaedges
  UNION ALL
  SELECT unnest(['AdG', 'AeG', 'AuG', 'CbG', 'CcSE', 'CdG', 'CpD', 'CrC', 'CtD', 'CuG', 'DaG', 'DdG', 'DlA', 'DpS',
                 'DrD', 'DuG', 'GcG', 'GiG', 'GpBP', 'GpCC', 'GpMF', 'GpPW', 'Gr>G', 'PCiC']),
         unnest(['downregulates', 'expresses', 'upregulates', 'binds', 'causes', 'downregulates', 'palliates',
                 'resembles', 'treats', 'upregulates', 'associates', 'downregulates', 'localizes', 'presents',
                 'resembles', 'upregulates', 'covaries', 'interacts', 'participates', 'participates', 'participates',
                 'participates', 'regulates', 'includes']), false)
WHERE verb IS NOT NULL GROUP BY abbreviation;

CREATE TABLE all_edges AS
SELECT source AS head, coalesce(verb, metaedge) AS relation, target AS tail,
       NOT contains(metaedge, '>') AND split_part(source, '::', 1) = split_part(target, '::', 1) AS both_ways
FROM edges LEFT JOIN verb ON abbreviation = metaedge
UNION ALL BY NAME
SELECT head, relation, tail, both_ways, p.* EXCLUDE (place) FROM json_edge JOIN edge_properties p USING (place);

CREATE TABLE texts AS
SELECT kind || '::' || identifier AS key, 'description' AS field, data->>'description' AS text FROM json_node
WHERE data->>'description' <> '';

DROP VIEW nodes;
DROP VIEW edges;
ALTER TABLE all_nodes RENAME TO nodes;
CREATE TABLE edges AS
SELECT * EXCLUDE (both_ways) FROM all_edges
UNION ALL  -- symmetric relations that are not in recipe.toml
SELECT * EXCLUDE (both_ways) REPLACE (tail AS head, head AS tail) FROM all_edges
WHERE both_ways AND relation NOT IN ('resembles', 'covaries', 'interacts');
