-- Which papers have both an author and a field of study in common with <paper>?
-- Printed as (paper → author → paper ← field_of_study ← paper) in STaRK A.3. The printed metapath opens at two
-- papers, but the wording names only one: both ends are the same slot. Sharing one field is enough; a paper usually
-- has several.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $paper (node of paper): <paper>, by name or key
--
-- ((paper:<paper> -> author -> paper) & (paper:<paper> -> field_of_study -> paper)) - paper:<paper>
WITH paper_1 AS (
  SELECT id FROM paper WHERE id = $paper
),
author_1 AS (
  SELECT DISTINCT head AS id FROM writes WHERE tail IN (SELECT id FROM paper_1)
),
paper_2 AS (
  SELECT DISTINCT tail AS id FROM writes WHERE head IN (SELECT id FROM author_1)
),
field_of_study_1 AS (
  SELECT DISTINCT tail AS id FROM has_topic WHERE head IN (SELECT id FROM paper_1)
),
paper_3 AS (
  SELECT DISTINCT head AS id FROM has_topic WHERE tail IN (SELECT id FROM field_of_study_1)
),
paper_4 AS (
  SELECT id FROM paper_2 WHERE id IN (SELECT id FROM paper_3)
),
paper_5 AS (
  SELECT l.id FROM paper_4 l ANTI JOIN paper_1 r ON r.id = l.id
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM paper_5)
ORDER BY id
