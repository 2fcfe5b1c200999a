-- The most common tails of a relation.
-- $relation (text): the relation
-- $limit (integer, default 20): maximum number of rows

SELECT type, key, name, count(*) AS heads
FROM (SELECT DISTINCT head, tail FROM edges WHERE relation = $relation) e JOIN nodes n ON n.id = e.tail
GROUP BY ALL
ORDER BY heads DESC, min(n.id)
LIMIT $limit;
