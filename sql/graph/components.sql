-- Connected components by size.
-- Two nodes are in the same component if a path of edges, in any direction, joins them. The example is
-- a node of such a component.

WITH RECURSIVE link AS MATERIALIZED (
  SELECT head, tail FROM edges WHERE head <> tail UNION SELECT tail, head FROM edges WHERE head <> tail
), component(id, root) USING KEY (id) AS (
  SELECT id, id FROM nodes
  UNION
  SELECT l.tail, min(c.root)
  FROM component c JOIN link l ON l.head = c.id JOIN recurring.component r ON r.id = l.tail
  WHERE c.root < r.root
  GROUP BY l.tail
), size AS (SELECT root, count(*) AS nodes FROM component GROUP BY root)
SELECT s.nodes, count(*) AS components, arg_min(n.type || '#' || n.key, s.root) AS example
FROM size s JOIN nodes n ON n.id = s.root
GROUP BY s.nodes
ORDER BY s.nodes DESC;
