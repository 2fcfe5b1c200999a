-- Nodes without edges.
-- $type (text, default *): type of the nodes
-- $limit (integer, default 100): maximum number of rows

SELECT type, key, name
FROM nodes
WHERE ($type IN ('*', type) OR id IN (SELECT id FROM node_types WHERE type = $type))
  AND id NOT IN (SELECT head FROM edges) AND id NOT IN (SELECT tail FROM edges)
ORDER BY id
LIMIT $limit;
