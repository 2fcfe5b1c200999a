-- Common neighbours of two nodes, with the relations on both sides, in either direction.
-- $a (node): first node
-- $b (node): second node

WITH near AS (
  SELECT head AS centre, relation, tail AS id FROM edges WHERE head IN ($a, $b)
  UNION SELECT tail, relation, head FROM edges WHERE tail IN ($a, $b)
)
SELECT n.type, n.key, n.name, x.relation AS relation_a, y.relation AS relation_b
FROM near x JOIN near y USING (id) JOIN nodes n USING (id)
WHERE x.centre = $a AND y.centre = $b
ORDER BY id, relation_a, relation_b;
