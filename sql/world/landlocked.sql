-- Countries without a coast.
-- The Caspian Sea counts as a lake.

SELECT c.key, c.name, c.area_km2, string_agg(n.name, ', ' ORDER BY n.name) AS neighbours
FROM country c ANTI JOIN coast_on s ON s.head = c.id
LEFT JOIN borders b ON b.head = c.id LEFT JOIN country n ON n.id = b.tail
GROUP BY ALL
ORDER BY c.name;
