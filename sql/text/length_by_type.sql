-- Length of the texts by type, in characters.
-- Nodes with several types count for each of them.

SELECT t.type, count(*) AS texts, round(avg(length(x.text)), 1) AS mean_characters,
       min(length(x.text)) AS least_characters, max(length(x.text)) AS most_characters
FROM texts x JOIN (SELECT id, type FROM nodes UNION ALL SELECT id, type FROM node_types) t USING (id)
GROUP BY t.type
ORDER BY mean_characters DESC, t.type;
