-- Which genes or proteins transport a drug that acts in synergy with <drug>?
-- Printed as (drug → [synergistic interaction] → drug → [transporter] → gene/protein) in STaRK A.4.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $drug (node of drug): <drug>, by name or key
--
-- drug:<drug> -> [synergistic interaction] -> drug -> [transporter] -> gene/protein
WITH drug_1 AS (
  SELECT id FROM drug WHERE id = $drug
),
drug_2 AS (
  SELECT DISTINCT tail AS id FROM "synergistic interaction" WHERE head IN (SELECT id FROM drug_1)
),
gene_protein_1 AS (
  SELECT DISTINCT tail AS id FROM transporter WHERE head IN (SELECT id FROM drug_2)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM gene_protein_1)
ORDER BY id
