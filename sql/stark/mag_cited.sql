-- Which papers does <paper> cite?
-- Printed as (paper → paper) in STaRK A.3.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $paper (node of paper): <paper>, by name or key
--
-- (paper:<paper> -> [cites] -> paper) - paper:<paper>
WITH paper_1 AS (
  SELECT id FROM paper WHERE id = $paper
),
paper_2 AS (
  SELECT DISTINCT tail AS id FROM cites WHERE head IN (SELECT id FROM paper_1)
),
paper_3 AS (
  SELECT l.id FROM paper_2 l ANTI JOIN paper_1 r ON r.id = l.id
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM paper_3)
ORDER BY id
