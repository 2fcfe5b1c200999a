-- Which papers in the field <field_of_study> have an author from <institution>?
-- Printed as (institution → author → paper ← field_of_study) in STaRK A.3.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $institution (node of institution): <institution>, by name or key
-- $field_of_study (node of field_of_study): <field_of_study>, by name or key
--
-- institution:<institution> -> author -> paper <- field_of_study:<field_of_study>
WITH institution_1 AS (
  SELECT id FROM institution WHERE id = $institution
),
author_1 AS (
  SELECT DISTINCT head AS id FROM affiliated_with WHERE tail IN (SELECT id FROM institution_1)
),
paper_1 AS (
  SELECT DISTINCT tail AS id FROM writes WHERE head IN (SELECT id FROM author_1)
),
field_of_study_1 AS (
  SELECT id FROM field_of_study WHERE id = $field_of_study
),
paper_2 AS (
  SELECT DISTINCT head AS id FROM has_topic WHERE tail IN (SELECT id FROM field_of_study_1)
),
paper_3 AS (
  SELECT id FROM paper_1 WHERE id IN (SELECT id FROM paper_2)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM paper_3)
ORDER BY id
