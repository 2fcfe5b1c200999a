-- Countries without a land border.
-- They have a coast and no neighbours: countries on one or more islands of their own. Largest first.

SELECT key, name, area_km2
FROM country ANTI JOIN borders ON head = id
ORDER BY area_km2 DESC, name;
