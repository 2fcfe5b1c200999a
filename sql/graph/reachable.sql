-- All nodes reachable from a node along one relation.
-- The node itself is included only if it is on a cycle.
-- $node (node): start node
-- $relation (text): the relation to follow, from head to tail

WITH RECURSIVE reached(id, steps) USING KEY (id) AS (
  SELECT DISTINCT tail, 1 FROM edges WHERE head = $node AND relation = $relation
  UNION
  SELECT DISTINCT e.tail, r.steps + 1
  FROM reached r JOIN edges e ON e.head = r.id AND e.relation = $relation
  WHERE e.tail NOT IN (SELECT id FROM recurring.reached)
)
SELECT steps, type, key, name
FROM reached JOIN nodes USING (id)
ORDER BY steps, id;
