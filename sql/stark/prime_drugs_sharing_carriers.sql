-- Which other drugs share a carrier gene or protein with <drug>?
-- Printed as (drug → [carrier] → gene/protein → [carrier] → drug) in STaRK A.4.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $drug (node of drug): <drug>, by name or key
--
-- (drug:<drug> -> [carrier] -> gene/protein -> [carrier] -> drug) - drug:<drug>
WITH drug_1 AS (
  SELECT id FROM drug WHERE id = $drug
),
gene_protein_1 AS (
  SELECT DISTINCT tail AS id FROM carrier WHERE head IN (SELECT id FROM drug_1)
),
drug_2 AS (
  SELECT DISTINCT tail AS id FROM carrier WHERE head IN (SELECT id FROM gene_protein_1)
),
drug_3 AS (
  SELECT l.id FROM drug_2 l ANTI JOIN drug_1 r ON r.id = l.id
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM drug_3)
ORDER BY id
