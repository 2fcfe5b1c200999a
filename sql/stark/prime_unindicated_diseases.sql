-- Which diseases that show <effect/phenotype> have no drug indicated for them?
-- Printed as (effect/phenotype → [phenotype absent] → disease ← [!indication] ← drug) in STaRK A.4. The wording asks
-- for diseases associated with the phenotype, the printed metapath for those where it is recorded as absent; the
-- wording is followed. No relation called associated with joins diseases and phenotypes, so phenotype present stands
-- for it.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $effect_phenotype (node of effect/phenotype): <effect/phenotype>, by name or key
--
-- effect/phenotype:<effect/phenotype> -> [phenotype present] -> disease <- [!indication] <- drug
WITH effect_phenotype_1 AS (
  SELECT id FROM "effect/phenotype" WHERE id = $effect_phenotype
),
disease_1 AS (
  SELECT DISTINCT tail AS id FROM "phenotype present" WHERE head IN (SELECT id FROM effect_phenotype_1)
),
disease_2 AS (
  SELECT DISTINCT tail AS id FROM indication WHERE head IN (SELECT id FROM drug)
),
disease_3 AS (
  SELECT l.id FROM disease_1 l ANTI JOIN disease_2 r ON r.id = l.id
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM disease_3)
ORDER BY id
