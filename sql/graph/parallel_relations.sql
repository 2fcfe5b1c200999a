-- Pairs of relations with the same head and tail, and the number of their common edges.
-- Each pair of relations is listed once.

WITH triple AS (SELECT DISTINCT head, relation, tail FROM edges)
SELECT a.relation, b.relation AS other, count(*) AS pairs
FROM triple a JOIN triple b ON a.head = b.head AND a.tail = b.tail AND a.relation < b.relation
GROUP BY ALL
ORDER BY pairs DESC, a.relation, other;
