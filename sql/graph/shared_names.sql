-- Names that several nodes share.
-- They may be duplicates; otherwise the name is ambiguous.
-- $limit (integer, default 20): maximum number of rows

SELECT name, count(*) AS nodes, string_agg(type || '#' || key, ', ' ORDER BY id) AS which
FROM nodes
GROUP BY name HAVING count(*) > 1
ORDER BY nodes DESC, name
LIMIT $limit;
