-- Countries without a coast whose neighbours have no coast either.
-- The sea is at least two borders away.

WITH landlocked AS (SELECT id, key, name FROM country ANTI JOIN coast_on ON head = id)
SELECT c.key, c.name, string_agg(n.name, ', ' ORDER BY n.name) AS neighbours
FROM landlocked c JOIN borders b ON b.head = c.id JOIN country n ON n.id = b.tail
GROUP BY ALL
HAVING bool_and(n.id IN (SELECT id FROM landlocked))
ORDER BY c.name;
