-- The JSON form: one object with all nodes and edges. Missing columns are NULL.
CREATE TABLE json_node AS SELECT unnest(json_extract(to_json(nodes), '$[*]')) AS j FROM graph;
CREATE TABLE json_edge AS SELECT unnest(json_extract(to_json(edges), '$[*]')) AS j FROM graph;

-- The structure of the properties for from_json; nested objects stay JSON text.
CREATE MACRO structure(json) AS (
  SELECT coalesce(json_group_object(key, CASE
           WHEN json_type(value) = 'OBJECT' OR value::VARCHAR IN ('"NULL"', '"JSON"') THEN '"VARCHAR"'::JSON
           WHEN value::VARCHAR = '"UBIGINT"' THEN '"BIGINT"'::JSON
           WHEN json_type(value) = 'ARRAY' THEN '["VARCHAR"]'::JSON ELSE value END)::VARCHAR, '{}')
  FROM json_each(json));
SET VARIABLE node_structure = json_merge_patch(
  '{"id": "VARCHAR", "category": "VARCHAR", "name": "VARCHAR", "description": "VARCHAR", "synonym": "VARCHAR",
    "type": "VARCHAR", "types": "VARCHAR", "key": "VARCHAR", "aliases": "VARCHAR", "xref": "VARCHAR",
    "provided_by": "VARCHAR", "same_as": "VARCHAR", "equivalent_identifiers": "VARCHAR"}',
  structure((SELECT coalesce(json_group_structure(j), '{}') FROM json_node)))::VARCHAR;
SET VARIABLE edge_structure = json_merge_patch(
  '{"subject": "VARCHAR", "predicate": "VARCHAR", "object": "VARCHAR", "relation": "VARCHAR", "category": "VARCHAR",
    "publications": "VARCHAR", "provided_by": "VARCHAR", "knowledge_source": "VARCHAR",
    "primary_knowledge_source": "VARCHAR", "aggregator_knowledge_source": "VARCHAR", "has_evidence": "VARCHAR",
    "qualifiers": "VARCHAR"}',
  structure((SELECT coalesce(json_group_structure(j), '{}') FROM json_edge)))::VARCHAR;

CREATE TABLE json_nodes AS
SELECT * RENAME (type AS source_type, types AS source_types, "key" AS source_key, aliases AS source_aliases)
FROM (SELECT unnest(from_json(j, getvariable('node_structure'))) FROM json_node);
CREATE TABLE json_edges AS
SELECT * RENAME (relation AS relation_term)
FROM (SELECT unnest(from_json(j, getvariable('edge_structure'))) FROM json_edge);

SET VARIABLE node_rows = (SELECT if(count(*) = 0, 'nodes', 'json_nodes') FROM json_node);
SET VARIABLE edge_rows = (SELECT if(count(*) = 0, 'edges', 'json_edges') FROM json_edge);

-- Lists are text in TSV, and lists in JSON.
CREATE MACRO as_list(value) AS
  CASE WHEN typeof(value) LIKE '%[]' THEN value::VARCHAR[] ELSE string_split(value::VARCHAR, '|') END;
CREATE MACRO bare(curie) AS if(starts_with(curie, 'biolink:'), substr(curie, 9), curie);
CREATE MACRO bare_list(value) AS list_transform(as_list(value), lambda c: bare(trim(c)));

CREATE TABLE node_row AS
SELECT * REPLACE (as_list(synonym) AS synonym, as_list(xref) AS xref, as_list(provided_by) AS provided_by,
                  as_list(same_as) AS same_as, as_list(equivalent_identifiers) AS equivalent_identifiers,
                  bare_list(category) AS category)
FROM query_table(getvariable('node_rows'));

CREATE TABLE category_size AS
SELECT category, count(*) AS nodes FROM (SELECT unnest(category) AS category FROM node_row) GROUP BY category;
SET VARIABLE sizes = (SELECT map(list(category), list(nodes)) FROM category_size);

CREATE MACRO primary_type(categories) AS CASE
  WHEN len(categories) < 2 THEN categories[1]
  WHEN getvariable('primary') = 'first' THEN categories[1]
  WHEN getvariable('primary') = 'last' THEN categories[-1]
  WHEN getvariable('primary') = 'rarest'
    THEN list_sort(list_transform(categories, lambda c: {'nodes': getvariable('sizes')[c], 'name': c}))[1].name
  WHEN categories[1] IN ('NamedThing', 'Entity') THEN categories[-1]
  ELSE categories[1] END;

-- Lists of categories repeat, so the primary type of each is determined once.
CREATE TABLE primary_types AS
SELECT category, primary_type(category) AS type FROM (SELECT DISTINCT category FROM node_row);

CREATE TABLE texts AS
SELECT id AS key, 'description' AS field, description AS text FROM node_row WHERE description <> '';

CREATE TABLE edge_row AS
SELECT subject AS head, bare(predicate) AS relation, object AS tail,
       * EXCLUDE (subject, predicate, object) REPLACE (
         as_list(publications) AS publications, as_list(provided_by) AS provided_by,
         as_list(knowledge_source) AS knowledge_source, as_list(primary_knowledge_source) AS primary_knowledge_source,
         as_list(aggregator_knowledge_source) AS aggregator_knowledge_source, as_list(has_evidence) AS has_evidence,
         as_list(qualifiers) AS qualifiers, bare_list(category) AS category)
FROM query_table(getvariable('edge_rows'));

CREATE TABLE relation_iris AS
SELECT DISTINCT bare(predicate) AS relation, 'https://w3id.org/biolink/vocab/' || substr(predicate, 9) AS iri
FROM query_table(getvariable('edge_rows')) WHERE starts_with(predicate, 'biolink:');
CREATE TABLE type_iris AS
SELECT category AS type, 'https://w3id.org/biolink/vocab/' || category AS iri FROM category_size
WHERE category NOT LIKE '%:%';

DROP VIEW nodes;
DROP VIEW edges;
CREATE TABLE nodes AS
SELECT id AS key, type, name, synonym AS aliases, n.category AS types,
       n.* EXCLUDE (id, name, synonym, category, description)
FROM (SELECT *, row_number() OVER () AS "the place" FROM node_row) n
LEFT JOIN primary_types p ON n.category IS NOT DISTINCT FROM p.category
ORDER BY "the place";
ALTER TABLE nodes DROP COLUMN "the place";
ALTER TABLE edge_row RENAME TO edges;
