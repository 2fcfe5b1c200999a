-- Number of edges, heads and tails of each relation.
-- Edges that differ only in their attributes count once; a symmetric relation counts in both directions.

WITH counts AS (
  SELECT relation, count(DISTINCT (head, tail)) AS edges, count(DISTINCT head) AS heads, count(DISTINCT tail) AS tails
  FROM edges GROUP BY relation
)
SELECT relation, edges, heads, tails, is_symmetric, sql_name
FROM counts JOIN (SELECT DISTINCT relation, is_symmetric, sql_name FROM relations) USING (relation)
ORDER BY edges DESC, relation;
