-- Nodes whose texts name a node, and whether an edge joins the two already.
-- Where none does, the text may tell of an edge that the graph lacks. Names count without regard to case.
-- $node (node): the node that is named
-- $limit (integer, default 100): rows at most

WITH near AS (SELECT tail AS id FROM edges WHERE head = $node UNION SELECT head FROM edges WHERE tail = $node),
     named AS (SELECT DISTINCT id FROM texts
               WHERE id <> $node AND contains(lower(text), (SELECT lower(name) FROM nodes WHERE id = $node)))
SELECT type, key, name, id IN (SELECT id FROM near) AS linked
FROM named JOIN nodes USING (id)
ORDER BY linked, id
LIMIT $limit;
