-- Which pathways directly above or below <pathway> involve a gene or protein that it involves, too?
-- Printed as (pathway → [interacts with] → gene/protein → [interacts with] → pathway) & (pathway → [parent-child] →
-- pathway) in STaRK A.4. The wording says related, which has no direction, the printed metapath parent-child; so
-- parents and children both count. PrimeKG holds every such edge in both directions, where this and the printed
-- metapath give the same answers.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $pathway (node of pathway): <pathway>, by name or key
--
-- ((pathway:<pathway> -> [interacts with] -> gene/protein -> [interacts with] -> pathway) & (pathway:<pathway> ->
-- [parent-child|^parent-child] -> pathway)) - pathway:<pathway>
WITH pathway_1 AS (
  SELECT id FROM pathway WHERE id = $pathway
),
gene_protein_1 AS (
  SELECT DISTINCT tail AS id FROM "interacts with" WHERE head IN (SELECT id FROM pathway_1)
),
pathway_2 AS (
  SELECT DISTINCT tail AS id FROM "interacts with" WHERE head IN (SELECT id FROM gene_protein_1)
    AND tail IN (SELECT id FROM pathway)
),
pathway_3 AS (
  SELECT tail AS id FROM "parent-child" WHERE head IN (SELECT id FROM pathway_1)
  UNION SELECT head AS id FROM "parent-child" WHERE tail IN (SELECT id FROM pathway_1)
),
pathway_4 AS (
  SELECT id FROM pathway_2 WHERE id IN (SELECT id FROM pathway_3)
),
pathway_5 AS (
  SELECT l.id FROM pathway_4 l ANTI JOIN pathway_1 r ON r.id = l.id
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM pathway_5)
ORDER BY id
