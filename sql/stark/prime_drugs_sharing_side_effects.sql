-- Which other drugs have a side effect in common with <drug>?
-- Printed as (drug → [side effect] → effect/phenotype → [side effect] → drug) in STaRK A.4. The plural of the wording
-- could mean all the side effects of the drug; the printed metapath, followed here, is content with one.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $drug (node of drug): <drug>, by name or key
--
-- (drug:<drug> -> [side effect] -> effect/phenotype -> [side effect] -> drug) - drug:<drug>
WITH drug_1 AS (
  SELECT id FROM drug WHERE id = $drug
),
effect_phenotype_1 AS (
  SELECT DISTINCT tail AS id FROM "side effect" WHERE head IN (SELECT id FROM drug_1)
),
drug_2 AS (
  SELECT DISTINCT tail AS id FROM "side effect" WHERE head IN (SELECT id FROM effect_phenotype_1)
),
drug_3 AS (
  SELECT l.id FROM drug_2 l ANTI JOIN drug_1 r ON r.id = l.id
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM drug_3)
ORDER BY id
