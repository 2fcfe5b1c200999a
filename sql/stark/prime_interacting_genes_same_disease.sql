-- Which genes or proteins interact with <gene/protein> and are linked to a disease that it is linked to as well?
-- Printed as (gene/protein → [associated with] → disease → [associated with] → gene/protein) & (gene/protein → [ppi]
-- → gene/protein) in STaRK A.4.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $gene_protein (node of gene/protein): <gene/protein>, by name or key
--
-- ((gene/protein:<gene/protein> -> [associated with] -> disease -> [associated with] -> gene/protein) &
-- (gene/protein:<gene/protein> -> [ppi] -> gene/protein)) - gene/protein:<gene/protein>
WITH gene_protein_1 AS (
  SELECT id FROM "gene/protein" WHERE id = $gene_protein
),
disease_1 AS (
  SELECT DISTINCT tail AS id FROM "associated with" WHERE head IN (SELECT id FROM gene_protein_1)
    AND tail IN (SELECT id FROM disease)
),
gene_protein_2 AS (
  SELECT DISTINCT tail AS id FROM "associated with" WHERE head IN (SELECT id FROM disease_1)
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
