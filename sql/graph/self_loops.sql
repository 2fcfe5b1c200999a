-- Edges from a node to itself.
-- $limit (integer, default 100): maximum number of rows

SELECT relation, type, key, name
FROM (SELECT DISTINCT relation, head AS id FROM edges WHERE head = tail) JOIN nodes USING (id)
ORDER BY relation, id
LIMIT $limit;
