-- Which papers belong to the field <field_of_study>?
-- Printed as (field_of_study → paper) in STaRK A.3.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $field_of_study (node of field_of_study): <field_of_study>, by name or key
--
-- field_of_study:<field_of_study> -> paper
WITH field_of_study_1 AS (
  SELECT id FROM field_of_study WHERE id = $field_of_study
),
paper_1 AS (
  SELECT DISTINCT head AS id FROM has_topic WHERE tail IN (SELECT id FROM field_of_study_1)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM paper_1)
ORDER BY id
