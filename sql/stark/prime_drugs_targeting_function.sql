-- Which drugs target a gene or protein with the molecular function <molecular_function>?
-- Printed as (molecular_function → [interacts with] → gene/protein → [target] → drug) in STaRK A.4.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $molecular_function (node of molecular_function): <molecular_function>, by name or key
--
-- molecular_function:<molecular_function> -> [interacts with] -> gene/protein -> [target] -> drug
WITH molecular_function_1 AS (
  SELECT id FROM molecular_function WHERE id = $molecular_function
),
gene_protein_1 AS (
  SELECT DISTINCT tail AS id FROM "interacts with" WHERE head IN (SELECT id FROM molecular_function_1)
    AND tail IN (SELECT id FROM "gene/protein")
),
drug_1 AS (
  SELECT DISTINCT tail AS id FROM target WHERE head IN (SELECT id FROM gene_protein_1)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM drug_1)
ORDER BY id
