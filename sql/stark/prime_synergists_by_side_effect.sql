-- Which drugs act in synergy with a drug that can cause <effect/phenotype>?
-- Printed as (effect/phenotype → [side effect] → drug → [synergistic interaction] → drug) in STaRK A.4.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $effect_phenotype (node of effect/phenotype): <effect/phenotype>, by name or key
--
-- effect/phenotype:<effect/phenotype> -> [side effect] -> drug -> [synergistic interaction] -> drug
WITH effect_phenotype_1 AS (
  SELECT id FROM "effect/phenotype" WHERE id = $effect_phenotype
),
drug_1 AS (
  SELECT DISTINCT tail AS id FROM "side effect" WHERE head IN (SELECT id FROM effect_phenotype_1)
),
drug_2 AS (
  SELECT DISTINCT tail AS id FROM "synergistic interaction" WHERE head IN (SELECT id FROM drug_1)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM drug_2)
ORDER BY id
