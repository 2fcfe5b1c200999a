-- What else have the authors of <paper> published?
-- Printed as (paper → author → paper) in STaRK A.3. The wording speaks of coauthors of a paper, which could also mean
-- other people who have written with its authors; the printed metapath, followed here, takes the authors of the paper
-- itself.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $paper (node of paper): <paper>, by name or key
--
-- (paper:<paper> -> author -> paper) - paper:<paper>
WITH paper_1 AS (
  SELECT id FROM paper WHERE id = $paper
),
author_1 AS (
  SELECT DISTINCT head AS id FROM writes WHERE tail IN (SELECT id FROM paper_1)
),
paper_2 AS (
  SELECT DISTINCT tail AS id FROM writes WHERE head IN (SELECT id FROM author_1)
),
paper_3 AS (
  SELECT l.id FROM paper_2 l ANTI JOIN paper_1 r ON r.id = l.id
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM paper_3)
ORDER BY id
