-- Nodes whose texts mention a node, and whether an edge joins the two.
-- Without an edge, the text may state a fact that the graph lacks. Names are compared ignoring case.
-- $node (node): the mentioned node
-- $limit (integer, default 100): maximum number of rows

WITH near AS (SELECT tail AS id FROM edges WHERE head = $node UNION SELECT head FROM edges WHERE tail = $node),
     named AS (SELECT DISTINCT id FROM texts
               WHERE id <> $node AND contains(lower(text), (SELECT lower(name) FROM nodes WHERE id = $node)))
SELECT type, key, name, id IN (SELECT id FROM near) AS linked
FROM named JOIN nodes USING (id)
ORDER BY linked, id
LIMIT $limit;
