-- Names that several nodes share.
-- They may be duplicates; where they are not, a name alone does not say which node is meant.
-- $limit (integer, default 20): rows at most

SELECT name, count(*) AS nodes, string_agg(type || '#' || key, ', ' ORDER BY id) AS which
FROM nodes
GROUP BY name HAVING count(*) > 1
ORDER BY nodes DESC, name
LIMIT $limit;
