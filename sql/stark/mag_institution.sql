-- Which papers have an author from <institution>?
-- Printed as (institution → author → paper) in STaRK A.3.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $institution (node of institution): <institution>, by name or key
--
-- institution:<institution> -> author -> paper
WITH institution_1 AS (
  SELECT id FROM institution WHERE id = $institution
),
author_1 AS (
  SELECT DISTINCT head AS id FROM affiliated_with WHERE tail IN (SELECT id FROM institution_1)
),
paper_1 AS (
  SELECT DISTINCT tail AS id FROM writes WHERE head IN (SELECT id FROM author_1)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM paper_1)
ORDER BY id
