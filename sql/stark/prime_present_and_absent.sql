-- Which genes or proteins are expressed in <anatomy1> but not in <anatomy2>?
-- Printed as (anatomy → [expression present] → gene/protein ← [expression absent] ← anatomy) in STaRK A.4.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $anatomy1 (node of anatomy): <anatomy1>, by name or key
-- $anatomy2 (node of anatomy): <anatomy2>, by name or key
--
-- anatomy:<anatomy1> -> [expression present] -> gene/protein <- [expression absent] <- anatomy:<anatomy2>
WITH anatomy_1 AS (
  SELECT id FROM anatomy WHERE id = $anatomy1
),
gene_protein_1 AS (
  SELECT DISTINCT tail AS id FROM "expression present" WHERE head IN (SELECT id FROM anatomy_1)
),
anatomy_2 AS (
  SELECT id FROM anatomy WHERE id = $anatomy2
),
gene_protein_2 AS (
  SELECT DISTINCT tail AS id FROM "expression absent" WHERE head IN (SELECT id FROM anatomy_2)
),
gene_protein_3 AS (
  SELECT id FROM gene_protein_1 WHERE id IN (SELECT id FROM gene_protein_2)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM gene_protein_3)
ORDER BY id
