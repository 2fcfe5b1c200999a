-- The types that each relation joins, with the number of edges.
-- Nodes with several types count for each of them. The table `relations` has the same for primary types.

WITH triple AS (SELECT DISTINCT head, relation, tail FROM edges),
     typed AS (SELECT id, type FROM nodes UNION ALL SELECT id, type FROM node_types)
SELECT h.type AS head_type, e.relation, t.type AS tail_type, count(*) AS edges
FROM triple e JOIN typed h ON h.id = e.head JOIN typed t ON t.id = e.tail
GROUP BY ALL
ORDER BY edges DESC, relation, head_type, tail_type;
