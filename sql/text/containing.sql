-- Nodes whose texts contain a phrase, exactly but for case.
-- It reads every text; `kbkit search` ranks, knows word forms, and is faster.
-- $phrase (text): the phrase
-- $type (text, default *): only nodes of this type
-- $limit (integer, default 20): rows at most

SELECT n.type, n.key, n.name, x.field, x.text
FROM texts x JOIN nodes n USING (id)
WHERE contains(lower(x.text), lower($phrase))
  AND ($type IN ('*', n.type) OR id IN (SELECT id FROM node_types WHERE type = $type))
ORDER BY id, x.field, x.position
LIMIT $limit;
