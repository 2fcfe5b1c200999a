-- Nodes without texts.
-- Search finds them only by name.
-- $type (text, default *): type of the nodes
-- $limit (integer, default 100): maximum number of rows

SELECT type, key, name
FROM nodes
WHERE ($type IN ('*', type) OR id IN (SELECT id FROM node_types WHERE type = $type))
  AND id NOT IN (SELECT id FROM texts)
ORDER BY id
LIMIT $limit;
