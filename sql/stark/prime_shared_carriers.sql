-- Which genes or proteins are carriers of both <drug1> and <drug2>?
-- Printed as (drug → [carrier] → gene/protein ← [carrier] ← drug) in STaRK A.4. The wording calls the answers target
-- genes, yet asks for shared carriers; target is read as the gene that is sought, not as a second relation, as in the
-- printed metapath.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $drug1 (node of drug): <drug1>, by name or key
-- $drug2 (node of drug): <drug2>, by name or key
--
-- drug:<drug1> -> [carrier] -> gene/protein <- [carrier] <- drug:<drug2>
WITH drug_1 AS (
  SELECT id FROM drug WHERE id = $drug1
),
gene_protein_1 AS (
  SELECT DISTINCT tail AS id FROM carrier WHERE head IN (SELECT id FROM drug_1)
),
drug_2 AS (
  SELECT id FROM drug WHERE id = $drug2
),
gene_protein_2 AS (
  SELECT DISTINCT tail AS id FROM carrier WHERE head IN (SELECT id FROM drug_2)
),
gene_protein_3 AS (
  SELECT id FROM gene_protein_1 WHERE id IN (SELECT id FROM gene_protein_2)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM gene_protein_3)
ORDER BY id
