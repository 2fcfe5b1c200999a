-- Text fields, with their number of nodes and the length of their texts.

SELECT field, count(DISTINCT id) AS nodes, count(*) AS texts,
       round(avg(length(text)), 1) AS mean_characters, max(length(text)) AS most_characters
FROM texts
GROUP BY field
ORDER BY texts DESC, field;
