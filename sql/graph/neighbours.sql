-- The neighbours of a node, with relation and direction.
-- $node (node): the node

WITH near AS (
  SELECT 'out' AS direction, relation, tail AS id FROM edges WHERE head = $node
  UNION SELECT 'in', relation, head FROM edges WHERE tail = $node
)
SELECT relation, direction, type, key, name
FROM near JOIN nodes USING (id)
ORDER BY relation, direction DESC, id;
