-- Change of the population of each country from 2000 to 2020, fastest growth first.
-- $limit (integer, default 20): maximum number of rows

WITH people AS (
  SELECT p.head AS id, max(p.people) FILTER (y.key = '2000') AS before, max(p.people) FILTER (y.key = '2020') AS after
  FROM had_population p JOIN year y ON y.id = p.tail
  GROUP BY p.head
)
SELECT key, name, before AS people_2000, after AS people_2020, round(100 * (after / before - 1), 1) AS growth_percent
FROM people JOIN country USING (id)
WHERE before > 0 AND after IS NOT NULL
ORDER BY growth_percent DESC, name
LIMIT $limit;
