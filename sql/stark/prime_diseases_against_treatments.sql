-- Which other diseases rule out a drug that is indicated for <disease>?
-- Printed as (disease → [indication] → drug → [contraindication] → disease) in STaRK A.4.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $disease (node of disease): <disease>, by name or key
--
-- (disease:<disease> -> [indication] -> drug -> [contraindication] -> disease) - disease:<disease>
WITH disease_1 AS (
  SELECT id FROM disease WHERE id = $disease
),
drug_1 AS (
  SELECT DISTINCT tail AS id FROM indication WHERE head IN (SELECT id FROM disease_1)
),
disease_2 AS (
  SELECT DISTINCT tail AS id FROM contraindication WHERE head IN (SELECT id FROM drug_1)
),
disease_3 AS (
  SELECT l.id FROM disease_2 l ANTI JOIN disease_1 r ON r.id = l.id
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM disease_3)
ORDER BY id
