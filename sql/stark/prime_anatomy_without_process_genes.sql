-- Which parts of the body lack the expression of a gene or protein that is involved in <biological_process>?
-- Printed as (biological_process → [interacts with] → gene/protein → [expression absent] → anatomy) in STaRK A.4. The
-- wording could mean anatomy that expresses none of these genes or proteins; the printed metapath, followed here,
-- asks for a recorded absence of at least one.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $biological_process (node of biological_process): <biological_process>, by name or key
--
-- biological_process:<biological_process> -> [interacts with] -> gene/protein -> [expression absent] -> anatomy
WITH biological_process_1 AS (
  SELECT id FROM biological_process WHERE id = $biological_process
),
gene_protein_1 AS (
  SELECT DISTINCT tail AS id FROM "interacts with" WHERE head IN (SELECT id FROM biological_process_1)
    AND tail IN (SELECT id FROM "gene/protein")
),
anatomy_1 AS (
  SELECT DISTINCT tail AS id FROM "expression absent" WHERE head IN (SELECT id FROM gene_protein_1)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM anatomy_1)
ORDER BY id
