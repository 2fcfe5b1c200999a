-- Which genes or proteins interact with <gene/protein> and are linked to a phenotype that it is linked to, too?
-- Printed as (gene/protein → [associated with] → effect/phenotype → [associated with] → gene/protein) & (gene/protein
-- → [ppi] → gene/protein) in STaRK A.4.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $gene_protein (node of gene/protein): <gene/protein>, by name or key
--
-- ((gene/protein:<gene/protein> -> [associated with] -> effect/phenotype -> [associated with] -> gene/protein) &
-- (gene/protein:<gene/protein> -> [ppi] -> gene/protein)) - gene/protein:<gene/protein>
WITH gene_protein_1 AS (
  SELECT id FROM "gene/protein" WHERE id = $gene_protein
),
effect_phenotype_1 AS (
  SELECT DISTINCT tail AS id FROM "associated with" WHERE head IN (SELECT id FROM gene_protein_1)
    AND tail IN (SELECT id FROM "effect/phenotype")
),
gene_protein_2 AS (
  SELECT DISTINCT tail AS id FROM "associated with" WHERE head IN (SELECT id FROM effect_phenotype_1)
),
gene_protein_3 AS (
  SELECT DISTINCT tail AS id FROM ppi WHERE head IN (SELECT id FROM gene_protein_1)
),
gene_protein_4 AS (
  SELECT id FROM gene_protein_2 WHERE id IN (SELECT id FROM gene_protein_3)
),
gene_protein_5 AS (
  SELECT l.id FROM gene_protein_4 l ANTI JOIN gene_protein_1 r ON r.id = l.id
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM gene_protein_5)
ORDER BY id
