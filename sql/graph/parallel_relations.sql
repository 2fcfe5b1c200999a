-- Which relations join the same two nodes in the same direction, and how often.
-- Each pair of relations comes once.

WITH triple AS (SELECT DISTINCT head, relation, tail FROM edges)
SELECT a.relation, b.relation AS other, count(*) AS pairs
FROM triple a JOIN triple b ON a.head = b.head AND a.tail = b.tail AND a.relation < b.relation
GROUP BY ALL
ORDER BY pairs DESC, a.relation, other;
