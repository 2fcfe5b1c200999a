-- In which parts of the body is a transporter of <drug> expressed?
-- Printed as (drug → [transporter] → gene/protein → [expression present] → anatomy) in STaRK A.4. The wording is
-- garbled: anatomy is expressed by genes that affect the transporter. Read to the letter it needs a hop from those
-- genes to the transporter, for which it names no relation; the printed metapath, followed here, takes the
-- transporter itself.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $drug (node of drug): <drug>, by name or key
--
-- drug:<drug> -> [transporter] -> gene/protein -> [expression present] -> anatomy
WITH drug_1 AS (
  SELECT id FROM drug WHERE id = $drug
),
gene_protein_1 AS (
  SELECT DISTINCT tail AS id FROM transporter WHERE head IN (SELECT id FROM drug_1)
),
anatomy_1 AS (
  SELECT DISTINCT tail AS id FROM "expression present" WHERE head IN (SELECT id FROM gene_protein_1)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM anatomy_1)
ORDER BY id
