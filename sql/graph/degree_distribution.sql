-- Degree distribution: number of nodes by number of edges.
-- Incoming and outgoing edges count, so that the mean is twice the number of edges per node, as in
-- `kbkit info`.

WITH triple AS (SELECT DISTINCT head, relation, tail FROM edges),
     degree AS (SELECT id, count(*) AS edges
                FROM (SELECT head AS id FROM triple UNION ALL SELECT tail FROM triple) GROUP BY id)
SELECT coalesce(edges, 0) AS edges, count(*) AS nodes
FROM nodes LEFT JOIN degree USING (id)
GROUP BY ALL
ORDER BY ALL;
