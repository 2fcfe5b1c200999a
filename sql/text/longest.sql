-- The longest texts.
-- $type (text, default *): only of nodes of this type
-- $limit (integer, default 20): rows at most

SELECT n.type, n.key, n.name, x.field, length(x.text) AS characters, x.text
FROM texts x JOIN nodes n USING (id)
WHERE $type IN ('*', n.type) OR id IN (SELECT id FROM node_types WHERE type = $type)
ORDER BY characters DESC, id, field, x.position
LIMIT $limit;
