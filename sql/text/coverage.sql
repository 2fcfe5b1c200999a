-- Number of nodes with texts, by type.
-- Nodes with several types count for each of them.

SELECT t.type, count(*) AS nodes, count(x.id) AS with_text, round(count(x.id) / count(*), 4) AS share
FROM (SELECT id, type FROM nodes UNION ALL SELECT id, type FROM node_types) t
LEFT JOIN (SELECT DISTINCT id FROM texts) x USING (id)
GROUP BY t.type
ORDER BY share, nodes DESC, t.type;
