-- Edges between the neighbours of a node.
-- $node (node): the node

WITH near AS (
  SELECT tail AS id FROM edges WHERE head = $node AND tail <> $node
  UNION SELECT head FROM edges WHERE tail = $node AND head <> $node
)
SELECT DISTINCT h.type AS head_type, h.key AS head, h.name AS head_name, e.relation,
       t.type AS tail_type, t.key AS tail, t.name AS tail_name
FROM edges e SEMI JOIN near a ON a.id = e.head SEMI JOIN near b ON b.id = e.tail
JOIN nodes h ON h.id = e.head JOIN nodes t ON t.id = e.tail
WHERE e.head <> e.tail
ORDER BY relation, head_type, head, tail_type, tail;
