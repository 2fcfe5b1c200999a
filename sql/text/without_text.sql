-- Nodes without any text.
-- Search finds them by their name only.
-- $type (text, default *): only nodes of this type
-- $limit (integer, default 100): rows at most

SELECT type, key, name
FROM nodes
WHERE ($type IN ('*', type) OR id IN (SELECT id FROM node_types WHERE type = $type))
  AND id NOT IN (SELECT id FROM texts)
ORDER BY id
LIMIT $limit;
