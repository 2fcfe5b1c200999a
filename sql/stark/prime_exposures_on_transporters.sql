-- Which exposures interact with a transporter of <drug> and so may change how well it works?
-- Printed as (drug → [transporter] → gene/protein → [interacts with] → exposure) in STaRK A.4.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $drug (node of drug): <drug>, by name or key
--
-- drug:<drug> -> [transporter] -> gene/protein -> [interacts with] -> exposure
WITH drug_1 AS (
  SELECT id FROM drug WHERE id = $drug
),
gene_protein_1 AS (
  SELECT DISTINCT tail AS id FROM transporter WHERE head IN (SELECT id FROM drug_1)
),
exposure_1 AS (
  SELECT DISTINCT tail AS id FROM "interacts with" WHERE head IN (SELECT id FROM gene_protein_1)
    AND tail IN (SELECT id FROM exposure)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM exposure_1)
ORDER BY id
