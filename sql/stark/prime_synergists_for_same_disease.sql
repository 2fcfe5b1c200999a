-- Which drugs act in synergy with <drug> and share a disease they are indicated for with it?
-- Printed as (drug → [indication] → disease → [indication] → drug) & (drug → [synergistic interaction] → drug) in
-- STaRK A.4.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $drug (node of drug): <drug>, by name or key
--
-- ((drug:<drug> -> [indication] -> disease -> [indication] -> drug) & (drug:<drug> -> [synergistic interaction] ->
-- drug)) - drug:<drug>
WITH drug_1 AS (
  SELECT id FROM drug WHERE id = $drug
),
disease_1 AS (
  SELECT DISTINCT tail AS id FROM indication WHERE head IN (SELECT id FROM drug_1)
),
drug_2 AS (
  SELECT DISTINCT tail AS id FROM indication WHERE head IN (SELECT id FROM disease_1)
),
drug_3 AS (
  SELECT DISTINCT tail AS id FROM "synergistic interaction" WHERE head IN (SELECT id FROM drug_1)
),
drug_4 AS (
  SELECT id FROM drug_2 WHERE id IN (SELECT id FROM drug_3)
),
drug_5 AS (
  SELECT l.id FROM drug_4 l ANTI JOIN drug_1 r ON r.id = l.id
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM drug_5)
ORDER BY id
