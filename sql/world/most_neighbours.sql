-- The countries with the most neighbours by land.
-- $limit (integer, default 10): maximum number of rows

SELECT c.key, c.name, count(*) AS neighbours, string_agg(n.name, ', ' ORDER BY n.name) AS which
FROM borders b JOIN country c ON c.id = b.head JOIN country n ON n.id = b.tail
GROUP BY c.key, c.name
ORDER BY neighbours DESC, c.name
LIMIT $limit;
