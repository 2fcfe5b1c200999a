-- Which papers did <author> write?
-- Printed as (author → paper) in STaRK A.3.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $author (node of author): <author>, by name or key
--
-- author:<author> -> paper
WITH author_1 AS (
  SELECT id FROM author WHERE id = $author
),
paper_1 AS (
  SELECT DISTINCT tail AS id FROM writes WHERE head IN (SELECT id FROM author_1)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM paper_1)
ORDER BY id
