-- kg-bert's WN18RR writes "name, gloss" in its label file; its UMLS writes names there and descriptions in another.
SET VARIABLE has_gloss = (
  SELECT CASE getvariable('labels')
    WHEN 'name' THEN false
    WHEN 'name, description' THEN true
    ELSE (SELECT count(*) FROM descriptions) = 0 AND avg((label LIKE '%, %')::INT) > 0.9
  END FROM labels);

CREATE TABLE entity AS
SELECT key, min(place) AS place FROM (
  SELECT head AS key, row_number() OVER () * 2 AS place FROM triples
  UNION ALL SELECT tail, row_number() OVER () * 2 + 1 FROM triples
  UNION ALL SELECT key, 1000000000000 + row_number() OVER () FROM labels
) GROUP BY key;

CREATE TABLE entity_types AS
SELECT key, list(type ORDER BY place) AS all_types
FROM (SELECT key, type, row_number() OVER () AS place FROM types) GROUP BY key;

CREATE TABLE label AS
SELECT key, any_value(label) AS label, instr(any_value(label), ', ') AS comma FROM labels GROUP BY key;

CREATE TABLE nodes AS
SELECT all_types[1] AS type, all_types[2:] AS types, key,
       CASE WHEN getvariable('has_gloss') AND comma > 0 THEN left(label, comma - 1) ELSE label END AS name
FROM entity LEFT JOIN label USING (key) LEFT JOIN entity_types USING (key)
ORDER BY place;

CREATE TABLE edges AS SELECT head, relation, tail FROM triples;

CREATE TABLE texts AS
SELECT key, 'description' AS field, description AS text FROM descriptions
UNION ALL
SELECT key, 'description', substr(label, comma + 2) FROM label WHERE getvariable('has_gloss') AND comma > 0;

CREATE TABLE relation_names AS SELECT relation, any_value(label) AS label FROM relation_labels GROUP BY relation;
