-- The longest texts.
-- $type (text, default *): type of the nodes
-- $limit (integer, default 20): maximum number of rows

SELECT n.type, n.key, n.name, x.field, length(x.text) AS characters, x.text
FROM texts x JOIN nodes n USING (id)
WHERE $type IN ('*', n.type) OR id IN (SELECT id FROM node_types WHERE type = $type)
ORDER BY characters DESC, id, field, x.position
LIMIT $limit;
