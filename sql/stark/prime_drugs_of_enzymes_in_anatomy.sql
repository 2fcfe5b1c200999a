-- On which drugs does a gene or protein expressed in <anatomy> act as an enzyme?
-- Printed as (anatomy → [expression present] → gene/protein → enzyme → drug) in STaRK A.4.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $anatomy (node of anatomy): <anatomy>, by name or key
--
-- anatomy:<anatomy> -> [expression present] -> gene/protein -> [enzyme] -> drug
WITH anatomy_1 AS (
  SELECT id FROM anatomy WHERE id = $anatomy
),
gene_protein_1 AS (
  SELECT DISTINCT tail AS id FROM "expression present" WHERE head IN (SELECT id FROM anatomy_1)
),
drug_1 AS (
  SELECT DISTINCT tail AS id FROM enzyme WHERE head IN (SELECT id FROM gene_protein_1)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM drug_1)
ORDER BY id
