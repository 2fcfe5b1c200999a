-- Which genes or proteins interact with one that takes part in <pathway>?
-- Printed as (pathway → [interacts with] → gene/protein → [ppi] → gene/protein) in STaRK A.4.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $pathway (node of pathway): <pathway>, by name or key
--
-- pathway:<pathway> -> [interacts with] -> gene/protein -> [ppi] -> gene/protein
WITH pathway_1 AS (
  SELECT id FROM pathway WHERE id = $pathway
),
gene_protein_1 AS (
  SELECT DISTINCT tail AS id FROM "interacts with" WHERE head IN (SELECT id FROM pathway_1)
),
gene_protein_2 AS (
  SELECT DISTINCT tail AS id FROM ppi WHERE head IN (SELECT id FROM gene_protein_1)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM gene_protein_2)
ORDER BY id
