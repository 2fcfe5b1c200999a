-- Nodes whose texts contain a phrase, ignoring case.
-- Reads all texts. `kbkit search` is faster, ranks its results and matches word forms.
-- $phrase (text): the phrase
-- $type (text, default *): type of the nodes
-- $limit (integer, default 20): maximum number of rows

SELECT n.type, n.key, n.name, x.field, x.text
FROM texts x JOIN nodes n USING (id)
WHERE contains(lower(x.text), lower($phrase))
  AND ($type IN ('*', n.type) OR id IN (SELECT id FROM node_types WHERE type = $type))
ORDER BY id, x.field, x.position
LIMIT $limit;
