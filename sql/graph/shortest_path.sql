-- A shortest path between two nodes, along edges of any relation in either direction.
-- One row per node of the path, no row if there is none within the maximum length. Of several shortest paths, one is
-- returned.
-- $a (node): start node
-- $b (node): end node
-- $steps (integer, default 6): edges at most

WITH RECURSIVE reached(id, previous, relation, direction, step) USING KEY (id) AS (
  SELECT $a::INTEGER, NULL::INTEGER, NULL::VARCHAR, NULL::VARCHAR, 0
  UNION
  SELECT far, min(near), arg_min(relation, (near, relation)), arg_min(direction, (near, relation)), step + 1
  FROM (SELECT e.tail AS far, e.head AS near, e.relation::VARCHAR AS relation, 'out' AS direction, r.step
        FROM reached r JOIN edges e ON e.head = r.id
        UNION ALL
        SELECT e.head, e.tail, e.relation, 'in', r.step FROM reached r JOIN edges e ON e.tail = r.id)
  WHERE step < $steps AND far NOT IN (SELECT id FROM recurring.reached)
    AND $b NOT IN (SELECT id FROM recurring.reached)
  GROUP BY far, step
), way AS (
  SELECT * FROM reached WHERE id = $b
  UNION ALL
  SELECT r.* FROM way w JOIN reached r ON r.id = w.previous
)
SELECT step, relation, direction, type, key, name
FROM way JOIN nodes USING (id)
ORDER BY step;
