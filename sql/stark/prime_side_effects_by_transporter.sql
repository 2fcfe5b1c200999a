-- Which side effects do the drugs transported by <gene/protein> have?
-- Printed as (gene/protein → [transporter] → drug → [side effect] → effect/phenotype) in STaRK A.4.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $gene_protein (node of gene/protein): <gene/protein>, by name or key
--
-- gene/protein:<gene/protein> -> [transporter] -> drug -> [side effect] -> effect/phenotype
WITH gene_protein_1 AS (
  SELECT id FROM "gene/protein" WHERE id = $gene_protein
),
drug_1 AS (
  SELECT DISTINCT tail AS id FROM transporter WHERE head IN (SELECT id FROM gene_protein_1)
),
effect_phenotype_1 AS (
  SELECT DISTINCT tail AS id FROM "side effect" WHERE head IN (SELECT id FROM drug_1)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM effect_phenotype_1)
ORDER BY id
