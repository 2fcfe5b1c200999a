-- The most densely populated countries: people per square kilometre in 2020.
-- $limit (integer, default 20): maximum number of rows

SELECT c.key, c.name, p.people, c.area_km2, round(p.people / c.area_km2, 1) AS people_per_km2
FROM had_population p JOIN country c ON c.id = p.head JOIN year y ON y.id = p.tail
WHERE y.key = '2020' AND c.area_km2 > 0
ORDER BY people_per_km2 DESC, c.name
LIMIT $limit;
