-- Which parts of the body lack the expression of a gene or protein linked to <effect/phenotype>?
-- Printed as (effect/phenotype → [associated with] → gene/protein → [expression absent] → anatomy) in STaRK A.4. The
-- wording could mean anatomy that expresses none of these genes or proteins; the printed metapath, followed here,
-- asks for a recorded absence of at least one.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $effect_phenotype (node of effect/phenotype): <effect/phenotype>, by name or key
--
-- effect/phenotype:<effect/phenotype> -> [associated with] -> gene/protein -> [expression absent] -> anatomy
WITH effect_phenotype_1 AS (
  SELECT id FROM "effect/phenotype" WHERE id = $effect_phenotype
),
gene_protein_1 AS (
  SELECT DISTINCT tail AS id FROM "associated with" WHERE head IN (SELECT id FROM effect_phenotype_1)
),
anatomy_1 AS (
  SELECT DISTINCT tail AS id FROM "expression absent" WHERE head IN (SELECT id FROM gene_protein_1)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM anatomy_1)
ORDER BY id
