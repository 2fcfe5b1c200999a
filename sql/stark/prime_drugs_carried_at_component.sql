-- Which drugs have a carrier among the genes or proteins found in the cellular component <cellular_component>?
-- Printed as (cellular_component → [interacts with] → gene/protein → [carrier] → drug) in STaRK A.4.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $cellular_component (node of cellular_component): <cellular_component>, by name or key
--
-- cellular_component:<cellular_component> -> [interacts with] -> gene/protein -> [carrier] -> drug
WITH cellular_component_1 AS (
  SELECT id FROM cellular_component WHERE id = $cellular_component
),
gene_protein_1 AS (
  SELECT DISTINCT tail AS id FROM "interacts with" WHERE head IN (SELECT id FROM cellular_component_1)
    AND tail IN (SELECT id FROM "gene/protein")
),
drug_1 AS (
  SELECT DISTINCT tail AS id FROM carrier WHERE head IN (SELECT id FROM gene_protein_1)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM drug_1)
ORDER BY id
