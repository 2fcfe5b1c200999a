-- In which cellular components is a gene or protein found that <drug> targets?
-- Printed as (drug → [target] → gene/protein → [interacts with] → cellular_component) in STaRK A.4.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $drug (node of drug): <drug>, by name or key
--
-- drug:<drug> -> [target] -> gene/protein -> [interacts with] -> cellular_component
WITH drug_1 AS (
  SELECT id FROM drug WHERE id = $drug
),
gene_protein_1 AS (
  SELECT DISTINCT tail AS id FROM target WHERE head IN (SELECT id FROM drug_1)
),
cellular_component_1 AS (
  SELECT DISTINCT tail AS id FROM "interacts with" WHERE head IN (SELECT id FROM gene_protein_1)
    AND tail IN (SELECT id FROM cellular_component)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM cellular_component_1)
ORDER BY id
