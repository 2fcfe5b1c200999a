-- The nodes with the most edges.
-- A symmetric relation counts in both directions.
-- $type (text, default *): type of the nodes
-- $limit (integer, default 20): maximum number of rows

WITH triple AS (SELECT DISTINCT head, relation, tail FROM edges),
     degree AS (SELECT id, count(*) FILTER (leaves) AS leaving, count(*) FILTER (NOT leaves) AS entering
                FROM (SELECT head AS id, true AS leaves FROM triple UNION ALL SELECT tail, false FROM triple)
                GROUP BY id)
SELECT n.type, n.key, n.name, leaving, entering, leaving + entering AS edges
FROM degree JOIN nodes n USING (id)
WHERE $type IN ('*', n.type) OR id IN (SELECT id FROM node_types WHERE type = $type)
ORDER BY edges DESC, id
LIMIT $limit;
