-- Which effects or phenotypes occur in a subtype of <disease>?
-- Printed as (disease → [parent-child] → disease → [phenotype present] → effect/phenotype) in STaRK A.4. The wording
-- asks for subtypes, so the edge is followed from parent to child. PrimeKG holds every such edge in both directions:
-- on it the phenotypes of broader diseases come along, and its data cannot tell the two apart.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $disease (node of disease): <disease>, by name or key
--
-- disease:<disease> -> [parent-child] -> disease -> [phenotype present] -> effect/phenotype
WITH disease_1 AS (
  SELECT id FROM disease WHERE id = $disease
),
disease_2 AS (
  SELECT DISTINCT tail AS id FROM "parent-child" WHERE head IN (SELECT id FROM disease_1)
),
effect_phenotype_1 AS (
  SELECT DISTINCT tail AS id FROM "phenotype present" WHERE head IN (SELECT id FROM disease_2)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM effect_phenotype_1)
ORDER BY id
