-- Which other biological processes involve a gene or protein that is involved in <biological_process>?
-- Printed as (biological_process → [interacts with] → gene/protein → [interacts with] → biological_process) in STaRK
-- A.4. The wording speaks of a common pattern of interaction, which could mean all the same genes or proteins; the
-- printed metapath, followed here, is content with one.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $biological_process (node of biological_process): <biological_process>, by name or key
--
-- (biological_process:<biological_process> -> [interacts with] -> gene/protein -> [interacts with] ->
-- biological_process) - biological_process:<biological_process>
WITH biological_process_1 AS (
  SELECT id FROM biological_process WHERE id = $biological_process
),
gene_protein_1 AS (
  SELECT DISTINCT tail AS id FROM "interacts with" WHERE head IN (SELECT id FROM biological_process_1)
    AND tail IN (SELECT id FROM "gene/protein")
),
biological_process_2 AS (
  SELECT DISTINCT tail AS id FROM "interacts with" WHERE head IN (SELECT id FROM gene_protein_1)
    AND tail IN (SELECT id FROM biological_process)
),
biological_process_3 AS (
  SELECT l.id FROM biological_process_2 l ANTI JOIN biological_process_1 r ON r.id = l.id
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM biological_process_3)
ORDER BY id
