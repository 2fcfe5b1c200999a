-- Texts that several nodes share.
-- Boilerplate or duplicates: search cannot distinguish such nodes.
-- $limit (integer, default 20): maximum number of rows

SELECT text, count(DISTINCT id) AS nodes, min(type || '#' || key) AS example
FROM texts JOIN nodes USING (id)
GROUP BY text HAVING count(DISTINCT id) > 1
ORDER BY nodes DESC, text
LIMIT $limit;
