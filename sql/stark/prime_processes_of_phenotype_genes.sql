-- Which biological processes involve a gene or protein linked to <effect/phenotype>?
-- Printed as (effect/phenotype → [associated with] → gene/protein → [interacts with] → biological_process) in STaRK
-- A.4.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $effect_phenotype (node of effect/phenotype): <effect/phenotype>, by name or key
--
-- effect/phenotype:<effect/phenotype> -> [associated with] -> gene/protein -> [interacts with] -> biological_process
WITH effect_phenotype_1 AS (
  SELECT id FROM "effect/phenotype" WHERE id = $effect_phenotype
),
gene_protein_1 AS (
  SELECT DISTINCT tail AS id FROM "associated with" WHERE head IN (SELECT id FROM effect_phenotype_1)
),
biological_process_1 AS (
  SELECT DISTINCT tail AS id FROM "interacts with" WHERE head IN (SELECT id FROM gene_protein_1)
    AND tail IN (SELECT id FROM biological_process)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM biological_process_1)
ORDER BY id
