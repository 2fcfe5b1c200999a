-- The converter provides dump_entities, dump_terms, dump_statements, dump_qualifiers, dump_references,
-- dump_reference_snaks and dump_sitelinks.

CREATE MACRO number(id) AS TRY_CAST(regexp_extract(id, '[0-9]+') AS BIGINT);
-- Short enough for a file name in any script.
CREATE MACRO slug(text) AS nullif(trim(left(regexp_replace(text, '[^\pL\pN]+', '_', 'g'), 50), '_'), '');

-- Entities of the dump, and those that its statements point to.
CREATE TABLE best AS
SELECT subject, property, target, value, datatype, amount, unit FROM dump_statements
WHERE best AND snak = 'value' AND subject IN (SELECT id FROM dump_entities);
CREATE TABLE entity AS
SELECT id, coalesce(min(kind) FILTER (known), min(kind)) AS kind FROM (
  SELECT id, kind, true AS known FROM dump_entities
  UNION ALL SELECT target, CASE target[1] WHEN 'P' THEN 'property' WHEN 'L' THEN 'lexeme' ELSE 'item' END, false
  FROM best WHERE target IS NOT NULL
) GROUP BY id;

-- Names in the order of the selected languages, which is that of the terms. A media file without a caption is called
-- by its file name.
CREATE TABLE labels AS
SELECT id, list(value ORDER BY place) FILTER (term = 'label') AS labels,
       list(value ORDER BY place) FILTER (term IN ('alias', 'title')) AS aliases,
       any_value(value) FILTER (term = 'title') AS title
FROM (SELECT *, row_number() OVER () AS place FROM dump_terms) WHERE term <> 'description' GROUP BY id;
CREATE TABLE named AS
SELECT e.id, e.kind, coalesce(l.labels[1], l.title) AS name,
       list_filter(list_concat(coalesce(l.labels[2:], []), coalesce(l.aliases, [])),
                   lambda other: other <> coalesce(l.labels[1], l.title)) AS aliases
FROM entity e LEFT JOIN labels l USING (id);

-- The largest classes become types called by their label; if two are equal, the larger class has the name.
CREATE TABLE typings AS
SELECT DISTINCT subject AS id, target AS class, property = 'P31' AS is_class FROM best
WHERE property IN ('P31', 'P106') AND target IS NOT NULL;
CREATE TABLE classes AS
SELECT class, count(*) AS size FROM typings GROUP BY class
ORDER BY size DESC, number(class) LIMIT getvariable('max_types')::INT;
CREATE TABLE class_names AS
SELECT class, size, CASE WHEN alike = 1 AND lower(name) NOT IN ('entity', 'property', 'lexeme', 'form', 'sense', 'mediainfo')
                    THEN name
                         ELSE name || '_' || class END AS type
FROM (SELECT class, size, coalesce(slug(n.name), class) AS name,
             row_number() OVER (PARTITION BY lower(coalesce(slug(n.name), class)) ORDER BY size DESC, number(class)) AS alike
      FROM classes c LEFT JOIN named n ON n.id = c.class);
CREATE TABLE type_iris AS
SELECT type, 'http://www.wikidata.org/entity/' || class AS iri FROM class_names
UNION ALL SELECT 'property', 'http://wikiba.se/ontology#Property';

-- The primary type is the largest class: types are few and familiar. Occupations are further types.
CREATE TABLE node_classes AS
SELECT id, list(type ORDER BY is_class DESC, size DESC, type) AS all_types, bool_or(is_class) AS has_class
FROM typings JOIN class_names USING (class) GROUP BY id;

-- Values other than entities, by property: dates, numbers, and text.
CREATE TABLE literals AS
SELECT DISTINCT subject AS id, property, datatype,
       CASE WHEN datatype <> 'time' THEN value
            WHEN value[1] = '-' THEN format('{:04d}', split_part(value[2:], '-', 1)::BIGINT + 1)
                 || regexp_extract(value[2:], '-[0-9]{2}-[0-9]{2}') || ' (BC)'
            ELSE split_part(value, 'T', 1) END AS value
FROM best WHERE target IS NULL AND (datatype <> 'external-id' OR getvariable('external_ids') = 'yes');
CREATE TABLE attribute_properties AS
SELECT property, CASE WHEN bool_and(datatype = 'time') THEN 'time'
                      WHEN NOT bool_and(datatype = 'quantity') THEN 'text'
                      WHEN bool_and(regexp_full_match(value, '-?[0-9]{1,18}')) THEN 'whole' ELSE 'real' END AS kind
FROM literals GROUP BY property ORDER BY count(*) DESC, number(property) LIMIT getvariable('max_attributes')::INT;
CREATE MACRO values_of(wanted) AS TABLE
SELECT id, property, value FROM literals JOIN attribute_properties USING (property) WHERE kind = wanted
UNION ALL SELECT NULL, '_' || wanted, NULL;  -- PIVOT needs a column
CREATE TABLE texts_of AS FROM values_of('text');
CREATE TABLE times_of AS
SELECT id, property, TRY_CAST(value AS DATE) AS value FROM values_of('time')
WHERE id IS NULL OR TRY_CAST(value AS DATE) IS NOT NULL;
CREATE TABLE wholes_of AS SELECT id, property, value::BIGINT AS value FROM values_of('whole');
CREATE TABLE reals_of AS SELECT id, property, value::DOUBLE AS value FROM values_of('real');
CREATE TABLE text_attributes AS PIVOT texts_of ON property USING list(value ORDER BY value) GROUP BY id;
CREATE TABLE time_attributes AS PIVOT times_of ON property USING list(value ORDER BY value) GROUP BY id;
CREATE TABLE whole_attributes AS PIVOT wholes_of ON property USING list(value ORDER BY value) GROUP BY id;
CREATE TABLE real_attributes AS PIVOT reals_of ON property USING list(value ORDER BY value) GROUP BY id;

CREATE TABLE nodes AS
SELECT CASE WHEN kind <> 'item' THEN kind WHEN has_class THEN all_types[1] END AS type,
       CASE WHEN kind = 'item' AND has_class THEN all_types[2:] ELSE all_types END AS types,
       n.id AS key, name, aliases,
       t.* EXCLUDE (id, _text), d.* EXCLUDE (id, _time), w.* EXCLUDE (id, _whole), r.* EXCLUDE (id, _real)
FROM named n LEFT JOIN node_classes c ON c.id = n.id
LEFT JOIN text_attributes t ON t.id = n.id LEFT JOIN time_attributes d ON d.id = n.id
LEFT JOIN whole_attributes w ON w.id = n.id LEFT JOIN real_attributes r ON r.id = n.id
ORDER BY n.kind, number(n.id), n.id;
CREATE TABLE attribute_names AS
SELECT property AS attribute, name AS label FROM attribute_properties JOIN named ON id = property WHERE name IS NOT NULL;

CREATE TABLE edges AS
SELECT subject AS head, property AS relation, target AS tail FROM best WHERE target IS NOT NULL;
CREATE TABLE relation_iris AS
SELECT DISTINCT relation, 'http://www.wikidata.org/prop/direct/' || relation AS iri FROM edges;
CREATE TABLE relation_names AS
SELECT relation, name AS label FROM relation_iris JOIN named ON id = relation WHERE name IS NOT NULL;

CREATE TABLE texts AS
SELECT id AS key, 'description' AS field, value AS text FROM dump_terms WHERE term = 'description';

CREATE VIEW statements AS FROM dump_statements ORDER BY subject, property, rank = 'deprecated', NOT best, id;
CREATE VIEW qualifiers AS FROM dump_qualifiers ORDER BY subject, statement, position;
-- Several parts of the dump may describe the same reference.
CREATE VIEW reference_snaks AS
SELECT r.statement, r.subject, s.reference, s.property, s.position, s.* EXCLUDE (reference, property, position)
FROM dump_references r
JOIN (SELECT DISTINCT ON (reference, position) * FROM dump_reference_snaks) s ON s.reference = r.reference
WHERE getvariable('references') = 'yes' ORDER BY r.subject, r.statement, r.position, s.position;
CREATE VIEW sitelinks AS FROM dump_sitelinks ORDER BY id, site;
