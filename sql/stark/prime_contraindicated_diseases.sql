-- For which diseases linked to <gene/protein> is <drug> contraindicated?
-- Printed as (drug → [contraindication] → disease ← [associated with] ← gene/protein) in STaRK A.4.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $drug (node of drug): <drug>, by name or key
-- $gene_protein (node of gene/protein): <gene/protein>, by name or key
--
-- drug:<drug> -> [contraindication] -> disease <- [associated with] <- gene/protein:<gene/protein>
WITH drug_1 AS (
  SELECT id FROM drug WHERE id = $drug
),
disease_1 AS (
  SELECT DISTINCT tail AS id FROM contraindication WHERE head IN (SELECT id FROM drug_1)
),
gene_protein_1 AS (
  SELECT id FROM "gene/protein" WHERE id = $gene_protein
),
disease_2 AS (
  SELECT DISTINCT tail AS id FROM "associated with" WHERE head IN (SELECT id FROM gene_protein_1)
    AND tail IN (SELECT id FROM disease)
),
disease_3 AS (
  SELECT id FROM disease_1 WHERE id IN (SELECT id FROM disease_2)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM disease_3)
ORDER BY id
